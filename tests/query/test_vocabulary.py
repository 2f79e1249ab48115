"""Words are defined once: what a store holds and what SQL compares with are words of the vocabulary."""

from __future__ import annotations

import doctest
import re
from importlib import resources

import pytest

from fxstore import Store, connect, schema, vocabulary
from fxstore.vocabulary import (
    Aggregation,
    Change,
    Evidence,
    MetricStatus,
    OverlayKind,
    Role,
    Scope,
    StageKind,
    Status,
    Word,
)
from tests.conftest import Demo

# Which words each column holds; a role and a kind of overlay may also be a package's own.
COLUMNS: dict[str, type[Word]] = {
    "links.evidence": Evidence, "value_pairs.evidence": Evidence, "runs.status": Status, "stages.status": Status,
    "stages.kind": StageKind, "nodes.role": Role, "node_roles.role": Role, "metrics.status": MetricStatus,
    "metrics.scope": Scope, "metrics.aggregation": Aggregation, "overlays.kind": OverlayKind,
}  # fmt: skip
LITERALS: dict[str, type[Word]] = {
    "evidence": Evidence,
    "role": Role,
    "scope": Scope,
    "change": Change,
    "kind": OverlayKind,
    "aggregation": Aggregation,
}


@pytest.mark.parametrize("column", COLUMNS)
def test_a_store_holds_words_of_the_vocabulary(store: Store, column: str) -> None:
    relation, name = column.split(".")
    held = {
        word for (word,) in store.sql(f"SELECT DISTINCT {name} FROM {relation} WHERE {name} IS NOT NULL").fetchall()
    }
    assert held <= set(COLUMNS[column])


def test_a_real_compile_holds_words_of_the_vocabulary(demo: Demo) -> None:
    with connect(demo.folder / "work" / "fxstore-runs", read_only=True) as real:
        for column, words in COLUMNS.items():
            relation, name = column.split(".")
            held = {word for (word,) in real.sql(f"SELECT DISTINCT {name} FROM {relation}").fetchall()} - {None}
            assert held, column
            assert held <= set(words), column


@pytest.mark.parametrize("column", LITERALS)
def test_sql_compares_with_words_of_the_vocabulary(column: str) -> None:
    root = resources.files("fxstore.query") / "sql"
    texts = [
        file.read_text("utf-8") for kind in root.iterdir() for file in kind.iterdir() if file.name.endswith(".sql")
    ]
    compared = re.compile(rf"\b\w+\.{column}\s*(?:=|<>)\s*'(\w+)'")
    found = {word for text in texts for word in compared.findall(text)}
    assert found <= set(LITERALS[column])


def test_evidence_is_ordered_by_strength(store: Store) -> None:
    assert [word for word in Evidence if word.inferred] == list(Evidence)[-2:]
    assert schema.RELATIONS["links"]["inferred"].comment.endswith("structure and name.")


def test_the_examples_run() -> None:
    assert doctest.testmod(vocabulary).failed == 0
    assert doctest.testmod(schema).failed == 0
