"""Compiles a keyword spotter as two nights of a toolchain do: ``python lost_accuracy.py monday``, then ``tuesday``.

On Tuesday the toolchain's default is one scale per weight, no longer one per output channel.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import torch
from torch import Tensor, nn

import fxstore


class Block(nn.Module):
    """A depthwise-separable convolution."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.depthwise_norm = nn.BatchNorm2d(channels)
        self.pointwise = nn.Conv2d(channels, channels, 1, bias=False)
        self.pointwise_norm = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Returns what both convolutions make of a picture."""
        x = torch.relu(self.depthwise_norm(self.depthwise(x)))
        return torch.relu(self.pointwise_norm(self.pointwise(x)))


class KeywordSpotter(nn.Module):
    """Three blocks on a spectrogram, twelve words."""

    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, channels, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(*(Block(channels) for _ in range(3)))
        self.head = nn.Linear(channels, 12)

    def forward(self, spectrogram: Tensor) -> Tensor:
        """Returns a score for each word."""
        x = self.blocks(torch.relu(self.stem(spectrogram)))
        return self.head(x.mean((2, 3)))


def trained() -> tuple[KeywordSpotter, tuple[Tensor, ...]]:
    """Returns the network, in which a channel of the second block is nearly silent, as training leaves some."""
    torch.manual_seed(0)
    network = KeywordSpotter()
    with torch.no_grad():
        network.blocks[1].pointwise_norm.weight[3] = 0.001
        network.blocks[1].pointwise_norm.bias[3] = 0.001
    for _ in range(200):  # the statistics of the batch-norms
        network(torch.randn(8, 1, 32, 32))
    return network.eval(), (torch.randn(1, 1, 32, 32),)


def compile_to_device(rec: Any, *, per_channel: bool) -> None:
    """Exports, quantises and lowers the network, records each stage, runs all, and measures."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from executorch.exir import to_edge_transform_and_lower
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    network, inputs = trained()
    exported = torch.export.export(network, inputs)
    rec.stage("float", exported)
    scheme = get_symmetric_quantization_config(is_per_channel=per_channel, act_qmin=-128, act_qmax=127)
    prepared = prepare_pt2e(exported.module(), XNNPACKQuantizer().set_global(scheme))
    for _ in range(8):
        prepared(torch.randn(1, 1, 32, 32))
    quantized = convert_pt2e(prepared)
    rec.stage("quantized", quantized)
    edge = to_edge_transform_and_lower(
        torch.export.export(quantized, inputs), partitioner=[XnnpackPartitioner()], generate_etrecord=True
    )
    rec.stage("lowered", edge)
    program = edge.to_executorch()
    rec.stage("runtime", program)
    rec.measure(inputs, reference="float", metrics=["cosine", "sqnr"])
    rec.device(inputs, stage="runtime", reference="quantized")


def main(night: str) -> None:
    """Stores one night's compile as a run."""
    with fxstore.connect("nights") as store, store.record(night, model="keywords", tags={"branch": "main"}) as rec:
        compile_to_device(rec, per_channel=night != "tuesday")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main(sys.argv[1])
