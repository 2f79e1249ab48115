"""Interprets live graphs node by node, nested graphs and delegates' insides included, and records what nodes give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from fxstore.ingest.export.snapshot import Module, Program

Array = npt.NDArray[Any]
Key = tuple[str, str, int]
"""Path of the graph (``''`` at the top), name of the node, output port."""


class Give(Protocol):
    """Hands a value over."""

    def __call__(self, *, copy: bool = True) -> Array:
        """Returns the value as an array.

        Args:
            copy: False: without copying it, where that is possible; then it is good only until the sink returns.

        Raises:
            NoDataError: Its elements cannot be had.
        """
        ...


Sink = Callable[[Key, Give, int], None]
"""Called with a key, what gives the value, and the size of its copy in bytes."""
Substitute = Callable[[Key, torch.Tensor], torch.Tensor]
"""Gives the value to go on with."""

_MESSAGE_LENGTH = 160
_NO_TENSOR = "gives no tensor"
_AS_THEY_ARE = frozenset({torch.float32, torch.float64, torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool})


class NoDataError(ValueError):
    """A tensor whose elements cannot be had; the message is the reason."""


class _Missing:
    """Stands for a value that a failed node did not give."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Recorder:
    """Hands over what nodes give, and remembers what they do not.

    Attributes:
        missing: Reasons of values that there are not.
    """

    def __init__(
        self, sink: Sink, keep: Callable[[Key], bool] | None = None, substitute: Substitute | None = None
    ) -> None:
        self.missing: dict[Key, str] = {}
        self._sink = sink
        self._keep = keep
        self._substitute = substitute
        self._times: dict[Key, int] = {}

    def record(self, path: str, node: fx.Node, result: Any, inputs: Sequence[Any] = ()) -> Any:
        """Hands over what a node gives; returns what the rest of the graph goes on with.

        Args:
            inputs: What the node was given.
        """
        if node.op == "get_attr" and not isinstance(result, torch.Tensor):
            return result
        if isinstance(result, (tuple, list)) and result:
            ports = [self._port(node, (path, node.name, port), value, inputs) for port, value in enumerate(result)]
            return result if self._substitute is None or hasattr(result, "_fields") else type(result)(ports)
        return self._port(node, (path, node.name, 0), result, inputs)

    def _port(self, node: fx.Node, key: Key, value: Any, inputs: Sequence[Any]) -> Any:
        if self._keep is None or self._keep(key):
            self._hand_over(key, value)
        if self._substitute is None or not isinstance(value, torch.Tensor):
            return value
        return _taken_over(node, value, self._substitute(key, value), inputs)

    def _hand_over(self, key: Key, value: Any) -> None:
        self._times[key] = times = self._times.get(key, 0) + 1
        if isinstance(value, _Missing):
            self.missing[key] = value.reason
        elif not isinstance(value, torch.Tensor | int | float | complex):
            self.missing[key] = _NO_TENSOR
        elif times > 1:
            self.missing[key] = f"executed {times} times"
        else:
            try:
                self._sink(key, partial(to_array, value), _size(value))
            except NoDataError as error:
                self.missing[key] = str(error)


def _taken_over(node: fx.Node, value: torch.Tensor, given: torch.Tensor, inputs: Sequence[Any]) -> torch.Tensor:
    """Returns what to go on with instead of a value: one that shares memory with an input goes on sharing it.

    What looks at an input shows the reference's values already, unless it is wrong itself; an operator that writes gets
    them written there.
    """
    if given is value or not any(_shares(value, one) for one in inputs):
        return given
    if getattr(getattr(node.target, "_schema", None), "is_mutable", False):
        return value.copy_(given)
    return value if torch.equal(value, given) else given


def _shares(left: torch.Tensor, right: Any) -> bool:
    if not isinstance(right, torch.Tensor) or left.layout != torch.strided or right.layout != torch.strided:
        return False
    return left.untyped_storage().data_ptr() == right.untyped_storage().data_ptr() != 0


class _Run(fx.Interpreter):
    """Runs one graph; a node that fails leaves a reason, and the rest goes on without it."""

    def __init__(self, module: fx.GraphModule | Module, path: str, recorder: Recorder) -> None:
        super().__init__(module, garbage_collect_values=True, graph=module.graph)
        self.extra_traceback = False
        self._path = path
        self._recorder = recorder
        self._inputs: Iterator[Any] = iter(())

    def run_on(self, inputs: list[Any]) -> Any:
        """Runs the graph on flat inputs; takes each out of the list, so that it is gone once nothing needs it."""
        inputs.reverse()
        self._inputs = _taken_out(inputs)
        return self.run(enable_io_processing=False)

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Returns the next input."""
        self.args_iter = self._inputs
        return super().placeholder(target, args, kwargs)

    def run_node(self, n: fx.Node) -> Any:
        """Runs one node and records what it gives."""
        inputs = [self.env[x] for x in n.all_input_nodes]
        if n.op == "output":
            return self._called(n)
        result: Any = next((value for value in inputs if isinstance(value, _Missing)), None)
        if result is None and n.op == "placeholder":
            result = self._called(n)
        elif result is None:
            try:
                result = self._called(n)
            except Exception as error:  # whatever an operator raises, only what depends on it is lost
                result = _Missing(_failure(n, error))
        if _is_buffer(n):
            return result
        recorded = self._recorder.record(self._path, n, self._written(n) if result is None else result, inputs)
        return None if result is None else recorded

    def _called(self, n: fx.Node) -> Any:
        """Returns what a node gives, as ``run_node`` of the base does, which leaves traces for compilers besides."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def _written(self, node: fx.Node) -> Any:
        """Returns what an operator without a result has written into its ``out`` buffers."""
        buffers = [b for b in node.kwargs.values() if isinstance(b, fx.Node) and _is_buffer(b)]
        return self.env[buffers[0]] if len(buffers) == 1 else [self.env[b] for b in buffers]

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Returns an attribute; a nested graph as a callable that records, too."""
        value = super().get_attr(target, args, kwargs)
        path = f"{self._path}/{target}" if self._path else str(target)
        if isinstance(value, fx.GraphModule | Module):
            return _Nested(value, path, self._recorder)
        if hasattr(value, "original_module"):
            return _Delegate(value.original_module, path, self._recorder)
        return value.detach() if isinstance(value, torch.Tensor) else value

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a function; a delegate runs as the program that it was made from."""
        if args and isinstance(args[0], _Delegate):
            return args[0](*args[1:])
        return super().call_function(target, args, kwargs)


def _taken_out(values: list[Any]) -> Iterator[Any]:
    while values:
        yield values.pop()


@dataclass(frozen=True)
class _Nested:
    module: fx.GraphModule | Module
    path: str
    recorder: Recorder

    def __call__(self, *args: Any) -> Any:
        return _Run(self.module, self.path, self.recorder).run_on([*args])


@dataclass(frozen=True)
class _Delegate:
    program: ExportedProgram
    path: str
    recorder: Recorder

    def __call__(self, *args: Any) -> Any:
        return run_program(self.recorder, self.program, pytree.tree_leaves(list(args)), self.path)


def run_program(
    recorder: Recorder,
    program: ExportedProgram | Program,
    inputs: Sequence[Any],
    path: str,
    state: MutableMapping[str, Any] | None = None,
) -> Any:
    """Runs a program's own graph on its state and flat inputs; ``state`` holds the buffers that the run leaves."""
    rest = iter(inputs)
    values: list[Any] = []
    buffers: dict[str, Any] = {}
    for spec in program.graph_signature.input_specs:
        if spec.kind == InputKind.USER_INPUT:
            values.append(next(rest, None))
        elif spec.kind == InputKind.TOKEN:
            values.append(torch.empty(0))
        else:
            values.append(_state(program, str(spec.target), spec.kind == InputKind.PARAMETER, state))
            if spec.kind == InputKind.BUFFER:
                buffers[str(spec.target)] = values[-1]
    del inputs, rest
    outputs = _Run(program.graph_module, path, recorder).run_on(values)
    if state is not None:
        state.update(buffers)
        for written, spec in zip(outputs, program.graph_signature.output_specs, strict=False):
            if spec.kind == OutputKind.BUFFER_MUTATION and isinstance(written, torch.Tensor):
                state[str(spec.target)] = private(written)
    return outputs


def run_module(
    recorder: Recorder,
    module: fx.GraphModule | Module,
    inputs: list[Any],
    state: MutableMapping[str, Any] | None = None,
) -> None:
    """Runs a graph module on copies of its buffers, and empties the inputs; ``state`` as for :func:`run_program`."""
    with _private_buffers(module, state):
        _Run(module, "", recorder).run_on(inputs)
        if state is not None:
            state.update(module.named_buffers())


def _state(program: ExportedProgram | Program, name: str, is_parameter: bool, state: Mapping[str, Any] | None) -> Any:
    if state is not None and name in state:
        return private(state[name])
    value = program.state_dict.get(name, program.constants.get(name))
    return value if is_parameter else private(value)


def private(value: Any) -> Any:
    """Returns a copy of a tensor; anything else as it is."""
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


@contextmanager
def _private_buffers(module: torch.nn.Module, state: Mapping[str, Any] | None) -> Iterator[None]:
    """Lets a module work on copies of its buffers, and of what its observers keep, for the time of a run."""
    owners = [(prefix, m) for prefix, m in module.named_modules() if m._buffers]
    originals = [dict(m._buffers) for _, m in owners]
    copies: dict[int, Any] = {}
    try:
        for prefix, owner in owners:
            for name, buffer in owner._buffers.items():
                full = f"{prefix}.{name}" if prefix else name
                given = (state or {}).get(full, buffer)
                owner._buffers[name] = copies.setdefault(id(buffer), private(given))
        yield
    finally:
        for (_, owner), buffers in zip(owners, originals, strict=True):
            owner._buffers.clear()
            owner._buffers.update(buffers)


def to_array(tensor: torch.Tensor | complex, *, copy: bool = True) -> Array:
    """Returns a tensor as an array; half, bfloat16 and float8 as float32, a quantised tensor dequantised.

    Args:
        copy: False: the tensor's own memory, where it can be seen as an array in C order.

    Raises:
        NoDataError: It has no data, as fake tensors have none, or a dtype that NumPy has no match for.
    """
    if not isinstance(tensor, torch.Tensor):
        return np.asarray(tensor)
    try:
        array = _seen(tensor)
    except Exception as error:  # whatever a tensor of a class of its own raises
        raise NoDataError(f"no tensor data ({_dtype(tensor)})") from error
    return np.array(array, order="C", copy=copy or None)


def _seen(tensor: torch.Tensor) -> Array:
    """Returns the elements as NumPy sees them, in any order."""
    value = tensor.detach()
    if is_traceable_wrapper_subclass(value):
        value = value.dequantize()
    if value.dtype in _AS_THEY_ARE and value.layout == torch.strided:
        with suppress(TypeError, RuntimeError):  # another device, or what is conjugate or negative by a flag only
            return value.numpy()
    if value.is_quantized:
        value = value.dequantize()
    if value.layout != torch.strided:
        value = value.to_dense()
    if value.dtype == torch.complex32:
        value = value.to(torch.complex64)
    elif value.is_floating_point() and value.dtype not in (torch.float32, torch.float64):
        value = value.float()
    array: Array = value.cpu().resolve_conj().resolve_neg().numpy()
    return array


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _size(tensor: torch.Tensor | complex) -> int:
    if not isinstance(tensor, torch.Tensor):
        return np.asarray(tensor).nbytes
    widened = 4 if tensor.is_floating_point() else 1
    return tensor.numel() * max(tensor.element_size(), widened)


def _is_buffer(node: fx.Node) -> bool:
    """Whether a node only makes room for a result: what it gives is whatever was in that memory."""
    return getattr(node.target, "__module__", None) == "executorch.exir.memory" and node.target.__name__ == "alloc"  # type: ignore[union-attr]


def _failure(node: fx.Node, error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{node.name} failed: {type(error).__name__}: {lines[0]}"[:_MESSAGE_LENGTH]
