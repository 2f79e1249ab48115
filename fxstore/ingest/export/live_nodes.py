"""What a live node says about itself: its operator, what it gives, which port it reads."""

from __future__ import annotations

import weakref
from functools import cache, lru_cache, partial
from typing import Any, Final

import torch
from torch import fx
from torch._ops import HigherOrderOperator, OpOverload

from fxstore.ingest.build import NO_VALUE, Link, Value
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


# The arguments of live nodes: which values they use, each with its path, and which constants.


_NESTED = (list, tuple, dict, slice)


def leaves_of(node: fx.Node) -> list[tuple[str, object]]:
    """Returns the arguments of a node, each with its path, down to nodes and to what holds none."""
    found: list[tuple[str, object]] = []
    for i, argument in enumerate(node.args):
        if isinstance(argument, _NESTED):
            _flatten(str(i), argument, found)
        else:
            found.append((str(i), argument))
    for name, argument in node.kwargs.items():
        _flatten(name, argument, found)
    return found


def _flatten(path: str, argument: object, found: list[tuple[str, object]]) -> None:
    if not isinstance(argument, _NESTED):
        found.append((path, argument))
    elif isinstance(argument, dict):
        for name, item in argument.items():
            _flatten(f"{path}.{name}", item, found)
    elif isinstance(argument, slice):
        for name in ("start", "stop", "step"):
            _flatten(f"{path}.{name}", getattr(argument, name), found)
    elif not _PLAIN.issuperset(map(type, argument)) and _contains_node(argument):
        for i, item in enumerate(argument):
            _flatten(f"{path}[{i}]", item, found)
    else:
        found.append((path, argument))


def _contains_node(argument: object) -> bool:
    if isinstance(argument, (list, tuple)):
        return any(_contains_node(item) for item in argument)
    if isinstance(argument, dict):
        return any(_contains_node(item) for item in argument.values())
    return isinstance(argument, fx.Node) or (
        isinstance(argument, slice)
        and any(isinstance(x, fx.Node) for x in (argument.start, argument.stop, argument.step))
    )


def as_json(value: object) -> object:
    """Returns a constant argument as JSON has it; what it cannot hold as text."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, float):
        return value if value - value == 0 else repr(value)
    if isinstance(value, (list, tuple)):
        return [item if type(item) in _PLAIN else as_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if kind in _AS_TEXT:
        return str(value)
    if isinstance(value, (bool, int, str)):
        return value
    return f"<{kind.__name__}>"


_PLAIN = frozenset({type(None), bool, int, str})
_AS_TEXT = frozenset(
    {torch.SymInt, torch.SymFloat, torch.SymBool, torch.dtype, torch.device, torch.layout, torch.memory_format}
)


# The provenance of live nodes: chains of records of the nodes that they were made of.


MOST_CHAINS: Final = 100
"""Of one record: where each of many hops has two ancestors, their number would double from hop to hop."""
# The stages of a compile share their nodes' records, which nothing edits: each is walked once, as long as it lives.
_walked: dict[int, tuple[weakref.ref[Any], list[list[Link]]]] = {}


def chains(node: fx.Node) -> list[list[Link]]:
    """Returns the provenance chains of a node, nearest ancestor first; one for each line of ancestors."""
    return [chain for source in node.meta.get("from_node") or () for chain in _of_source(source)]


def _of_source(source: Any) -> list[list[Link]]:
    key = id(source)
    known = _walked.get(key)
    if known is not None and known[0]() is source:
        return known[1]
    found = _walk(source)
    _walked[key] = weakref.ref(source, partial(_forget, key)), found
    return found


def _forget(key: int, gone: weakref.ref[Any]) -> None:
    if key in _walked and _walked[key][0] is gone:
        del _walked[key]


def _walk(source: Any) -> list[list[Link]]:
    found: list[list[Link]] = []
    waiting: list[tuple[list[Link], Any]] = [([], source)]
    while waiting and len(found) < MOST_CHAINS:
        chain, hop = waiting.pop()
        while True:
            told, actions = hop.node_info, hop.action
            action = actions[0]._name_ if len(actions) == 1 else ",".join([one._name_ for one in actions])
            if told is None:
                chain.append(("", "", -1, hop.pass_name, action))
            else:
                chain.append((told.name, told.target, told.graph_id, hop.pass_name, action))
            older = hop.from_node
            if not older:
                break
            if len(older) > 1:
                waiting.extend((list(chain), one) for one in reversed(older[1:]))
            hop = older[0]
        found.append(chain)
    return found
