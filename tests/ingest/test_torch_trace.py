"""Logs of TORCH_TRACE: each compile's graphs in order, by process and rank; cases 54 and 55."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fxstore
from fxstore.errors import SourceError
from fxstore.ingest import adapters
from fxstore.records import Graph, Stage
from tests.ingest.trace_writer import TIMED, VERSION, graph, printed, record

CASE_54 = ["dynamo_output_graph", "aot_joint_graph", "aot_forward_graph", "aot_backward_graph"]
PROGRAM = """
import torch

@torch.compile(backend="aot_eager")
def f(a, b):
    return (torch.sin(a) @ b).relu().sum()

f(torch.randn(4, 4, requires_grad=True), torch.randn(4, 4)).backward()

@torch.compile(backend="aot_eager", dynamic=True)
def g(x, y, n):
    a, b = x.split([2, 6], dim=1)
    z = torch.cat([b, a, b], 1).sort(1)[0]
    z[:, 0] = -y[0]
    z += 1
    torch._dynamo.graph_break()
    return torch.cond(z.sum() > 0, lambda z: z.sin(), lambda z: z.cos(), (z,)) ** n

g(torch.randn(3, 8), torch.randn(3), 2)
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that a real torch.compile has written into."""
    pytest.importorskip("torch")
    place = tmp_path_factory.mktemp("trace")
    environment = {**os.environ, "TORCH_TRACE": str(place / "logs")}
    (place / "program.py").write_text(PROGRAM)
    subprocess.run([sys.executable, place / "program.py"], env=environment, check=True, capture_output=True)
    return place / "logs"


def stages(source: Path) -> list[Stage]:
    return list(adapters.read(source).stages)


def methods(stage: Stage) -> list[str]:
    return list(dict.fromkeys(graph.method for graph in stage.graphs))


def names(graph: Graph, column: str = "name") -> list[Any]:
    found: list[Any] = graph.nodes[column].to_pylist()
    return found


def edges(graph: Graph) -> list[tuple[str, int, str, str]]:
    own = names(graph)
    return [(own[e["src"]], e["src_port"], own[e["dst"]], e["dst_arg"]) for e in graph.edges.to_pylist()]


def test_case_54_a_directory_gives_the_stages_of_each_compile(traced: Path) -> None:
    assert len(list(traced.iterdir())) == 1
    found = adapters.read(traced)
    assert found.status == "complete"
    assert [stage.name for stage in found.stages if "0/0" in methods(stage)] == CASE_54
    assert found.versions["torch"].startswith("2.")
    joint = found.stages[1].graphs[0]
    assert ("sin", 0, "mm", "0") in edges(joint)
    roles = dict(zip(names(joint), names(joint, "role"), strict=True))
    assert (roles["primals_1"], roles["tangents_1"], roles["mul"]) == ("input", "tangent", "backward_output")


def test_case_54_a_cut_line_is_named_and_all_before_it_kept(traced: Path, tmp_path: Path) -> None:
    (log,) = traced.iterdir()
    whole = log.read_bytes()
    cut = whole.index(b'"aot_backward_graph"')
    at = whole.index(b"torch.ops.aten", cut)
    (tmp_path / "cut.log").write_bytes(whole[: at + 20])
    found = adapters.read(tmp_path / "cut.log")
    assert found.status == "partial"
    assert [stage.name for stage in found.stages] == CASE_54[:3]
    line = whole[: at + 20].count(b"\n") + 1
    assert f"cut.log, line {line}: the graph of the record at cut.log, line" in (found.stages[-1].note or "")
    assert "is cut off" in (found.stages[-1].note or "")
    with fxstore.connect(":memory:") as store:
        assert store.ingest(tmp_path / "cut.log").status == "partial"


def test_text_gives_what_the_live_graphs_would(traced: Path) -> None:
    found = {stage.name: stage for stage in stages(traced)}
    dynamo = next(one for one in found["dynamo_output_graph"].graphs if "split" in names(one))
    split = names(dynamo).index("split")
    assert dynamo.nodes["ports"][split].as_py() == 2
    assert [(s, p) for s, p, _, _ in edges(dynamo) if s == "split"] == [("split", 0), ("split", 1)]
    assert [a for s, _, d, a in edges(dynamo) if d == "cat"] == ["0[0]", "0[1]", "0[2]"]
    kinds = dict(zip(names(dynamo), names(dynamo, "target"), strict=True))
    assert kinds["setitem"] == "_operator.setitem"
    assert ("neg", 0, "setitem", "2") in edges(dynamo)
    assert "program.py" in names(dynamo, "source_file")[split]
    assert names(dynamo, "source_code")[split] == "a, b = x.split([2, 6], dim=1)"


def test_bodies_of_control_flow_are_nested_graphs(traced: Path) -> None:
    found = {stage.name: stage for stage in stages(traced)}
    inner = [one for one in found["dynamo_output_graph"].graphs if one.path]
    assert {one.path for one in inner} == {"cond_true_0", "cond_false_0"}
    outer = next(one for one in found["dynamo_output_graph"].graphs if "cond" in names(one))
    assert {one.parent_position for one in inner} == {names(outer).index("cond")}
    assert [r for r in names(outer, "role") if r == "subgraph"] == ["subgraph"] * 2


def test_case_55_ranks_in_one_file_are_never_zipped_by_order(tmp_path: Path) -> None:
    rows = [(0, 0, "sin"), (1, 0, "sin"), (0, 1, "cos"), (1, 2, "tanh"), (0, 2, "tanh")]
    nodes = [
        [{"name": "x", "op": "placeholder"}, {"name": op, "op": "call_function", "inputs": ["x"]}] for *_, op in rows
    ]
    lines = [json.dumps({"rank": r, "compile_id": c, "nodes": n}) for (r, c, _), n in zip(rows, nodes, strict=True)]
    (tmp_path / "interleaved.jsonl").write_text("\n".join(lines) + "\n")
    with fxstore.connect(":memory:") as store:
        run = store.ingest(tmp_path / "interleaved.jsonl")
        assert (run.status, run.stages) == ("complete", ("rank0", "rank1"))
        graphs = store.sql("SELECT stage, method FROM graphs ORDER BY ALL").fetchall()
        assert graphs == [("rank0", "0"), ("rank0", "1"), ("rank0", "2"), ("rank1", "0"), ("rank1", "2")]
        pairs = store.sql(
            "SELECT a.method, a.name, b.method, b.name FROM links l JOIN nodes a ON a.nid = l.src_nid"
            " JOIN nodes b ON b.nid = l.dst_nid WHERE a.op = 'call_function' ORDER BY ALL"
        ).fetchall()
        assert pairs == [("0", "sin", "0", "sin"), ("2", "tanh", "2", "tanh")]
        (note,) = store.sql("SELECT note FROM stages WHERE stage = 'rank0'").fetchall()[0]
        assert note == "graph 1 only on rank 0"


def test_ranks_and_processes_of_real_records(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(
        VERSION
        + graph("dynamo_output_graph", printed("sin"), process=5)  # before its rank was known
        + graph("dynamo_output_graph", printed("sin"), rank=1, process=6)
        + TIMED
        + graph("aot_inference_graph", printed("sin"), rank=0, process=5)
    )
    (tmp_path / "b.log").write_bytes(graph("dynamo_output_graph", printed("cos"), process=5))
    found = stages(tmp_path)
    assert [s.name for s in found] == [
        "process0/dynamo_output_graph",
        "rank0/dynamo_output_graph",
        "rank1/dynamo_output_graph",
        "rank0/aot_inference_graph",
    ]
    assert names(found[0].graphs[0])[1] == "cos"


def test_further_attempts_and_records_without_an_id(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(
        graph("dynamo_output_graph", printed("sin"), (3, 1))
        + graph("dynamo_output_graph", printed("cos"), (3, 1), attempt=2)
        + graph("dynamo_output_graph", printed("tan"), (3, 1), attempt=2)
        + graph("dynamo_output_graph", printed("exp"), (None, None))
        + record({"artifact": {"name": "before_post_grad_graph", "encoding": "string"}, "frame_id": 3}, printed("abs"))
    )
    found = stages(tmp_path / "a.log")
    assert {stage.name: methods(stage) for stage in found} == {
        "dynamo_output_graph": ["3/1", "3/1_2", "3/1_2#2", "none"],
        "before_post_grad_graph": ["3/0"],
    }


def test_a_record_that_another_process_wrote_into_is_named(tmp_path: Path) -> None:
    torn = graph("dynamo_output_graph", printed("sin")).split(b"\n")
    torn.insert(4, TIMED.split(b"\n")[0])
    (tmp_path / "a.log").write_bytes(b"\n".join(torn) + graph("aot_inference_graph", printed("cos")))
    found = adapters.read(tmp_path / "a.log")
    assert [stage.name for stage in found.stages] == ["aot_inference_graph"]
    assert found.status == "partial"
    assert "is damaged" in (found.stages[0].note or "")


def test_text_that_is_no_graph_code_costs_its_own_graph_only(tmp_path: Path) -> None:
    bad = printed("sin").replace("torch.sin(l_x_)", "torch.sin(l_x_")
    (tmp_path / "a.log").write_bytes(graph("dynamo_output_graph", bad) + graph("aot_inference_graph", printed("cos")))
    found = adapters.read(tmp_path)
    assert [stage.name for stage in found.stages] == ["aot_inference_graph"]
    assert "line 6 of the graph's text is no graph code" in (found.stages[0].note or "")


def test_a_directory_without_a_log_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "notes.log").write_text("nothing of the kind\n")
    with pytest.raises(SourceError, match="no adapter reads"):
        adapters.read(tmp_path)
    (tmp_path / "empty.log").write_bytes(TIMED)
    with pytest.raises(SourceError, match="the trace holds no graph"):
        adapters.read(tmp_path)
