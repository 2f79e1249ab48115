"""Further small real situations in which a match goes wrong: files, delegates, ports, a pass that breaks numbers."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from fxstore import connect  # noqa: E402
from fxstore.ingest import adapters  # noqa: E402
from fxstore.ingest.measure.values import capture_values  # noqa: E402
from fxstore.record.recorder import Recorder  # noqa: E402
from fxstore.records import Stage  # noqa: E402
from tests.link.graphs import Linked  # noqa: E402


def linked(**sources: Any) -> Linked:
    return Linked.of([Stage(name, adapters.read(source).stages[0].graphs) for name, source in sources.items()])


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n, self.q = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        return nn.functional.gelu(self.q(self.n(x)))


def test_a_program_that_was_saved_and_loaded_is_the_same_but_for_the_outputs_that_came_back(tmp_path: Path) -> None:
    before = torch.export.export(Block(), (torch.randn(2, 4, 8),)).run_decompositions()
    torch.export.save(before, tmp_path / "block.pt2")
    after = torch.export.load(tmp_path / "block.pt2")
    found = linked(memory=before, disk=after)
    assert found.inferred() == set()
    pairs = {(a.partition(":")[2], b.partition(":")[2]) for a, b in found.links()}
    assert {(n, n) for n in ("native_layer_norm", "view", "permute", "addmm", "view_1", "gelu")} <= pairs
    assert all(a == b for a, b in pairs)
    added = [label for label, towards in found.unmatched() if towards == "memory"]
    assert len(added) == 2
    assert all("getitem" in label or "unused" in label for label in added)


def test_notes_that_a_user_left_are_asked_for_stage_by_stage() -> None:
    class Constant(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.b = torch.ones(3, 3)

        def forward(self, x: Any) -> Any:
            return self.b + x

    before = torch.export.export(Constant(), (torch.ones(3, 3),))
    for node in before.graph.nodes:
        node.meta["custom"] = {"owner": node.name}
    after = before.run_decompositions()
    lost = (
        "SELECT a.name FROM links AS l JOIN nodes AS a ON a.nid = l.src_nid JOIN nodes AS b ON b.nid = l.dst_nid "
        "WHERE a.run_id = ? AND l.run_id = a.run_id AND b.run_id = a.run_id "
        "AND json_exists(a.attrs, '$.custom') AND NOT coalesce(json_exists(b.attrs, '$.custom'), false)"
    )
    with connect(":memory:") as store:
        run = store.ingest({"before": before, "after": after})
        assert store.sql(lost, [run.run_id]).fetchall() == []
        next(node for node in after.graph.nodes if node.name == "c_b").meta.pop("custom")
        run = store.ingest({"before": before, "after": after})
        assert store.sql(lost, [run.run_id]).fetchall() == [("c_b",)]


def test_outputs_of_one_shape_are_matched_by_port() -> None:
    class Moments(nn.Module):
        def forward(self, x: Any) -> Any:
            variance, mean = torch.var_mean(x, -1)
            return variance * 2 + mean

    program = torch.export.export(Moments(), (torch.randn(4, 16),))
    core = program.run_decompositions()
    found = linked(exported=program, core=core)
    ports = {f"core:{node.name}.0": node.args[1] for node in core.graph.nodes if node.name.startswith("getitem")}
    for node in program.graph.nodes:
        if node.name.startswith("getitem"):
            (value,) = found.values(f"exported:{node.name}") & ports.keys()
            assert ports[value] == node.args[1]


@pytest.fixture(scope="module")
def lowered() -> dict[str, Any]:
    """A delegate that takes everything and gives an inner value and the last one."""
    exir = pytest.importorskip("executorch.exir")
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            h = torch.relu(self.first(x))
            return h, torch.softmax(self.second(h), -1)

    torch.manual_seed(0)
    inputs = (torch.randn(2, 8),)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(Two().eval(), inputs)
        manager = exir.to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()], generate_etrecord=True)
        stages = [
            Stage(name, adapters.read(source).stages[0].graphs)
            for name, source in (("edge", manager._etrecord.edge_dialect_program), ("lowered", manager))
        ]
        values = {"edge": capture_values(manager._etrecord.edge_dialect_program, inputs).values}
        values["lowered"] = capture_values(manager.exported_program(), inputs).values
        record = manager.to_executorch().get_etrecord()
    return {"program": program, "stages": stages, "values": values, "record": record, "inputs": inputs}


def test_a_delegate_call_stands_for_everything_that_it_took_in(lowered: dict[str, Any]) -> None:
    found = Linked.of(lowered["stages"])
    nodes = lowered["stages"][0].graphs[0].nodes.to_pylist()
    edge = {node["name"] for node in nodes if node["role"] == "op"}
    members = found.set_of("lowered:executorch_call_delegate")
    assert {label.partition(":")[2] for label in members if label.startswith("edge:")} == edge
    assert not [label for label in found.unmatched() if label[0].startswith("edge:")]


def test_the_ports_of_a_delegate_are_its_inner_values_bit_for_bit(lowered: dict[str, Any]) -> None:
    found = Linked.of(lowered["stages"])
    for port, name in enumerate(("aten_relu_default", "aten__softmax_default")):
        getitem = "getitem" if port == 0 else "getitem_1"
        assert f"edge:{name}.0" in found.values(f"lowered:{getitem}")
        assert f"edge:{name}.0" in found.values("lowered:executorch_call_delegate", port)
        given = lowered["values"]["lowered"]["", getitem, 0]
        assert np.mean((given - lowered["values"]["edge"]["", name, 0]) ** 2) < 1e-12
        (label,) = [x for x in found.set_of(f"lowered:{getitem}") if x.startswith("edge:")]
        assert label == f"edge:{name}"


def test_live_objects_files_and_both_mixed_give_the_same_links(lowered: dict[str, Any], tmp_path: Path) -> None:
    record, program = lowered["record"], lowered["program"]
    record.update_representative_inputs([lowered["inputs"]])
    record.save(tmp_path / "two.etrecord")
    live = {stage.name: stage for stage in adapters.read(record).stages}
    saved = {stage.name: stage for stage in adapters.read(tmp_path / "two.etrecord").stages}
    (own,) = adapters.read(program).stages

    def links(first: Stage, last: Stage) -> dict[tuple[str, str], str]:
        found = Linked.of([Stage("exported", first.graphs), Stage("edge", last.graphs)])
        assert {k: v for k, v in found.unmatched().items() if k[1] == "edge"} == {}
        return found.links()

    truth = links(own, live["edge"])
    assert {e for pair, e in truth.items() if pair[0] in ("exported:relu", "exported:linear")} == {"from_node"}
    for first in (own, live["exported"], saved["exported"]):
        for last in (live["edge"], saved["edge"]):
            assert links(first, last).keys() == truth.keys()


def test_the_stage_that_broke_the_numbers_is_named_not_the_last_one() -> None:
    class Scaled(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.relu(torch.sin(x) * 3.0 - 1.0)

    x = (torch.randn(16),)
    exported = torch.export.export(Scaled(), x)
    passes = exported.run_decompositions({})
    for node in passes.graph.nodes:  # the pass drops the scale
        if node.name == "mul":
            node.args = (node.args[0], 0.1)
    passes.graph_module.recompile()
    device = passes.run_decompositions({})
    found = linked(exported=exported, passes=passes, device=device)
    assert found.values("passes:mul") == {"exported:mul.0", "device:mul.0"}
    first = None
    sources = {"exported": exported, "passes": passes, "device": device}
    values = {name: capture_values(program, x).values for name, program in sources.items()}
    for earlier, later in (("exported", "passes"), ("passes", "device")):
        for _, name, _ in values[later]:
            if f"{earlier}:{name}.0" in found.values(f"{later}:{name}"):
                same = np.allclose(values[earlier]["", name, 0], values[later]["", name, 0])
                first = first or (None if same else (later, name))
    assert first == ("passes", "mul")


def test_what_a_watched_pass_removed_and_inserted_is_said_with_its_name() -> None:
    def drop_scale(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
        for node in list(module.graph.nodes):
            if node.target is torch.ops.aten.mul.Tensor:
                with module.graph.inserting_before(node):
                    added = module.graph.call_function(torch.ops.aten.neg.default, (node.args[0],))
                users = [user for user in node.users if user.op == "output"]
                node.replace_all_uses_with(node.args[0])
                for user in users:
                    user.replace_input_with(node.args[0], added)
                module.graph.erase_node(node)
        module.recompile()
        return module

    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.sin(torch.cos(x) * 3.0) + torch.relu(x), torch.exp(x) * 2.0

    runs: list[Any] = []
    module = torch.export.export(Net(), (torch.randn(4),)).module()
    with Recorder(lambda run: runs.append(run) or "id", "net", strict=True) as recorder:
        recorder.stage("module", module)
        for one in recorder.passes([drop_scale]):
            module = one(module)
    reasons = Linked.of(runs[0].stages).unmatched()
    assert reasons["module:mul", "drop_scale"].startswith("removed by the pass drop_scale")
    assert reasons["drop_scale:neg_default", "module"] == "inserted by the pass drop_scale"
