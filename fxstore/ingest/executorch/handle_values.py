"""Lays values that come with a debug handle or a name on the nodes that they are of."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fxstore.ingest.measure.qparams import constant_params
from fxstore.metrics import QParams
from fxstore.records import Graph

Array = npt.NDArray[Any]
Key = tuple[str, str, int]
"""Path of the graph, name of the node, output port."""

_FEWEST_AXES: Final = 3
# How Qualcomm's backend names tensors: the node, its output, and what the tensor is to the caller.
_TENSOR: Final = re.compile(r"(?:(?:input|output)_(?:\d+_)?(?:mutbuf_\d+_)?)?(.+)@(\d+)")
_FIRST: Final = re.compile(r"(.+)_0")
_COMPUTED: Final = frozenset({"op", "symint"})
_WEIGHTS: Final = frozenset({"parameter", "buffer", "constant", "subgraph", "output"})


class Place(NamedTuple):
    """A node, and which of its outputs where that is known."""

    graph: int
    position: int
    port: int | None = None


@dataclass
class Laid:
    """What was laid, by key of the value.

    Attributes:
        values: In the node's own layout; codes stay codes only on nodes that hold codes.
        missing: Why a node has no value, where one was meant for it.
        notes: What is to be known of each number.
        unplaced: Why a value lies on no node, by what it was called.
    """

    values: dict[Key, Array] = field(default_factory=dict)
    missing: dict[Key, str] = field(default_factory=dict)
    notes: dict[Key, str] = field(default_factory=dict)
    unplaced: dict[str, str] = field(default_factory=dict)

    def add(self, other: Laid) -> None:
        """Takes in what was laid on further nodes."""
        self.values.update(other.values)
        self.missing.update(other.missing)
        self.notes.update(other.notes)
        self.unplaced.update(other.unplaced)


@dataclass(frozen=True)
class Offered:
    """What is said to be the value of a node: an array for each output, or the reason why there is none.

    Attributes:
        called: By what it was called: ``handle 5``.
    """

    called: str
    arrays: Sequence[Array | str]


class HandleNodes:
    """The nodes of some graphs by debug handle and by name.

    Args:
        graphs: Each with the positions that count; None: all.
    """

    def __init__(self, graphs: Iterable[tuple[Graph, Collection[int] | None]]) -> None:
        self._graphs: list[Graph] = []
        self._rows: list[list[dict[str, Any]]] = []
        self._by_handle: dict[int, list[Place]] = {}
        self._by_name: dict[str, list[Place]] = {}
        self._users: dict[int, dict[tuple[int, int], list[int]]] = {}
        for number, (graph, chosen) in enumerate(graphs):
            rows = graph.nodes.select(["name", "op_type", "role", "ports", "shape", "dtype", "attrs"]).to_pylist()
            self._graphs.append(graph)
            self._rows.append(rows)
            for position, row in enumerate(rows):
                if row["role"] not in _WEIGHTS and (chosen is None or position in chosen):
                    self._by_name.setdefault(row["name"], []).append(Place(number, position))
            for handle in graph.tables["handles"].to_pylist():
                position = handle["position"]
                counts = chosen is None or position in chosen
                if counts and handle["namespace"] == "debug_handle" and rows[position]["role"] in _COMPUTED | {"input"}:
                    self._by_handle.setdefault(handle["handle"], []).append(Place(number, position))

    def by_handle(self, handles: Collection[int]) -> Place | str:
        """Returns the last operator of some handles, whose value a fused pattern gives; or why there is none."""
        places = sorted({place for handle in handles for place in self._by_handle.get(handle, ())})
        least = min((self._passes_on(place) for place in places), default=0)
        found = [place for place in places if self._passes_on(place) == least]
        if not found:
            return f"no node has {_handles(handles)}"
        if len({one.graph for one in found}) > 1:
            paths = sorted({self._graphs[one.graph].path or "the outermost graph" for one in found})
            return f"{_handles(handles)} is in several graphs: {', '.join(paths)}"
        return found[-1]

    def by_name(self, name: str) -> Place | str:
        """Returns the node of a name, or of the tensor that a backend names after a node; or why there is none."""
        port: int | None = None
        found = self._by_name.get(name)
        if found is None and (tensor := _TENSOR.fullmatch(name)):
            found, port = self._by_name.get(tensor[1]), int(tensor[2])
        if found is None and (first := _FIRST.fullmatch(name)):
            found, port = self._by_name.get(first[1]), 0
        if not found:
            return "no node has this name"
        if len(found) > 1:
            return "several nodes have this name"
        return found[0]._replace(port=port)

    def lay(self, offered: Mapping[Place, Sequence[Offered]]) -> Laid:
        """Returns what lies on the nodes; of several values of one node none does, unless they are the same."""
        laid = Laid()
        ports: dict[tuple[int, int, int], list[tuple[str, Array | str]]] = {}
        for place, several in offered.items():
            for one in several:
                told = self._ports(place, one)
                if isinstance(told, str):
                    laid.unplaced[one.called] = told
                    continue
                for port, array in told.items():
                    ports.setdefault((place.graph, place.position, port), []).append((one.called, array))
        for (graph, position, port), found in ports.items():
            key = self._key(graph, position, port)
            called, (first, *others) = found[0][0], [array for _, array in found]
            if isinstance(first, str):
                laid.missing[key] = first
            elif any(isinstance(other, str) or not same(first, other) for other in others):
                laid.missing[key] = f"{len(found)} different values are told of it: by {_few(c for c, _ in found)}"
            else:
                self._put(laid, (graph, position, port), first, f"by {called}")
        return laid

    def _ports(self, place: Place, offered: Offered) -> dict[int, Array | str] | str:
        """Returns the arrays of a node by output, or why that cannot be told."""
        outputs, arrays = _outputs(self._row(place)), offered.arrays
        if place.port is not None:
            if len(arrays) != 1 or place.port >= len(outputs):
                return f"the node has no output {place.port}" if len(arrays) == 1 else f"{len(arrays)} values of one"
            return {place.port: arrays[0]}
        if len(arrays) == len(outputs):
            return dict(enumerate(arrays))
        if len(arrays) > len(outputs) or not arrays:
            return f"{len(arrays)} values of a node with {len(outputs)} outputs"
        fits = [[port for port, (_, shape) in enumerate(outputs) if _fits(array, shape)] for array in arrays]
        if any(len(one) != 1 for one in fits) or len({one[0] for one in fits}) < len(fits):
            return f"{len(arrays)} values of a node with {len(outputs)} outputs: their shapes do not tell of which"
        return {one[0]: array for one, array in zip(fits, arrays, strict=True)}

    def _put(self, laid: Laid, value: tuple[int, int, int], array: Array, note: str) -> None:
        """Lays an array on a node in the node's layout; codes on what quantises the node, and on it what they mean."""
        graph, position, port = value
        dtype, shape = _outputs(self._rows[graph][position])[port]
        if not _fits(array, shape) and array.ndim >= _FEWEST_AXES:
            last = (0, array.ndim - 1, *range(1, array.ndim - 1))
            if _fits(array.transpose(last), shape):
                array = array.transpose(last)
                note += f"; axes permuted by {str(last).replace(' ', '')}: it came with its channels last"
        if array.dtype.kind in "iu" and (dtype or "").startswith(("float", "bfloat")):
            params, quantises = self._codes(graph, position, port)
            if isinstance(params, str):
                note += f"; {params}"
            else:
                for user in quantises:
                    laid.values.setdefault(self._key(graph, user, 0), array)
                    laid.notes.setdefault(self._key(graph, user, 0), note)
                array = _real(array, params)
                note += f"; dequantised by scale {params.scale:g}, zero point {params.zero_point:g}"
        laid.values[self._key(*value)], laid.notes[self._key(*value)] = array, note

    def _codes(self, graph: int, position: int, port: int) -> tuple[QParams | str, list[int]]:
        """Returns how a node's value is quantised, and the nodes that do it: its own reading, or all that agree."""
        rows = self._rows[graph]
        if rows[position]["op_type"] == "dequantize_per_tensor":
            return constant_params(rows[position]["attrs"]) or "its codes have no constant scale", []
        users = [
            user
            for user in self._uses(graph).get((position, port), ())
            if rows[user]["op_type"] == "quantize_per_tensor"
        ]
        found = [constant_params(rows[user]["attrs"]) for user in users]
        if not found or found[0] is None:
            return "its codes have no scale: nothing quantises its node with a constant one", []
        if any(one != found[0] for one in found):
            return f"its codes have no scale: its node is quantised in {len(found)} ways", []
        return found[0], users

    def _uses(self, graph: int) -> dict[tuple[int, int], list[int]]:
        """Returns the nodes that read each value of a graph."""
        if graph not in self._users:
            users = self._users[graph] = {}
            for edge in self._graphs[graph].edges.to_pylist():
                users.setdefault((edge["src"], edge["src_port"]), []).append(edge["dst"])
        return self._users[graph]

    def _passes_on(self, place: Place) -> int:
        """Returns 0 for what computes a value; more for what only stands for one that was computed elsewhere."""
        row = self._row(place)
        passes_on = row["op_type"] == "getitem" or row["op_type"].startswith(("quantize_", "dequantize_"))
        return 2 if row["role"] == "input" else int(passes_on)

    def _row(self, place: Place) -> dict[str, Any]:
        return self._rows[place.graph][place.position]

    def _key(self, graph: int, position: int, port: int) -> Key:
        return self._graphs[graph].path, self._rows[graph][position]["name"], port


def _outputs(row: Mapping[str, Any]) -> list[tuple[str | None, list[str] | None]]:
    """Returns dtype and shape of each output of a node."""
    further = json.loads(row["attrs"] or "{}").get("outputs") if row["ports"] > 1 else None
    if further and len(further) == row["ports"]:
        return [(dtype, shape) for dtype, shape in further]
    return [(row["dtype"], row["shape"]), *[(None, None)] * (row["ports"] - 1)]


def _fits(array: Array | str, shape: Sequence[str] | None) -> bool:
    """Tells whether an array can have a node's shape; a symbol stands for any size."""
    if isinstance(array, str) or shape is None or array.ndim != len(shape):
        return False
    return all(not size.isdigit() or int(size) == own for size, own in zip(shape, array.shape, strict=True))


def same(one: Array, other: Any) -> bool:
    """Tells whether two arrays hold the same; NaN is the same as NaN."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")


def _real(codes: Array, params: QParams) -> Array:
    scale, zero_point = (np.asarray(number, np.float64) for number in (params.scale, params.zero_point))
    return np.asarray((codes.astype(np.float64) - zero_point) * scale, np.float32)


def _handles(handles: Collection[int]) -> str:
    several = "handles" if len(handles) > 1 else "handle"
    return f"{several} {', '.join(map(str, sorted(handles)))}"


def _few(names: Iterable[str], most: int = 3) -> str:
    found = list(dict.fromkeys(names))
    return ", ".join(found[:most]) + (f" and {len(found) - most} more" if len(found) > most else "")
