"""Takes the demo network through every stage of a real compile: export, quantise, lower to XNNPACK, emit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from torch import Tensor, nn
from torch.export import ExportedProgram
from torchao.quantization.pt2e import MinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

Stage = Callable[[str, Any], None]
"""Called with a stage's name and its live object, as soon as that exists: later steps edit some in place."""


def compile_network(network: nn.Module, inputs: tuple[Tensor, ...], stage: Stage, *, quantise: bool = True) -> Any:
    """Compiles a network and hands each stage over as it appears.

    Args:
        network: In evaluation mode.
        inputs: Example inputs; they calibrate the quantiser too.
        stage: Receives ``float``, ``prepared``, ``quantized``, ``edge``, ``lowered`` and ``runtime``.
        quantise: False leaves out ``prepared`` and ``quantized``.

    Returns:
        The ``ExecutorchProgramManager``.
    """
    with torch.no_grad():
        exported = torch.export.export(network, inputs)
        stage("float", exported)
        if quantise:
            exported = torch.export.export(quantised(exported, inputs, stage), inputs)
        edge = to_edge_transform_and_lower(
            exported,
            partitioner=[XnnpackPartitioner()],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
            generate_etrecord=True,
        )
        stage("edge", edge._etrecord.edge_dialect_program)
        stage("lowered", edge)
        program = edge.to_executorch()
        stage("runtime", program)
        return program


def quantised(exported: ExportedProgram, inputs: tuple[Tensor, ...], stage: Stage = lambda name, source: None) -> Any:
    """Returns a program as XNNPACK's quantiser leaves it.

    Args:
        exported: The float program.
        inputs: They calibrate the quantiser.
        stage: Receives ``prepared`` and ``quantized``.
    """
    prepared = prepare_pt2e(exported.module(), XNNPACKQuantizer().set_global(_quantisation()))
    prepared(*inputs)
    stage("prepared", prepared)
    quantized = convert_pt2e(prepared)
    stage("quantized", quantized)
    return quantized


def _quantisation() -> Any:
    """Returns XNNPACK's symmetric per-channel scheme with min-max observers.

    The default histogram observer costs about a second an observer to convert.
    """
    scheme = get_symmetric_quantization_config(is_per_channel=True)
    activation = dataclasses.replace(
        scheme.input_activation, observer_or_fake_quant_ctr=MinMaxObserver.with_args(eps=2**-12)
    )
    return type(scheme)(activation, activation, scheme.weight, scheme.bias, scheme.is_qat)
