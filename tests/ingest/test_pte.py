"""``.pte`` programs: what is read equals the live program, and no file is more than a refusal."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fxstore
from fxstore.ingest.executorch.pte import program_of, read_pte
from fxstore.records import Graph
from tests.conftest import Compiled

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")


@pytest.fixture(scope="module")
def buffer(demo_compile: Compiled) -> bytes:
    return bytes(demo_compile.program.buffer)


@pytest.fixture(scope="module")
def flow() -> bytes:
    """A program with a branch, several outputs and a size that depends on the input."""

    class Flow(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y = torch.cond(x.sum() > 0, lambda x: torch.sin(x) + 1, lambda x: torch.cos(x) * 2, (x,))
            values, where = torch.topk(y, 2)
            return values.reshape(x.shape[0] * 2), where

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from executorch.exir import EdgeCompileConfig, to_edge

        dynamic = ({0: torch.export.Dim("n", min=2, max=8)},)
        program = torch.export.export(Flow(), (torch.ones(3, 4),), dynamic_shapes=dynamic)
        edge = to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False))
        return bytes(edge.to_executorch().buffer)


def rows(graph: Graph, namespace: str) -> dict[int, dict[str, Any]]:
    """Returns a graph's nodes by their handle in a namespace."""
    nodes = graph.nodes.to_pylist()
    return {
        row["handle"]: nodes[row["position"]]
        for row in graph.tables["handles"].to_pylist()
        if row["namespace"] == namespace
    }


def inputs_of(graph: Graph) -> dict[int, list[tuple[int, int, str]]]:
    found: dict[int, list[tuple[int, int, str]]] = {}
    for row in graph.edges.to_pylist():
        found.setdefault(row["dst"], []).append((row["src"], row["src_port"], row["dst_arg"]))
    return found


def test_every_instruction_is_the_node_that_was_emitted(buffer: bytes, demo_compile: Compiled) -> None:
    top = program_of(buffer).graphs[0]
    live = rows(demo_compile["runtime"].graphs[0], "instruction")
    read = rows(top, "instruction")
    assert read.keys() == live.keys()
    for number, node in read.items():
        same = ("op_type", "dtype", "shape", "ports", "backend", "role")
        assert [node[key] for key in same] == [live[number][key] for key in same], number


def test_the_operators_of_a_delegate_have_the_handles_of_its_graph(buffer: bytes, demo_compile: Compiled) -> None:
    program = program_of(buffer)
    inner = [graph for graph in program.graphs if graph.path]
    live = [graph for graph in demo_compile["runtime"].graphs if graph.path]
    assert len(inner) == len(live) > 0
    handles = {h["handle"] for graph in inner for h in graph.tables["handles"].to_pylist()}
    known = {h["handle"] for graph in live for h in graph.tables["handles"].to_pylist()}
    assert handles
    assert handles <= known
    names = {node["op_type"] for graph in inner for node in graph.nodes.to_pylist() if node["role"] == "op"}
    assert {"conv2d", "fully_connected", "convert"} <= names
    assert {n["backend"] for g in inner for n in g.nodes.to_pylist() if n["role"] == "op"} == {"XnnpackBackend"}


def test_sizes_are_those_of_the_weights_and_of_the_file(buffer: bytes, demo_compile: Compiled) -> None:
    program = program_of(buffer)
    payloads = [size.count for size in program.sizes if size.metric == "payload_bytes"]
    modules = [m for _, m in demo_compile.program.exported_program().graph_module.named_children()]
    assert sorted(payloads) == sorted(len(m.processed_bytes) for m in modules)
    (memory,) = (size.count for size in program.sizes if size.metric == "planned_memory_bytes")
    assert memory > 0


def test_branches_and_computed_sizes(flow: bytes) -> None:
    program = program_of(flow)
    (graph,) = program.graphs
    nodes, uses = graph.nodes.to_pylist(), inputs_of(graph)
    names = {node["name"]: node["position"] for node in nodes}
    kinds = [node["op_type"] for node in nodes]
    assert {"jump_false", "move", "sin", "cos", "topk"} <= set(kinds)
    topk = names["aten_topk_values"]
    assert nodes[topk]["ports"] == 2
    assert [nodes[src]["op_type"] for src, _, arg in uses[topk] if arg == "0"] == ["move", "move"]
    outputs = {arg: (nodes[src]["op_type"], port) for src, port, arg in uses[names["output"]]}
    assert ("topk", 1) in outputs.values()
    (view,) = (node["position"] for node in nodes if node["op_type"] == "view_copy")
    read = [(nodes[src]["op_type"], port, arg) for src, port, arg in uses[view]]
    assert read == [("topk", 0, "0"), ("mul", 0, "1[0]")]
    assert len(kinds) == len(set(names))


def test_a_file_becomes_a_run_without_torch(buffer: bytes, tmp_path: Path) -> None:
    (tmp_path / "demo.pte").write_bytes(buffer)
    code = (
        "import sys\n"
        "for name in ('torch', 'executorch', 'flatbuffers'): sys.modules[name] = None\n"
        "import fxstore\n"
        f"with fxstore.connect(':memory:') as store:\n"
        f"    run = store.ingest({str(tmp_path / 'demo.pte')!r})\n"
        "    print(run.name, run.status, *run.stages)\n"
        "    print(*store.sql(\"SELECT sum(value) FROM metrics WHERE metric = 'payload_bytes'\").fetchall()[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    name, size = done.stdout.splitlines()
    assert name == "demo complete runtime"
    assert 0 < float(size) < len(buffer)


@pytest.mark.parametrize("data", [b"", b"x" * 100, b"\x00\x00\x00\x00ET12" + b"\xff" * 100, b"\x10\x00\x00\x00ET12"])
def test_what_is_no_program_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "bad.pte").write_bytes(data)
    with pytest.raises(fxstore.SourceError, match=r"bad\.pte: (not a|broken) \.pte program"):
        read_pte(tmp_path / "bad.pte")
    with pytest.raises(fxstore.SourceError, match="cannot be read"):
        read_pte(tmp_path)


@pytest.fixture(scope="module", params=["buffer", "flow"])
def program(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    length=st.integers(0, 1 << 20),
    changes=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=8),
)
def test_law_a_damaged_file_is_read_or_refused_in_time(
    program: bytes, length: int, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(program[: len(program) - length % (len(program) // 2)] if length % 3 == 0 else program)
    for at, value in changes:
        data[at % min(len(data), 8192)] = value
    begin = time.process_time()
    with contextlib.suppress(fxstore.SourceError):
        program_of(bytes(data))
    assert time.process_time() - begin < 2
