"""Adapters for live objects. Each looks at a source's class by name first: accepting imports nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fxstore.ingest.adapters import Ingested
from fxstore.records import Graph, Stage

if TYPE_CHECKING:
    from torch import fx
    from torch.export import ExportedProgram


class GraphModuleAdapter:
    """A ``torch.fx.GraphModule``: one stage."""

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a GraphModule."""
        return _is(source, "torch.fx.graph_module", "GraphModule")

    def read(self, source: fx.GraphModule) -> Ingested:
        """Takes a snapshot of the graph and of those nested in it."""
        from fxstore.ingest.export.capture import capture_module

        notes: list[str] = []
        stage = _noted(Stage("", tuple(capture_module(source, notes=notes))), notes)
        return Ingested((stage,), status=stage.status)


class ExportedProgramAdapter:
    """A ``torch.export.ExportedProgram``, or a dict of them by method: one stage."""

    def accepts(self, source: object) -> bool:
        """Tells whether the source is an ExportedProgram, or holds nothing else."""
        programs = list(source.values()) if isinstance(source, Mapping) else [source]
        return bool(programs) and all(_is(p, "torch.export.exported_program", "ExportedProgram") for p in programs)

    def read(self, source: ExportedProgram | Mapping[str, ExportedProgram]) -> Ingested:
        """Takes a snapshot of each program's graph and of those nested in it."""
        methods = source.items() if isinstance(source, Mapping) else [("forward", source)]
        stage = _stage("", "exported", methods)
        return Ingested((stage,), status=stage.status)


class ProgramManagerAdapter:
    """An ``EdgeProgramManager`` or ``ExecutorchProgramManager``: one stage with a graph per method."""

    def accepts(self, source: object) -> bool:
        """Tells whether the source is one of ExecuTorch's program managers."""
        home = "executorch.exir.program._program"
        return _is(source, home, "EdgeProgramManager") or _is(source, home, "ExecutorchProgramManager")

    def read(self, source: Any) -> Ingested:
        """Takes a snapshot of every method's graph and of the delegates in it."""
        emitted = _is(source, "executorch.exir.program._program", "ExecutorchProgramManager")
        programs = [(method, source.exported_program(method)) for method in sorted(source.methods)]
        stage = _stage("", "runtime" if emitted else "lowered", programs, emitted=emitted)
        if not emitted:
            return Ingested((stage,), status=stage.status)
        from fxstore.ingest.executorch.handles import Maps

        mapped = Maps.of_live(source.debug_handle_map, source.delegate_map).on(stage)
        return Ingested((mapped,), status=stage.status)


class EtRecordAdapter:
    """A live ``ETRecord``: the exported program, the entries of its ``graph_map``, the edge program."""

    def accepts(self, source: object) -> bool:
        """Tells whether the source is an ETRecord."""
        return _is(source, "executorch.devtools.etrecord._etrecord", "ETRecord")

    def read(self, source: Any) -> Ingested:
        """Takes a snapshot of each program that the record holds."""
        stages: list[Stage] = []
        live: dict[str, object] = {}
        maps = source._debug_handle_map
        only = (
            next(iter(maps)) if isinstance(maps, dict) and len(maps) == 1 and not _is_handle(next(iter(maps))) else None
        )
        if source.exported_program is not None:
            programs = _methods(source.exported_program, only)
            stages.append(_stage("exported", "exported", programs, identity=source.export_graph_id))
            live["exported"] = dict(programs)
        extras: dict[str, list[tuple[str, ExportedProgram]]] = {}
        for key, program in (source.graph_map or {}).items():
            name, _, method = key.rpartition("/")
            extras.setdefault(name or key, []).append((method if name else "forward", program))
        taken = {"exported", "edge"}
        extras = {f"graph_map/{name}" if name in taken else name: programs for name, programs in extras.items()}
        extras = {name: sorted(programs, key=lambda one: one[0]) for name, programs in extras.items()}
        stages += [_stage(name, "exported", programs) for name, programs in extras.items()]
        live |= {name: dict(programs) for name, programs in extras.items()}
        if source.edge_dialect_program is not None:
            programs = _methods(source.edge_dialect_program, only)
            stages.append(_stage("edge", "edge", programs))
            live["edge"] = dict(programs)
        from fxstore.ingest.executorch.handles import Maps, counts_of_live

        complete = maps is not None
        known = Maps.of_live(maps, source._delegate_map)
        stages = [known.on(stage) for stage in stages]
        note = "no runtime maps: the record never saw its ExecuTorch program"
        if not complete and stages:
            last = stages[-1]
            stages[-1] = _noted(last, [note])
        outputs = counts_of_live(source._instruction_id_to_num_outs_map)
        status = "complete" if all(stage.status == "complete" for stage in stages) and complete else "partial"
        return Ingested(tuple(stages), outputs, status, live=live)


def _methods(program: Any, only: str | None) -> list[tuple[str, ExportedProgram]]:
    """Returns the programs by method; a lone program lost its method's name, which the runtime maps still tell.

    Sorted: ExecuTorch keeps methods in sets, whose order is another one in each process.
    """
    return sorted(program.items()) if isinstance(program, dict) else [(only or "forward", program)]


def _is_handle(key: object) -> bool:
    return isinstance(key, int) or (isinstance(key, str) and key.isdigit())


def _stage(
    name: str,
    kind: str,
    programs: Iterable[tuple[str, ExportedProgram]],
    *,
    emitted: bool = False,
    identity: int | None = None,
) -> Stage:
    from fxstore.ingest.export.capture import capture_program

    capture: Callable[..., list[Graph]] = capture_program
    notes: list[str] = []
    graphs = tuple(
        graph
        for method, program in programs
        for graph in capture(program, method, emitted=emitted, identity=identity, notes=notes)
    )
    return _noted(Stage(name, graphs, kind), notes)


def _noted(stage: Stage, notes: list[str]) -> Stage:
    """Returns a stage that says what is missing in it."""
    note = "; ".join(filter(None, (stage.note, *notes)))
    return replace(stage, status="partial", note=note) if notes else stage


def _is(source: object, module: str, name: str) -> bool:
    return any(cls.__module__ == module and cls.__qualname__ == name for cls in type(source).__mro__)
