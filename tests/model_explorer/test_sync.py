"""Two stages beside each other: what corresponds, in sets that share no node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fxstore import Store, connect
from fxstore.errors import QueryError, UsageError
from fxstore.model_explorer import validate
from fxstore.model_explorer.overlays import synced
from tests.conftest import Demo
from tests.model_explorer.judge import Judge
from tests.query.conftest import tiny
from tests.store.records import chain, graph, metric, overlay, run

PAIRS = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=15)


@given(PAIRS)
def test_sets_are_disjoint_hold_every_pair_and_no_two_that_nothing_joins(pairs: list[tuple[str, str]]) -> None:
    found = synced(pairs)
    for side in (0, 1):
        nodes = [node for entry in found.entries for node in entry[side]]
        assert len(nodes) == len(set(nodes))
        assert set(nodes) == {pair[side] for pair in pairs}
    for left, right in pairs:
        assert any(left in entry[0] and right in entry[1] for entry in found.entries)
    for entry in found.entries:
        reached = {("left", entry[0][0])}
        for _ in pairs:
            for left, right in pairs:
                if ("left", left) in reached or ("right", right) in reached:
                    reached |= {("left", left), ("right", right)}
        assert reached == {("left", node) for node in entry[0]} | {("right", node) for node in entry[1]}
    held = sum(len(left) * len(right) for left, right in found.entries)
    assert found.pairs == len(set(pairs))
    assert found.merged == held - found.pairs


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text("utf-8"))


def compared(store: Store, folder: Path, *sides: tuple[str | None, str], **options: Any) -> Path:
    return store.export("model-explorer", folder / "compared", compare_with=sides, **options)


def test_two_stages_of_a_run_are_synced_by_their_sync_sets(app: Judge, tmp_path: Path) -> None:
    with connect(":memory:") as store:
        store.commit(tiny())
        folder = compared(store, tmp_path, (None, "float"), (None, "edge"))
    assert read(folder, "sync.json") == {
        "type": "sync_navigation",
        "mappingEntries": [
            {"leftNodeIds": ["conv2d|1"], "rightNodeIds": ["c/convolution|1"]},
            {"leftNodeIds": ["relu|1"], "rightNodeIds": ["relu|1"]},
        ],
        "disableMappingFallback": True,
        "showDiffHighlights": True,
    }
    assert [app.losses(read(folder, f"{side}.json")) for side in ("left", "right")] == [[], []]
    row = read(folder, "right.json")["graphs"][0]["groupNodeAttributes"][""]
    assert row["sync"] == "2 pairs in 2 sets"
    (entry,) = read(folder, "manifest.json")["node_data"]
    assert (entry["side"], entry["metric"]) == ("right", "cosine")


def test_sets_that_overlap_become_one_and_the_pairs_that_this_adds_are_counted(tmp_path: Path) -> None:
    record = run(
        {"a": graph(["x", "y"], chain("x", "y")), "b": graph(["p", "q"], chain("p", "q"))},
        sync=[["a:x*", "b:p*", "b:q*"], ["a:y*", "b:q*!"]],
    )
    with connect(":memory:") as store:
        store.commit(record)
        folder = compared(store, tmp_path, (None, "a"), (None, "b"))
    assert read(folder, "sync.json")["mappingEntries"] == [
        {"leftNodeIds": ["x|1", "y|1"], "rightNodeIds": ["p|1", "q|1"]}
    ]
    assert read(folder, "manifest.json")["sync"][0]["merged_pairs"] == 1
    row = read(folder, "left.json")["graphs"][0]["groupNodeAttributes"][""]
    assert row["sync"] == "3 pairs in 1 sets; 1 more pairs by merging sets that overlap"


def test_two_runs_of_a_stage_show_how_a_metric_has_changed(tmp_path: Path) -> None:
    def night(name: str, value: float) -> Any:
        accuracy = overlay("acc", [metric("s:b", "cosine", value)])
        return run({"s": graph(["a", "b"], chain("a", "b"))}, name=name, overlays=[accuracy])

    with connect(":memory:") as store:
        store.commit(night("base", 0.75))
        store.commit(night("head", 0.5))
        folder = compared(store, tmp_path, ("base", "s"), ("head", "s"), metric="cosine")
    data = {
        (one["side"], one["overlay"]): read(folder, one["file"])["s"]["results"]["b|1"]["value"]
        for one in read(folder, "manifest.json")["node_data"]
    }
    assert data == {
        ("left", "acc"): 0.75, ("right", "acc"): 0.5,
        ("left", "right less left"): -0.25, ("right", "right less left"): -0.25,
    }  # fmt: skip
    assert [entry["leftNodeIds"] for entry in read(folder, "sync.json")["mappingEntries"]] == [["a|1"], ["b|1"]]


def test_a_public_comparison_holds_no_value(tmp_path: Path) -> None:
    with connect(":memory:") as store:
        store.commit(tiny())
        folder = compared(store, tmp_path, (None, "float"), (None, "edge"), privacy="public")
        with pytest.raises(QueryError, match="metric 'cosine'"):
            store.export("model-explorer", tmp_path / "no", compare_with=((None, "float"), (None, "edge")),
                         privacy="public", metric="cosine")  # fmt: skip
    assert read(folder, "manifest.json")["node_data"] == []
    texts = "".join(file.read_text("utf-8") for file in folder.iterdir())
    assert not any(hidden in texts for hidden in ("cosine", "m.py", "soc", "0.9"))


def test_what_cannot_be_compared_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    with connect(":memory:") as store:
        store.commit(run({"a": graph(["x"]), "b": graph(["y"])}))
        with pytest.raises(UsageError, match="the same stage"):
            compared(store, tmp_path, (None, "a"), ("tiny", "a"))
        with pytest.raises(QueryError, match="no stage 'c'"):
            compared(store, tmp_path, (None, "a"), (None, "c"))
        with pytest.raises(QueryError, match="no node of 'a' is known"):
            compared(store, tmp_path, (None, "a"), (None, "b"))
        store.commit(tiny())
        with pytest.raises(QueryError, match="metric 'speed'"):
            compared(store, tmp_path, (None, "float"), (None, "edge"), metric="speed")
    assert list(tmp_path.iterdir()) == []


def test_the_stages_of_a_real_compile_are_synced(app: Judge, demo: Demo, tmp_path: Path) -> None:
    with connect(demo.folder / "work" / "fxstore-runs", read_only=True) as store:
        folder = compared(store, tmp_path, (None, "quantized"), (None, "edge"))
    written = [path.name for path in folder.glob("*.json") if path.name != "manifest.json"]
    assert {name: validate(read(folder, name), strict=True) for name in written} == {name: [] for name in written}
    sync = read(folder, "sync.json")["mappingEntries"]
    ids = [{node["id"] for node in read(folder, f"{side}.json")["graphs"][0]["nodes"]} for side in ("left", "right")]
    assert len(sync) > 60
    assert {node for entry in sync for node in entry["leftNodeIds"]} <= ids[0]
    assert {node for entry in sync for node in entry["rightNodeIds"]} <= ids[1]
    assert [app.losses(read(folder, f"{side}.json")) for side in ("left", "right")] == [[], []]
