"""Delegates and devices: what a call stands for, whose value a port has, where a time belongs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import fxstore

torch = pytest.importorskip("torch")
pytest.importorskip("executorch.exir")
nn, functional = torch.nn, torch.nn.functional


@pytest.fixture
def store() -> Iterable[fxstore.Store]:
    with fxstore.connect(":memory:") as opened:
        yield opened


def compiled(module: nn.Module, *inputs: Any, partition: bool = True) -> dict[str, Any]:
    """Lowers a model; returns its export, what it was lowered to, and its program."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

        exported = torch.export.export(module.eval(), inputs)
        lowered = to_edge_transform_and_lower(
            exported,
            partitioner=[XnnpackPartitioner()] if partition else [],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
            generate_etrecord=True,
        )
        return {"exported": exported, "lowered": lowered, "inputs": inputs}


def traced(found: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Emits and runs a program on this machine; returns its record, and the paths of dump and buffer."""
    from fxstore.ingest.measure.runtime import run_pte

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = found["lowered"].to_executorch()
    run = run_pte(program.buffer, [("forward", found["inputs"])])
    (folder / "net.etdp").write_bytes(run.etdump)
    (folder / "net.bin").write_bytes(run.debug)
    return {
        "record": program.get_etrecord(), "program": program, "outputs": run.outputs[0],
        "etdump": folder / "net.etdp", "debug_buffer": folder / "net.bin",
    }  # fmt: skip


def test_21_a_delegate_stands_for_all_that_it_took_in(store: fxstore.Store) -> None:
    """The call names only itself, and what it took in is inside the lowered module alone."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.c, self.l = nn.Conv2d(3, 4, 3), nn.Linear(144, 5)

        def forward(self, x: Any) -> Any:
            x = torch.relu(self.c(x)).flatten(1)
            return torch.softmax(self.l(x), -1), x.sin()

    found = compiled(Net(), torch.ones(1, 3, 8, 8))
    with store.record("net", strict=True) as rec:
        rec.stage("edge", found["lowered"]._etrecord.edge_dialect_program)
        rec.stage("lowered", found["lowered"])
    handles = store.sql("SELECT handles FROM delegation").fetchall()
    assert [sorted(of_call) for (of_call,) in handles] == [[1, 2, 3, 4, 5, 6]]
    shown = store.sql("SELECT name FROM sync('lowered', 'executorch_call_delegate') WHERE stage = 'edge'").fetchall()
    operators = store.sql("SELECT name FROM nodes WHERE stage = 'edge' AND op = 'call_function'").fetchall()
    assert sorted(shown) == sorted(operators)
    assert len(operators) == 6
    for getitem, value in {"getitem": "aten__softmax_default", "getitem_1": "aten_sin_default"}.items():
        pair = store.sql(
            "SELECT a.name FROM value_pairs AS v JOIN nodes AS a ON a.nid = v.ref_nid JOIN nodes AS b ON b.nid = v.nid "
            "WHERE a.stage = 'edge' AND b.stage = 'lowered' AND b.name = ?",
            [getitem],
        )
        assert pair.fetchall() == [(value,)]
    assert store.sql("SELECT reason FROM unmatched WHERE stage = 'edge' AND reason LIKE 'removed%'").fetchall() == []
    owners = "SELECT DISTINCT backend FROM nodes WHERE stage = 'lowered' AND path <> '' AND op = 'call_function'"
    assert store.sql(owners).fetchall() == [("XnnpackBackend",)]


def test_27_an_intermediate_output_of_a_delegate_is_compared_with_its_own_value(
    store: fxstore.Store, tmp_path: Path
) -> None:
    """A delegate returns a value from its middle and its last one; handles from the end would swap them."""

    class Skip(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l1, self.l2 = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            h = torch.relu(self.l1(x))
            return h, torch.softmax(self.l2(h), -1)

    torch.manual_seed(0)
    found = compiled(Skip(), torch.randn(2, 8))
    edge = found["lowered"]._etrecord.edge_dialect_program
    with store.record("skip", strict=True) as rec:
        rec.stage("edge", edge)
        run = traced(found, tmp_path)
        rec.stage("runtime", run["program"])
        rec.device(found["inputs"], reference="edge", metrics=["mse"])
    rows = store.sql(
        "SELECT n.name, m.port, r.name, m.value FROM metrics AS m JOIN nodes AS n ON n.nid = m.nid "
        "JOIN nodes AS r ON r.nid = m.ref_nid WHERE m.metric = 'mse' AND n.name LIKE 'getitem%' ORDER BY n.name"
    ).fetchall()
    assert [(name, reference) for name, _, reference, _ in rows] == [
        ("getitem", "aten_relu_default"), ("getitem_1", "aten__softmax_default"),
    ]  # fmt: skip
    assert max(value for *_, value in rows) < 1e-12


def test_28_one_pair_that_cannot_be_compared_costs_the_others_nothing(store: fxstore.Store, tmp_path: Path) -> None:
    """Attention on the portable kernels, whose decomposition has values of other shapes."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.n, self.q = nn.LayerNorm(8), nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            y = self.n(x)
            q = self.q(y)
            return functional.gelu(functional.scaled_dot_product_attention(q, q, y)).std(-1)

    torch.manual_seed(0)
    found = compiled(Block(), torch.randn(2, 4, 8), partition=False)
    with store.record("attention", strict=True) as rec:
        rec.stage("float", found["exported"])
        run = traced(found, tmp_path)
        rec.stage("runtime", run["program"])
        rec.device(found["inputs"], reference="float", metrics=["cosine"])
    rows = store.sql(
        "SELECT r.name, m.value FROM metrics AS m JOIN nodes AS r ON r.nid = m.ref_nid "
        "WHERE m.metric = 'cosine' AND m.value IS NOT NULL"
    ).fetchall()
    cosines = dict(rows)
    for name in ("gelu", "std", "layer_norm"):
        assert cosines[name] >= 0.999999, name
    without = store.sql("SELECT count(*) FROM metrics WHERE value IS NULL AND reason IS NULL AND metric = 'cosine'")
    assert without.fetchall() == [(0,)]


def test_29_without_the_debug_buffer_there_is_no_number_of_accuracy(store: fxstore.Store, tmp_path: Path) -> None:
    """Debug events whose buffer file is missing: zeros are no values; the times are there all the same."""
    found = compiled(nn.Sequential(nn.Linear(4, 4), nn.Softmax(-1)), torch.ones(2, 4))
    run = traced(found, tmp_path)
    stored = store.ingest(run["record"], etdump=run["etdump"], inputs=[found["inputs"]])
    accuracy = "SELECT count(*) FROM metrics JOIN overlays USING (overlay_id) WHERE kind = 'accuracy'"
    assert store.sql(f"{accuracy} AND value IS NOT NULL").fetchall() == [(0,)]
    times = "SELECT count(*) > 0 FROM metrics JOIN overlays USING (overlay_id) WHERE kind = 'latency' AND value > 0"
    assert store.sql(times).fetchall() == [(True,)]
    assert stored.notes == ("runtime values: compared with nothing: no tensor data (debug buffer missing)",)


def test_40_a_kernels_time_lies_on_the_node_of_its_handle(store: fxstore.Store, tmp_path: Path) -> None:
    """Names of events are names of kernels, never of nodes."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.b(torch.cumsum(torch.relu(self.a(x)), 0)))

    found = compiled(Net(), torch.randn(4, 8))
    run = traced(found, tmp_path)
    store.ingest(run["record"], etdump=run["etdump"], debug_buffer=run["debug_buffer"])
    rows = store.sql(
        "SELECT n.name, m.text, m.metric FROM metrics AS m JOIN nodes AS n USING (nid) "
        "JOIN overlays AS o USING (overlay_id) WHERE o.kind = 'latency' AND n.stage = 'edge'"
    ).fetchall()
    assert {name for name, text, _ in rows if text == "native_call_cumsum.out"} == {"aten_cumsum_default"}
    names = {name for (name,) in store.sql("SELECT name FROM nodes").fetchall()}
    events = store.sql("SELECT DISTINCT text FROM metrics JOIN overlays USING (overlay_id) WHERE kind = 'latency'")
    assert len(names & {text for (text,) in events.fetchall()}) == 0
    assert {name for name, *_ in rows} >= {"aten_linear_default", "aten_relu_default", "aten_linear_default_1"}
