"""What a live node says about itself: its operator, what it gives, which port it reads."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import torch
from torch import fx
from torch._ops import HigherOrderOperator, OpOverload

from fxstore.ingest.build import NO_VALUE, Value
from fxstore.ingest.names import op_type


def target_text(node: fx.Node, module: fx.GraphModule | None = None) -> tuple[str, str]:
    """Returns a node's target as text and its operator type; the same text in any process."""
    target = node.target
    if node.op == "call_module" and module is not None:
        owner = attribute(module, str(target))
        return str(target), type(owner).__name__ if owner is not None else "call_module"
    if isinstance(target, str):
        return target, node.op if node.op in ("placeholder", "get_attr", "output") else target
    overload = target if isinstance(target, OpOverload) else getattr(target, "_op", None)
    if isinstance(overload, OpOverload):
        return _overload_text(overload)
    if isinstance(target, HigherOrderOperator):
        return str(target.name()), str(target.name())  # type: ignore[no-untyped-call]
    name = getattr(target, "__name__", None) or type(target).__name__
    home = getattr(target, "__module__", None)
    return (f"{home}.{name}" if home else name), name


@cache
def _overload_text(overload: OpOverload) -> tuple[str, str]:
    text = str(overload)
    return text, op_type(text)


def port_of(node: fx.Node) -> int:
    """Returns the port of its argument 0 that a ``getitem`` uses: ``i`` of ``getitem(op, i)``; of a tensor 0."""
    if node.op != "call_function" or len(node.args) != 2:
        return 0
    source, port = node.args
    given = isinstance(source, fx.Node) and isinstance(port, int) and port >= 0 and _has_ports(source)
    return port if given else 0  # type: ignore[return-value]


def _has_ports(node: fx.Node) -> bool:
    return not isinstance(node.meta.get("val"), torch.Tensor)


def values_of(node: fx.Node, held: object = None) -> tuple[Value, ...]:
    """Returns what a node gives, one per port.

    Args:
        held: What the module has in the attribute that the node reads; it tells where the node's metadata do not.
    """
    value = node.meta.get("val")
    if value is None and node.op == "get_attr" and isinstance(held, torch.Tensor):
        value = held
    if isinstance(value, (list, tuple)):
        return tuple(_value(item) for item in value) or (Value(),)
    return (_value(value),)


def _value(value: object) -> Value:
    if not isinstance(value, torch.Tensor):
        return NO_VALUE
    try:
        return _tensor(value.dtype, value.shape, value.device)
    except TypeError:  # symbols in the shape have no hash
        return _tensor.__wrapped__(value.dtype, value.shape, value.device)


@lru_cache(1 << 14)
def _tensor(dtype: torch.dtype, shape: torch.Size, device: torch.device) -> Value:
    return Value(_dtype(dtype), tuple(map(str, shape)), _device(device))


@cache
def _dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


@cache
def _device(device: torch.device) -> str:
    return str(device)


def attribute(module: fx.GraphModule, target: str) -> Any:
    """Returns what a module has under a dotted name, or None."""
    owner: Any = module
    for part in target.split("."):
        owner = getattr(owner, part, None)
        if owner is None:
            return None
    return owner
