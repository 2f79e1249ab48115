"""What a backend dumps of the inside of its delegates lies on the nodes that it is of, and is compared there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fxstore

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")
from tests.ingest.dumping import Logs, Three, lowered, lowered_codes, values_of  # noqa: E402

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
    assert note.startswith("runtime values: 4 values lie on no node: id 900")


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


@pytest.fixture(scope="module", params=[True, False], ids=["at once", "in two steps"])
def codes(request: pytest.FixtureRequest) -> Logs:
    torch.manual_seed(2)
    return lowered_codes(Three(), (torch.randn(1, 3, 8, 8),), at_once=request.param)


@pytest.mark.parametrize("place", ["relu", "quantize", "convolution"])
def test_codes_are_read_with_the_scale_of_their_node(
    store: fxstore.Store, codes: Logs, tmp_path: Path, place: str
) -> None:
    logs = replace(codes, data=bytearray(), inner={})
    at, relu, handle = logs.node("relu")
    (quantize,) = (
        user for _, graph in logs.delegates() for node in graph.nodes if node.name == relu for user in node.users
    )
    scale, zero = quantize.args[1:3]
    logged = np.clip(np.round(logs.right["relu"] / scale) + zero, -128, 127).astype(np.int8)
    name = {"relu": relu, "quantize": quantize.name, "convolution": logs.node("convolution")[1]}[place]
    logs.log(at, {"relu": handle, "quantize": quantize.name}.get(place, name), logged)
    found = inside(store, ingest(store, logs, tmp_path))
    read_back = {user.name for user in quantize.users}
    if place == "relu":
        assert [found[key][0] for key in read_back] == [pytest.approx(1.0, abs=1e-3)]
        value, status, reason = found[name]
        assert (value, status) == (pytest.approx(1.0, abs=1e-3), "ok")
        assert f"dequantised by scale {scale:g}, zero point {zero:g}" in reason
    elif place == "quantize":  # the number is that of the node that reads the codes
        assert [found[key][0] for key in read_back] == [pytest.approx(1.0, abs=1e-3)]
    else:
        value, status, reason = found[name]
        assert (value, status) == (None, "not_measured")
        assert reason.startswith("dtype int8 vs float32, no scale")


@pytest.mark.parametrize("keys", ["number", "name", "text"])
def test_a_backends_map_of_identifiers(store: fxstore.Store, three: Logs, tmp_path: Path, keys: str) -> None:
    """An identifier may stand for several nodes: the last one has the value. One that the map lacks is no handle."""
    from fxstore.ingest import adapters
    from fxstore.records import Delegate

    (at, convolution, first), (_, relu, second) = three.node("convolution"), three.node("relu")
    identifier: int | str = {"number": 40, "name": "conv+relu:NHWC", "text": "40"}[keys]
    found = adapters.read(three.program)
    (stage,) = found.stages
    handles = {40 if keys == "text" else identifier: (first, second)}
    mapped = {**stage.delegates["forward"], at: Delegate("Mapped", handles)}
    stage = replace(stage, delegates={"forward": mapped})
    three.log(at, identifier, three.right["relu"])
    three.log(at, first, three.right["conv2d"])
    three.stages = {"float": three.stages["float"], "runtime": adapters.Ingested((stage,))}
    run = ingest(store, three, tmp_path)
    told = inside(store, run)
    assert told[relu][0] == pytest.approx(1.0)
    lost = store.sql(LOST).fetchall()
    if keys == "name":  # numbers are no identifiers of this map: they are handles
        assert told[convolution][0] == pytest.approx(1.0)
        assert lost == []
    else:
        assert told[convolution][0] is None
        assert [row[2] for row in lost] == ["the delegate's map of handles does not have it"]


def test_vulkans_map_has_numbers_of_its_own(store: fxstore.Store, tmp_path: Path) -> None:
    """What stands for handles in it counts the nodes of another graph: a value by it would lie on a wrong node."""
    vulkan = pytest.importorskip("executorch.backends.vulkan.partitioner.vulkan_partitioner")
    logs = lowered(Three(), (torch.randn(1, 3, 8, 8),), partitioner=vulkan.VulkanPartitioner())
    delegated = logs.program.delegate_map["forward"]
    assert {one["name"] for one in delegated.values()} == {"VulkanBackend"}
    for at, one in delegated.items():
        for identifier in one["delegate_map"]:
            logs.log(at, identifier, np.ones((1, 4), np.float32))
    run = ingest(store, logs, tmp_path)
    assert not any(value is not None for value, _, _ in inside(store, run).values())
    reasons = [row[2] for row in store.sql(LOST).fetchall()]
    assert len(reasons) >= 4
    assert set(reasons) == {"the map of VulkanBackend numbers the nodes of its own graph"}


class Ports(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        y, mean, rstd = torch.native_layer_norm(x, (4,), None, None, 1e-5)
        values, positions = torch.topk(y, 2)
        return values * 2, positions, mean, rstd


def test_several_outputs_of_one_operator() -> None:
    """One value per output in order; a lone value is that of the one output that has its shape."""
    from fxstore.ingest.executorch.handle_values import HandleNodes, Offered
    from fxstore.ingest.executorch.handle_values import Place as At
    from fxstore.ingest.export.capture import capture_program

    x = torch.randn(3, 4)
    program = torch.export.export(Ports(), (x,))
    (graph,) = capture_program(program)
    names = graph.nodes["name"].to_pylist()
    nodes = HandleNodes([(graph, None)])
    norm, topk = names.index("native_layer_norm"), names.index("topk")
    small, wide = np.zeros((3, 1), np.float32), np.zeros((3, 4), np.float32)
    pair = np.zeros((3, 2), np.float32)
    assert set(nodes.lay({At(0, norm): [Offered("a", [wide])]}).values) == {("", "native_layer_norm", 0)}
    assert len(nodes.lay({At(0, norm): [Offered("a", [wide, small, small])]}).values) == 3
    several = nodes.lay({At(0, norm): [Offered("a", [small])], At(0, topk): [Offered("b", [pair])]})
    assert several.values == {}
    assert set(several.unplaced) == {"a", "b"}
    assert "their shapes do not tell of which" in several.unplaced["b"]
    assert nodes.by_name("output_topk@1") == At(0, topk, 1)
    assert nodes.by_name("topk_0") == At(0, topk, 0)
    assert nodes.by_name("topk_7") == "no node has this name"
    assert nodes.lay({At(0, topk, 7): [Offered("a", [pair])]}).unplaced == {"a": "the node has no output 7"}
