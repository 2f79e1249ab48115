"""Samples are an axis: each is asked on its own, and one can be named."""

from __future__ import annotations

from typing import Any

import pytest

from fxstore import Store, connect
from fxstore.errors import QueryError
from tests.store.records import Row, chain, graph, metric, node, overlay, run

NODES = ("x", "mul", "tanh", "head")
# mul is wrong in sample 1 alone, head in samples 0 and 2, and in sample 1 it only hands on what mul did.
COSINES = {
    "mul": (1.0, 0.2, 1.0), "tanh": (1.0, 0.1, 1.0), "head": (0.5, 0.05, 0.4),
}  # fmt: skip


def rows(stage: str, values: dict[str, tuple[float | None, ...]], ref: str | None = None) -> list[Row]:
    return [
        metric(f"{stage}:{name}", "cosine", value, sample=i, **({"ref": f"{ref}:{name}"} if ref else {}))
        for name, of in values.items()
        for i, value in enumerate(of)
        if value is not None
    ]


def named(names: dict[int, str]) -> list[Row]:
    return [metric("", "sample_name", None, sample=i, text=name, status="ok") for i, name in names.items()]


def made() -> Any:
    return graph([node("x", "placeholder"), "mul", "tanh", "head"], chain(*NODES))


@pytest.fixture
def store() -> Any:
    with connect(":memory:") as opened:
        said = [*rows("edge", COSINES), *named({0: "short", 1: "long step 0", 2: "long step 1"})]
        opened.commit(run({"edge": made()}, overlays=[overlay("acc", said)]))
        yield opened


def answer(store: Store, query: str) -> list[tuple[Any, ...]]:
    return store.sql(query).fetchall()


def test_a_start_of_any_sample_is_one(store: Store) -> None:
    found = answer(store, "SELECT name, value, sample, sample_name, samples FROM first_bad('cosine', 0.9)")
    assert found == [("mul", 0.2, 1, "long step 0", [1]), ("head", 0.4, 2, "long step 1", [0, 2])]


@pytest.mark.parametrize(
    ("sample", "starts", "worst"),
    [
        ("0", ["head"], ("head", 0.5, 0)),
        ("1", ["mul"], ("head", 0.05, 1)),
        ("'long step 1'", ["head"], ("head", 0.4, 2)),
    ],
)
def test_one_sample_by_number_or_name(store: Store, sample: str, starts: list[str], worst: tuple[Any, ...]) -> None:
    found = answer(store, f"SELECT name FROM first_bad('cosine', 0.9, sample := {sample})")
    assert [name for (name,) in found] == starts
    assert answer(store, f"SELECT name, value, sample FROM worst('cosine', n := 1, sample := {sample})") == [worst]
    errors = answer(store, f"SELECT name, sample FROM stage_errors('cosine', 0.9, sample := {sample})")
    assert errors == [(starts[0], worst[2])]


def test_a_sample_that_is_not_there_is_told(store: Store) -> None:
    for ask in (
        lambda: store.worst("cosine", sample="long stp 1"),
        lambda: store.first_bad("cosine", 0.9, sample="long stp 1"),
        lambda: store.stage_errors("cosine", 0.9, sample="long stp 1"),
        lambda: store.metric_diff("tiny", "tiny", "cosine", sample="long stp 1"),
    ):
        with pytest.raises(QueryError, match="run 'tiny' has no sample 'long stp 1'") as error:
            ask()
        assert error.value.hint == "did you mean 'long step 1', 'long step 0'?"


def test_the_names_are_a_relation_and_no_metric(store: Store) -> None:
    assert answer(store, "SELECT sample, name FROM samples ORDER BY sample") == [
        (0, "short"), (1, "long step 0"), (2, "long step 1"),
    ]  # fmt: skip
    assert answer(store, "SELECT DISTINCT metric FROM metrics") == [("cosine",)]
    with pytest.raises(QueryError, match="has no metric 'sample_name'"):
        store.worst("sample_name")


def test_overlays_are_asked_one_by_one() -> None:
    """A node that is good in one overlay does not shield, or damage, the same node in another."""
    a = overlay("a", rows("edge", {"mul": (0.1,), "tanh": (0.1,)}))
    b = overlay("b", rows("edge", {"mul": (1.0,), "tanh": (0.2,)}))
    with connect(":memory:") as opened:
        opened.commit(run({"edge": made()}, overlays=[a, b]))
        assert answer(opened, "SELECT name, overlay FROM first_bad('cosine', 0.9)") == [("mul", "a"), ("tanh", "b")]


def test_a_stage_introduces_what_no_stage_before_it_has_in_the_same_sample() -> None:
    """Edge is bad in sample 0, lowered in 0 and 1: the error of sample 1 is its own."""
    graphs = {stage: made() for stage in ("float", "edge", "lowered")}
    edge = rows("edge", {"mul": (0.5, 1.0), "tanh": (0.5, 1.0)}, "float")
    lowered = rows("lowered", {"mul": (0.5, 1.0), "tanh": (0.5, 0.6)}, "float")
    with connect(":memory:") as opened:
        opened.commit(run(graphs, overlays=[overlay("e", edge), overlay("l", lowered)]))
        found = answer(opened, "SELECT stage, introduced, name, sample, bad FROM stage_errors('cosine', 0.9)")
        assert found == [("edge", True, "mul", 0, 2), ("lowered", True, "tanh", 1, 2)]
        only = rows("lowered", {"mul": (0.5, 1.0), "tanh": (0.5, 1.0)}, "float")
        opened.commit(run(graphs, overlays=[overlay("e", edge), overlay("l", only)]))
        found = answer(opened, "SELECT stage, introduced, name, sample FROM stage_errors('cosine', 0.9)")
        assert found == [("edge", True, "mul", 0), ("lowered", False, "mul", 0)]


def test_where_a_stage_was_not_measured_on_the_sample_any_of_its_samples_counts() -> None:
    graphs = {stage: made() for stage in ("float", "edge", "lowered")}
    edge = [metric("edge:mul", "cosine", 0.5, ref="float:mul")]
    lowered = rows("lowered", {"mul": (0.5, 0.5)}, "float")
    with connect(":memory:") as opened:
        opened.commit(run(graphs, overlays=[overlay("e", edge), overlay("l", lowered)]))
        found = answer(opened, "SELECT stage, introduced, sample FROM stage_errors('cosine', 0.9)")
        assert found == [("edge", True, None), ("lowered", False, 0)]
