"""What a backend dumps of the inside of its delegates lies on the nodes that it is of, and is compared there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fxstore

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")
from tests.ingest.dumping import Logs, Three, lowered, values_of  # noqa: E402

INSIDE = """SELECT n.name, n.path, m.metric, m.port, m.value, m.status, m.reason FROM metrics m JOIN nodes n USING (nid)
JOIN overlays o USING (overlay_id) WHERE o.kind = 'accuracy' AND n.path <> '' AND o.run_id = '{}' ORDER BY ALL"""
LOST = "SELECT text, status, reason FROM metrics WHERE metric = 'value_unplaced' ORDER BY text"


@pytest.fixture
def store() -> Iterable[fxstore.Store]:
    with fxstore.connect(":memory:") as opened:
        yield opened


@pytest.fixture(scope="module", params=[True, False], ids=["at once", "in two steps"])
def _three(request: pytest.FixtureRequest) -> Logs:
    torch.manual_seed(1)
    found = lowered(Three(), (torch.randn(1, 3, 8, 8),), at_once=request.param)
    found.right = values_of(found.stages["float"], found.inputs)
    return found


@pytest.fixture
def three(_three: Logs) -> Logs:
    """A model whose dump is still empty."""
    return Logs(_three.program, _three.stages, _three.inputs, _three.right)


def ingest(store: fxstore.Store, logs: Logs, folder: Path, **options: Any) -> Any:
    return store.ingest(logs.stages, inputs=[logs.inputs], **logs.write(folder), **options)


def inside(store: fxstore.Store, run: Any, metric: str = "cosine") -> dict[str, tuple[Any, ...]]:
    """Value, status and reason of each node inside a delegate, by name."""
    rows = store.sql(INSIDE.format(run.run_id)).fetchall()
    return {row[0]: row[4:] for row in rows if row[2] == metric}


@pytest.mark.parametrize("by_name", [False, True])
def test_each_value_lies_on_its_node_and_the_wrong_one_is_found(
    store: fxstore.Store, three: Logs, tmp_path: Path, by_name: bool
) -> None:
    names = {"convolution": "conv2d", "relu": "relu", "tanh": "tanh"}
    for words, name in names.items():
        at, node, handle = three.node(words)
        array = three.right[name]
        three.log(at, node if by_name else handle, array * 0.5 + 3 if words == "tanh" else array)
    run = ingest(store, three, tmp_path)
    assert (run.status, run.notes) == ("complete", ())
    found = inside(store, run)
    convolution, relu, tanh = (found[three.node(words)[1]] for words in names)
    assert convolution[0] == pytest.approx(1.0)
    assert relu[0] == pytest.approx(1.0)
    assert tanh[0] < 0.99
    called = f"name {three.node('tanh')[1]}" if by_name else f"id {three.node('tanh')[2]}"
    assert tanh[2] == f"by {called} of instruction {three.node('tanh')[0]}"
    assert [row[0] for row in store.sql("SELECT name FROM first_bad('cosine', 0.99)").fetchall()] == [
        three.node("tanh")[1]
    ]
    (untold,) = (reason for name, (value, _, reason) in found.items() if "softmax" in name and value is None)
    assert "measured at its outputs" in untold


def test_a_value_of_several_nodes_is_the_last_ones(store: fxstore.Store, three: Logs, tmp_path: Path) -> None:
    """A linear is a permute and an addmm where it is decomposed: both have its handle."""
    (at, graph) = next(
        (at, g) for at, g in three.delegates() if any(k in str(n) for n in g.nodes for k in ("addmm", "linear"))
    )
    last = [node for node in graph.nodes if node.op == "call_function"][-1]
    three.log(at, last.meta["debug_handle"], three.right["linear"])
    run = ingest(store, three, tmp_path)
    assert inside(store, run)[last.name][0] == pytest.approx(1.0)
    assert not run.notes


def test_what_fits_no_node_is_counted_with_its_reason(store: fxstore.Store, three: Logs, tmp_path: Path) -> None:
    at, _, handle = three.node("convolution")
    three.log(at, 900, np.zeros(3, np.float32))
    three.log(at, "nobody", np.zeros(3, np.float32))
    three.log(three.node("tanh")[0], handle, np.zeros(3, np.float32))  # the handle of another delegate
    three.log(at, handle, np.zeros(3, np.float32), np.zeros(3, np.float32))
    run = ingest(store, three, tmp_path)
    last = three.node("tanh")[0]
    assert store.sql(LOST).fetchall() == sorted(
        [
            (f"id 900 of instruction {at}", "not_measured", "no node has handle 900"),
            (f"id {handle} of instruction {at}", "not_measured", "2 values of a node with 1 outputs"),
            (f"id {handle} of instruction {last}", "not_measured", f"no node has handle {handle}"),
            (f"name nobody of instruction {at}", "not_measured", "no node has this name"),
        ]
    )
    (note,) = run.notes
    assert note.startswith("runtime values: 4 values that delegates logged lie on no node: id 900")


def test_two_values_of_one_handle(store: fxstore.Store, three: Logs, tmp_path: Path) -> None:
    at, name, handle = three.node("tanh")
    right = three.right["tanh"]
    three.log(at, handle, right)
    three.log(at, handle, right)
    assert inside(store, ingest(store, three, tmp_path))[name][0] == pytest.approx(1.0)
    three.log(at, handle, right + 1)
    value, status, reason = inside(store, ingest(store, three, tmp_path))[name]
    assert (value, status) == (None, "not_measured")
    assert reason == f"3 different values are told of it: by id {handle} of instruction {at}"


def test_nan_is_not_replaced(store: fxstore.Store, three: Logs, tmp_path: Path) -> None:
    at, name, handle = three.node("tanh")
    broken = three.right["tanh"].copy()
    broken[0, 1] = np.nan
    three.log(at, handle, broken)
    run = ingest(store, three, tmp_path)
    value, status, _ = inside(store, run)[name]
    assert np.isnan(value)
    assert status == "non_finite"
    assert store.sql("SELECT name FROM worst('cosine', n := 1)").fetchall() == [(name,)]


@pytest.mark.parametrize("dense", [True, False])
def test_channels_last_is_compared_in_the_nodes_order(
    store: fxstore.Store, three: Logs, tmp_path: Path, dense: bool
) -> None:
    at, name, handle = three.node("convolution")
    right = three.right["conv2d"]
    last = np.ascontiguousarray(right.transpose(0, 2, 3, 1))
    three.log(at, handle, last if dense else last.transpose(0, 3, 1, 2))
    value, status, reason = inside(store, ingest(store, three, tmp_path))[name]
    assert (value, status) == (pytest.approx(1.0), "ok")
    assert ("axes permuted by (0,3,1,2)" in reason) is dense


def test_a_shape_that_does_not_fit_says_so(store: fxstore.Store, three: Logs, tmp_path: Path) -> None:
    at, name, handle = three.node("convolution")
    three.log(at, handle, three.right["conv2d"].reshape(1, 36, 8))
    value, status, reason = inside(store, ingest(store, three, tmp_path))[name]
    assert (value, status) == (None, "not_measured")
    assert reason.startswith("shape (1,8,6,6) vs (1,36,8)")


def test_a_live_inspector_gives_the_same_as_its_files(store: fxstore.Store, three: Logs, tmp_path: Path) -> None:
    import warnings

    from executorch.devtools import Inspector

    for words, name in (("convolution", "conv2d"), ("tanh", "tanh")):
        at, _, handle = three.node(words)
        three.log(at, handle, three.right[name] + 0.25)
        three.log(at, 900, three.right[name])
    by_name = three.node("relu")
    three.log(by_name[0], by_name[1], three.right["relu"])
    files = ingest(store, three, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths = {"etdump_path": str(tmp_path / "net.etdp"), "debug_buffer_path": str(tmp_path / "net.bin")}
        seen = Inspector(**paths)
        with_record = Inspector(**paths, etrecord=three.program.get_etrecord())
    live = store.ingest({**three.stages, "run": seen}, inputs=[three.inputs])
    assert inside(store, live) == inside(store, files)
    assert live.notes == files.notes
    assert sum(value is not None for value, _, _ in inside(store, live).values()) >= 3
    record = store.ingest(with_record, inputs=[three.inputs])
    found = store.sql(
        f"""SELECT n.op_type, m.value FROM metrics m JOIN nodes n USING (nid) JOIN overlays o USING (overlay_id)
        WHERE o.run_id = '{record.run_id}' AND o.kind = 'accuracy' AND m.metric = 'max_abs' AND m.value IS NOT NULL
        AND n.op_type IN ('convolution', 'tanh', 'relu') ORDER BY ALL"""
    ).fetchall()
    assert [row[0] for row in found] == ["convolution", "relu", "tanh"]
    assert [row[1] for row in found] == pytest.approx([0.25, 0.0, 0.25], abs=1e-6)
