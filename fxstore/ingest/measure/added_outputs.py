"""Values inside delegates, as their backend computes them: a delegate is lowered again with inner values as outputs.

What runs then is another program than the shipped one: a value that leaves a delegate is not fused away in it. Each is
run on what the shipped one was passed, and what it returns is held against what the shipped one returned.
"""

from __future__ import annotations

import contextlib
import copy
import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind, OutputSpec, TensorArgument
from torch.utils import _pytree as pytree

from fxstore.ingest.executorch.attach import Attached
from fxstore.ingest.executorch.etdump import Array
from fxstore.ingest.executorch.runtime_values import Delegate, Key, dequantised, port_values
from fxstore.ingest.export.snapshot import copied
from fxstore.ingest.measure import memory_format
from fxstore.ingest.measure.interpreter import to_array
from fxstore.ingest.measure.runtime import DeviceError, run_delegates

ADDED: Final = "by an added output"
_CODES: Final = "quantised as it is computed: measured where its codes are dequantised"
_FOLDED: Final = "folded into its batch-norm: measured there"
_CONSTANT: Final = "packed into the delegate"
_UNREAD: Final = "nothing reads it, and the delegate does not give it"
_UNTOLD: Final = "what its delegate was passed is not in the log"
_COPIES: Final = ("clone", "_clone_dim_order", "alias_copy", "_to_dim_order_copy")
_ACTIVATIONS: Final = ("relu", "hardtanh", "clamp")
_CLOSE: Final = 1e-4
_MESSAGE_LENGTH: Final = 160


@dataclass
class Added:
    """What added outputs told of one execution, by key of the value.

    Attributes:
        notes: What is to be known of each number.
    """

    values: dict[Key, Array] = field(default_factory=dict)
    missing: dict[Key, str] = field(default_factory=dict)
    notes: dict[Key, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Job:
    """Some values of one delegate that shall leave it."""

    delegate: Delegate
    module: Any
    taps: Taps
    names: tuple[str, ...]

    def halves(self) -> list[_Job]:
        middle = len(self.names) // 2
        return [replace(self, names=part) for part in (self.names[:middle], self.names[middle:])]


def added_outputs(
    program: ExportedProgram, delegates: Sequence[Delegate], executions: Sequence[Attached]
) -> list[Added]:
    """Returns the values inside a program's delegates for each of its logged executions.

    Where a backend does not give all values of a delegate at once, each half is tried, and so on down to single ones.

    Args:
        program: As ``to_executorch()`` left it.
        delegates: Those that its top graph calls.
        executions: What was logged of the shipped program: its delegates are run again on that.
    """
    found = [Added() for _ in executions]
    jobs: list[_Job] = []
    for delegate in delegates:
        module = program.graph_module.get_submodule(delegate.graph.path)
        taps = tappable(module.original_module)
        _lack(found, delegate, taps.reasons)
        for attached, added in zip(executions, found, strict=True):
            ports = {key: array for key, array in port_values(attached, [delegate]).items() if key[2] == 0}
            added.values |= _spread(delegate, module.original_module.graph, taps, ports)
        if any(delegate.passed(attached) is None for attached in executions):
            _lack(found, delegate, {(name, 0): _UNTOLD for name in taps.names})
        elif taps.names:
            jobs.append(_Job(delegate, module, taps, taps.names))
    while jobs:
        jobs = _round(jobs, executions, found)
    return found


@dataclass(frozen=True)
class Taps:
    """Which values of a delegate a backend is asked for.

    Attributes:
        names: Nodes whose values leave it.
        same: Nodes that a backend makes one with another, and so have its value: copies, and what is computed twice.
        reasons: Why others have none, by node and port.
    """

    names: tuple[str, ...]
    same: dict[str, str]
    reasons: dict[tuple[str, int], str]


def tappable(program: ExportedProgram) -> Taps:
    """Returns what can be asked for of a delegate.

    A value that is quantised at once is nowhere in memory, and neither is what a quantised operator's dequantize would
    give: the codes between the two are.
    """
    names: list[str] = []
    reasons: dict[tuple[str, int], str] = {}
    same = _same(program.graph)
    returned = {same.get(node.name, node.name) for node in program.graph.output_node().all_input_nodes}
    for node in program.graph.nodes:
        if node.op != "call_function":
            continue
        if not isinstance(node.meta.get("val"), torch.Tensor):
            reasons |= {(node.name, port): _UNREAD for port in _unread(node)}
            continue
        if node.name in same or node.name in returned:
            continue
        reason = _reason(node)
        if reason is not None:
            reasons[node.name, 0] = reason
        elif not _operator(node).startswith("dequantize"):
            names.append(node.name)
    return Taps(tuple(names), same, reasons)


def _reason(node: fx.Node) -> str | None:
    """Returns why a value is nowhere in a delegate's memory, or None."""
    if _operator(node).startswith("dequantize"):
        return _CONSTANT if all(source.op == "placeholder" for source in node.all_input_nodes) else None
    if _is_quantised_at_once(node):
        return _CODES
    return _FOLDED if len(node.users) == 1 and "batch_norm" in _operator(next(iter(node.users))) else None


def _unread(node: fx.Node) -> set[int]:
    """Returns the ports of an operator that nothing reads."""
    value = node.meta.get("val")
    ports = set(range(len(value))) if isinstance(value, tuple | list) else set()
    return ports - {user.args[1] for user in node.users if _operator(user) == "getitem"}


def _is_quantised_at_once(node: fx.Node) -> bool:
    users = list(node.users)
    if len(users) == 1 and _operator(users[0]) in _ACTIVATIONS:
        return _is_quantised_at_once(users[0])
    return any(_operator(user).startswith("quantize") for user in users)


def _same(graph: fx.Graph) -> dict[str, str]:
    """Returns nodes by the earlier one that has the same value: what they copy, or what computes the same."""
    same: dict[fx.Node, fx.Node] = {}
    seen: dict[str, fx.Node] = {}
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if (source := _copied(node)) is not None:
            same[node] = same.get(source, source)
            continue
        args = fx.map_arg((node.args, node.kwargs), lambda used: same.get(used, used))
        first = seen.setdefault(f"{node.target}{args}", node)  # a node reads as its name there, a text in quotes
        if first is not node:
            same[node] = first
    return {node.name: first.name for node, first in same.items()}


def _copied(node: fx.Node) -> fx.Node | None:
    """Returns what a node copies as it is, or None."""
    if _operator(node) not in _COPIES or len(node.all_input_nodes) != 1:
        return None
    (source,) = node.all_input_nodes
    given, taken = source.meta.get("val"), node.meta.get("val")
    is_plain = isinstance(given, torch.Tensor) and isinstance(taken, torch.Tensor) and given.dtype == taken.dtype
    return source if is_plain else None


def with_outputs(program: ExportedProgram, names: Sequence[str]) -> ExportedProgram:
    """Returns a copy of a program, with the same weights, that returns further values after its own."""
    graph = copied(program.graph)
    output = graph.output_node()
    by_name = {node.name: node for node in graph.nodes}
    own: Any = output.args[0]
    returned = (*own, *(by_name[name] for name in names))
    output.args = (returned,)
    signature = copy.deepcopy(program.graph_signature)
    signature.output_specs += [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(name), None) for name in names]
    calls = copy.deepcopy(program.module_call_graph)
    if calls and calls[0].signature is not None:
        calls[0].signature.out_spec = pytree.tree_structure(tuple(range(len(returned))))
    return ExportedProgram(
        root=fx.GraphModule(program.graph_module, graph),
        graph=graph,
        graph_signature=signature,
        state_dict=program.state_dict,
        range_constraints=program.range_constraints,
        module_call_graph=calls,
        constants=program.constants,
        verifiers=[program.verifier],
    )


def _operator(node: fx.Node) -> str:
    if node.op != "call_function":
        return ""
    name = str(getattr(node.target, "__name__", node.target))
    return name.removesuffix(".default").rpartition(".")[2] if "::" not in name else name.rpartition("::")[2]


def _round(jobs: Sequence[_Job], executions: Sequence[Attached], found: Sequence[Added]) -> list[_Job]:
    """Runs jobs in one process and keeps what they told; returns what is to be tried in smaller parts."""
    lowered = [_lowered(job) for job in jobs]
    ready = [(job, program) for job, program in zip(jobs, lowered, strict=True) if isinstance(program, bytes)]
    ran = iter(run_delegates([(program, _inputs(job, executions)) for job, program in ready]))
    further: list[_Job] = []
    for job, program in zip(jobs, lowered, strict=True):
        outputs = next(ran) if isinstance(program, bytes) else program
        reason = outputs if isinstance(outputs, str) else _keep(job, outputs, executions, found)
        if reason is not None and len(job.names) > 1:
            further += job.halves()
        elif reason is not None:
            _lack(found, job.delegate, {(job.names[0], 0): f"{job.module.backend_id} does not give it: {reason}"})
    return further


def _lowered(job: _Job) -> bytes | str:
    """Returns a program of the delegate alone, or why there is none."""
    from executorch.exir.backend.backend_api import to_backend

    try:
        with contextlib.redirect_stdout(io.StringIO()), torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = with_outputs(job.module.original_module, job.names)
            return bytes(to_backend(job.module.backend_id, program, job.module.compile_specs).buffer())
    except Exception as error:  # whatever a backend makes of outputs that it never meant to give
        return _message(error)


def _message(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:_MESSAGE_LENGTH]


def _inputs(job: _Job, executions: Sequence[Attached]) -> list[list[Any]]:
    """Returns what the delegate was passed in each execution, as its program takes it."""
    names = set(job.delegate.inputs)
    places = [n for n in job.module.original_module.graph.nodes if n.op == "placeholder" and n.name in names]
    return [
        [_tensor(logged.array, place.meta["val"]) for logged, place in zip(passed, places, strict=True)]
        for attached in executions
        if (passed := job.delegate.passed(attached)) is not None
    ]


def _tensor(array: Array | None, example: torch.Tensor) -> Any:
    if array is None:
        raise DeviceError(_UNTOLD)
    return memory_format.like(torch.from_numpy(np.array(array, order="C")).to(example.dtype), example)


def _keep(
    job: _Job, outputs: Sequence[Sequence[torch.Tensor]], executions: Sequence[Attached], found: Sequence[Added]
) -> str | None:
    """Keeps the added outputs of each execution, or returns why none of them can be trusted."""
    delegate = job.delegate
    own = len(delegate.outputs)
    differing = [_difference(delegate, attached, ran[:own]) for attached, ran in zip(executions, outputs, strict=True)]
    if any(difference > _CLOSE for difference in differing):
        return "with it as an output, the delegate gives something else"
    for difference, ran, added in zip(differing, outputs, found, strict=True):
        note = f"{ADDED}, which changes the delegate's own by {difference:.1g}" if difference else ADDED
        values = {delegate.key(name): to_array(tensor) for name, tensor in zip(job.names, ran[own:], strict=True)}
        values = _spread(delegate, job.module.original_module.graph, job.taps, values)
        added.values |= values
        added.notes |= dict.fromkeys(values, note)
    return None


def _spread(delegate: Delegate, graph: fx.Graph, taps: Taps, values: Mapping[Key, Array]) -> dict[Key, Array]:
    """Returns values, and those of all nodes that have the same ones: copies, operators read by port, dequantizes."""
    by_first = {taps.same.get(name, name): array for (_, name, _), array in values.items()}
    found = {delegate.key(name): array for name, array in by_first.items()}
    found |= {delegate.key(name): by_first[first] for name, first in taps.same.items() if first in by_first}
    for node in graph.nodes:
        if _operator(node) == "getitem" and (array := found.get(delegate.key(node.name))) is not None:
            found[delegate.key(node.args[0].name, int(node.args[1]))] = array
    return found | dequantised(delegate.graph, found)


def _difference(delegate: Delegate, attached: Attached, outputs: Sequence[torch.Tensor]) -> float:
    """Returns by how much a delegate's own outputs differ from those of the shipped one, relative to the largest."""
    worst = 0.0
    for port, tensor in enumerate(outputs):
        shipped, now = attached.values.get((delegate.call, port)), to_array(tensor)
        if shipped is None or shipped.shape != now.shape or np.array_equal(shipped, now, equal_nan=True):
            continue
        left, right = np.asarray(shipped, np.float64), np.asarray(now, np.float64)
        peak = float(np.abs(left).max()) or 1.0
        distance = float(np.abs(left - right).max()) / peak
        worst = max(worst, distance if distance == distance else np.inf)
    return worst


def _lack(found: Sequence[Added], delegate: Delegate, reasons: Mapping[tuple[str, int], str]) -> None:
    for added in found:
        added.missing |= {delegate.key(*port): reason for port, reason in reasons.items()}
