"""Links on both ways to a program: one keeps names, the other gives them anew; who is who must not depend on it."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import pytest

from fxstore.ingest import adapters
from fxstore.link.run import Run
from fxstore.records import Stage
from tests.link.graphs import Linked

torch = pytest.importorskip("torch")
pytest.importorskip("executorch.exir")
from torch import nn  # noqa: E402


class Recurrent(nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.rnn = kind(4, 4, bidirectional=True, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.rnn(x)[0]


class Ports(nn.Module):
    """Unequal pieces, and operators of several outputs, some of which nothing reads."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 12)

    def forward(self, x: Any) -> Any:
        a, b, c = torch.split(self.linear(x), [2, 6, 4], -1)
        d, e = torch.split(x, [2, 2], -1)
        top, index = torch.topk(torch.sigmoid(b), 2)
        most, where = torch.max(torch.tanh(c), -1)
        return a * 2 + top, index, most, where, torch.cat([d, c + 1], -1) * 3, (d + e).sin()


NETWORKS = {"lstm": lambda: Recurrent(nn.LSTM), "gru": lambda: Recurrent(nn.GRU), "ports": Ports}


@pytest.fixture(scope="module", params=[f"{name}, {path}" for name in NETWORKS for path in ("one step", "two steps")])
def linked(request: pytest.FixtureRequest) -> Linked:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower

    name, _, path = request.param.partition(", ")
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(NETWORKS[name]().eval(), (torch.randn(1, 3, 4),))
        config = EdgeCompileConfig(_check_ir_validity=False)
        stages = [_stage("float", program)]
        if path == "two steps":
            edge = to_edge(program, compile_config=config)
            stages.append(_stage("edge", edge))
            lowered = edge.to_backend(XnnpackPartitioner())
        else:
            lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()], compile_config=config)
        stages.append(_stage("lowered", lowered))
        stages.append(_stage("runtime", lowered.to_executorch()))
    return Linked.of(stages)


def _stage(name: str, source: Any) -> Stage:
    (found,) = adapters.read(source).stages
    return Stage(name, found.graphs, found.kind)


def _operators(run: Run, stage: int) -> list[int]:
    nodes = run.nodes_of_stage(stage, "forward")
    return [n for n in nodes if not run.graphs[run.graph[n]].path and run.role[n] in ("op", "delegate")
            and run.op_type[n] != "alloc"]  # fmt: skip


def test_each_operator_of_the_program_is_linked_to_the_one_in_its_place(linked: Linked) -> None:
    run, last = linked.run, len(linked.stages) - 1
    before, after = _operators(run, last - 1), _operators(run, last)
    assert [run.kind(n)[0] for n in before] == [run.kind(n)[0] for n in after]  # emitting keeps the order
    for a, b in zip(before, after, strict=True):
        found = {r["src"]: r["inferred"] for r in linked.tables["links"].to_pylist() if r["dst"] == b}
        found = {src: inferred for src, inferred in found.items() if run.stage[src] == last - 1}
        assert found == {a: False}, linked.label(b)


def test_operators_that_a_backend_takes_keep_their_names(linked: Linked) -> None:
    names = [stage.name for stage in linked.stages]
    if "edge" not in names:
        pytest.skip("no stage holds the operators before the backend takes them")
    edge, lowered = names.index("edge"), names.index("lowered")
    origins: dict[int, set[int]] = {}
    for row in linked.tables["links"].to_pylist():
        if linked.run.stage[row["src"]] == edge and not row["inferred"]:
            origins.setdefault(row["dst"], set()).add(row["src"])
    run = linked.run
    for node in run.nodes_of_stage(lowered, "forward"):
        if run.role[node] == "op" and run.op_type[node] != "getitem":
            assert {run.name[a] for a in origins[node]} == {run.name[node]}, linked.label(node)
    for node in run.nodes_of_stage(lowered, "forward"):
        if run.selects_port(node):
            giver, port = run.value(node)
            (wanted,) = origins[giver]
            assert {run.value(a) for a in origins[node]} == {(wanted, port)}, linked.label(node)


def test_the_links_do_not_contradict_each_other(linked: Linked) -> None:
    assert Counter(linked.contradictions()) == {}
