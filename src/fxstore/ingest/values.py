"""Runs a live graph and captures what its nodes give: the numbers of every stage before the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from fxstore.errors import SourceError, UsageError

Array = npt.NDArray[Any]
Key = tuple[str, str, int]
"""Path of the graph (``''`` at the top), name of the node, output port."""

DEFAULT_BUDGET: Final = 1 << 30
_OVER_BUDGET = "over the capture budget"
_MESSAGE_LENGTH = 160


@dataclass
class Captured:
    """The values of one run.

    Attributes:
        values: Copies as they were when the node gave them; half and bfloat16 as float32.
        missing: Reasons for (path, node, port) that have no value: the node failed, an input of it did, or it ran
            several times. A port that is no tensor is in neither.
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

    def take(key: Key, array: Callable[[], Array], size: int) -> None:
        nonlocal left
        if size > left:
            captured.missing[key] = _OVER_BUDGET
        else:
            left -= size
            captured.values[key] = array()

    captured.missing.update(stream_values(source, args, kwargs, take, keep))
    for key in captured.missing:
        captured.values.pop(key, None)
    return captured


Sink = Callable[[Key, Callable[[], Array], int], None]
"""Called with a key, a function that copies the value, and the copy's size in bytes."""


def stream_values(
    source: fx.GraphModule | ExportedProgram,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    sink: Sink,
    keep: Callable[[Key], bool] | None = None,
) -> dict[Key, str]:
    """Runs a graph once and hands each value to a sink while it runs; returns the reasons of those that have none.

    A node that runs several times, in a loop's body, is handed over the first time only and then given a reason: such a
    value is one of several.
    """
    recorder = _Recorder(sink, keep)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        if isinstance(source, ExportedProgram):
            inputs = _flat(args, kwargs, source.call_spec.in_spec)
            _run_program(recorder, source, [_private(value) for value in inputs], "")
        elif isinstance(source, fx.GraphModule):
            with _private_buffers(source):
                inputs = _module_inputs(source, args, kwargs)
                _Run(source, "", recorder).run(*[_private(value) for value in inputs], enable_io_processing=False)
        else:
            raise SourceError(f"cannot run a {type(source).__name__}", hint="pass a GraphModule or an ExportedProgram")
    return recorder.missing


class _Missing:
    """Stands for a value that a failed node did not give."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class _Recorder:
    def __init__(self, sink: Sink, keep: Callable[[Key], bool] | None) -> None:
        self.sink = sink
        self.keep = keep
        self.missing: dict[Key, str] = {}
        self.times: dict[Key, int] = {}

    def record(self, path: str, node: fx.Node, result: Any) -> None:
        ports = result if isinstance(result, (tuple, list)) else (result,)
        for port, value in enumerate(ports):
            key = (path, node.name, port)
            if not isinstance(value, (torch.Tensor, _Missing)) or not (self.keep is None or self.keep(key)):
                continue
            self.times[key] = times = self.times.get(key, 0) + 1
            if isinstance(value, _Missing):
                self.missing[key] = value.reason
            elif times > 1:
                self.missing[key] = f"executed {times} times"
            else:
                self.sink(key, lambda value=value: to_array(value), _size(value))  # type: ignore[misc]


class _Run(fx.Interpreter):
    """Runs one graph; a node that fails leaves a reason, and the rest goes on without it."""

    def __init__(self, module: fx.GraphModule, path: str, recorder: _Recorder) -> None:
        super().__init__(module, garbage_collect_values=True)
        self.extra_traceback = False
        self._path = path
        self._recorder = recorder

    def run_node(self, n: fx.Node) -> Any:
        """Runs one node and records what it gives."""
        broken = next((value for x in n.all_input_nodes if isinstance(value := self.env[x], _Missing)), None)
        if broken is not None and n.op != "output":
            result: Any = broken
        elif n.op in ("placeholder", "output"):
            result = super().run_node(n)
        else:
            try:
                result = super().run_node(n)
            except Exception as error:  # whatever an operator raises, only what depends on it is lost
                result = _Missing(_failure(n, error))
        if n.op != "output" and not _is_buffer(n):
            self._recorder.record(self._path, n, self._written(n) if result is None else result)
        return result

    def _written(self, node: fx.Node) -> Any:
        """Returns what an operator without a result has written into its ``out`` buffers."""
        buffers = [b for b in node.kwargs.values() if isinstance(b, fx.Node) and _is_buffer(b)]
        return self.env[buffers[0]] if len(buffers) == 1 else [self.env[b] for b in buffers]

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Returns an attribute; a nested graph as a callable that records, too."""
        value = super().get_attr(target, args, kwargs)
        path = f"{self._path}/{target}" if self._path else str(target)
        if isinstance(value, fx.GraphModule):
            return _Nested(value, path, self._recorder)
        if hasattr(value, "original_module"):
            return _Delegate(value.original_module, path, self._recorder)
        return value.detach() if isinstance(value, torch.Tensor) else value

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a function; a delegate runs as the program that it was made from."""
        if args and isinstance(args[0], _Delegate):
            return args[0](*args[1:])
        return super().call_function(target, args, kwargs)


@dataclass(frozen=True)
class _Nested:
    module: fx.GraphModule
    path: str
    recorder: _Recorder

    def __call__(self, *args: Any) -> Any:
        return _Run(self.module, self.path, self.recorder).run(*args, enable_io_processing=False)


@dataclass(frozen=True)
class _Delegate:
    program: ExportedProgram
    path: str
    recorder: _Recorder

    def __call__(self, *args: Any) -> Any:
        return _run_program(self.recorder, self.program, pytree.tree_leaves(list(args)), self.path)


def _run_program(recorder: _Recorder, program: ExportedProgram, inputs: Sequence[Any], path: str) -> Any:
    """Runs a program's own graph on its state and flat inputs."""
    rest = iter(inputs)
    values = []
    for spec in program.graph_signature.input_specs:
        if spec.kind == InputKind.USER_INPUT:
            values.append(next(rest, None))
        elif spec.kind == InputKind.TOKEN:
            values.append(torch.empty(0))
        else:
            values.append(_state(program, str(spec.target), spec.kind == InputKind.PARAMETER))
    return _Run(program.graph_module, path, recorder).run(*values, enable_io_processing=False)


def _state(program: ExportedProgram, name: str, is_parameter: bool) -> Any:
    value = program.state_dict.get(name, program.constants.get(name))
    return value if is_parameter else _private(value)


def _private(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


@contextmanager
def _private_buffers(module: torch.nn.Module) -> Iterator[None]:
    """Lets a module work on copies of its buffers, and of what its observers keep, for the time of a run."""
    owners = [m for m in module.modules() if m._buffers]
    originals = [dict(m._buffers) for m in owners]
    try:
        for owner in owners:
            owner._buffers.update({name: _private(buffer) for name, buffer in owner._buffers.items()})
        yield
    finally:
        for owner, buffers in zip(owners, originals, strict=True):
            owner._buffers.clear()
            owner._buffers.update(buffers)


def flat_inputs(source: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> list[Any]:
    """Returns the flat inputs of a graph, in its own order, from those that its caller gives.

    Raises:
        UsageError: If they do not fit the graph's.
    """
    if isinstance(source, ExportedProgram):
        return _flat(args, kwargs, source.call_spec.in_spec)
    return _module_inputs(source, args, kwargs)


def _module_inputs(module: fx.GraphModule, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> list[Any]:
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


def to_array(tensor: torch.Tensor) -> Array:
    """Returns a copy of a tensor; half, bfloat16 and float8 as float32, a quantised tensor dequantised.

    Raises:
        ValueError: If it has no data, as fake tensors have none.
    """
    value = tensor.detach()
    if value.is_quantized:
        value = value.dequantize()
    if value.layout != torch.strided:
        value = value.to_dense()
    if value.is_floating_point() and value.dtype not in (torch.float32, torch.float64):
        value = value.float()
    array: Array = value.cpu().resolve_conj().resolve_neg().numpy()
    return np.array(array, order="C", copy=True)


def _size(tensor: torch.Tensor) -> int:
    widened = 4 if tensor.is_floating_point() else 1
    return tensor.numel() * max(tensor.element_size(), widened)


def _is_buffer(node: fx.Node) -> bool:
    """Whether a node only makes room for a result: what it gives is whatever was in that memory."""
    return getattr(node.target, "__module__", None) == "executorch.exir.memory" and node.target.__name__ == "alloc"  # type: ignore[union-attr]


def _failure(node: fx.Node, error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{node.name} failed: {type(error).__name__}: {lines[0]}"[:_MESSAGE_LENGTH]
