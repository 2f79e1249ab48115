"""Makes the golden store: ``python -m tests.store.golden.make``.

It is made once for each format and never again: the test reads what an earlier fxstore wrote, and what it must answer.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fxstore import Store, connect
from fxstore.query.engine import RELATIONS
from fxstore.query.text import rows_of
from fxstore.store import Catalog, manifest, publishing, write_run
from tests.query.conftest import tiny
from tests.store.records import graph, metric, node, overlay, run

HERE = Path(__file__).parent
STORE = HERE / "format-1"
EXPECTED = HERE / "format-1.json"
QUESTIONS = {
    "worst": "SELECT nid, stage, name, value, status, counterparts FROM worst('cosine', run := 'first')",
    "sync": "SELECT nid, stage, name FROM sync('edge', 'relu_1', run := 'first') ORDER BY ALL",
    "trace": "SELECT nid, stage, name FROM trace('edge', 'relu_1', run := 'first') ORDER BY ALL",
    "history": "SELECT run, value, matched_by FROM history('edge', 'relu_1', 'cosine', run := 'first') ORDER BY ALL",
    "latest": "SELECT name, value FROM worst('cosine')",
}


def make(path: Path) -> None:
    """Writes a store with a segment of two runs, two runs beside it, a manifest and a tag."""
    other = graph([node("x", "placeholder"), "relu"], [("x", "relu")])
    numbers = overlay("acc", [metric("only:relu", "cosine", float("nan")), metric("only:relu", "mse", 1e-300)])
    with connect(path) as store, _clock():
        for key, record in enumerate((tiny("first"), tiny("second")), 2**24):
            write_run(store.directory, record, draw=lambda key=key: key)  # type: ignore[misc]
        store.compact(grace=0)
        write_run(store.directory, tiny("third"), draw=lambda: 2**25)
        write_run(store.directory, run({"only": other}, name="fourth", overlays=[numbers]), draw=lambda: 2**26)
        store.tag("first", {"green": "true", "note": "größer/=%"})
        catalog = Catalog(store.directory)
        catalog.refresh()
        manifest.save(store.directory, catalog.loose())
    shutil.rmtree(path / ".staging")


@contextmanager
def _clock() -> Iterator[None]:
    """Lets each run be committed a day after the one before."""
    days = iter(range(1000))

    class Clock:
        @staticmethod
        def now(_: object) -> datetime:
            return datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=next(days))

    real, publishing.datetime = publishing.datetime, Clock  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        publishing.datetime = real  # type: ignore[misc]


def answers(store: Store, columns: dict[str, list[str]] | None = None) -> dict[str, Any]:
    """Returns all rows of all relations, and of some questions, as JSON has them.

    Args:
        columns: Those of each relation; default: all.
    """
    found = {}
    for relation in RELATIONS if columns is None else columns:
        if relation in QUESTIONS:
            continue
        chosen = ", ".join(columns[relation]) if columns else "*"
        result = store.sql(f"SELECT {chosen} FROM {relation}")
        rows = sorted(map(_text, rows_of(result.arrow())))
        found[relation] = {"columns": result.columns, "rows": rows}
    for name, question in QUESTIONS.items():
        result = store.sql(question)
        found[name] = {"columns": result.columns, "rows": [_text(row) for row in rows_of(result.arrow())]}
    return found


def _text(row: object) -> str:
    return repr(row)


if __name__ == "__main__":
    if STORE.exists():
        raise SystemExit(f"{STORE} exists, and is never made again")
    make(STORE)
    with connect(STORE, read_only=True) as opened:
        EXPECTED.write_text(json.dumps(answers(opened), indent=1, ensure_ascii=False) + "\n", "utf-8")
