"""Copies of live sources that later edits do not reach: graphs are copied, what they refer to is shared."""

from __future__ import annotations

import copy
import warnings
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, OutputKind
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

_REFERRING = ("get_attr", "call_module")


class Module(torch.nn.Module):
    """A graph and what its nodes refer to; runs as the module that it was taken of did then."""

    def __init__(self, graph: fx.Graph) -> None:
        super().__init__()
        self.graph = graph


@dataclass(frozen=True)
class Program:
    """An exported program as far as it is run."""

    graph_module: Module
    graph_signature: ExportGraphSignature
    state_dict: Mapping[str, Any]
    constants: Mapping[str, Any]
    call_spec: Any

    @property
    def graph(self) -> fx.Graph:
        """The program's graph."""
        return self.graph_module.graph


def snapshot(source: Any) -> Any:
    """Returns what runs as a source does now, whatever becomes of its graphs.

    Weights are shared: their memory is not copied, and what is written into it shows.

    Args:
        source: A graph module, an exported program, a dict of these by method, or a manager of edge programs. Anything
            else, such as an emitted program, comes back as it is.
    """
    if isinstance(source, fx.GraphModule):
        return _module(source)
    if isinstance(source, ExportedProgram):
        return _program(source)
    if isinstance(source, Mapping):
        return {method: snapshot(program) for method, program in source.items()}
    if hasattr(source, "to_executorch"):
        return {method: _program(source.exported_program(method)) for method in source.methods}
    return source


def copied(graph: fx.Graph) -> fx.Graph:
    """Returns a copy of a graph whose nodes have the same names: copying alone renames one that is called ``input``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch warns of its own use of a class that is to go
        taken = copy.deepcopy(graph)
    for node, new in zip(graph.nodes, taken.nodes, strict=True):
        if new.name != node.name:
            new.name = node.name
    return taken


def _program(program: ExportedProgram) -> Program:
    signature = program.graph_signature
    return Program(
        _module(program.graph_module),
        ExportGraphSignature(
            [replace(spec, arg=copy.copy(spec.arg)) for spec in signature.input_specs],
            [replace(spec, arg=copy.copy(spec.arg)) for spec in signature.output_specs],
        ),
        dict(program.state_dict),
        dict(program.constants),
        program.call_spec,
    )


def _module(module: fx.GraphModule) -> Module:
    taken = Module(copied(module.graph))
    targets = {str(node.target) for node in module.graph.nodes if node.op in _REFERRING}
    buffers = {id(buffer) for buffer in module.buffers()}
    for target in sorted(targets):
        for path, value in _referred(module, target):
            _put(taken, path, _module(value) if isinstance(value, fx.GraphModule) else value, buffers)
    return taken


def _referred(module: torch.nn.Module, target: str) -> Iterator[tuple[str, Any]]:
    """Yields what a target names; nothing where it names nothing."""
    value: Any = module
    for part in target.split("."):
        if not hasattr(value, part):
            return
        value = getattr(value, part)
    yield target, value


def _put(module: torch.nn.Module, target: str, value: Any, buffers: set[int]) -> None:
    owner, _, name = target.rpartition(".")
    for part in filter(None, owner.split(".")):
        if not hasattr(module, part):
            module.add_module(part, torch.nn.Module())
        module = getattr(module, part)
    if hasattr(module, name):
        return  # within a module that a target names as a whole
    if id(value) in buffers:
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


# What a live source's weights and buffers were when it was recorded.


@dataclass(frozen=True)
class State:
    """Tells whether a source still is what was recorded, and keeps what its runs write.

    Attributes:
        checksums: Of the bytes of each parameter, buffer and constant, by its FQN.
        written: Copies of the buffers that running the source changes: caches, statistics of observers.
    """

    checksums: dict[str, int] = field(default_factory=dict)
    written: dict[str, Any] = field(default_factory=dict)

    def changed(self, source: Any) -> list[str]:
        """Returns of what a snapshot refers to what was written into since, and cannot be restored."""
        now = digest(source)
        different = (name for name, checksum in now.items() if self.checksums.get(name) != checksum)
        return sorted(name for name in different if name not in self.written)


def state(source: Any) -> State:
    """Returns the state of a live source as it is now."""
    return State(digest(source), {name: tensor.detach().clone() for name, tensor in _written(source)})


def digest(source: Any) -> dict[str, int]:
    """Returns a checksum of the bytes of each parameter, buffer and constant, by its FQN.

    A tensor that wraps others, as quantised weights do, is these; one whose bytes cannot be had has no checksum.
    """
    found = {}
    for name, tensor in (part for whole in _tensors(source) for part in _parts(*whole)):
        try:
            flat = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
            found[name] = zlib.crc32(flat.numpy().data)
        except Exception:  # whatever a tensor raises that is fake, sparse or of a class of its own
            continue
    return found


def _parts(name: str, tensor: object) -> Iterator[tuple[str, torch.Tensor]]:
    if not isinstance(tensor, torch.Tensor):
        return
    if is_traceable_wrapper_subclass(tensor):
        for inner in tensor.__tensor_flatten__()[0]:
            yield from _parts(f"{name}.{inner}", getattr(tensor, inner))
    elif tensor.numel():
        yield name, tensor


def _tensors(source: Any) -> Iterator[tuple[str, object]]:
    if isinstance(source, torch.nn.Module):
        yield from source.named_parameters(remove_duplicate=False)
        yield from source.named_buffers(remove_duplicate=False)
        return
    for program in _programs(source):
        yield from program.state_dict.items()
        yield from program.constants.items()


def _written(source: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields the buffers that a run may write: all of them, where operators work in place."""
    if isinstance(source, fx.GraphModule):
        called = tuple(f"{node.target}." for node in source.graph.nodes if node.op == "call_module")
        in_place = any(map(_writes, source.graph.nodes))
        for name, buffer in source.named_buffers(remove_duplicate=False):
            if in_place or name.startswith(called):
                yield name, buffer
        return
    for program in _programs(source):
        signature = program.graph_signature
        names = {str(spec.target) for spec in signature.output_specs if spec.kind == OutputKind.BUFFER_MUTATION}
        if any(map(_writes, program.graph.nodes)):
            names |= set(signature.buffers)
        for name in sorted(names):
            value = program.state_dict.get(name, program.constants.get(name))
            if isinstance(value, torch.Tensor):
                yield name, value


def _writes(node: fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return bool(getattr(schema, "is_mutable", False))


def _programs(source: Any) -> list[ExportedProgram]:
    if hasattr(source, "graph_signature"):
        return [source]
    if isinstance(source, Mapping):
        return list(source.values())
    return [source.exported_program(method) for method in getattr(source, "methods", ())]
