"""FLOPs, activation bytes and parameter counts of every operator, from shapes alone: nothing runs.

A multiplication and an addition are two FLOPs. Matrix products and convolutions count these and their bias, pointwise
operators one per element of the result, reductions and norms one per element of what they take, moves none. An operator
without a formula, or of symbolic shape, has a reason instead of a number.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final

import pyarrow as pa

from fxstore.gc_paused import at_rest
from fxstore.ingest.overlays import ROWS
from fxstore.records import Graph, Overlay, Structure

Shape = tuple[int, ...]
Sizes = tuple[str, ...] | None
"""A shape as it is stored; None for what is no tensor."""


def _names(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_POINTWISE: Final = _names(
    "abs acos add addcdiv addcmul asin atan atan2 bitwise_and bitwise_not bitwise_or ceil clamp clamp_max",
    "clamp_min copysign cos cosh dequantize_affine dequantize_per_channel dequantize_per_tensor div dropout elu",
    "eq erf exp expm1 floor floor_divide fmod ge gelu glu gt hardsigmoid hardswish hardtanh le leaky_relu log",
    "log10 log1p log2 logical_and logical_not logical_or logit lt masked_fill maximum minimum mish mul ne neg pow",
    "prelu quantize_affine quantize_per_channel quantize_per_tensor reciprocal relu relu6 remainder round rsqrt",
    "rsub selu sigmoid sign silu sin sinh softplus sqrt square sub tan tanh threshold truediv trunc truncate",
    "where",
)
_REDUCING: Final = _names(
    "_adaptive_avg_pool2d _log_softmax _native_batch_norm_legit _native_batch_norm_legit_no_training",
    "_safe_softmax _softmax adaptive_avg_pool2d all amax amin any argmax argmin avg_pool1d avg_pool2d batch_norm",
    "cumsum group_norm instance_norm layer_norm log_softmax logsumexp max max_pool2d max_pool2d_with_indices mean",
    "min native_batch_norm native_group_norm native_layer_norm prod rms_norm softmax std sum var var_mean",
)
_MOVING: Final = _names(
    "_clone_dim_order _to_copy _to_dim_order_copy _unsafe_view alias alloc arange cat chunk clone concat",
    "constant_pad_nd contiguous copy detach embedding empty expand flatten flip full full_like gather getitem",
    "index index_copy index_put index_select lift_fresh_copy movedim narrow ones pad permute pixel_shuffle",
    "pixel_unshuffle repeat reshape roll scalar_tensor scatter select select_scatter slice slice_scatter split",
    "split_with_sizes squeeze stack sym_size sym_size.int t to transpose unbind unflatten unsqueeze",
    "upsample_nearest2d view zeros",
)
_GIVES_NONE: Final = ("_assert", "sym_constrain", "_functional_assert", "_functional_sym", "sym_size")
_METRICS: Final = (("flops", "flop"), ("activation_bytes", "bytes"), ("parameters", "1"))
_QUANTISES: Final = re.compile(r"(de)?quantize_(per_tensor|per_channel|affine)")
_PASSES_WEIGHTS: Final = re.compile(
    r"^(de)?quantize_|Observer$|FakeQuantize$|^(permute|transpose|t|view|getitem|detach|_to_copy|_clone_dim_order)(_copy)?$"
)


@at_rest()
def static_overlay(structure: Structure) -> Overlay | None:
    """Returns the overlay ``static`` of a run, on every operator of every stage; None where there is no operator."""
    ordinals: list[int] = []
    found: list[tuple[float | str, float | str, float | str]] = []
    for graph, base in zip(structure.graphs, structure.tables["graphs"]["base"].to_pylist(), strict=True):
        for position, numbers in _Operators(graph).counted():
            ordinals.append(base + position)
            found.append(numbers)
    if not ordinals:
        return None
    parts = [
        _rows(ordinals, metric, unit, numbers)
        for (metric, unit), numbers in zip(_METRICS, zip(*found, strict=True), strict=True)
    ]
    return Overlay("static", "static", "shapes", pa.concat_tables(parts), None, "lower")


def _rows(ordinals: list[int], metric: str, unit: str, numbers: Sequence[float | str]) -> pa.Table:
    count = len(ordinals)
    reasons = [number if isinstance(number, str) else None for number in numbers]
    given: dict[str, Any] = {
        "ordinal": ordinals,
        "port": pa.repeat(pa.scalar(0, pa.int32()), count),
        "metric": pa.repeat(metric, count),
        "value": [number if reason is None else None for number, reason in zip(numbers, reasons, strict=True)],
        "status": ["ok" if reason is None else "not_measured" for reason in reasons],
        "reason": reasons,
        "unit": pa.repeat(unit, count),
    }
    empty = {field.name: pa.nulls(count, field.type) for field in ROWS if field.name not in given}
    return pa.table({name: given.get(name, empty.get(name)) for name in ROWS.names}, schema=ROWS)


class _Operators:
    """The operators of one graph, with what their formulas ask about them."""

    def __init__(self, graph: Graph) -> None:
        columns = ("op", "op_type", "role", "dtype", "attrs")
        found = (graph.nodes[c].to_pylist() for c in columns)
        self.op, self.kind, self.role, self.dtype, self.attrs = found
        self.shape: list[Sizes] = list(map(_given, graph.nodes["shape"].to_pylist()))
        marked = ((i, _several(attrs)) for i, attrs in enumerate(self.attrs) if attrs and '"outputs"' in attrs)
        self.several = {i: outputs for i, outputs in marked if outputs}
        self.inputs: list[list[tuple[int, int, str]]] = [[] for _ in self.op]
        edges = (graph.edges[c].to_pylist() for c in ("src", "src_port", "dst", "dst_arg"))
        for src, port, dst, arg in zip(*edges, strict=True):
            self.inputs[dst].append((src, port, arg))
        self._infer()

    def _infer(self) -> None:
        """Fills in shape and dtype of quantize and dequantize operators, which a quantiser puts in without any."""
        for i, kind in enumerate(self.kind):
            if self.shape[i] is None and _QUANTISES.match(kind) and self._source(i) < i:
                self.shape[i] = self._shape_of(*self.inputs[i][0][:2])
                self.dtype[i] = self.dtype[i] or self._quantised_dtype(i)

    def _quantised_dtype(self, i: int) -> str | None:
        """A dequantize gives float32 unless it is told otherwise; a quantize names the dtype of its codes last."""
        if self.kind[i].startswith("dequantize_"):
            return "float32"
        arguments: Mapping[str, object] = json.loads(self.attrs[i] or "{}").get("args", {})
        named = [str(value) for value in arguments.values() if str(value).startswith("torch.")]
        return named[-1].removeprefix("torch.") if named else None

    def counted(self) -> list[tuple[int, tuple[float | str, float | str, float | str]]]:
        """Returns position, FLOPs, activation bytes and parameters of each operator, or the reason for no number."""
        return [
            (i, (self._flops(i), self._bytes(i), self._parameters(i)))
            for i, op in enumerate(self.op)
            if op.startswith("call_") and self.role[i] != "delegate"
        ]

    def _flops(self, i: int) -> float | str:
        kind, counts = _counting(self.kind[i])
        if counts == "nothing" or self.role[i] == "symint":
            return 0.0
        try:
            output = self._shape_of(i, 0)
            if counts == "results":
                return float(_elements(output))
            operands = [self._shape_of(src, port) for src, port, _ in self.inputs[i] if self.role[src] != "subgraph"]
            return float(_elements(operands[0])) if counts == "operands" else self._product(i, kind, output, operands)
        except _UnknownError as error:
            return str(error)
        except IndexError:
            return f"no formula for {kind} of these operands"

    def _product(self, i: int, kind: str, output: Sizes, operands: Sequence[Sizes]) -> float | str:
        out = _elements(output)
        if kind in ("linear", "mm", "bmm", "matmul"):
            bias = out if kind == "linear" and len(operands) > 2 else 0
            return float(2 * out * _sizes(operands[0])[-1] + bias)
        if kind in ("addmm", "baddbmm"):
            return float(2 * out * _sizes(operands[1])[-1] + out)
        if kind.startswith("conv"):
            weight, bias = _sizes(operands[1]), out if len(operands) > 2 else 0
            transposed = "transpose" in kind or self._argument(i, "6") is True
            taken = _elements(operands[0]) if transposed else out
            return float(2 * taken * math.prod(weight[1:]) + bias)
        if "scaled_dot_product" in kind or kind == "custom_sdpa":
            query, key, value = (_sizes(one) for one in operands[:3])
            return float(2 * math.prod(query) * key[-2] + 2 * math.prod(query[:-1]) * key[-2] * value[-1])
        return f"no formula for {kind}"

    def _bytes(self, i: int) -> float | str:
        """Counts what its outputs take; what is known to give no tensor takes nothing."""
        outputs = self.several.get(i) or [(self.dtype[i], self.shape[i])]
        taken = None
        try:
            for dtype, shape in outputs:
                if dtype is not None:
                    taken = (taken or 0.0) + _elements(shape) * _width(dtype)
        except _UnknownError as error:
            return str(error)
        if taken is None:
            gives_none = self.role[i] == "symint" or self.kind[i].startswith(_GIVES_NONE)
            return 0.0 if gives_none else "no dtype is recorded"
        return taken

    def _parameters(self, i: int) -> float | str:
        """Counts the weights that an operator takes, also those that it takes through a dequantize or a permute."""
        if _passes(self.kind[i]):
            return 0.0
        found: set[int] = set()
        for src, _, _ in self.inputs[i]:
            node, quantised = src, False
            while self._passes_on(node):
                quantised = quantised or "quantize" in self.kind[node]
                node = self.inputs[node][0][0]
            if self.role[node] == "parameter" or (quantised and self.role[node] in ("buffer", "constant")):
                found.add(node)
        try:
            return float(sum(_elements(self.shape[node]) for node in found))
        except _UnknownError as error:
            return str(error)

    def _passes_on(self, node: int) -> bool:
        """Tells whether a node hands on what a node before it gives; in a cycle some source comes later."""
        return _passes(self.kind[node]) and self.op[node].startswith("call_") and self._source(node) < node

    def _source(self, node: int) -> int:
        return self.inputs[node][0][0] if self.inputs[node] else node

    def _shape_of(self, node: int, port: int) -> Sizes:
        if node in self.several:
            outputs = self.several[node]
            return outputs[port][1] if port < len(outputs) else None
        return self.shape[node] if port == 0 else None

    def _argument(self, i: int, path: str) -> object:
        arguments: Mapping[str, object] = json.loads(self.attrs[i] or "{}").get("args", {})
        return arguments.get(path)


class _UnknownError(Exception):
    """A size that is no number; the message is the reason."""


def _several(attrs: str) -> list[tuple[str | None, Sizes]]:
    """Returns dtype and shape of each output, of a node that has several; an adapter may mean something else by it."""
    given = json.loads(attrs).get("outputs")
    if not isinstance(given, list) or not all(isinstance(one, list) and len(one) == 2 for one in given):
        return []
    return [(dtype, _given(shape)) for dtype, shape in given]


def _given(shape: Sequence[str] | None) -> Sizes:
    return None if shape is None else tuple(shape)


@lru_cache(1 << 14)
def _sizes(shape: Sizes) -> Shape:
    if shape is None:
        raise _UnknownError("no shape is recorded")
    if not all(str(size).isdigit() for size in shape):
        raise _UnknownError("symbolic shape")
    return tuple(int(size) for size in shape)


@lru_cache(1 << 14)
def _elements(shape: Sizes) -> int:
    return math.prod(_sizes(shape))


@cache
def _width(dtype: str) -> float:
    """Returns the bytes of one element, from the dtype's name: ``float32`` 4, ``bool`` 1, ``complex64`` 8."""
    bits = re.search(r"(\d+)", dtype)
    return int(bits[1]) / 8 if bits else 1


@cache
def _passes(kind: str) -> bool:
    return _PASSES_WEIGHTS.search(kind) is not None


@cache
def _counting(kind: str) -> tuple[str, str]:
    """Returns an operator without the marks of its dialect, and what its FLOPs are counted of."""
    plain = kind.removesuffix("_copy").rstrip("_") or kind
    if plain in _MOVING or kind in _MOVING or plain.endswith(("Observer", "FakeQuantize")):
        return plain, "nothing"
    return plain, "results" if plain in _POINTWISE else "operands" if plain in _REDUCING else "products"
