"""The line over an answer: what it says, and what leaves the table for it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from fxstore import Store, connect
from fxstore.cli import run as command
from tests.query.conftest import nid, tiny
from tests.store.records import graph, metric, overlay, run


@pytest.fixture
def two() -> Store:
    """A run with two overlays of cosine, one with two samples."""
    store = connect(":memory:")
    graphs = {"float": graph(["conv", "relu"]), "edge": graph(["conv", "relu"]), "device": graph(["conv", "relu"])}
    numbers = {"conv": (0.9, 0.8), "relu": (0.7, 0.99)}
    edge = [
        {**metric(f"edge:{name}", "cosine", value), "sample": sample}
        for name, values in numbers.items()
        for sample, value in enumerate(values)
    ]
    device = [metric("device:conv", "cosine", 0.5), metric("device:relu", "cosine", 0.6)]
    store.commit(run(graphs, name="net", overlays=[overlay("edge vs float", edge), overlay("device vs edge", device)]))
    return store


def shown(result: object) -> list[str]:
    out = io.StringIO()
    result.show(out)  # type: ignore[attr-defined]
    return out.getvalue().splitlines()


def test_it_says_run_metric_overlay_and_sample(two: Store) -> None:
    run_id = two.committed_runs()[0].run_id
    found = two.worst("cosine", overlay="edge vs float")
    assert found.caption is not None
    assert found.caption.text == (
        f"run net ({run_id}), metric cosine, overlay edge vs float, each node's worst sample. "
        "1 other overlay holds cosine; the worst is 0.5 in device vs edge."
    )
    one = two.worst("cosine", overlay="edge vs float", sample=1)
    assert one.caption is not None
    assert "overlay edge vs float, sample 1. 1 other" in one.caption.text


def test_what_every_row_shares_leaves_the_box_only(two: Store) -> None:
    found = two.worst("cosine", overlay="edge vs float")
    lines = shown(found)
    assert lines[0] == found.caption.text  # type: ignore[union-attr]
    assert " overlay " not in lines[2]
    assert " metric " not in lines[2]
    assert found.columns[0] == "nid"
    assert {"metric", "overlay", "scope", "sample"} <= set(found.columns)
    assert found.arrow()["overlay"].to_pylist() == ["edge vs float"] * 2


def test_overlays_that_differ_stand_beside_their_values_and_the_nid_last(two: Store) -> None:
    heads = [cell.strip() for cell in shown(two.worst("cosine"))[2].strip("│").split("│")]
    assert heads[heads.index("value") + 1] == "overlay"
    assert heads[-1] == "nid"


def test_a_threshold_is_said(two: Store) -> None:
    caption = two.first_bad("cosine", 0.85).caption
    assert caption is not None
    assert "metric cosine, threshold 0.85" in caption.text
    caption = two.stage_errors("cosine", 0.85, sample=0).caption
    assert caption is not None
    assert "threshold 0.85" in caption.text


def test_the_run_of_a_nid_is_said(store: Store) -> None:
    caption = store.ancestors(nid(store, "edge:relu_1")).caption
    assert caption is not None
    assert caption.text == f"run tiny ({store.committed_runs()[0].run_id})"


def test_the_run_that_answered_is_said_although_another_is_the_latest_by_now(store: Store) -> None:
    found = store.worst("cosine")
    counts = store.op_counts()
    assert len(found)
    assert len(counts)
    store.commit(tiny("later"))
    for one in (found, counts):
        assert one.caption is not None
        assert one.caption.text.startswith("run tiny (")


def test_a_statement_of_the_users_has_none(store: Store) -> None:
    assert store.sql("FROM worst('cosine')").caption is None
    assert store.sql("SELECT nid, name FROM nodes").columns == ["nid", "name"]


def test_a_limited_question_has_the_same_line(tmp_path: Path) -> None:
    with connect(tmp_path / "store") as store:
        store.commit(tiny())
        assert store.limited(timeout=60).worst("cosine").caption == store.worst("cosine").caption


def test_in_a_pipe_it_goes_to_standard_error_and_no_column_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with connect(tmp_path / "store") as store:
        store.commit(tiny())
    assert command(["worst", "cosine", "--store", str(tmp_path / "store")]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("run tiny (")
    assert said.out.startswith("nid,stage,name,value,")
    assert ",metric," in said.out.splitlines()[0]


def test_a_hostile_name_cannot_write_to_the_terminal() -> None:
    with connect(":memory:") as store:
        store.commit(tiny("a\x1b[2Jb"))
        assert "\x1b" not in shown(store.worst("cosine"))[0]
