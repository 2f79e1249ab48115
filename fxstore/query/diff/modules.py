"""Which module of one run is which module of another: by path, and where a path is gone, by what is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

_ALIKE: Final = 0.5


@dataclass
class _Module:
    path: str
    own: list[int] = field(default_factory=list)
    children: dict[str, _Module] = field(default_factory=dict)

    @cached_property
    def operators(self) -> Counter[int]:
        """How often each operator stands in it, at any depth."""
        return sum((child.operators for child in self.children.values()), Counter(self.own))


def renamed_modules(
    base: Sequence[str | None], base_kinds: Iterable[int], head: Sequence[str | None], head_kinds: Iterable[int]
) -> dict[str, str]:
    """Returns the path in the head of each module of the base that has another path there.

    A module that stands in both under one path keeps it. Of the others, below parents that correspond, those with
    the same children or operators correspond in order; then, where equally many are left, those of which half the
    operators are alike. A module that only wraps another is looked through.

    Args:
        base: Module path of each node of the base, or None.
        base_kinds: Operator of each node of the base.
        head: As ``base``.
        head_kinds: As ``base_kinds``.
    """
    only_base, only_head = set(base) - set(head), set(head) - set(base)
    if not only_base - {None} or not only_head - {None}:
        return {}
    renamed: dict[str, str] = {}
    _pair(_tree(base, base_kinds), _tree(head, head_kinds), renamed)
    return renamed


def _tree(paths: Sequence[str | None], kinds: Iterable[int]) -> _Module:
    root = _Module("")
    modules: dict[str | None, _Module] = {None: _Module(""), "": root}
    for path, kind in zip(paths, kinds, strict=True):
        module = modules.get(path)
        if module is None and path is not None:
            module = modules[path] = _place(root, path)
        if module is not None:
            module.own.append(kind)
    return root


def _place(module: _Module, path: str) -> _Module:
    for part in path.split("."):
        found = module.children.get(part)
        if found is None:
            found = module.children[part] = _Module(f"{module.path}.{part}" if module.path else part)
        module = found
    return module


def _pair(base: _Module, head: _Module, renamed: dict[str, str]) -> None:
    base, head = _inside(base, head), _inside(head, base)
    pairs = [(child, head.children[name]) for name, child in base.children.items() if name in head.children]
    left = [child for name, child in base.children.items() if name not in head.children]
    right = [child for name, child in head.children.items() if name not in base.children]
    pairs += _take(left, right, _equal)
    if len(left) == len(right):
        pairs += _take(left, right, _similar)
    for child, partner in pairs:
        if child.path != partner.path:
            renamed[child.path] = partner.path
        _pair(child, partner, renamed)


def _inside(module: _Module, other: _Module) -> _Module:
    """Returns the module, or what it only wraps, where that has children of the same names as the other."""
    inner = module
    while inner.children.keys().isdisjoint(other.children) and len(inner.children) == 1:
        (inner,) = inner.children.values()
    return module if inner.children.keys().isdisjoint(other.children) else inner


def _take(
    left: list[_Module], right: list[_Module], alike: Callable[[_Module, _Module], bool]
) -> list[tuple[_Module, _Module]]:
    """Returns pairs that are alike, in order, and takes them out of both lists."""
    pairs = []
    for child in list(left):
        partner = next((other for other in right if alike(child, other)), None)
        if partner is not None:
            pairs.append((child, partner))
            left.remove(child)
            right.remove(partner)
    return pairs


def _equal(base: _Module, head: _Module) -> bool:
    same_children = base.children.keys() == head.children.keys()
    return (same_children and bool(base.children)) or base.operators == head.operators


def _similar(base: _Module, head: _Module) -> bool:
    common = (base.operators & head.operators).total()
    return common >= _ALIKE * max(base.operators.total(), head.operators.total())
