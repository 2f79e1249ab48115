"""Model Explorer's files as stages: of its own PyTorch adapter, ours again, and others' with their overlays."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import fxstore
from fxstore.ingest import adapters
from fxstore.ingest.others import model_explorer
from fxstore.model_explorer.graph import graph_of
from fxstore.model_explorer.source import Source, feedback
from fxstore.records import Graph
from tests.ingest.test_graph_json import rows, vendor_adapter, write
from tests.model_explorer.sources import hostile_sources

torch = pytest.importorskip("torch")
KEPT = ("op", "op_type", "role", "dtype", "shape", "module_path", "module_type")


class Inner(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin_1 = torch.nn.Linear(4, 4)
        self.register_buffer("off", torch.ones(4))

    def forward(self, x: Any) -> Any:
        a, b = torch.split(self.lin_1(x) + self.off, 2, -1)
        return torch.cat([b, a], -1)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()
        self.seq = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(4, 2))

    def forward(self, x: Any) -> Any:
        return self.seq(self.inner(self.inner(x))) * torch.tensor(2.0)


@pytest.fixture(scope="module")
def program() -> Any:
    return torch.export.export(Net(), (torch.ones(1, 4),))


@pytest.fixture
def vendor_file(program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    graphs = vendor_adapter(monkeypatch)(program, {"const_element_count_limit": 4}).convert()["graphs"]
    return write(tmp_path / "net.json", [{"label": "net", "subgraphs": [dataclasses.asdict(one) for one in graphs]}])


def edges(graph: Graph) -> set[tuple[str, int, str]]:
    return {use[:3] for use in uses(graph)}


def uses(graph: Graph) -> set[tuple[str, int, str, str]]:
    names = graph.nodes["name"].to_pylist()
    return {(names[e["src"]], e["src_port"], names[e["dst"]], e["dst_arg"]) for e in graph.edges.to_pylist()}


def test_the_vendors_own_adapter_tells_modules_roles_and_ports(program: Any, vendor_file: Path) -> None:
    (own,), (stage,) = adapters.read(program).stages, adapters.read(vendor_file).stages
    assert (stage.status, stage.note) == ("complete", None)
    mine, theirs = rows(own.graphs[0]), rows(stage.graphs[0])
    assert list(mine) == list(theirs)
    for name, row in mine.items():
        if row["op"] != "output":
            assert {key: theirs[name][key] for key in KEPT} == {key: row[key] for key in KEPT}, name
    assert edges(own.graphs[0]) == edges(stage.graphs[0])


def test_the_vendors_file_is_linked_to_the_program(program: Any, vendor_file: Path, tmp_path: Path) -> None:
    data = {"graph": {"results": {"linear": {"value": 1.5}, "relu": {"value": 2.5}}}}
    times = write(tmp_path / "times.json", data)
    with fxstore.connect(":memory:") as store:
        run = store.ingest({"exported": program, "shown": vendor_file, "times": times})
        assert run.status == "complete", run.notes
        links = store.sql("SELECT count(*), count(DISTINCT dst_nid) FROM links").fetchone()
        assert links is not None
        assert links[1] == store.sql("SELECT count(*) FROM nodes WHERE stage = 'shown'").fetchone()[0]  # type: ignore[index]
        found = store.sql(
            "SELECT n.stage, n.name, m.value FROM metrics m JOIN overlays o USING (overlay_id) JOIN nodes n USING (nid)"
            " WHERE o.source = 'Model Explorer node data' ORDER BY ALL"
        ).fetchall()
        assert found == [("shown", "linear", 1.5), ("shown", "relu", 2.5)]


def test_an_export_comes_in_again_as_it_went_out(program: Any, tmp_path: Path) -> None:
    with fxstore.connect(":memory:") as store:
        store.ingest({"exported": program})
        store.export("model-explorer", tmp_path / "out")
    with fxstore.connect(":memory:") as store:
        again = {"exported": program, "again": tmp_path / "out" / "graphs.json"}
        store.ingest(again)
        columns = "name, op, target, op_type, role, dtype, shape, device, module_path, module_type, module_call, "
        columns += "attrs -> '$.module_calls', source_line"
        went, came = (
            store.sql(
                f"SELECT {columns}, source_line, source_code FROM nodes WHERE stage = '{stage}' ORDER BY nid"
            ).fetchall()
            for stage in ("exported", "again/exported")
        )
        assert went == came
        joined = "FROM edges e JOIN nodes a ON e.src_nid = a.nid JOIN nodes b ON e.dst_nid = b.nid"
        went, came = (
            store.sql(
                f"SELECT DISTINCT a.name, src_port, b.name, dst_arg {joined} WHERE a.stage = '{stage}' ORDER BY ALL"
            ).fetchall()
            for stage in ("exported", "again/exported")
        )
        assert went == came
        unlinked = (
            "SELECT count(*) FROM nodes WHERE stage = 'again/exported' AND nid NOT IN (SELECT dst_nid FROM links)"
        )
        assert store.sql(unlinked).fetchall() == [(0,)]


@settings(max_examples=150, deadline=None)
@given(hostile_sources())
def test_what_our_exporter_writes_is_read_back(source: Source) -> None:
    went = graph_of(source)
    (stage,) = model_explorer.stages_of(json.loads(json.dumps([went.payload])))
    came = rows(stage.graphs[0])
    named = all(row[key] for row in source.nodes for key in ("name", "op", "role"))
    names = [str(row["name"]) for row in source.nodes]
    keys = names if named and len(set(names)) == len(names) else went.ids
    assert set(came) == set(keys)
    for key, row in zip(keys, source.nodes, strict=True) if named else ():
        found = came[key]
        assert (found["op"], found["role"], found["target"]) == (
            row["op"],
            row["role"],
            row["target"] or found["target"],
        )
        assert found["module_type"] == (row["module_type"] or None)
        if row["module_path"]:
            assert (found["module_path"], found["module_call"]) == (row["module_path"], row["module_call"] or 1)
    if named:
        given = {(keys[e.src], e.port, keys[e.dst], e.arg) for e in source.edges if e not in feedback(source.edges)}
        read = {(n, p, d, None if a == "argument" else a) for n, p, d, a in uses(stage.graphs[0])}
        assert {one[:3] for one in given} == {one[:3] for one in read}
        assert {one for one in given if one[3]} <= read


def other(name: str, label: str, namespace: str, *sources: str) -> dict[str, Any]:
    """One node, as a file of somebody else's might have it."""
    ports = enumerate(sources)
    uses = [{"sourceNodeId": of, "sourceNodeOutputId": "0", "targetNodeInputId": str(i)} for i, of in ports]
    return {"id": name, "label": label, "namespace": namespace, "incomingEdges": uses}


OTHERS = [
    other("in", "input", "Inputs"),
    other("1", "linear", "inner:1/lin_1:1", "in"),
    other("2", "add", "inner:1", "1"),
    other("3", "split", "inner:1", "2"),
    other("4", "cat", "inner:1", "3"),
    other("5", "linear", "inner:2/lin_1:2", "4"),
    other("6", "add", "inner:2", "5"),
    other("7", "cat", "inner:2", "6"),
    other("8", "relu", "seq/0", "7"),
    other("9", "linear", "seq/1", "8"),
]


@pytest.mark.parametrize("calls", [True, False])
def test_others_files_are_linked_by_module_call_and_operator(program: Any, calls: bool, tmp_path: Path) -> None:
    nodes = [
        {**one, "namespace": one["namespace"] if calls else one["namespace"].replace(":1", "").replace(":2", "")}
        for one in OTHERS
    ]
    ran = write(tmp_path / "ran.json", [{"id": "trace", "nodes": nodes}])
    times = {"trace": {"name": "ms", "results": {one["id"]: {"value": float(i)} for i, one in enumerate(nodes[1:])}}}
    with fxstore.connect(":memory:") as store:
        run = store.ingest(
            {"exported": program, "ran": ran, "times": write(tmp_path / "times.json", times)}, better="lower"
        )
        assert run.status == "complete", run.notes
        found = store.sql(
            "SELECT b.name, a.name, l.evidence, l.inferred FROM links l JOIN nodes a ON a.nid = l.src_nid"
            " JOIN nodes b ON b.nid = l.dst_nid WHERE b.stage = 'ran' AND b.role = 'op' ORDER BY 1"
        ).fetchall()
        to = {"1": "linear", "2": "add", "4": "cat", "5": "linear_1", "6": "add_1", "7": "cat_1", "8": "relu",
              "9": "linear_2"} | ({"3": "split"} if calls else {})  # fmt: skip
        assert found == [(name, there, "structure", True) for name, there in sorted(to.items())]
        slowest = store.sql("SELECT name, value, counterparts['exported'] FROM worst('ms', n := 1, stage := 'ran')")
        assert slowest.fetchall() == [("9", 8.0, "linear_2")]
