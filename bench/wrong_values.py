"""What a faulty operator may make of its value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def one_nan(value: Tensor) -> Tensor:
    value = value.clone(memory_format=torch.contiguous_format)
    value.reshape(-1)[value.numel() // 2] = float("nan")
    return value


def wrong_scale(value: Tensor) -> Tensor:
    return value * 1.5


def transposed(value: Tensor) -> Tensor:
    """The elements in the order of another layout; the shape stays."""
    return value.movedim(1, -1).reshape(value.shape) if value.dim() > 2 else value.t().reshape(value.shape)


def disturbed(value: Tensor) -> Tensor:
    return value + 0.5 * value.abs().max() * torch.sin(torch.arange(value.numel())).reshape(value.shape)


def faulty_kernel(target: Callable[..., Any], change: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    """Returns the same operator, to whoever asks what it is, with a kernel that spoils its first result."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        result = target(*args, **kwargs)
        if isinstance(result, (tuple, list)):
            return type(result)([change(result[0]), *result[1:]])
        return change(result)

    kernel.__name__ = str(target)
    kernel._op = target  # type: ignore[attr-defined]  # where an edge operator keeps the one that it stands for
    return kernel
