"""A small network with what real ones trip over: folded batch-norms, an operator that no backend takes, attention."""

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
from torch.nn import functional
from torchao.quantization.pt2e import MinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e


class ConvBlock(nn.Module):
    """Convolution, batch-norm and ReLU; quantisation folds the batch-norm into the convolution."""

    def __init__(self, channels_in: int, channels_out: int, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, 3, stride=stride, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(channels_out)

    def forward(self, x: Tensor) -> Tensor:
        """Returns relu(bn(conv(x)))."""
        return functional.relu(self.bn(self.conv(x)))


class Attention(nn.Module):
    """Self-attention over a sequence of tokens."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        """Returns (batch, heads, tokens, width per head)."""
        batch, tokens, width = x.shape
        return x.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Returns the attended tokens, shaped as ``x``: (batch, tokens, width)."""
        attended = functional.scaled_dot_product_attention(
            self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        )
        mixed: Tensor = self.out(attended.transpose(1, 2).reshape(x.shape))
        return mixed


class DemoNet(nn.Module):
    """Two convolutions, a group-norm that XNNPACK leaves to the portable kernels, attention with a residual, two heads.

    Attention runs over the pixels as tokens.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stem = ConvBlock(3, 16, stride=2)
        self.body = ConvBlock(16, 16)
        self.norm = nn.GroupNorm(4, 16)
        self.attention = Attention(16, heads=4)
        self.classes = nn.Linear(16, 10)
        self.score = nn.Linear(16, 1)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Returns class logits and a score in (0, 1)."""
        stem = self.stem(image)
        x = self.norm(self.body(stem) + stem)
        tokens = x.flatten(2).transpose(1, 2)
        tokens = tokens + self.attention(tokens)
        pooled = tokens.mean(1)
        return self.classes(pooled), torch.sigmoid(self.score(pooled))


def demo_network() -> tuple[DemoNet, tuple[Tensor, ...]]:
    """Returns the network, in evaluation mode with calibrated batch-norms, and one example input."""
    torch.manual_seed(0)
    network = DemoNet()
    image = torch.randn(1, 3, 16, 16)
    with torch.no_grad():
        network.train()(torch.randn(16, 3, 16, 16))
    return network.eval(), (image,)


# Takes the demo network through every stage of a real compile: export, quantise, lower to XNNPACK, emit.


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


# What the demo compiles, and how: a small network through every stage of a real compile.
