"""Reads files of Model Explorer's and checks them together."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from fxstore.errors import FxstoreError
from fxstore.ingest.json_input import read_json
from fxstore.model_explorer.validation import kind_of, validate
from fxstore.query.result import KnownNodes, Result

_COLUMNS = ("check", "severity", "graph", "node", "message")


@dataclass
class _File:
    """A file as parsed, and the keys that stood twice in one object of it."""

    path: Path
    document: object = None
    repeated: list[str] = field(default_factory=list)

    def parse(self, text: str) -> Any:
        """Parses a text, and notes what JSON loses."""
        return json.loads(text, object_pairs_hook=self._object)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            self.repeated += [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
        return found


def checked(paths: Sequence[Path], strict: bool, ignored: Collection[str]) -> tuple[Result, int, int]:
    """Checks files; data against the graphs of the others.

    Returns:
        One row per finding (file, check, severity, graph, node, message), and the numbers of errors and of warnings.

    Raises:
        SourceError: A file cannot be read, or is no JSON.
    """
    files = [_read(path) for path in paths]
    graphs = [file.document for file in files if kind_of(file.document) == "graphs"]
    rows = [
        (str(file.path), finding)
        for file in files
        for finding in validate(file.document, strict, graphs, file.repeated)
        if finding.check not in ignored
    ]
    table = pa.table(
        {"file": _texts([path for path, _ in rows])}
        | {name: _texts([getattr(finding, name) for _, finding in rows]) for name in _COLUMNS}
    )
    errors = sum(finding.severity == "error" for _, finding in rows)
    return Result("", lambda: table, _no_nodes), errors, len(rows) - errors


def _read(path: Path) -> _File:
    file = _File(path)
    hint = "give a JSON file of Model Explorer's: graphs, node data or a sync file"
    file.document = read_json(path, hint, file.parse)
    return file


def _texts(values: Sequence[str | None]) -> pa.Array:
    """Returns texts as Arrow holds them: half a character of UTF-16 by its code."""
    given = [None if one is None else one.encode("utf-8", "backslashreplace").decode() for one in values]
    return pa.array(given, pa.string())


def _no_nodes() -> KnownNodes:
    raise FxstoreError("findings name no nodes of a store")
