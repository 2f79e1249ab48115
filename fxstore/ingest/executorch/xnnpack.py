"""Reads what XNNPACK is handed for a delegate: its operators in the order in which it runs them, with their handles.

The payload is a FlatBuffer of ``executorch/backends/xnnpack/serialization/schema.fbs``, behind a header of its own
(``XNNHeader`` there).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from fxstore.ingest.build import GraphBuilder, Value
from fxstore.ingest.flatbuffer import Buffer, Table
from fxstore.records import Graph

BACKEND: Final = "XnnpackBackend"
_HEADER, _GRAPH = b"XH00", b"XN01"
_NONE = 0xFFFFFFFF
_NO_HANDLE = frozenset({0, 0xFFFF, 0xFFFFFFFF})
"""Operators that no node of the graph stands for: what XNNPACK's lowering adds."""
_DTYPES: Final = MappingProxyType(
    dict(
        enumerate(
            (
                "", "float32", "float16", "qint8", "quint8", "qint32", "qcint8", "qcint32", "qcint4", "qdint8",
                "qbint4", "qpint8", "int32", "pfp32", "bfloat16",
            )
        )
    )
)  # fmt: skip

_UNARY = "input_id output_id flags"
_BINARY = "input1_id input2_id output_id flags"
_PADDING = "padding_top padding_right padding_bottom padding_left"
_CONV = (
    f"{_PADDING} kernel_height kernel_width subsampling_height subsampling_width dilation_height dilation_width "
    "group_input_channels group_output_channels groups adjustment_height adjustment_width "
    "input1_id filter_id bias_id output_id flags"
)
_POOL = (
    f"{_PADDING} pooling_height pooling_width stride_height stride_width dilation_height dilation_width "
    "input_id output_id flags"
)
_CAT = "axis input1_id input2_id input3_id input4_id output_id flags input5_id"
_OPERATORS: Final = (
    ("add", _BINARY),
    ("fully_connected", "input1_id filter_id bias_id output_id flags"),
    ("softmax", _UNARY),
    ("sigmoid", _UNARY),
    ("static_transpose", "num_dims perm* input_id output_id flags"),
    ("clamp", _UNARY),
    ("conv2d", _CONV),
    ("div", _BINARY),
    ("static_resize_bilinear_2d", "new_height new_width input_id output_id flags"),
    ("static_constant_pad", "pre_paddings* post_paddings* padding_value~ input_id output_id flags"),
    ("avg_pooling_2d", _POOL),
    ("minimum", _BINARY),
    ("depthwise_conv2d", _CONV),
    ("max_pooling_2d", _POOL),
    ("multiply", _BINARY),
    ("subtract", _BINARY),
    ("floor", _UNARY),
    ("convert", _UNARY),
    ("global_avg_pooling_2d", _UNARY),
    ("static_reshape", "num_dims new_shape* input_id output_id flags"),
    (
        "arg_max_pooling_2d",
        f"{_PADDING} pooling_height pooling_width input_id output_value_id output_index_id flags",
    ),
    ("square_root", _UNARY),
    ("ceiling", _UNARY),
    ("hardswish", _UNARY),
    ("leaky_relu", "negative_slope~ input_id output_id flags"),
    ("maximum", _BINARY),
    ("negate", _UNARY),
    ("square", _UNARY),
    ("elu", "alpha~ input_id output_id flags"),
    ("abs", _UNARY),
    ("prelu", _BINARY),
    ("concatenate2", _CAT),
    ("concatenate3", _CAT),
    ("concatenate4", _CAT),
    ("static_slice", "num_dims offsets* sizes* input_id output_id flags"),
    ("scaled_dot_product_attention", "query_id key_id value_id scale_id mask_id output_id flags"),
    ("batch_matrix_multiply", _BINARY),
    ("concatenate5", _CAT),
    ("conv_transpose_2d", _CONV),
    ("reciprocal_square_root", _UNARY),
    ("log", _UNARY),
    ("gelu", _UNARY),
    ("tanh", _UNARY),
    ("exp", _UNARY),
    ("sin", _UNARY),
    ("copy", _UNARY),
    ("cos", _UNARY),
)
"""Members of the schema's union in their order: name, and fields; ``*`` a list, ``~`` a floating-point number."""


@dataclass(frozen=True)
class Operator:
    """One operator; inputs and outputs by number of value, with the schema's names of the fields."""

    kind: str
    handle: int
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[int, ...]
    attrs: dict[str, object]


def delegate_graph(data: memoryview, method: str, path: str, parent: tuple[str, int]) -> Graph:
    """Returns the graph of a payload: its inputs, its constants, its operators in the order of execution.

    Raises:
        ValueError: The payload is none, or broken (or another of :data:`fxstore.ingest.flatbuffer.BROKEN`).
    """
    root = Buffer(_flatbuffer(data)).root()
    builder = GraphBuilder(method, path)
    values = {number: value for number, value in map(_value, root.tables(2)) if value is not None}
    producers: dict[int, tuple[int, int]] = {}
    for i, number in enumerate(_in_call_order(root.numbers(4, "I"), values)):
        name = f"input_{i}"
        producers[number] = (_place(builder, name, "input", values.get(number)), 0)
    for position, operator in enumerate(map(_operator, root.tables(1))):
        _add(builder, f"{operator.kind}_{position}", operator, values, producers)
    ends = [producers[number] for number in _in_call_order(root.numbers(5, "I"), values) if number in producers]
    output = builder.node("output", "output", "output", "output", kind="output")
    for i, (source, port) in enumerate(ends):
        builder.use(source, port, output, f"0[{i}]")
    return builder.finish(*parent)


@dataclass(frozen=True)
class Ordered:
    """An operator by its place in the order of execution.

    Attributes:
        handle: Debug handle of the node that it was made from; None for what the lowering added.
        dtype: Of its first output, or None.
    """

    kind: str
    handle: int | None
    dtype: str | None


def operators(data: memoryview) -> Iterator[Ordered]:
    """Yields the operators of a payload in order; raises as :func:`delegate_graph`."""
    root = Buffer(_flatbuffer(data)).root()
    values = {number: held for number, held in map(_value, root.tables(2)) if held is not None}
    for operator in map(_operator, root.tables(1)):
        held = values.get(operator.outputs[0]) if operator.outputs else None
        handle = None if operator.handle in _NO_HANDLE else operator.handle
        yield Ordered(operator.kind, handle, held.value.dtype if held else None)


def output_count(data: memoryview) -> int:
    """Returns how many values a payload gives."""
    return len(Buffer(_flatbuffer(data)).root().numbers(5, "I"))


@dataclass(frozen=True)
class _Held:
    """A value; ``external`` is its place among the arguments of the call, inputs before outputs."""

    value: Value
    constant: int
    external: int
    quantisation: dict[str, object] | None = None


def _in_call_order(numbers: Sequence[int], values: dict[int, _Held]) -> list[int]:
    """Returns inputs, or outputs, in the order in which the call passes them; the file has that of their first use."""
    return sorted(numbers, key=lambda number: values[number].external if number in values else _NONE)


def _flatbuffer(data: memoryview) -> memoryview:
    if bytes(data[4:8]) == _GRAPH:
        return data
    if bytes(data[4:8]) != _HEADER:
        raise ValueError("no XNNPACK payload")
    offset, size = struct.unpack_from("<II", data, 10)
    if offset + size > len(data):
        raise ValueError("a graph beyond the end")
    return data[offset : offset + size]


def _place(builder: GraphBuilder, name: str, role: str, held: _Held | None) -> int:
    attrs: dict[str, object] = {}
    if held is not None and held.quantisation:
        attrs["quantisation"] = held.quantisation
    values = [held.value] if held else [Value()]
    return builder.node(name, "placeholder", name, role, kind="placeholder", values=values, attrs=attrs)


def _add(
    builder: GraphBuilder,
    name: str,
    operator: Operator,
    values: dict[int, _Held],
    producers: dict[int, tuple[int, int]],
) -> None:
    for _, number in operator.inputs:
        held = values.get(number)
        if number not in producers and held is not None and held.constant:
            producers[number] = (_place(builder, f"constant_{number}", "constant", held), 0)
    attrs: dict[str, object] = {"args": operator.attrs}
    given = [values.get(number) for number in operator.outputs]
    if given and given[0] is not None and given[0].quantisation:
        attrs["quantisation"] = given[0].quantisation
    position = builder.node(
        name, "call_function", f"xnnpack.{operator.kind}", "op", kind=operator.kind,
        values=[held.value if held else Value() for held in given] or [Value()], backend=BACKEND, attrs=attrs,
    )  # fmt: skip
    for field, number in operator.inputs:
        if number in producers:
            builder.use(*producers[number], position, field)
    builder.handle(position, "debug_handle", () if operator.handle in _NO_HANDLE else (operator.handle,))
    producers.update({number: (position, port) for port, number in enumerate(operator.outputs)})


def _operator(row: Table) -> Operator:
    tag, table = row.union(0)
    if not 0 < tag <= len(_OPERATORS) or table is None:
        return Operator(f"operator_{tag}", row.number(2, "I"), (), (), {})
    kind, layout = _OPERATORS[tag - 1]
    inputs: list[tuple[str, int]] = []
    outputs: list[int] = []
    attrs: dict[str, object] = {}
    for field, name in enumerate(layout.split()):
        if name.endswith("*"):
            attrs[name[:-1]] = list(table.numbers(field, "I"))
        elif name.endswith("~"):
            attrs[name[:-1]] = finite(table.number(field, "f", 0.0))
        elif not name.endswith("_id"):
            attrs[name] = table.number(field, "I")
        elif name.startswith("output"):
            outputs.append(table.number(field, "I"))
        else:
            inputs.append((name.removesuffix("_id"), table.number(field, "I")))
    if (bounds := row.table(3)) is not None:
        attrs["output_min"], attrs["output_max"] = (finite(bounds.number(i, "f", 0.0)) for i in (0, 1))
    if kind.startswith("concatenate"):
        inputs = inputs[: int(kind[-1])]
    return Operator(kind, row.number(2, "I"), tuple(i for i in inputs if i[1] != _NONE), tuple(outputs), attrs)


def _value(row: Table) -> tuple[int, _Held | None]:
    tag, table = row.union(0)
    quantisation = None
    if tag == 2 and table is not None:
        quantisation = dict(_quantisation(table))
        table = table.table(0)
    if table is None:
        return -1, None
    shape = tuple(map(str, table.numbers(2, "I")))
    value = Value(_DTYPES.get(table.number(0, "h"), "unknown") or None, shape, "cpu")
    return table.number(6, "I"), _Held(value, table.number(3, "I"), table.number(4, "I"), quantisation)


def _quantisation(table: Table) -> Iterator[tuple[str, object]]:
    tag, given = table.union(1)
    if given is None:
        return
    if tag == 2:
        yield "scale", finite(given.number(0, "f", 0.0))
        yield "zero_point", given.number(1, "i")
    elif tag == 3:
        yield "num_nonbatch_dims", given.number(0, "i")
    else:
        yield "axis", given.number(1, "i")
        yield "scales", [finite(scale) for scale in given.numbers(0, "f")]


def finite(number: float) -> object:
    """Returns a number as JSON has it: NaN and infinity as text."""
    return number if number - number == 0 else repr(number)
