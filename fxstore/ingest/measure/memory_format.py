"""Tensors in the memory layout that a program was compiled for: the runtime reads an input's memory as that one's."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from fxstore.ingest.export.capture import specified


def like(value: Any, example: Any) -> Any:
    """Returns a value with its dimensions in memory in an example's order; as it is where there is no such order."""
    if not isinstance(value, torch.Tensor) or not isinstance(example, torch.Tensor) or value.dim() != example.dim():
        return value
    if value.layout != torch.strided or example.layout != torch.strided:
        return value
    order = example.dim_order()
    return (
        value
        if value.dim_order() == order
        else torch.empty_permuted(value.shape, order, dtype=value.dtype).copy_(value)
    )


def examples(program: ExportedProgram) -> list[Any]:
    """Returns what a program was compiled with, one for each flat input of its caller's."""
    values = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    return [values.get(name) for name, spec in specified(program) if spec.kind == InputKind.USER_INPUT]
