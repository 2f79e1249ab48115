"""What one printed statement computes: the operator, its target, and its arguments by path."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Final

_OPERATORS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "floordiv", ast.Div: "truediv", ast.Mod: "mod",
    ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and_", ast.BitOr: "or_",
    ast.BitXor: "xor", ast.MatMult: "matmul", ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.Gt: "gt", ast.LtE: "le",
    ast.GtE: "ge", ast.UAdd: "pos", ast.USub: "neg", ast.Invert: "invert",
}  # fmt: skip
_INPLACE: Final[dict[type[ast.AST], str]] = {
    ast.Add: "iadd", ast.Sub: "isub", ast.Mult: "imul", ast.FloorDiv: "ifloordiv", ast.Div: "itruediv",
    ast.Mod: "imod", ast.Pow: "ipow", ast.LShift: "ilshift", ast.RShift: "irshift", ast.BitAnd: "iand",
    ast.BitOr: "ior", ast.BitXor: "ixor", ast.MatMult: "imatmul",
}  # fmt: skip
_LONGEST: Final = 2000


@dataclass(frozen=True)
class Ref:
    """A use of another node's value."""

    name: str


@dataclass
class Computed:
    """An operation as FX calls it: ``op``, ``target``, and each leaf of its arguments by path."""

    op: str
    target: str
    args: list[tuple[str, object]] = field(default_factory=list)


def computed(value: ast.expr, names: Container[str]) -> Computed:
    """Returns what an expression computes, given the names that are nodes so far."""
    if isinstance(value, ast.BinOp):
        return _function(f"_operator.{_OPERATORS[type(value.op)]}", [value.left, value.right], names)
    if isinstance(value, ast.UnaryOp) and type(value.op) in _OPERATORS:
        return _function(f"_operator.{_OPERATORS[type(value.op)]}", [value.operand], names)
    if isinstance(value, ast.Compare) and len(value.ops) == 1 and type(value.ops[0]) in _OPERATORS:
        return _function(f"_operator.{_OPERATORS[type(value.ops[0])]}", [value.left, value.comparators[0]], names)
    if isinstance(value, ast.Subscript):
        return _function("_operator.getitem", [value.value, value.slice], names)
    if isinstance(value, ast.Call):
        return _call(value, names)
    if isinstance(value, ast.Attribute) and not _owned(value) and _refers(value.value, names):
        found = _function("builtins.getattr", [value.value], names)
        found.args.append(("1", value.attr))
        return found
    if (path := _owned(value)) is not None:
        return Computed("get_attr", path)
    return Computed("get_attr", _text(value))


def assigned(statement: ast.Assign | ast.AugAssign, names: Container[str]) -> Computed | None:
    """Returns what a statement computes in place (``x[0] = y``, ``x += y``), or None where it is no such."""
    if isinstance(statement, ast.AugAssign):
        operator = f"_operator.{_INPLACE[type(statement.op)]}"
        return _function(operator, [statement.target, statement.value], names)
    target = statement.targets[0]
    if isinstance(target, ast.Subscript):
        return _function("_operator.setitem", [target.value, target.slice, statement.value], names)
    return None


def returned(value: ast.expr | None, names: Container[str]) -> Computed:
    """Returns the output node that a ``return`` stands for."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "tree_unflatten":
        value = value.args[0] if value.args else None
    found = Computed("output", "output")
    if value is not None:
        found.args.extend(_leaves("0", value, names))
    return found


def _function(target: str, args: list[ast.expr], names: Container[str]) -> Computed:
    found = Computed("call_function", target)
    for i, argument in enumerate(args):
        found.args.extend(_leaves(str(i), argument, names))
    return found


def _call(call: ast.Call, names: Container[str]) -> Computed:
    args = list(call.args)
    if (module := _owned(call.func)) is not None:
        found = Computed("call_module", module)
    elif isinstance(call.func, ast.Attribute) and _refers(call.func.value, names):
        found = Computed("call_method", call.func.attr)
        args.insert(0, call.func.value)
    else:
        found = Computed("call_function", short(_text(call.func)))
    for i, value in enumerate(args):
        found.args.extend(_leaves(str(i), value, names))
    for keyword in call.keywords:
        found.args.extend(_leaves(keyword.arg or "**", keyword.value, names))
    return found


def short(target: str) -> str:
    """Returns an operator's target as it reads elsewhere: ``aten.sin.default``, ``cond``."""
    return target.removeprefix("torch.ops.higher_order.").removeprefix("torch.ops.")


def _owned(value: ast.expr) -> str | None:
    """Returns the path of what a module owns: ``self.layer.weight``, ``getattr(self.layers, "0")``."""
    parts: list[str] = []
    while True:
        if isinstance(value, ast.Attribute):
            parts.append(value.attr)
            value = value.value
        elif _is_getattr(value):
            parts.append(str(value.args[1].value))  # type: ignore[attr-defined]
            value = value.args[0]  # type: ignore[attr-defined]
        else:
            break
    return ".".join(reversed(parts)) if parts and isinstance(value, ast.Name) and value.id == "self" else None


def _is_getattr(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id == "getattr"
        and len(value.args) == 2
        and isinstance(value.args[1], ast.Constant)
    )


def _leaves(path: str, value: ast.expr, names: Container[str]) -> Iterator[tuple[str, object]]:
    if isinstance(value, ast.Name) and value.id in names:
        yield path, Ref(value.id)
    elif isinstance(value, (ast.Tuple, ast.List)) and _refers(value, names):
        for i, item in enumerate(value.elts):
            yield from _leaves(f"{path}[{i}]", item, names)
    elif isinstance(value, ast.Dict):
        for key, item in zip(value.keys, value.values, strict=True):
            yield from _leaves(f"{path}.{'**' if key is None else constant(key)}", item, names)
    elif isinstance(value, ast.Slice) or _is_slice(value):
        for name, bound in zip(("start", "stop", "step"), _bounds(value), strict=True):
            if bound is None:
                yield f"{path}.{name}", None
            else:
                yield from _leaves(f"{path}.{name}", bound, names)
    elif _refers(value, names):  # what FX never prints; its uses still count
        for i, name in enumerate(n.id for n in ast.walk(value) if isinstance(n, ast.Name) and n.id in names):
            yield f"{path}[{i}]", Ref(name)
    else:
        yield path, constant(value)


def _is_slice(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "slice"


def _bounds(value: ast.expr) -> list[ast.expr | None]:
    if isinstance(value, ast.Slice):
        return [value.lower, value.upper, value.step]
    given: list[ast.expr | None] = list(value.args)  # type: ignore[attr-defined]
    return [*given, None, None, None][:3] if len(given) != 1 else [None, given[0], None]


def _refers(value: ast.expr, names: Container[str]) -> bool:
    if isinstance(value, ast.Name):
        return value.id in names
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(value))


def constant(value: ast.expr) -> object:
    """Returns a constant as JSON; what is no plain constant as its text."""
    if isinstance(value, ast.Constant):
        plain = value.value
        if plain is None or isinstance(plain, (bool, str)):
            return plain
        if isinstance(plain, int):
            return plain if -(2**63) <= plain < 2**63 else str(ast.unparse(value))[:_LONGEST]
        if isinstance(plain, float):
            return plain if plain - plain == 0 else repr(plain)
        return repr(plain)[:_LONGEST]
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub) and isinstance(value.operand, ast.Constant):
        number = value.operand.value
        if isinstance(number, float) or (isinstance(number, int) and abs(number) < 2**63):
            return -number
    if isinstance(value, (ast.Tuple, ast.List)):
        return [constant(item) for item in value.elts]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "device":
        return _device(value)
    return _text(value)


def _device(call: ast.Call) -> object:
    parts = [str(constant(item)) for item in [*call.args, *(keyword.value for keyword in call.keywords)]]
    return ":".join(parts)


def _text(value: ast.expr) -> str:
    text = ast.unparse(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
