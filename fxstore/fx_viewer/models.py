"""What a payload is made of, and any value as JSON. Field names are those of ``payload.schema.json``."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Final

Legend = list[dict[str, str]]

_DEEPEST: Final = 8
_EXACT: Final = 2**53


@dataclass
class GraphNode:
    """One node, as formatters get it.

    Attributes:
        id: The node's name; in a nested graph its path and name.
        label: The first line of its box.
        x: Centre of the box, in pixels.
        y: Centre of the box, in pixels; down is positive.
        topo_index: Its place in the graph.
        info: What is known of it: at least name, op, target.
        tooltip: Lines shown beside the pointer.
        fill_color: ``#rrggbb``, or None for the theme's.
    """

    id: str
    label: str = ""
    x: float = 0.0
    y: float = 0.0
    width: float = 100.0
    height: float = 40.0
    topo_index: int = 0
    info: dict[str, Any] = field(default_factory=dict)
    tooltip: list[str] = field(default_factory=list)
    fill_color: str | None = None


@dataclass
class GraphEdge:
    """One use of a value.

    Attributes:
        v: Id of the node that gives it.
        w: Id of the node that takes it.
        points: Corners of the line, as ``{"x", "y"}``.
        src_port: Which of the giver's values it is.
        dst_arg: Path of the argument, ``0[1]``.
    """

    v: str
    w: str
    points: list[dict[str, float]] = field(default_factory=list)
    src_port: int = 0
    dst_arg: str = ""
    feedback: bool = False


@dataclass
class GraphPart:
    """One of a payload's graphs; ``parent`` is the id of the node that calls it, or None."""

    title: str
    parent: str | None
    nodes: int
    edges: int
    left: float
    top: float
    width: float
    height: float


@dataclass
class GraphBlock:
    """The box around a module of graph number ``graph``."""

    path: str
    graph: int
    left: float
    top: float
    width: float
    height: float


@dataclass
class BaseGraphPayload:
    """Nodes in topological order, graph by graph."""

    legend: Legend
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    graphs: list[GraphPart] = field(default_factory=list)
    blocks: list[GraphBlock] = field(default_factory=list)


@dataclass
class GraphExtensionNodePayload:
    """What an extension says of one node."""

    info: dict[str, Any] = field(default_factory=dict)
    tooltip: list[str] = field(default_factory=list)
    label_append: list[str] = field(default_factory=list)
    fill_color: str | None = None


@dataclass
class GraphExtensionPayload:
    """One layer over a graph."""

    id: str
    name: str
    legend: Legend = field(default_factory=list)
    nodes: dict[str, GraphExtensionNodePayload] = field(default_factory=dict)
    sync_keys: list[str] = field(default_factory=list)
    has_label_formatter: bool = False


@dataclass
class GraphPayload:
    """One graph and its layers."""

    base: BaseGraphPayload
    extensions: dict[str, GraphExtensionPayload]
    layout: dict[str, Any] = field(default_factory=dict)
    schema: str = "fxstore.graph"
    version: int = 1


def plain(value: object, depth: int = 0) -> Any:
    """Returns a JSON value for any object.

    NaN and the infinities become the texts ``NaN``, ``Infinity``, ``-Infinity``, an integer beyond 2^53 its digits,
    scalars of numpy and torch numbers; tuples and sets become lists, and what JSON has nothing for its ``str``.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if depth > _DEEPEST:
        return text_of(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Set):
        return sorted((plain(item, depth + 1) for item in value), key=str)
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    number = number_of(value)
    if isinstance(number, int):
        return number if abs(number) < _EXACT else str(number)
    if number is not None:
        return number if math.isfinite(number) else non_finite(number)
    return text_of(value)


def number_of(value: object) -> int | float | None:
    """Returns a number where the value is one, of whatever library; None where it is not."""
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    item = getattr(value, "item", None)
    if item is None or getattr(value, "shape", None) not in ((), []) or getattr(value, "fake_mode", None) is not None:
        return None
    try:
        scalar = item()
    except Exception:  # a tensor without data says so in many ways
        return None
    return scalar if isinstance(scalar, (int, float)) else None


def non_finite(value: float) -> str:
    """Returns the name of a number that JSON has no number for."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def text_of(value: object) -> str:
    """Returns ``str(value)``, or its type's name where that fails."""
    try:
        return str(value)
    except Exception:  # a foreign object may do anything here
        return f"<{type(value).__name__}>"
