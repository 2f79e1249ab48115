"""Makes dumps as a backend writes them that logs the tensors inside its delegates."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from tests.ingest.etdump_writer import Row, dump, profile, tensor, value

SCALARS = {"uint8": 0, "int8": 1, "int32": 3, "int64": 4, "float32": 6}


class Three(nn.Module):
    """Three delegates with operators of the runtime's between them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.linear = nn.Conv2d(3, 8, 3), nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.conv(x)).mean((2, 3))
        y = torch.cumsum(self.linear(y), 1)
        return torch.softmax(torch.tanh(y), 1)


@dataclass
class Logs:
    """A dump in the making: every instruction of a lowered model with its operator's name, and what is logged."""

    program: Any
    stages: dict[str, Any]
    inputs: tuple[Any, ...]
    right: dict[str, Any] = field(default_factory=dict)
    data: bytearray = field(default_factory=bytearray)
    inner: dict[int, list[Row]] = field(default_factory=dict)

    def delegates(self) -> list[tuple[int, Any]]:
        """The instruction of each call, and the graph inside."""
        graph = self.program.exported_program().graph_module
        calls = [node for node in graph.graph.nodes if "call_delegate" in node.name]
        return [(n.meta["debug_handle"], getattr(graph, n.args[0].target).original_module.graph) for n in calls]

    def node(self, op: str) -> tuple[int, str, int]:
        """Instruction, name and handle of the one operator inside a delegate whose name has these words."""
        (found,) = (
            (at, node.name, node.meta["debug_handle"])
            for at, graph in self.delegates()
            for node in graph.nodes
            if op in node.name and node.op == "call_function"
        )
        return found

    def array(self, array: Any) -> Row:
        """A tensor in the debug buffer, its axes in memory as the array has them."""
        array = np.asarray(array)
        offset, strides = len(self.data), [stride // array.itemsize for stride in array.strides]
        self.data += array.transpose(np.argsort(strides)[::-1] if array.ndim else ()).tobytes()
        return tensor(SCALARS[str(array.dtype)], array.shape, offset, strides)

    def log(self, instruction: int, identifier: int | str, *arrays: Any) -> None:
        """Adds what a delegate logs of its inside."""
        self.inner.setdefault(instruction, []).append(
            value(instruction, *map(self.array, arrays), delegate_id=identifier)
        )

    def write(self, folder: Path) -> dict[str, Any]:
        """Writes the files of one execution: what each delegate logged, before the call that it belongs to."""
        rows: list[Row] = []
        for node in self.program.exported_program().graph_module.graph.nodes:
            at = node.meta.get("debug_handle")
            if "call_delegate" in node.name:
                rows += [*self.inner.get(at, ()), profile("DELEGATE_CALL", at, 0, 5)]
            elif node.op == "call_function" and "::" in str(getattr(node.target, "name", lambda: "")()):
                kernel = "native_call_" + node.target.name().partition("::")[2]
                rows += [profile(kernel, at, 0, 5), profile("OPERATOR_CALL", at, 0, 6)]
        (folder / "net.etdp").write_bytes(dump(rows))
        (folder / "net.bin").write_bytes(bytes(self.data))
        return {"etdump": folder / "net.etdp", "debug_buffer": folder / "net.bin"}


def lowered(model: nn.Module, inputs: tuple[Any, ...], *, at_once: bool = True, partitioner: Any = None) -> Logs:
    """Lowers a model on one of ExecuTorch's two ways, and runs it in float."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower

        partitioner = partitioner or XnnpackPartitioner()
        config = EdgeCompileConfig(_check_ir_validity=False)
        exported = (
            model if isinstance(model, torch.export.ExportedProgram) else torch.export.export(model.eval(), inputs)
        )
        if at_once:
            manager = to_edge_transform_and_lower(
                exported, partitioner=[partitioner], compile_config=config, generate_etrecord=True
            )
        else:
            manager = to_edge(exported, compile_config=config, generate_etrecord=True).to_backend(partitioner)
        program = manager.to_executorch()
    return Logs(program, {"float": exported, "runtime": program}, inputs)


def values_of(program: Any, inputs: Sequence[Any]) -> dict[str, Any]:
    """What each operator of an exported program gives, by its name without its overload."""
    from fxstore.ingest.measure.values import capture_values

    found = capture_values(program, tuple(inputs)).values
    return {name: array for (_, name, port), array in found.items() if port == 0}


def lowered_codes(model: nn.Module, inputs: tuple[Any, ...], *, at_once: bool = True) -> Logs:
    """Quantises a model and lowers that; the float model is a stage, too."""
    from tests.ingest.lowering import quantised

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        exported = torch.export.export(model.eval(), inputs)
        codes = torch.export.export(quantised(exported, inputs)[1], inputs)
    found = lowered(codes, inputs, at_once=at_once)
    found.stages = {"float": exported, "quantized": codes, "runtime": found.program}
    found.right = values_of(exported, inputs)
    return found
