"""Graphs as PyTorch makes them: nested, repeated, large, with every kind of argument, edited in place."""

from __future__ import annotations

import operator
import time
import warnings
from collections.abc import Iterable
from typing import Any

import pytest

import fxstore

torch = pytest.importorskip("torch")


@pytest.fixture
def store() -> Iterable[fxstore.Store]:
    with fxstore.connect(":memory:") as opened:
        yield opened


def rows(store: fxstore.Store, query: str) -> list[Any]:
    return store.sql(query).fetchall()


def test_08_branches_of_cond_are_graphs_of_their_own_and_never_partners(store: fxstore.Store) -> None:
    """Both branches of a ``torch.cond`` have nodes of the same names."""
    exir = pytest.importorskip("executorch.exir")

    class Flow(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.cond(x.sum() > 0, lambda t: t.sin().relu(), lambda t: t.cos().relu(), (x,))

    program = torch.export.export(Flow(), (torch.ones(3),))
    store.ingest({"float": program, "edge": exir.to_edge(program)})
    assert rows(store, "SELECT stage, count(*) FROM graphs GROUP BY ALL ORDER BY ALL") == [("edge", 3), ("float", 3)]
    branches = {
        path: rows(store, f"SELECT name FROM nodes WHERE stage = 'float' AND path = '{path}' AND op = 'call_function'")
        for path in ("true_graph_0", "false_graph_0")
    }
    assert branches == {"true_graph_0": [("sin",), ("relu",)], "false_graph_0": [("cos",), ("relu",)]}
    callers = "SELECT DISTINCT c.name FROM graphs AS g JOIN nodes AS c ON c.nid = g.parent_nid WHERE g.stage = 'float'"
    assert rows(store, callers) == [("cond",)]
    handles = rows(
        store,
        "SELECT n.path, n.op_type, h.handle FROM handles AS h JOIN nodes AS n USING (nid) "
        "WHERE n.stage = 'edge' AND n.path <> '' AND n.op = 'call_function'",
    )
    (true,) = {path for path, kind, _ in handles if kind == "sin"}
    numbered = {(path == true, kind): handle for path, kind, handle in handles}
    assert numbered == {(True, "sin"): 4, (True, "relu"): 5, (False, "cos"): 6, (False, "relu"): 7}
    joined = rows(
        store,
        "SELECT DISTINCT a.path, b.path FROM links AS l JOIN nodes AS a ON a.nid = l.src_nid "
        "JOIN nodes AS b ON b.nid = l.dst_nid WHERE a.path <> '' OR b.path <> ''",
    )
    (false,) = {path for path, kind, _ in handles if kind == "cos"}
    assert sorted(joined) == sorted([("true_graph_0", true), ("false_graph_0", false)])


def test_09_every_use_keeps_its_slot_whatever_stands_beside_it(store: fxstore.Store) -> None:
    """None, nested lists, slices, dtypes, devices, texts, a keyword-only tensor, one tensor twice, a dict."""

    class Zoo(torch.nn.Module):
        def forward(self, x: Any, opt: Any = None, *, extra: Any) -> Any:
            s, c = x.sin(), x.cos()
            y = torch.cat([s, c, s], dim=0)
            y = y + y
            y = y[:, extra["i"]]
            y = torch.div(y, 2.0, rounding_mode="floor").to(torch.float64)
            z = torch.zeros(2, dtype=torch.float64, device="cpu")
            return {"out": torch.einsum("ij->i", y), "z": z[0:1:1]}

    store.ingest(torch.export.export(Zoo(), (torch.ones(2, 3), None), {"extra": {"i": torch.tensor([0, 2])}}))

    def uses(name: str) -> list[tuple[str, str]]:
        return rows(
            store,
            "SELECT s.name, e.dst_arg FROM edges AS e JOIN nodes AS s ON s.nid = e.src_nid "
            f"JOIN nodes AS d ON d.nid = e.dst_nid WHERE d.name = '{name}' ORDER BY e.position",
        )

    assert uses("cat") == [("sin", "0[0]"), ("cos", "0[1]"), ("sin", "0[2]")]
    assert uses("add") == [("cat", "0"), ("cat", "1")]
    taken = [argument for name, argument in uses("index") if name != "slice_1" and not name.startswith("add")]
    assert taken == ["1[1]"]
    given = rows(store, "SELECT attrs FROM nodes WHERE op_type IN ('div', 'einsum', 'zeros') ORDER BY name")
    assert all(text in str(given) for text in ("floor", "ij->i", "float64", "cpu"))


def test_25_each_call_of_a_shared_module_has_its_number(store: fxstore.Store) -> None:
    """One instance is called twice: both calls have one path."""

    class Twice(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l = torch.nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return self.l(torch.relu(self.l(x)))

    program = torch.export.export(Twice(), (torch.ones(2, 4),))
    store.ingest({"float": program, "again": program.run_decompositions({})})
    placed = (
        "SELECT name, module_path, module_call FROM nodes WHERE op_type = 'linear' AND stage = 'float' ORDER BY name"
    )
    assert rows(store, placed) == [("linear", "l", 1), ("linear_1", "l", 2)]
    partners = rows(
        store,
        "SELECT a.module_call, b.module_call FROM links AS l JOIN nodes AS a ON a.nid = l.src_nid "
        "JOIN nodes AS b ON b.nid = l.dst_nid WHERE a.op_type = 'linear' ORDER BY ALL",
    )
    assert partners == [(1, 1), (2, 2)]


def _stacked(nodes: int) -> Any:
    graph = torch.fx.Graph()
    previous = skip = graph.placeholder("x")
    for i in range(nodes - 2):
        if i % 2:
            new = graph.call_function(operator.add, (previous, skip))
        else:
            new = graph.call_function(torch.sin, (previous,))
        skip = new if i % 16 == 0 else skip
        previous = new
    graph.output(previous)
    return torch.fx.GraphModule(torch.nn.Module(), graph)


@pytest.mark.parametrize(
    ("nodes", "edges", "seconds"), [(8401, 12599, 2), pytest.param(50001, 74999, 15, marks=pytest.mark.slow)]
)
def test_45_a_large_graph_is_ingested_whole_and_drawn_by_its_neighbourhood(
    store: fxstore.Store, nodes: int, edges: int, seconds: float
) -> None:
    """A graph of the size of a diffusion U-Net, and an unrolled one."""
    module = _stacked(nodes)
    begin = time.process_time()
    store.ingest(module)
    assert time.process_time() - begin < seconds
    assert rows(store, "SELECT (SELECT count(*) FROM nodes), (SELECT count(*) FROM edges)") == [(nodes, edges)]
    begin = time.process_time()
    page = store.sql("SELECT nid, name FROM nodes WHERE position BETWEEN 4000 AND 4004").compare().html()
    assert time.process_time() - begin < 4  # 1 s alone; the machine of a test may be busy
    assert len(page) <= 1 << 20


@pytest.mark.slow
def test_46_steps_of_an_unrolled_cell_are_blocks_of_one_size(store: fxstore.Store) -> None:
    """96 steps of 16 operators each (the bad step among them: ``tests/query/test_graph_questions``)."""

    class Cell(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Linear(16, 32)

        def forward(self, x: Any, h: Any, c: Any) -> Any:
            i, f, g, o = self.w(torch.cat([x, h], -1)).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            return torch.sigmoid(o) * torch.tanh(c), c

    class Unrolled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = Cell()

        def forward(self, xs: Any) -> Any:
            h, c = torch.zeros(xs.shape[1], 8), torch.zeros(xs.shape[1], 8)
            for t in range(96):
                h, c = self.cell(xs[t], h, c)
            return h

    with store.record("unrolled") as rec:
        rec.stage("float", torch.export.export(Unrolled(), (torch.ones(96, 2, 8),)))
    assert rows(store, "SELECT count(*) FROM nodes") == [(1638,)]
    steps = (
        "SELECT CASE WHEN module_path = 'cell' THEN module_call END AS step, count(*) AS ops FROM nodes "
        "WHERE module_path = 'cell' AND op = 'call_function' GROUP BY ALL"
    )
    outer = rows(store, f"SELECT count(*), sum(ops) FROM ({steps})")
    assert outer == [(96, 96 * 15)]  # and its linear, which stands at cell.w
    inner = (
        "SELECT count(DISTINCT module_call), count(*) FROM nodes WHERE module_path = 'cell.w' AND op = 'call_function'"
    )
    assert rows(store, inner) == [(96, 96)]


def test_62_a_stage_is_what_it_was_when_it_was_taken(store: fxstore.Store) -> None:
    """``to_executorch`` edits the lowered program in place."""
    exir = pytest.importorskip("executorch.exir")
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l = torch.nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return torch.cumsum(torch.relu(self.l(x)), 0)

    with warnings.catch_warnings(), torch.no_grad(), store.record("net", strict=True) as rec:
        warnings.simplefilter("ignore")
        program = torch.export.export(Net().eval(), (torch.ones(2, 4),))
        lowered = exir.to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()], generate_etrecord=True)
        rec.stage("edge", lowered._etrecord.edge_dialect_program)
        rec.stage("lowered", lowered)
        rec.stage("executorch", lowered.to_executorch())
        rec.stage("late", lowered)
    names = {
        stage: {name for (name,) in rows(store, f"SELECT name FROM nodes WHERE stage = '{stage}' AND path = ''")}
        for stage in ("edge", "lowered", "executorch")
    }
    assert "aten_linear_default" in names["edge"]
    assert not any("alloc" in name for name in names["edge"] | names["lowered"])
    assert "executorch_call_delegate" in names["executorch"]
    assert any("alloc" in name for name in names["executorch"])
    hashes = rows(store, "SELECT DISTINCT fingerprint FROM graphs WHERE path = '' AND stage <> 'late'")
    assert len(hashes) == 3
    assert rows(store, "SELECT note FROM stages WHERE stage = 'late'") == [("content equals stage executorch",)]
