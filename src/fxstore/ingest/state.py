"""Tells whether the weights and buffers of a live source are still what they were."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram


def digest(source: Any) -> dict[str, int]:
    """Returns a checksum of the bytes of each parameter, buffer and constant, by its FQN."""
    found = {}
    for name, tensor in _tensors(source):
        if isinstance(tensor, torch.Tensor) and tensor.numel():
            flat = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
            found[name] = zlib.crc32(flat.numpy().data)
    return found


def _tensors(source: Any) -> Iterator[tuple[str, object]]:
    if isinstance(source, fx.GraphModule):
        yield from source.state_dict(keep_vars=True).items()
        return
    if isinstance(source, ExportedProgram):
        programs = [source]
    elif isinstance(source, Mapping):
        programs = list(source.values())
    else:
        programs = [source.exported_program(method) for method in getattr(source, "methods", ())]
    for program in programs:
        yield from program.state_dict.items()
        yield from program.constants.items()
