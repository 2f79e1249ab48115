"""Small networks with what trips linking: recurrence, caches, ties, several outputs, folds in a row, control flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class Recurrent(nn.Module):
    """An LSTM over four steps."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.out = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        y, (h, c) = self.lstm(x)
        return self.out(y[:, -1]) + h[0][:, :4] + c[0][:, :4]


class Unrolled(nn.Module):
    """A cell called four times, its state carried by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.GRUCell(8, 16), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        state = torch.zeros(x.shape[0], 16)
        for step in range(4):
            state = self.cell(x[:, step], state)
        return self.out(state)


class Cached(nn.Module):
    """Attention with a cache of keys and values that each call writes."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.register_buffer("keys", torch.zeros(1, 8, 16))
        self.register_buffer("values", torch.zeros(1, 8, 16))

    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        self.keys.index_copy_(1, at, k)
        self.values.index_copy_(1, at, v)
        weights = torch.softmax(q @ self.keys.transpose(1, 2) / 4, -1)
        return self.out(weights @ self.values)


class Tied(nn.Module):
    """One matrix embeds tokens and scores them."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.norm = nn.Embedding(20, 16), nn.LayerNorm(16)
        self.head = nn.Linear(16, 20, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.norm(self.tokens(ids)))


class Ports(nn.Module):
    """Operators of several outputs, some of equal shape, one unused."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 12)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        a, b, c = y.split(4, -1)
        d, e = (a + c).unbind(0)
        low, high = torch.aminmax(b, dim=-1)
        var, mean = torch.var_mean(c, -1)
        best, where = torch.topk(a, 2, -1)
        first, _ = y.max(-1)
        whole = (b * low[:, None] + high[:, None]).sum(-1) + best.sum(-1) + where.sum(-1)
        return whole + var - mean + d.sum() * e[0] + first


class Norms(nn.Module):
    """Batch-norms in a row, behind a convolution and behind a linear, and one that nothing is in front of."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.conv = nn.BatchNorm2d(3), nn.Conv2d(3, 6, 3)
        self.norm1, self.norm2 = nn.BatchNorm2d(6), nn.BatchNorm2d(6)
        self.linear, self.norm3 = nn.Linear(6, 5), nn.BatchNorm1d(5)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm2(self.norm1(self.conv(self.first(x))))
        return functional.relu(self.norm3(self.linear(y.mean((2, 3)))))


class Copies(nn.Module):
    """Dropout at rest, copies, edits in place, and the same term twice."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.drop = nn.Linear(8, 8), nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        y = self.drop(self.linear(x)).clone()
        y.add_(1.0).mul_(2.0)
        z = torch.sin(x) * torch.cos(x) + torch.sin(x)
        return self.drop(functional.relu_(y)) + z.contiguous() + (x.view(-1, 8) * 0 + 1)


class Sums(nn.Module):
    """Einsum, a transposed convolution, 1-d convolutions, and pads."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.up = nn.Conv1d(4, 6, 3, padding=1), nn.ConvTranspose2d(6, 2, 2, 2)
        self.weight = nn.Parameter(torch.randn(6, 6))

    def forward(self, x: Tensor) -> Tensor:
        y = functional.gelu(self.conv(x))
        z = torch.einsum("bct,cd->bdt", y, self.weight)
        z = functional.pad(z, (1, 1)).unfold(-1, 2, 2).transpose(2, 3)
        return self.up(z).flatten(1).logsumexp(-1)


class Branches(nn.Module):
    """A branch that depends on the input; both sides have nodes of equal names."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        return torch.cond(y.sum() > 0, lambda t: t.sin().relu() + 1, lambda t: t.cos().relu() - 1, (y,)) * 2


class Sizes(nn.Module):
    """Sizes that are known only at run time."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        y = self.linear(x).view(batch, tokens, 2, width // 2).transpose(1, 2).reshape(batch, 2 * tokens, -1)
        return torch.cat([y, y], 1) / (batch * tokens) + torch.arange(tokens).sum()


def _floats(*shape: int) -> tuple[Tensor, ...]:
    return (torch.randn(*shape),)


def _sizes() -> dict[str, Any]:
    dim = torch.export.Dim
    return {"dynamic_shapes": ({0: dim("batch", min=2, max=8), 1: dim("tokens", min=2, max=16)},)}


ODD_MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[Tensor, ...]]]] = {
    "lstm": (Recurrent, lambda: _floats(1, 4, 8)),
    "unrolled": (Unrolled, lambda: _floats(2, 4, 8)),
    "cached": (Cached, lambda: (torch.randn(1, 1, 16), torch.tensor([3]))),
    "tied": (Tied, lambda: (torch.randint(0, 20, (1, 6)),)),
    "ports": (Ports, lambda: _floats(2, 8)),
    "norms": (Norms, lambda: _floats(2, 3, 8, 8)),
    "copies": (Copies, lambda: _floats(2, 8)),
    "sums": (Sums, lambda: _floats(2, 4, 8)),
    "branches": (Branches, lambda: _floats(2, 4)),
    "sizes": (Sizes, lambda: _floats(4, 6, 8)),
}
EXPORT_OPTIONS: dict[str, dict[str, Any]] = {"sizes": _sizes()}
