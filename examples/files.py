"""Leaves the files that a real compile leaves: model.etrecord, model.pte, run.etdp, run.bin, inputs.npz."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch


def network() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """Returns a small network and what to run it on."""
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(8 * 36, 10)).eval(), (torch.randn(1, 3, 8, 8),)


def stages() -> dict[str, Any]:
    """Returns the network's stages: what ``fxstore measure`` runs."""
    module, inputs = network()
    exported = torch.export.export(module, inputs)
    rounded = copy.deepcopy(module).bfloat16().float()  # an exported program holds the module's own weights
    return {"float": exported, "rounded": torch.export.export(rounded, inputs)}


def main() -> None:
    """Lowers the network to XNNPACK, runs it, and writes the files here."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from executorch.runtime import Runtime

    module, inputs = network()
    np.savez("inputs.npz", *(value.numpy() for value in inputs))
    exported = torch.export.export(module, inputs)
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()], generate_etrecord=True)
    program = edge.to_executorch()
    Path("model.pte").write_bytes(program.buffer)
    program.get_etrecord().save("model.etrecord")
    loaded = Runtime.get().load_program("model.pte", enable_etdump=True, debug_buffer_size=1 << 20)
    loaded.load_method("forward").execute(list(inputs))
    loaded.write_etdump_result_to_file("run.etdp", "run.bin")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
