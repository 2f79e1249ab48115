"""The arguments of live nodes: which values they use, each with its path, and which constants."""

from __future__ import annotations

import torch
from torch import fx

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
