"""The stages of a trace: one per kind of graph, and per rank where there are several; a graph per compile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fxstore.errors import SourceError
from fxstore.ingest.build import GraphBuilder, Value
from fxstore.ingest.compile.printed_expressions import Ref
from fxstore.ingest.compile.printed_modules import Printed, build, parse, role_of_input
from fxstore.ingest.compile.torch_trace import MAX_PROBLEMS, GraphRecord, Trace, origins
from fxstore.ingest.compile.training import (  # fmt: skip
    BACKWARD_OUTPUT,
    FORWARD_OUTPUT,
    SAVED,
    VIEWS,
    Part,
    byte_size,
    roles,
    saved_overlay,
    saved_values,
)
from fxstore.ingest.json_input import Malformed, each, member, optional, typed
from fxstore.ingest.names import op_type
from fxstore.ingest.overlays import NodeOverlay
from fxstore.records import Graph, Stage

JOINT = "aot_joint_graph"
FORWARD = "aot_forward_graph"
BACKWARD = "aot_backward_graph"


@dataclass
class _Compile:
    """The graphs of one compile of one origin, by stage."""

    origin: str
    method: str
    printed: dict[str, list[Printed]]
    rows: dict[str, list[Graph]]


def stages_of(trace: Trace) -> tuple[list[Stage], list[NodeOverlay]]:
    """Returns a trace's stages, and what is saved for backward; what is damaged is noted on the last stage.

    Stages stand in the order in which they were first logged, and those of the ranks of one kind side by side; methods
    are compile ids. So a graph is only ever compared with that of the same compile.

    Raises:
        SourceError: No graph is left.
    """
    compiles = _compiles(trace)
    order = dict.fromkeys(stage for one in compiles for stage in (*one.printed, *one.rows))
    names = dict.fromkeys(one.origin for one in compiles)
    graphs = {one.origin + "\0" + one.method: _graphs(one) for one in compiles}
    stages: list[Stage] = []
    for stage in order:
        for origin in sorted(names):
            found = [
                graph
                for one in compiles
                if one.origin == origin
                for graph in graphs[one.origin + "\0" + one.method].get(stage, ())
            ]
            if found:
                note = "; ".join(_alone(compiles, stage, origin)) or None
                stages.append(Stage(_stage_name(origin, stage), tuple(found), "trace", note=note))
    if not stages:
        what = trace.problems[0] if trace.problems else "no graph was logged"
        raise SourceError(f"the trace holds no graph: {what}", hint="set TORCH_TRACE before torch compiles")
    return _noted(stages, trace.problems), list(_saved(compiles))


def _stage_name(origin: str, stage: str) -> str:
    return "/".join(filter(None, (origin, stage))) or "graph"


def _compiles(trace: Trace) -> list[_Compile]:
    names = origins(trace.records)
    found: dict[tuple[str, str], _Compile] = {}
    for record in trace.records:
        origin = names[record.origin]
        for again in range(1, len(trace.records) + 2):
            method = record.compiled if again == 1 else f"{record.compiled}#{again}"
            one = found.setdefault((origin, method), _Compile(origin, method, {}, {}))
            if record.stage not in one.printed and record.stage not in one.rows:
                break
        try:
            if record.text is not None:
                one.printed[record.stage] = parse(record.text)
            else:
                one.rows[record.stage] = [_from_rows(record, method)]
        except (SourceError, Malformed) as error:
            trace.problem(record.where, f"{record.stage or 'the graph'} of {record.compiled}: {error}")
    return [one for one in found.values() if one.printed or one.rows]


def _noted(stages: Sequence[Stage], problems: Sequence[str]) -> list[Stage]:
    if not problems:
        return list(stages)
    more = [f"and {len(problems) - MAX_PROBLEMS} more"] if len(problems) > MAX_PROBLEMS else []
    note = "; ".join([*filter(None, [stages[-1].note]), *problems[:MAX_PROBLEMS], *more])
    last = stages[-1]
    return [*stages[:-1], Stage(last.name, last.graphs, last.kind, "partial", note)]


def _alone(compiles: Sequence[_Compile], stage: str, origin: str) -> Iterator[str]:
    """Yields a line for each compile of a stage that not every rank has."""
    having: dict[str, list[str]] = {}
    for one in compiles:
        if stage in one.printed or stage in one.rows:
            having.setdefault(one.method, []).append(one.origin)
    everyone = {one for names in having.values() for one in names}
    for method, names in having.items():
        if origin in names and len(names) < len(everyone):
            yield f"graph {method} only on {', '.join(map(_spoken, sorted(names)))}"


def _spoken(origin: str) -> str:
    word = origin.rstrip("0123456789")
    return f"{word} {origin[len(word) :]}"


def _graphs(one: _Compile) -> dict[str, list[Graph]]:
    """Returns the graphs of a compile by stage; forward, backward and joint with the roles that they tell together."""
    parts = {stage: _part(printed[0], stage) for stage, printed in one.printed.items() if stage in _KINDS}
    given: dict[str, Mapping[str, Sequence[str]]] = {}
    if FORWARD in parts and BACKWARD in parts:
        told = roles(parts[FORWARD], parts[BACKWARD], parts.get(JOINT))
        given = {FORWARD: told["forward"], BACKWARD: told["backward"], JOINT: told.get("joint", {})}
    built = {stage: build(printed, one.method, given.get(stage)) for stage, printed in one.printed.items()}
    return {**built, **one.rows}


_KINDS = {JOINT: FORWARD_OUTPUT, FORWARD: FORWARD_OUTPUT, BACKWARD: BACKWARD_OUTPUT}


def _part(printed: Printed, stage: str) -> Part:
    """Returns what a printed graph tells about itself: roles by torch's own descriptors."""
    part, targets = Part(), dict[str, str]()
    for node in printed.nodes:
        op, target = node.computed.op, node.computed.target
        part.sizes[node.name] = byte_size(node.about.value.dtype, node.about.value.shape)
        if op == "placeholder":
            part.inputs[node.name] = _role_of_input(node.says, stage)
            continue
        if op.startswith("call_"):
            part.ops[node.name] = node.name, target
            targets[node.name] = target
        first = next((leaf for _, leaf in node.computed.args if isinstance(leaf, Ref)), None)
        shares = op_type(target) in VIEWS or (
            target == "_operator.getitem" and first is not None and op_type(targets.get(first.name, "")) in VIEWS
        )
        if first is not None and shares:
            part.views[node.name] = first.name
    known = part.inputs.keys() | part.ops.keys()
    for name, says in printed.returns:
        if name in known:
            kind = SAVED if says.startswith("SavedForBackwards") else _KINDS[stage]
            part.outputs.append((name, BACKWARD_OUTPUT if says.startswith("GradAOTOutput") else kind))
    return part


def _role_of_input(says: str | None, stage: str) -> str:
    """What the backward graph takes is a tangent, or was saved: be it an input of the forward graph."""
    told = role_of_input(says)
    return SAVED if stage == BACKWARD and told != "tangent" else told or "input"


def _saved(compiles: Sequence[_Compile]) -> Iterator[NodeOverlay]:
    for one in compiles:
        if FORWARD in one.printed:
            values = saved_values(_part(one.printed[FORWARD][0], FORWARD))
            if values:
                name = "saved for backward" if not one.origin else f"saved for backward, {_spoken(one.origin)}"
                where = _stage_name(one.origin, FORWARD)
                yield saved_overlay(f"{name} ({one.method})", values, where, one.method)


def _from_rows(record: GraphRecord, method: str) -> Graph:
    """Returns the graph of a record that holds its nodes as JSON: name, op, target, inputs, dtype, shape."""
    builder = GraphBuilder(method)
    for row in each(record.nodes or (), dict, "a node"):
        name, op = member(row, "name", str), optional(row, "op", str) or "call_function"
        if name in builder.positions:
            raise Malformed(f"the name {name[:60]!r} stands twice")
        shape = optional(row, "shape", list)
        value = Value(optional(row, "dtype", str), None if shape is None else tuple(map(str, shape)))
        target = optional(row, "target", str) or name
        role = {"placeholder": "input", "output": "output"}.get(op, "op")
        kind = op if role != "op" else op_type(target)
        sources = list(each(optional(row, "inputs", list) or [], str, "an input"))
        position = builder.node(name, op, target, role, kind=kind, values=(value,))
        for i, source in enumerate(sources):
            if source not in builder.positions or source == name:
                raise Malformed(f"{name[:60]!r} uses {typed(source, str, 'an input')[:60]!r}, which is not before it")
            builder.use(builder.positions[source], 0, position, str(i))
    return builder.finish()
