"""Runs in a process of its own: ``python -P device_child.py FOLDER``; reads what is in there, writes what it got.

The runtime aborts its whole process when the debug buffer is too small, and writes to standard error as it likes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch


def _runtime() -> Any:
    try:  # the package above it imports the whole compiler, which takes eight seconds more
        from executorch.extension.pybindings import _C as runtime
    except ImportError:
        from executorch.extension.pybindings import portable_lib as runtime
    return runtime


def each(folder: Path, count: int) -> None:
    """Runs several programs, each on several inputs; one that fails has its error in place of its outputs."""
    runtime = _runtime()
    found: list[Any] = []
    for number in range(count):
        try:
            program = (folder / f"{number}.pte").read_bytes()  # the module only points to it
            module = runtime._load_for_executorch_from_buffer(program)
            calls = torch.load(folder / f"{number}.pt", weights_only=True)
            found.append([[one.clone() for one in module.run_method("forward", tuple(inputs))] for inputs in calls])
        except RuntimeError as error:
            found.append(str(error))
    torch.save(found, folder / "outputs.pt")


def main(folder: Path) -> None:
    """Runs each call in order on one loaded program."""
    order = json.loads((folder / "order.json").read_text())
    if "programs" in order:
        each(folder, order["programs"])
        return
    program = (folder / "model.pte").read_bytes()
    runtime = _runtime()
    module = runtime._load_for_executorch_from_buffer(
        program, enable_etdump=True, debug_buffer_size=order["debug_buffer_bytes"]
    )
    outputs = []
    for method, inputs in torch.load(folder / "calls.pt", weights_only=True):
        outputs.append(list(module.run_method(method, tuple(inputs))))
    torch.save(outputs, folder / "outputs.pt")
    module.write_etdump_result_to_file(str(folder / "run.etdp"), str(folder / "debug.bin"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
