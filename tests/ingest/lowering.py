"""Lowers small models for real, for the tests of what runs on the device."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.export import ExportedProgram

from fxstore.ingest.executorch.attach import Attached, attach, emitted_graph
from fxstore.ingest.executorch.etdump import read_etdump
from fxstore.ingest.export.capture import capture_program
from fxstore.ingest.measure.comparison import named
from fxstore.ingest.measure.runtime import DeviceRun, run_pte
from fxstore.ingest.measure.values import Key
from fxstore.records import Graph


@dataclass
class Lowered:
    """One model at each point from its export on; stages that are edited in place are copies."""

    inputs: tuple[Any, ...]
    exported: ExportedProgram
    edge: ExportedProgram
    lowered: ExportedProgram
    runtime: ExportedProgram
    program: bytes
    run: DeviceRun

    @property
    def graphs(self) -> list[Graph]:
        return capture_program(self.runtime, emitted=True)

    def attached(self, buffer: bool = True, execution: int = 0) -> Attached:
        dump = read_etdump(self.run.etdump, self.run.debug if buffer else None)
        return attach(dump.executions[execution], emitted_graph(self.graphs[0]))

    def values(self) -> dict[Key, Any]:
        return named(self.graphs[0], self.attached())[0]


def lower(
    model: torch.nn.Module, inputs: tuple[Any, ...], *, partition: bool = True, quantise: bool = False
) -> Lowered:
    """Exports, lowers (to XNNPACK, if asked) and runs a model."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

        exported = torch.export.export(model.eval(), inputs)
        if quantise:
            exported = torch.export.export(quantised(exported, inputs)[1], inputs)
        edge = to_edge_transform_and_lower(
            exported,
            partitioner=[XnnpackPartitioner()] if partition else [],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
            generate_etrecord=True,
        )
        dialect = edge._etrecord.edge_dialect_program
        lowered = copy.deepcopy(edge.exported_program())
        program = edge.to_executorch()
    run = run_pte(program.buffer, [("forward", inputs)])
    return Lowered(inputs, exported, dialect, lowered, program.exported_program(), program.buffer, run)


def quantised(exported: ExportedProgram, inputs: tuple[Any, ...]) -> tuple[Any, Any]:
    """Returns the calibrated graph module and the converted one."""
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e import MinMaxObserver
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    given = get_symmetric_quantization_config(is_per_channel=True)
    observed = replace(given.input_activation, observer_or_fake_quant_ctr=MinMaxObserver.with_args(eps=2**-12))
    config = type(given)(observed, observed, given.weight, given.bias, given.is_qat)
    prepared = prepare_pt2e(exported.module(), XNNPACKQuantizer().set_global(config))
    prepared(*inputs)
    calibrated = copy.deepcopy(prepared)
    return calibrated, convert_pt2e(prepared)
