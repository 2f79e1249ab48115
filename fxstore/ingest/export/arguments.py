"""Arguments and values of a serialised exported program (``torch.export`` schema 5 to 8), without torch.

An argument is read as the tree that the live graph has in its place: :class:`Reference` for another node's value,
:class:`Nested` for a nested graph, lists, dicts and constants, these as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass

from fxstore.ingest.build import NO_VALUE, Value
from fxstore.ingest.export.keyword_only import is_keyword
from fxstore.ingest.json_input import INT64, Malformed, each, member, optional, typed, union

SCALAR_TYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
    9: "complex32", 10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16",
    14: "uint16", 15: "float8_e5m2", 16: "float8_e4m3fn",
    28: "uint16", 29: "float8_e4m3fn", 30: "float8_e5m2", 31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz",
    33: "float8_e8m0fnu", 34: "uint32", 35: "uint64",
}  # fmt: skip
"""``ScalarType`` of torch/_export/serde/schema.py (from 28) and of ExecuTorch's older copy (14 to 16)."""

_LAYOUTS = {
    1: "sparse_coo", 2: "sparse_csr", 3: "sparse_csc", 4: "sparse_bsr", 5: "sparse_bsc", 6: "_mkldnn", 7: "strided",
}  # fmt: skip
_MEMORY_FORMATS = {1: "contiguous_format", 2: "channels_last", 3: "channels_last_3d", 4: "preserve_format"}
_KEYWORD_KIND = 2
_ALLOC = re.compile(r"\(([\d, ]{0,200})\);(\d{1,3})")


@dataclass(slots=True)
class Reference:
    """Another node's value, by the value's name."""

    name: str


@dataclass(slots=True)
class Nested:
    """A nested graph, by the attribute that holds it; a delegate's has a signature and a backend."""

    name: str
    graph: dict[str, object]
    signature: dict[str, object] | None = None
    backend: str | None = None


def argument(value: object) -> object:
    """Returns the tree of one serialised ``Argument``.

    Raises:
        Malformed: It is none, or of a kind that the schema does not have.
    """
    kind, content = union(value, "an argument")
    if kind == "as_tensor":
        return Reference(member(content, "name", str))
    reader = _READERS.get(kind)
    if reader is None:
        raise Malformed(f"an argument is of the unknown kind {kind[:60]!r}")
    return reader(content)


def arguments(target: str, inputs: Iterable[dict[str, object]], allocated: Set[str]) -> Iterator[tuple[str, object]]:
    """Yields the arguments of a node as argument path and tree, as the live node has them.

    Args:
        target: Operator, ``aten.add.Tensor``; a higher-order operator's has no dot, and names its keywords only.
        inputs: Serialised ``NamedArgument`` objects.
        allocated: Values that ``memory.alloc`` made, which operators take as ``out=`` arguments of various names.
    """
    position = 0
    for item in inputs:
        name, tree = member(item, "name", str), argument(member(item, "arg", dict))
        if kind := member(item, "kind", int) if "kind" in item else 0:
            keyword = kind == _KEYWORD_KIND
        elif isinstance(tree, Reference) and tree.name in allocated:
            keyword = bool(name)
        else:
            keyword = is_keyword(target, name) if "." in target else bool(name)
        yield (name if keyword else str(position)), tree
        position += not keyword


def leaves(path: str, tree: object) -> Iterator[tuple[str, object]]:
    """Yields argument path and leaf; a list or dict without references is one leaf."""
    if isinstance(tree, list) and _refers(tree):
        for i, item in enumerate(tree):
            yield from leaves(f"{path}[{i}]", item)
    elif isinstance(tree, dict):
        for name, item in tree.items():
            yield from leaves(f"{path}.{name}", item)
    else:
        yield path, tree


def allocation(spec: object) -> list[object]:
    """Returns shape and dtype of a ``memory.alloc``, which a file holds as ``(2, 3);7``."""
    text = typed(spec, str, "an allocation")
    match = _ALLOC.fullmatch(text)
    if match is None:
        raise Malformed(f"an allocation should read '(2, 3);7', not {text[:60]!r}")
    return [[int(size) for size in match[1].split(",") if size.strip()], _named(SCALAR_TYPES, int(match[2]), "dtype")]


def tensor(meta: object) -> Value:
    """Returns dtype, shape and device of a serialised ``TensorMeta``; symbolic sizes as text, never evaluated."""
    dtype = SCALAR_TYPES.get(member(meta, "dtype", int))
    if dtype is None:
        raise Malformed("a tensor has a dtype that is not in the schema")
    return Value(
        dtype, tuple([_size(size) for size in member(meta, "sizes", list)]), _device(member(meta, "device", dict))
    )


@dataclass(slots=True)
class Output:
    """One output port: its value's name, and whether that is a symbolic integer; ``items`` for a list of values."""

    name: str | None
    symint: bool = False
    items: tuple[Output, ...] | None = None


def output(value: object) -> Output:
    """Returns what one serialised output argument gives."""
    tree = argument(value)
    if isinstance(tree, list):
        return Output(None, items=tuple(Output(item.name if isinstance(item, Reference) else None) for item in tree))
    return Output(tree.name if isinstance(tree, Reference) else None, "as_sym_int" in typed(value, dict, "an output"))


class Values:
    """The tensors that a serialised graph declares, by name."""

    def __init__(self, graph: dict[str, object]) -> None:
        self._metas = member(graph, "tensor_values", dict)
        self._known: dict[str, Value] = {}

    def of(self, name: str | None) -> Value:
        """Returns the value of that name; one without dtype where it is no tensor."""
        if name is None or name not in self._metas:
            return NO_VALUE
        value = self._known.get(name)
        if value is None:
            value = self._known[name] = tensor(self._metas[name])
        return value


def _refers(tree: object) -> bool:
    if isinstance(tree, list):
        return any(_refers(item) for item in tree)
    if isinstance(tree, dict):
        return any(_refers(item) for item in tree.values())
    return isinstance(tree, (Reference, Nested))


def _reference(content: object) -> Reference:
    return Reference(member(content, "name", str))


def _custom_object(content: object) -> object:
    """A placeholder's object is referred to by name; one that stood in the arguments was given a name by the writer."""
    name = member(content, "name", str)
    return "<ScriptObject>" if name.startswith("_custom_obj_") else Reference(name)


def _symbolic(content: object) -> object:
    kind, value = union(content, "a symbolic argument")
    return Reference(typed(value, str, "a name")) if kind == "as_name" else _scalar(value)


def _optional_tensor(content: object) -> object:
    kind, value = union(content, "an optional tensor")
    return _reference(value) if kind == "as_tensor" else None


def _nested(content: object) -> Nested:
    return Nested(member(content, "name", str), member(content, "graph", dict))


def _scalar(content: object) -> object:
    if content is None or isinstance(content, (bool, str)):
        return content
    if isinstance(content, float):
        return content if content - content == 0 else repr(content)
    return typed(content, int, "a constant")


def _integer(content: object) -> object:
    return typed(content, int, "a constant")


def _integers(content: object) -> object:
    found = typed(content, list, "a list argument")
    for item in found:
        if type(item) is not int or item not in INT64:
            typed(item, int, "a constant")
    return found


def _scalar_type(content: object) -> object:
    return _named(SCALAR_TYPES, content, "dtype")


def _float(content: object) -> object:
    if type(content) is float and content - content == 0:
        return content
    if content in ("Infinity", "-Infinity", "NaN"):
        return {"Infinity": "inf", "-Infinity": "-inf", "NaN": "nan"}[str(content)]
    return _scalar(typed(content, float, "a constant"))


def _size(size: object) -> str:
    if type(size) is dict and type(number := size.get("as_int")) is int:
        return str(number)
    kind, content = union(size, "a size")
    return member(content, "expr_str", str) if kind == "as_expr" else str(typed(content, int, "a size"))


_CPU = {"type": "cpu"}


def _device(content: object) -> str:
    if content == _CPU:
        return "cpu"
    fields = typed(content, dict, "a device")
    kind, index = member(fields, "type", str), optional(fields, "index", int)
    return kind if index is None else f"{kind}:{index}"


def _named(names: dict[int, str], number: object, what: str) -> str:
    name = names.get(typed(number, int, what))
    if name is None:
        raise Malformed(f"{what} {number} is not in the schema")
    return f"torch.{name}"


def _list(read: Callable[[object], object]) -> Callable[[object], object]:
    return lambda content: [read(item) for item in typed(content, list, "a list argument")]


def _string_map(content: object) -> object:
    return {name: argument(value) for name, value in typed(content, dict, "a map argument").items()}


def _mark(name: str) -> Callable[[object], object]:
    return lambda content: f"<{name}>"


_READERS: dict[str, Callable[[object], object]] = {
    "as_none": lambda content: None,
    "as_tensor": _reference,
    "as_tensors": _list(_reference),
    "as_optional_tensor": _optional_tensor,
    "as_optional_tensors": _list(_optional_tensor),
    "as_nested_tensors": _list(_list(_reference)),
    "as_int": _integer,
    "as_ints": _integers,
    "as_int_lists": _list(_list(_scalar)),
    "as_float": _float,
    "as_floats": _list(_float),
    "as_float_lists": _list(_list(_float)),
    "as_complex": _mark("complex"),
    "as_string": lambda content: typed(content, str, "a constant"),
    "as_strings": lambda content: list(each(typed(content, list, "a list argument"), str, "a constant")),
    "as_bool": lambda content: typed(content, bool, "a constant"),
    "as_bools": lambda content: list(each(typed(content, list, "a list argument"), bool, "a constant")),
    "as_sym_int": _symbolic,
    "as_sym_ints": _list(_symbolic),
    "as_sym_bool": _symbolic,
    "as_sym_bools": _list(_symbolic),
    "as_sym_float": _symbolic,
    "as_sym_floats": _list(_symbolic),
    "as_scalar_type": _scalar_type,
    "as_memory_format": lambda content: _named(_MEMORY_FORMATS, content, "memory format"),
    "as_layout": lambda content: _named(_LAYOUTS, content, "layout"),
    "as_device": _device,
    "as_graph": _nested,
    "as_custom_obj": _custom_object,
    "as_operator": _mark("OpOverload"),
    "as_string_to_argument": _string_map,
}
