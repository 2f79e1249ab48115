"""Values that a user brings by debug handle: placed, compared, and counted where they fit nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fxstore
from fxstore.errors import UsageError

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")
from tests.ingest.dumping import Logs, Three, lowered, values_of  # noqa: E402

FOUND = """SELECT n.stage, n.op_type, m.value, m.reason, m.sample FROM metrics m JOIN nodes n USING (nid)
JOIN overlays o USING (overlay_id) WHERE o.kind = 'accuracy' AND m.metric = 'max_abs' AND m.value IS NOT NULL
ORDER BY ALL"""
LOST = "SELECT text, reason FROM metrics WHERE metric = 'value_unplaced' ORDER BY text"


@pytest.fixture
def store() -> Iterable[fxstore.Store]:
    with fxstore.connect(":memory:") as opened:
        yield opened


@pytest.fixture(scope="module", params=[True, False], ids=["at once", "in two steps"])
def three(request: pytest.FixtureRequest) -> Logs:
    torch.manual_seed(1)
    found = lowered(Three(), (torch.randn(1, 3, 8, 8),), at_once=request.param)
    found.right = values_of(found.stages["float"], found.inputs)
    return found


def test_by_handle_and_by_delegate(store: fxstore.Store, three: Logs) -> None:
    (_, _, convolution), (last, _, by_tanh), (_, _, relu) = map(three.node, ("convolution", "tanh", "relu"))
    values = {
        convolution: torch.from_numpy(three.right["conv2d"]) + 0.5,
        (relu,): torch.from_numpy(three.right["relu"]),
        ("lowered_module_2", by_tanh): torch.from_numpy(three.right["tanh"]) + 0.25,
        ("lowered_module_0", by_tanh): torch.zeros(3),
        ("lowered_module_9", 1): torch.zeros(3),
        4000: torch.zeros(3),
        "nobody": torch.zeros(3),
    }
    run = store.ingest(three.stages, values=values, inputs=[three.inputs])
    found = {row[1]: row[2] for row in store.sql(FOUND).fetchall() if row[0] == "runtime"}
    assert found == {
        "convolution": pytest.approx(0.5, abs=1e-5),
        "relu": pytest.approx(0.0, abs=1e-6),
        "tanh": pytest.approx(0.25, abs=1e-5),
    }
    assert dict(store.sql(LOST).fetchall()) == {
        f"handle {by_tanh} of lowered_module_0": f"no node has handle {by_tanh}",
        "handle 1 of lowered_module_9": "there is no such delegate",
        "handle 4000": "no node has handle 4000",
        "name nobody": "no node has this name",
    }
    (note,) = run.notes
    assert note.startswith("values of runtime: 4 values lie on no node: ")
    assert run.status == "complete"
    same = {(last, by_tanh): three.right["tanh"], ("executorch_call_delegate", convolution): three.right["conv2d"]}
    again = store.ingest(three.stages, values=same, inputs=[three.inputs])
    assert again.notes == ()


def test_as_the_capturer_gives_them(store: fxstore.Store, three: Logs) -> None:
    """ExecuTorch's capturer runs the edge program: its values are those of the edge stage, all of them right."""
    from executorch.devtools.inspector._intermediate_output_capturer import IntermediateOutputCapturer

    edge = three.program.get_etrecord().edge_dialect_program
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        captured = IntermediateOutputCapturer(edge.module()).run_and_capture(*three.inputs)
    assert len(captured) >= 6
    with store.record("captured") as rec:
        rec.stage("float", three.stages["float"])
        rec.stage("edge", edge)
        rec.stage("runtime", three.program)
        rec.values(captured, three.inputs, stage="edge", reference="float")
        rec.values({key: value + 1 for key, value in captured.items()}, three.inputs, reference="float")
    rows = store.sql(FOUND).fetchall()
    edge_rows = [row[2] for row in rows if row[0] == "edge"]
    assert len(edge_rows) >= 6
    assert edge_rows == pytest.approx([0.0] * len(edge_rows), abs=1e-6)
    device = [row for row in rows if row[0] == "runtime"]
    assert {row[1] for row in device} >= {"convolution", "relu", "tanh", "cumsum", "mean"}
    assert [row[2] for row in device] == pytest.approx([1.0] * len(device), abs=1e-5)
    assert store.sql(LOST).fetchall() == []
    assert rec.run is not None
    assert rec.run.notes == ()


def test_samples_steps_and_measure(store: fxstore.Store, three: Logs) -> None:
    _, _, handle = three.node("tanh")
    more = (torch.randn(1, 3, 8, 8),)
    values = [{handle: three.right["tanh"]}, {handle: values_of(three.stages["float"], more)["tanh"] + 2}]
    with store.record("two") as rec:
        for name, stage in three.stages.items():
            rec.stage(name, stage)
        rec.measure([three.inputs, more], values=values)
        with pytest.raises(UsageError, match="values of 2 inputs are given, and 1 inputs"):
            rec.measure(three.inputs, values=values)
    found = [(row[4], row[2]) for row in store.sql(FOUND).fetchall() if row[1] == "tanh"]
    assert found == [(0, pytest.approx(0.0, abs=1e-6)), (1, pytest.approx(2.0, abs=1e-5))]


def test_without_inputs_there_are_statistics(store: fxstore.Store, three: Logs) -> None:
    _, name, handle = three.node("tanh")
    store.ingest(three.stages, values={"forward": {handle: three.right["tanh"]}})
    rows = store.sql(
        "SELECT n.name, m.value, o.source FROM metrics m JOIN nodes n USING (nid) JOIN overlays o USING (overlay_id) "
        "WHERE m.metric = 'mean' AND o.name = 'runtime given'"
    ).fetchall()
    assert rows == [
        (
            name,
            pytest.approx(float(three.right["tanh"].mean())),
            "given by handle; compared with nothing: no inputs were given",
        )
    ]


def test_what_is_no_value_is_refused(store: fxstore.Store, three: Logs) -> None:
    for bad, word in (({1.5: torch.zeros(1)}, "names no value"), ([1], "a dict")):
        with pytest.raises(UsageError, match=word):
            store.ingest(three.stages, values=bad)
    with pytest.raises(UsageError, match="has no debug handles"):
        store.ingest({"float": three.stages["float"]}, values={1: torch.zeros(1)})
    for reference, word in (("flaot", "is not in this run"), ("runtime", "cannot be run for values of runtime")):
        with pytest.raises(UsageError, match=word):
            store.ingest(three.stages, values={1: torch.zeros(1)}, inputs=three.inputs, reference=reference)
    with pytest.raises(UsageError, match="'runtimes' is not in this run"):
        store.ingest(three.stages, values={1: torch.zeros(1)}, values_stage="runtimes")


def test_on_the_command_line(three: Logs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fxstore.cli import run

    handle = three.node("tanh")[2]
    (tmp_path / "net.pte").write_bytes(three.program.buffer)
    np.savez(tmp_path / "values.npz", **{str(handle): three.right["tanh"], "4000": np.zeros(2, np.float32)})
    torch.save({(handle,): torch.from_numpy(three.right["tanh"])}, tmp_path / "values.pt")
    record = three.program.get_etrecord()
    record.save(str(tmp_path / "net.etrecord"))
    base = ["ingest", str(tmp_path / "net.etrecord"), "--store", str(tmp_path / "store")]
    for name, lost in (("values.npz", "1 values lie on no node: handle 4000"), ("values.pt", "")):
        assert run([*base, "--values", str(tmp_path / name)]) == 0
        told = capsys.readouterr().err
        assert lost in told
        assert ("lie on no node" in told) is bool(lost)


class Two(torch.nn.Module):
    def __init__(self, other: bool) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.linear, self.other = torch.nn.Linear(4, 4), other

    def forward(self, x: Any) -> Any:
        return torch.relu(torch.tanh(self.linear(x))) if self.other else torch.sigmoid(self.linear(x))


def test_each_method_has_handles_of_its_own(store: fxstore.Store) -> None:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import to_edge_transform_and_lower

        x, y = (torch.randn(2, 4),), (torch.randn(3, 4),)
        programs = {
            "first": torch.export.export(Two(False).eval(), x), "second": torch.export.export(Two(True).eval(), y)
        }  # fmt: skip
        program = to_edge_transform_and_lower(programs, partitioner=[XnnpackPartitioner()]).to_executorch()
    stages = {"float": programs, "runtime": program}
    right = {"first": values_of(programs["first"], x), "second": values_of(programs["second"], y)}
    handles = {}
    for method, name in (("first", "sigmoid"), ("second", "tanh")):
        module = program.exported_program(method).graph_module.lowered_module_0.original_module
        (handles[method],) = (node.meta["debug_handle"] for node in module.graph.nodes if name in node.name)
    values = {
        "first": {handles["first"]: torch.from_numpy(right["first"]["sigmoid"])},
        "second": {handles["second"]: torch.from_numpy(right["second"]["tanh"]) + 1},
    }
    store.ingest(stages, values=values, inputs={"first": x, "second": y})
    found = {row[1]: row[2] for row in store.sql(FOUND).fetchall() if row[0] == "runtime"}
    assert found == {"sigmoid": pytest.approx(0.0, abs=1e-6), "tanh": pytest.approx(1.0, abs=1e-5)}
