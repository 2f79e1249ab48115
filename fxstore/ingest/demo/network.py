"""A small network with what real ones trip over: folded batch-norms, an operator that no backend takes, attention."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


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
