"""Small networks of the shapes that people compile; random weights, in evaluation mode."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional


class ConvBn(nn.Sequential):
    """Convolution, batch-norm and, where asked, ReLU6."""

    def __init__(
        self, cin: int, cout: int, kernel: int = 3, stride: int = 1, groups: int = 1, act: bool = True
    ) -> None:
        layers: list[nn.Module] = [
            nn.Conv2d(cin, cout, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(cout),
        ]
        super().__init__(*layers, *([nn.ReLU6()] if act else []))


class InvertedResidual(nn.Module):
    """The block of MobileNetV2."""

    def __init__(self, cin: int, cout: int, stride: int) -> None:
        super().__init__()
        self.block = nn.Sequential(
            ConvBn(cin, cin * 4, 1), ConvBn(cin * 4, cin * 4, 3, stride, cin * 4), ConvBn(cin * 4, cout, 1, act=False)
        )
        self.residual = stride == 1 and cin == cout

    def forward(self, x: Tensor) -> Tensor:
        return x + self.block(x) if self.residual else self.block(x)


class MobileNet(nn.Module):
    """A MobileNetV2 of six blocks."""

    def __init__(self) -> None:
        super().__init__()
        widths = [(8, 8, 1), (8, 16, 2), (16, 16, 1), (16, 24, 2), (24, 24, 1), (24, 24, 1)]
        self.stem = ConvBn(3, 8, stride=2)
        self.blocks = nn.Sequential(*(InvertedResidual(*width) for width in widths))
        self.head = nn.Linear(24, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class UNet(nn.Module):
    """Two levels down and up, with skips."""

    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2, self.middle = ConvBn(3, 8), ConvBn(8, 16), ConvBn(16, 16)
        self.up2, self.up1, self.out = ConvBn(32, 8), ConvBn(16, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = self.down1(x)
        b = self.down2(functional.max_pool2d(a, 2))
        c = functional.interpolate(self.middle(functional.max_pool2d(b, 2)), scale_factor=2)
        d = functional.interpolate(self.up2(torch.cat([b, c], 1)), scale_factor=2)
        return self.out(self.up1(torch.cat([a, d], 1)))


class Attention(nn.Module):
    """Self-attention, causal where asked."""

    def __init__(self, width: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.causal = heads, causal

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))


class Encoder(nn.Module):
    """A transformer layer; norms after the sums (BERT) or before them (ViT)."""

    def __init__(self, width: int, heads: int, before: bool) -> None:
        super().__init__()
        self.attention, self.before = Attention(width, heads), before
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        if self.before:
            x = x + self.attention(self.norm1(x))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.down(functional.gelu(self.up(x))))


class Bert(nn.Module):
    """Token and position embeddings, three layers."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 32), nn.Parameter(torch.randn(1, 8, 32) * 0.1)
        self.layers = nn.ModuleList(Encoder(32, 4, before=False) for _ in range(3))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.places
        for layer in self.layers:
            x = layer(x)
        return x


class Vit(nn.Module):
    """Patches, a class token, two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.cls = nn.Conv2d(3, 32, 4, 4), nn.Parameter(torch.randn(1, 1, 32))
        self.layers = nn.ModuleList(Encoder(32, 4, before=True) for _ in range(2))
        self.head = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(tokens.shape[0], -1, -1), tokens], 1)
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, 0])


class Decoder(nn.Module):
    """Llama's layer: RMS norm, causal attention, gated MLP."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = Attention(width, 4, causal=True)
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.gate, self.up, self.down = nn.Linear(width, 64), nn.Linear(width, 64), nn.Linear(64, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """Two decoder layers."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.layers = nn.Embedding(50, 32), nn.ModuleList(Decoder(32) for _ in range(2))
        self.head = nn.Linear(32, 50)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Shared(nn.Module):
    """One layer called three times, its sum with the input."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm, self.out = nn.Linear(16, 16), nn.LayerNorm(16), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for _ in range(3):
            y = functional.gelu(self.norm(self.layer(y)))
        return self.out(y + y + x)


def _images(size: int) -> tuple[Tensor, ...]:
    return (torch.randn(1, 3, size, size),)


def _ids() -> tuple[Tensor, ...]:
    return (torch.randint(0, 50, (1, 8)),)


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[Tensor, ...]]]] = {
    "mobilenet": (MobileNet, lambda: _images(32)),
    "unet": (UNet, lambda: _images(16)),
    "bert": (Bert, _ids),
    "vit": (Vit, lambda: _images(16)),
    "llama": (Llama, _ids),
    "shared": (Shared, lambda: (torch.randn(2, 16),)),
}
