"""Runs a live graph and captures what its nodes give: the numbers of every stage before the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from fxstore.errors import SourceError, UsageError
from fxstore.ingest.export.snapshot import Module, Program
from fxstore.ingest.measure.interpreter import (
    Array,
    Give,
    Key,
    Recorder,
    Sink,
    Substitute,
    private,
    run_module,
    run_program,
    to_array,
)

__all__ = ["Array", "Captured", "Key", "capture_values", "flat_inputs", "stream_values", "to_array"]

DEFAULT_BUDGET: Final = 1 << 30
_OVER_BUDGET = "over the capture budget"


@dataclass
class Captured:
    """The values of one run.

    Attributes:
        values: Copies as they were when the node gave them; half and bfloat16 as float32.
        missing: Reasons for (path, node, port) that have no value: the node failed, an input of it did, or it ran
            several times, or it gives no tensor.
    """

    values: dict[Key, Array] = field(default_factory=dict)
    missing: dict[Key, str] = field(default_factory=dict)


def capture_values(
    source: fx.GraphModule | ExportedProgram,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    keep: Callable[[Key], bool] | None = None,
    budget_bytes: int = DEFAULT_BUDGET,
) -> Captured:
    """Runs a graph once and returns what each of its nodes gives, nested graphs and delegates' insides included.

    Neither the source's state (buffers, observers' statistics), nor the inputs, nor the random generator change.

    Args:
        source: A GraphModule as it is, or an exported program; of the latter its own graph is run, so that the node
            names are those of the graph that was captured.
        args: Inputs, as the source's caller gives them.
        kwargs: Keyword inputs.
        keep: Which values to keep; None for all.
        budget_bytes: Values beyond it are not kept, and say so.

    Raises:
        UsageError: If the inputs do not fit the graph's.
        SourceError: If the source is neither.
    """
    captured = Captured()
    left = budget_bytes

    def take(key: Key, give: Give, size: int) -> None:
        nonlocal left
        if size > left:
            captured.missing[key] = _OVER_BUDGET
        else:
            left -= size
            captured.values[key] = give()

    captured.missing.update(stream_values(source, args, kwargs, take, keep))
    for key in captured.missing:
        captured.values.pop(key, None)
    return captured


def stream_values(
    source: fx.GraphModule | ExportedProgram | Module | Program,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    sink: Sink,
    keep: Callable[[Key], bool] | None = None,
    *,
    state: MutableMapping[str, Any] | None = None,
    substitute: Substitute | None = None,
) -> dict[Key, str]:
    """Runs a graph once and hands each value to a sink while it runs; returns the reasons of those that have none.

    A node that runs several times, in a loop's body, is handed over the first time only and then given a reason: such a
    value is one of several.

    Args:
        source: As for :func:`capture_values`, or a :func:`fxstore.ingest.export.snapshot.snapshot` of it.
        sink: Called with the value's key, a function that copies it, and the copy's size in bytes.
        keep: Which values to hand over; None for all.
        state: Buffers to begin with instead of the source's own, by name; afterwards those that the run left.
        substitute: May give the value that the rest of the graph goes on with, after the sink has seen the node's own.
    """
    recorder = Recorder(sink, keep, substitute)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        if isinstance(source, ExportedProgram | Program):
            inputs = _flat(args, kwargs, source.call_spec.in_spec)
            run_program(recorder, source, [private(value) for value in inputs], "", state)
        elif isinstance(source, fx.GraphModule | Module):
            inputs = _module_inputs(source, args, kwargs)
            run_module(recorder, source, [private(value) for value in inputs], state)
        else:
            raise SourceError(f"cannot run a {type(source).__name__}", hint="pass a GraphModule or an ExportedProgram")
    return recorder.missing


def flat_inputs(source: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> list[Any]:
    """Returns the flat inputs of a graph, in its own order, from those that its caller gives.

    Raises:
        UsageError: If they do not fit the graph's.
    """
    if isinstance(source, ExportedProgram | Program):
        return _flat(args, kwargs, source.call_spec.in_spec)
    return _module_inputs(source, args, kwargs)


def _module_inputs(module: fx.GraphModule | Module, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> list[Any]:
    in_spec = getattr(getattr(module.graph._codegen, "pytree_info", None), "in_spec", None)
    if in_spec is not None:
        return _flat(args, kwargs, in_spec)
    named = dict(kwargs or {})
    names = [str(node.target) for node in module.graph.nodes if node.op == "placeholder"]
    rest = [named.pop(name) for name in names[len(args) :] if name in named]
    if named:
        raise UsageError(f"the graph has no input {next(iter(named))!r}", hint=f"it has {', '.join(names)}")
    return [*args, *rest]


def _flat(args: Sequence[Any], kwargs: Mapping[str, Any] | None, in_spec: pytree.TreeSpec | None) -> list[Any]:
    """Returns flat inputs in the graph's order; the order of keyword inputs is the graph's, not the caller's."""
    named = dict(kwargs or {})
    if in_spec is not None and in_spec.num_children == 2:
        order = in_spec.child(1).context or []
        if set(order) != set(named):
            raise UsageError(f"the keyword inputs are {sorted(named)}", hint=f"the graph takes {sorted(order)}")
        named = {name: named[name] for name in order}
    flat, spec = pytree.tree_flatten((tuple(args), named))
    if in_spec is not None and spec.num_leaves != in_spec.num_leaves:
        raise UsageError(f"{spec.num_leaves} inputs are given", hint=f"the graph takes {in_spec.num_leaves}")
    return flat
