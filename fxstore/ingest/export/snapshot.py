"""Copies of live sources that later edits do not reach: graphs are copied, what they refer to is shared."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature

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
