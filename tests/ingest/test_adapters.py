"""The adapter protocol: what a third party can rely on, and what it cannot break."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fxstore
from fxstore.ingest import adapters
from fxstore.ingest.adapters import Ingested
from fxstore.ingest.build import GraphBuilder
from fxstore.ingest.overlays import NodeOverlay
from fxstore.records import Stage


class Lines:
    """Reads ``.lines``: one operator a line, each on the one before it; it takes an option."""

    options = frozenset({"prefix"})

    def accepts(self, source: object) -> bool:
        return isinstance(source, Path) and source.suffix == ".lines"

    def read(self, source: Path, prefix: str = "") -> Ingested:
        builder = GraphBuilder("forward")
        last = builder.node("x", "placeholder", "x", "input")
        for i, line in enumerate(source.read_text().split()):
            position = builder.node(f"{prefix}{line}_{i}", "call_function", f"lines.{line}.default", "op")
            builder.use(last, 0, position, "0")
            last = position
        rows = [{"node": f"{prefix}relu_1", "metric": "cycles", "value": 7.0}]
        layer = NodeOverlay.of("cycles", "latency", rows, source="lines", better="lower")
        return Ingested((Stage("", (builder.finish(),), "device"),), (layer,))


class Numbers:
    """Reads ``.numbers``: a node and a number a line, for the stage that is asked for."""

    options = frozenset({"stage"})

    def accepts(self, source: object) -> bool:
        return isinstance(source, Path) and source.suffix == ".numbers"

    def read(self, source: Path, stage: str | None = None) -> Ingested:
        pairs = [line.split() for line in source.read_text().splitlines()]
        rows = [{"node": node, "stage": stage, "metric": "cosine", "value": float(value)} for node, value in pairs]
        return Ingested(overlays=(NodeOverlay.of("numbers", "accuracy", rows, better="higher"),))


class Broken:
    def __init__(self) -> None:
        raise RuntimeError("half installed")


class Intrusive:
    def accepts(self, source: object) -> bool:
        raise ValueError("I look too closely")

    def read(self, source: Any) -> Ingested:
        raise AssertionError


class Failing:
    def accepts(self, source: object) -> bool:
        return source == "fail"

    def read(self, source: Any) -> Ingested:
        raise KeyError("tensors")


Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    own = adapters.installed()

    def add(*kinds: type, more: Iterable[EntryPoint] = ()) -> None:
        module = ModuleType("made_adapters")
        for kind in kinds:
            setattr(module, kind.__name__, kind)
        monkeypatch.setitem(sys.modules, "made_adapters", module)
        made = [EntryPoint(f"a-{k.__name__}", f"made_adapters:{k.__name__}", adapters.GROUP) for k in kinds]
        monkeypatch.setattr(adapters, "entry_points", lambda group: [*made, *more, *own])

    return add


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.lines").write_text("conv relu conv")
    (tmp_path / "acc.numbers").write_text("conv_0 0.5\nrelu_1 0.25\ncnv_2 1\n")
    return tmp_path


@pytest.fixture
def store() -> Iterable[fxstore.Store]:
    with fxstore.connect(":memory:") as opened:
        yield opened


def test_a_third_partys_stages_and_overlays_are_stored(store: fxstore.Store, install: Install, folder: Path) -> None:
    install(Lines)
    run = store.ingest(folder / "net.lines", prefix="d_")
    assert (run.name, run.stages, run.notes) == ("net", ("device",), ())
    rows = store.sql(
        "SELECT n.name, m.value FROM metrics m JOIN nodes n USING (nid) WHERE metric = 'cycles'"
    ).fetchall()
    assert rows == [("d_relu_1", 7.0)]


def test_numbers_of_one_source_lie_on_the_stages_of_others(
    store: fxstore.Store, install: Install, folder: Path
) -> None:
    install(Lines, Numbers)
    sources = {"acc": folder / "acc.numbers", "a": folder / "net.lines", "b": folder / "net.lines"}
    run = store.ingest(sources, stage="b")
    assert run.stages == ("a", "b")
    rows = store.sql(
        "SELECT o.name, n.stage, n.name, m.value FROM metrics m JOIN overlays o USING (overlay_id) "
        "LEFT JOIN nodes n USING (nid) WHERE m.metric = 'cosine' ORDER BY m.value"
    ).fetchall()
    assert rows == [("acc", "b", "relu_1", 0.25), ("acc", "b", "conv_0", 0.5), ("acc", None, None, 1.0)]
    assert "'cnv_2' names no node of stage b; did you mean 'conv_2'" in run.notes[-1]


def test_a_name_of_several_stages_is_on_neither(store: fxstore.Store, install: Install, folder: Path) -> None:
    install(Lines, Numbers)
    run = store.ingest({"a": folder / "net.lines", "b": folder / "net.lines", "acc": folder / "acc.numbers"})
    assert "'conv_0' names several nodes: in a, b" in run.notes[-1]
    assert store.sql("SELECT count(*) FROM metrics WHERE metric = 'cosine' AND nid IS NOT NULL").fetchall() == [(0,)]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"prefx": "d_"}, "takes no option 'prefx'"), ({"prefix": "d_", "stage": "b"}, "takes no option 'stage'")],
)
def test_an_option_that_nobody_takes_is_refused(
    store: fxstore.Store, install: Install, folder: Path, options: dict[str, str], message: str
) -> None:
    install(Lines, Numbers)
    with pytest.raises(fxstore.UsageError, match=message):
        store.ingest(folder / "net.lines", **options)
    with pytest.raises(fxstore.UsageError, match="no source takes the option 'colour'"):
        store.ingest({"a": folder / "net.lines"}, colour="red")
    assert len(store.runs()) == 0


def test_broken_adapters_break_no_other_ingest(
    store: fxstore.Store, install: Install, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nowhere = EntryPoint("a-Gone", "no_such_package:Adapter", adapters.GROUP)
    install(Broken, Intrusive, Failing, Lines, more=[nowhere])
    with caplog.at_level(logging.WARNING, "fxstore"):
        assert store.ingest(folder / "net.lines").status == "complete"
    for name in ("a-Broken cannot be loaded: RuntimeError: half installed", "a-Intrusive is passed over", "a-Gone"):
        assert name in caplog.text
    with pytest.raises(fxstore.SourceError, match="no adapter reads") as error:
        store.ingest(object())
    assert "broken: a-Broken, a-Gone, a-Intrusive" in (error.value.hint or "")


def test_an_adapter_that_fails_is_one_typed_error(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install(Failing)
    monkeypatch.setattr(adapters, "path_of", lambda source: source)
    with pytest.raises(fxstore.SourceError, match=r"adapter a-Failing cannot read .*: KeyError: 'tensors'"):
        adapters.read("fail")


def test_of_several_sources_a_bad_one_leaves_a_partial_run(
    store: fxstore.Store, install: Install, folder: Path
) -> None:
    install(Lines)
    run = store.ingest({"a": folder / "net.lines", "b": folder / "gone.lines"})
    assert (run.status, run.stages) == ("partial", ("a", "b"))
    stages = store.sql("SELECT stage, status, note FROM stages ORDER BY stage_index").fetchall()
    assert stages == [("a", "complete", None), ("b", "failed", f"no such file: {folder / 'gone.lines'}")]
    assert run.notes == (f"stage b is not recorded: no such file: {folder / 'gone.lines'}",)


def test_on_the_command_line_numbers_lie_on_the_run_before_them(
    install: Install, folder: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    from fxstore.cli import main

    install(Lines, Numbers)
    where = ["--store", str(folder / "store")]
    with pytest.raises(SystemExit) as done:
        main(["ingest", *where, "-O", "prefix=", str(folder / "net.lines"), str(folder / "acc.numbers")])
    out = capsys.readouterr().out
    assert (done.value.code, len(out.split())) == (0, 1)
    assert "1 ids lie on no node: 'cnv_2'" in caplog.text
    with pytest.raises(SystemExit) as done:
        main(["ingest", *where, str(folder / "acc.numbers"), str(folder / "net.lines")])
    assert done.value.code == 2
    assert "has numbers but no graph" in capsys.readouterr().err
