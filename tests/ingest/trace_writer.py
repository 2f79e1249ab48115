"""Writes logs as TORCH_TRACE makes torch write them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

LINEAR = """class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[2, s7][s7, 1]cpu"):
        l_x_ = L_x_

        # File: /home/me/model.py:7 in forward, code: return torch.{op}(x)
        {op}: "f32[2, s7][s7, 1]cpu" = torch.{op}(l_x_);  l_x_ = None
        return ({op},)

"""


def printed(op: str) -> str:
    """The text of a graph with one operator."""
    return LINEAR.replace("{op}", op)


def record(header: dict[str, Any], payload: str | None = None, process: int = 77) -> bytes:
    """One record, with its payload behind tabs."""
    lines: list[str] = []
    if payload is not None:
        header = {**header, "has_payload": hashlib.md5(payload.encode()).hexdigest()}
        lines = [f"\t{line}" for line in payload.split("\n")]
    head = f"V1129 18:03:36.001000 {process} torch/_dynamo/utils.py:2350] {json.dumps(header)}"
    return "\n".join([head, *lines, ""]).encode()


def graph(
    stage: str,
    text: str,
    compiled: tuple[Any, Any] = (0, 0),
    attempt: int = 0,
    rank: int | None = None,
    process: int = 77,
) -> bytes:
    """A record of one graph."""
    about: dict[str, Any] = {stage: {}, "frame_id": compiled[0], "frame_compile_id": compiled[1], "attempt": attempt}
    return record(about if rank is None else {**about, "rank": rank}, text, process)


TIMED = record({"chromium_event": {}, "frame_id": 0}, '{\n"name": "dynamo",\n"ph": "B"\n}')
VERSION = record({"artifact": {"name": "torch_version", "encoding": "json"}}, '{\n"pytorch_version": "2.13.0"\n}')
