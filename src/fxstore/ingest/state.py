"""Tells whether the weights and buffers of a live source are still what they were."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram


def digest(source: Any) -> int:
    """Returns a checksum over the names and the bytes of all parameters, buffers and constants."""
    found = 0
    for name, tensor in _tensors(source):
        found = zlib.crc32(name.encode(), found)
        if isinstance(tensor, torch.Tensor) and tensor.numel():
            flat = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
            found = zlib.crc32(flat.numpy().data, found)
    return found


def _tensors(source: Any) -> Iterator[tuple[str, object]]:
    if isinstance(source, fx.GraphModule):
        yield from source.state_dict(keep_vars=True).items()
        return
    programs = [source] if isinstance(source, ExportedProgram) else [source.exported_program(m) for m in source.methods]
    for program in programs:
        yield from program.state_dict.items()
        yield from program.constants.items()
