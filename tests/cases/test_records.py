"""Records of ExecuTorch whose content, methods or names are incomplete: nothing is lost, nothing is mixed up."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import fxstore

torch = pytest.importorskip("torch")
exir = pytest.importorskip("executorch.exir")


@pytest.fixture
def store() -> Iterable[fxstore.Store]:
    with fxstore.connect(":memory:") as opened:
        yield opened


class Sine(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x.sin().relu()


class Cosine(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x.cos().tanh()


def export(module: torch.nn.Module) -> Any:
    return torch.export.export(module, (torch.ones(2, 3),))


def saved(folder: Path, **methods: torch.nn.Module) -> Path:
    """Lowers methods to a program and saves its record."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        manager = exir.to_edge({name: export(module) for name, module in methods.items()}, generate_etrecord=True)
        manager.to_executorch().get_etrecord().save(str(folder / "net.etrecord"))
    return folder / "net.etrecord"


def edge_methods(store: fxstore.Store, run: Any) -> list[str]:
    rows = store.sql("SELECT method FROM graphs WHERE run_id = ? AND stage = 'edge' ORDER BY ALL", [run.run_id])
    return [method for (method,) in rows.fetchall()]


def test_01_a_record_without_its_program_gives_the_two_graphs_that_it_has(store: fxstore.Store) -> None:
    """A record in memory that was never given its ExecuTorch program, and so cannot be saved."""
    from executorch.devtools.etrecord import ETRecord

    program = export(Sine())
    record = ETRecord()
    record.add_exported_program(program)
    record.add_edge_dialect_program(exir.to_edge(program))
    run = store.ingest(record)
    assert run.status == "partial"
    counts = store.sql("SELECT count(*) FROM nodes WHERE op = 'call_function' GROUP BY graph_id").fetchall()
    assert counts == [(2,), (2,)]
    notes = store.sql("SELECT note FROM stages WHERE note IS NOT NULL").fetchall()
    assert any("no runtime maps" in note for (note,) in notes)
    assert store.sql("SELECT * FROM delegation").fetchall() == []


def test_02_handles_of_two_methods_are_two_numberings(store: fxstore.Store, tmp_path: Path) -> None:
    """A program with two entry points, in each of which debug handles begin at 1."""
    run = store.ingest(saved(tmp_path, prefill=Sine(), decode=Cosine()))
    assert edge_methods(store, run) == ["decode", "prefill"]
    first = store.sql(
        "SELECT n.method, n.name FROM handles AS h JOIN nodes AS n USING (nid) "
        "WHERE h.namespace = 'debug_handle' AND h.handle = 1 AND n.op = 'call_function' ORDER BY ALL"
    ).fetchall()
    assert first == [("decode", "aten_cos_default"), ("prefill", "aten_sin_default")]
    mixed = store.sql(
        "SELECT a.name, b.name FROM links AS l JOIN nodes AS a ON a.nid = l.src_nid "
        "JOIN nodes AS b ON b.nid = l.dst_nid WHERE a.method <> b.method"
    )
    assert mixed.fetchall() == []


def test_03_a_method_keeps_its_name_that_the_file_has_under_forward(store: fxstore.Store, tmp_path: Path) -> None:
    """One method that is not called forward: the file holds its program under forward, the handle map its name."""
    assert edge_methods(store, store.ingest(saved(tmp_path, prefill=Sine()))) == ["prefill"]


def test_04_a_method_that_is_called_like_a_companion_file_is_read(store: fxstore.Store, tmp_path: Path) -> None:
    """A method whose name ends like one of the record's own file suffixes."""
    run = store.ingest(saved(tmp_path, decode=Sine(), encode_constants=Sine()))
    assert edge_methods(store, run) == ["decode", "encode_constants"]
