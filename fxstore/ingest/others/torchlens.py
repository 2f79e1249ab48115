"""Live TorchLens traces: what a model's code really ran, call by call, and what was measured of it.

Follows torchlens 2.36. A trace is read through its public records; nothing of it is run again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from fxstore.ingest.adapters import Ingested
from fxstore.ingest.build import NO_VALUE, Place, Value
from fxstore.ingest.names import is_library, spelled
from fxstore.ingest.node_table import Node, Use, graph_of
from fxstore.records import EXECUTED, Stage

_OUTPUT: Final = "output"
_OWNERS: Final = {"_VariableFunctionsClass": "torch", "TensorBase": "torch.Tensor"}


def is_trace(source: object) -> bool:
    """Tells whether a source is a TorchLens trace, without importing TorchLens."""
    return any(
        (cls.__module__, cls.__name__) == ("torchlens.data_classes.trace", "Trace") for cls in type(source).__mro__
    )


def stage_of(trace: Any) -> Stage:
    """Returns what a trace ran as one stage, one node per call of a function, parameters and buffers with names."""
    known = names_of(trace)
    nodes: dict[str, Node] = {}
    returned: list[Use] = []
    state: dict[str, str] = {}
    for op in trace.ops:
        if op.is_output:
            returned += [replace(use, argument=f"0[{len(returned) + i}]") for i, use in enumerate(_uses(op, known))]
            continue
        parameters = {str(p.address): p for p in (op.params or ())}
        for address, parameter in parameters.items():
            state[address] = f"state:{address}"
            nodes.setdefault(address, _parameter(address, parameter))
        uses = [*_uses(op, known), *(Use(address, 0, address.rpartition(".")[2]) for address in parameters)]
        name = known[op.label]
        nodes[name] = _node(op, name, uses)
        if op.is_buffer:
            state[name] = f"state:{op.address}"
    nodes[_OUTPUT] = Node(_OUTPUT, _OUTPUT, returned, [NO_VALUE], role="output")
    graph, notes = graph_of(list(nodes.values()))
    if getattr(trace, "halted", False):
        notes.append(f"the trace was halted: {trace.halt_reason}")
    signature = {**graph.signature, **{name: said for name, said in state.items() if name in nodes}}
    status = "partial" if notes else "complete"
    return Stage("", (replace(graph, signature=signature),), EXECUTED, status, "; ".join(notes) or None)


def names_of(trace: Any) -> dict[str, str]:
    """Returns the node's name of each label: ``linear_1_4:2`` for the second of several calls, else ``conv2d_1_1``."""
    found: dict[str, str] = {}
    for op in trace.ops:
        name = str(op.label if (op.num_passes or 1) > 1 else op.layer_label)
        found[str(op.label)] = name
        if (op.num_passes or 1) <= 1:
            found[str(op.layer_label)] = name
    return found


def _node(op: Any, name: str, uses: list[Use]) -> Node:
    role = "input" if op.is_input else "buffer" if op.is_buffer else "op"
    attrs: dict[str, object] = {"label": str(op.label)}
    if role == "op":
        given = {str(i): str(value) for i, value in enumerate(op.non_tensor_pos_args or ())}
        given |= {str(key): str(value) for key, value in (op.non_tensor_kwargs or {}).items()}
        attrs |= {"given": given} if given else {}
        attrs |= {"call": op.pass_index, "calls": op.num_passes} if (op.num_passes or 1) > 1 else {}
        attrs |= {"in_place": True} if op.is_inplace else {}
        attrs |= {"output": op.multi_output_index} if op.multi_output_index is not None else {}
        attrs |= {"autograd": str(op.grad_fn_class_name)} if op.grad_fn_class_name else {}
    return Node(
        name,
        role if role != "op" else spelled(str(op.func_name or op.layer_type or "unknown")),
        uses,
        [_value(op)],
        role,
        op="placeholder" if role == "input" else None,
        target={"input": name, "buffer": str(op.address)}.get(role) or _target(op),
        place=_place(op),
        attrs=attrs,
    )


def _target(op: Any) -> str:
    name = str(op.func_qualname or op.func_name)
    owner, _, called = name.rpartition(".")
    return f"{_OWNERS.get(owner, owner)}.{called}".strip(".")


def _parameter(address: str, parameter: Any) -> Node:
    value = Value(str(parameter.dtype).removeprefix("torch."), tuple(map(str, parameter.shape)))
    return Node(address, "parameter", (), [value], "parameter", target=address)


def _value(op: Any) -> Value:
    if op.dtype is None or op.shape is None:
        return NO_VALUE
    device = None if op.device_ref is None else str(op.device_ref)
    return Value(str(op.dtype).removeprefix("torch."), tuple(map(str, op.shape)), device)


def _uses(op: Any, known: Mapping[str, str]) -> list[Use]:
    """Returns the values that a call reads, each with the argument that it is."""
    places: Mapping[str, Mapping[Any, Any]] = op.parent_arg_positions or {}
    uses = [
        Use(known[str(parent)], 0, _argument(place))
        for group in ("args", "kwargs")
        for place, parent in (places.get(group) or {}).items()
        if str(parent) in known
    ]
    told = {use.source for use in uses}
    return [*uses, *(Use(known[str(one)]) for one in op.parents if str(one) in known and known[str(one)] not in told)]


def _argument(place: object) -> str:
    first, *rest = place if isinstance(place, tuple) else (place,)
    return str(first) + "".join(f"[{one}]" for one in rest)


def _place(op: Any) -> Place:
    calls = [_module_call(str(one)) for one in op.modules or ()]
    path, call = calls[-1] if calls else ("", 1)
    file, line = next(_frames(op.code_context or ()), (None, None))
    outer = tuple((path, call) for path, call in calls[:-1] if call > 1)
    return Place(path, None, call, file, line, outer_calls=outer)


def _module_call(text: str) -> tuple[str, int]:
    """Returns path and call of a module: ``model.0:3`` is the third call of ``model.0``."""
    path, _, number = text.rpartition(":")
    return path, int(number) if number.isdecimal() else 1


def _frames(frames: Iterable[Any]) -> Iterator[tuple[str | None, int | None]]:
    """Yields the user's own frames, innermost first; the last of all is the call of the trace itself."""
    *inner, _ = [*frames] or [None]
    for frame in reversed(inner):
        file = frame.file and os.fspath(frame.file)
        if file and not is_library(file):
            yield file, frame.line_number


# The adapter for live TorchLens traces.


class TorchLensAdapter:
    """A ``torchlens.Trace``: what was run as a stage, what was measured as overlays."""

    options = frozenset({"fields"})

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a trace, without importing TorchLens."""
        return is_trace(source)

    def read(self, source: Any, *, fields: Iterable[str | Callable[[Any], Any]] | Mapping[str, Any] = ()) -> Ingested:
        """Takes a snapshot of a trace.

        Args:
            fields: Names of fields of TorchLens's records, or functions of a record, as further overlays.
        """
        from fxstore.ingest.others.torchlens_overlays import overlays_of
        # MERGED

        stage = stage_of(source)
        return Ingested((stage,), tuple(overlays_of(source, fields)), stage.status)
