"""A small network lowered to XNNPACK and run with tracing: live objects and files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch


class Net(torch.nn.Module):
    """A delegate of several operators, portable kernels between delegates, and one of them twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        y = torch.sigmoid(self.first(x)) + 1.5
        y = torch.cumsum(y, 1)
        return torch.tanh(self.second(y))


def traced(folder: Path) -> dict[str, Any]:
    """Returns the program, and writes files of it, its record, its dump and the dump's buffer into a folder."""
    from fxstore.ingest.measure.runtime import run_pte

    torch.manual_seed(0)
    inputs = (torch.randn(2, 4),)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

        program = to_edge_transform_and_lower(
            torch.export.export(Net().eval(), inputs),
            partitioner=[XnnpackPartitioner()],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
            generate_etrecord=True,
        ).to_executorch()
        program.get_etrecord().save(str(folder / "net.etrecord"))
    (folder / "net.pte").write_bytes(program.buffer)
    run = run_pte(program.buffer, [("forward", inputs)] * 2)
    (folder / "net.etdp").write_bytes(run.etdump)
    (folder / "net.bin").write_bytes(run.debug)
    return {"program": program, "folder": folder, "inputs": inputs, "run": run}


def inspector(compiled: dict[str, Any], **options: Any) -> Any:
    """Returns an Inspector over the dump."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from executorch.devtools import Inspector

        return Inspector(etdump_path=str(compiled["folder"] / "net.etdp"), **options)
