"""Finds the operator inside a delegate that each of the delegate's own events timed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, Final

from fxstore.ingest.executorch.attach import Latency
from fxstore.ingest.executorch.xnnpack import BACKEND, Ordered, operators
from fxstore.ingest.flatbuffer import BROKEN
from fxstore.ingest.overlays import Place, RunNodes

# Tells which operator of a delegate's payload each event inside the delegate is, by order and kind.
#
# A backend runs its payload in order, but it may fuse operators, leave some out, and names events after its kernels. So
# the longest alignment in which kinds agree decides, and an event is assigned only where every such alignment agrees.


_WORD = re.compile(r"[a-z]+")
_SYNONYMS = {
    "conv": ("convolution",), "depthwise": ("convolution",), "concatenate": ("copy", "concatenate"),
    "avg": ("average", "mean"), "global": ("mean", "average", "reduce"), "div": ("divide",),
    "static": (), "d": (), "nc": (), "nd": (), "x": (),
}  # fmt: skip
_FEWEST = 3
_UNARY = frozenset({
    "gelu", "elu", "leaky_relu", "sigmoid", "tanh", "exp", "log", "sin", "cos", "abs", "floor", "ceiling", "negate",
    "square", "square_root", "reciprocal_square_root", "hardswish", "clamp",
})  # fmt: skip


def align(kinds: Sequence[str], events: Sequence[str]) -> list[int | None]:
    """Returns, for each event, the operator that it is, or None where that cannot be told.

    Args:
        kinds: Kinds of the operators in order, as :mod:`fxstore.ingest.executorch.xnnpack` names them.
        events: Names of the events in order, as XNNPACK names its kernels.
    """
    if len(kinds) == len(events) and all(map(agrees, kinds, events)):
        return list(range(len(events)))
    return list(_aligned(tuple(kinds), tuple(events)))


@cache
def _aligned(kinds: tuple[str, ...], events: tuple[str, ...]) -> tuple[int | None, ...]:
    fits = [[agrees(kind, event) for event in events] for kind in kinds]
    before = _longest(fits, len(events))
    after = [row[::-1] for row in _longest([row[::-1] for row in fits[::-1]], len(events))[::-1]]
    best = before[len(kinds)][len(events)]
    return tuple(_operator(j, fits, before, after, best) for j in range(len(events)))


def _longest(fits: list[list[bool]], width: int) -> list[list[int]]:
    """Returns the length of the longest alignment of the first i operators with the first j events."""
    table = [[0] * (width + 1)]
    for row in fits:
        last, current = table[-1], [0]
        for j in range(width):
            current.append(max(last[j] + 1 if row[j] else 0, last[j + 1], current[j]))
        table.append(current)
    return table


def _operator(j: int, fits: list[list[bool]], before: list[list[int]], after: list[list[int]], best: int) -> int | None:
    could = [i for i, row in enumerate(fits) if row[j] and before[i][j] + 1 + after[i + 1][j + 1] == best]
    needless = any(before[i][j] + after[i][j + 1] == best for i in range(len(fits) + 1))
    return could[0] if len(could) == 1 and not needless else None


@cache
def agrees(kind: str, event: str) -> bool:
    """Tells whether an event could be an operator of that kind: a word of the one begins as a word of the other."""
    name = event.lower().partition("(")[0]
    if name.startswith("invalid unary"):  # what XNNPACK 2026 calls a quantised lookup table
        return kind in _UNARY
    said = _WORD.findall(name)
    own = [word for part in _WORD.findall(kind) for word in _SYNONYMS.get(part, (part,))]
    return any(mine[:length] == theirs[:length] for mine in own for theirs in said if (length := _common(mine, theirs)))


def _common(one: str, other: str) -> int:
    """Returns how many first letters must agree: all of the shorter, at least three."""
    shorter = min(len(one), len(other))
    return shorter if shorter >= _FEWEST else 0


_INNER: Final = "latency_inner"
_KINDS: Final = {
    "fully_connected": ("linear", "addmm", "mm"), "batch_matrix_multiply": ("bmm", "matmul"),
    "static_reshape": ("view", "reshape", "squeeze", "unsqueeze", "flatten"),
    "static_transpose": ("permute", "transpose", "t_copy"), "multiply": ("mul",),
    "clamp": ("hardtanh", "relu", "clamp"),
    "global_avg_pooling_2d": ("mean",), "concatenate": ("cat",), "square_root": ("sqrt",), "ceiling": ("ceil",),
    "reciprocal_square_root": ("rsqrt",), "square": ("pow",), "static_slice": ("slice",), "negate": ("neg",),
    "static_resize_bilinear_2d": ("upsample",), "copy": ("clone", "_clone"), "convert": ("_to_copy",),
}  # fmt: skip


@dataclass(frozen=True)
class Timed:
    """One event and its place: ``position`` in the calling graph, or ``ordinal`` of a node inside; neither: the run."""

    event: Latency
    metric: str
    position: int | None
    ordinal: int | None = None
    reason: str | None = None


@dataclass(frozen=True)
class _Payload:
    """A delegate's operators in order: kind, node that each is, and why it is not one."""

    kinds: list[str]
    nodes: list[int | None]
    reasons: list[str | None]


class Inside:
    """The delegates that one graph calls, by position of the call."""

    def __init__(self, place: Place, run: RunNodes) -> None:
        self._payloads: dict[int, _Payload] = {}
        for inner in run.places:
            graph = inner.graph
            same = inner.stage is place.stage and graph.method == place.graph.method
            if same and graph.parent_path == "" and graph.parent_position is not None:
                payload = _payload(inner)
                if payload is not None:
                    self._payloads[graph.parent_position] = payload

    def told(self, events: Iterable[tuple[int, str]]) -> int | None:
        """Returns how many events, by call and name, are known operators of that call's delegate.

        None where most of them name nothing that the delegates do: they are of others.
        """
        named: dict[int, list[str]] = {}
        for call, name in events:
            if call in self._payloads:
                named.setdefault(call, []).append(name)
        kinds = {call: self._payloads[call].kinds for call in named}
        strange = sum(not any(agrees(kind, name) for kind in kinds[call]) for call in named for name in named[call])
        if 2 * strange > sum(map(len, named.values())):
            return None
        return sum(operator is not None for call, names in named.items() for operator in align(kinds[call], names))

    def placed(self, events: Sequence[Latency]) -> Iterator[Timed]:
        """Yields every event with its place; those inside a delegate on the operator that they timed, if that is told.

        What is not told stays on the call, with the reason.
        """
        for is_inner, group in groupby(events, key=lambda event: (event.metric == _INNER, event.position)):
            if is_inner[0] and is_inner[1] is not None:
                yield from self._inside(is_inner[1], list(group))
            else:
                yield from (Timed(event, event.metric, event.position) for event in group)

    def _inside(self, call: int, events: list[Latency]) -> Iterator[Timed]:
        payload = self._payloads.get(call)
        if payload is None:
            yield from (Timed(e, _INNER, call, reason="the delegate's operators are not known") for e in events)
            return
        for event, operator in zip(events, align(payload.kinds, [e.name or "" for e in events]), strict=True):
            if operator is None:
                yield Timed(event, _INNER, call, reason="could be several operators of the delegate, or none")
            elif (node := payload.nodes[operator]) is None:
                yield Timed(event, _INNER, call, reason=payload.reasons[operator])
            else:
                yield Timed(event, _INNER, None, node, payload.reasons[operator])


def _payload(inner: Place) -> _Payload | None:
    rows = inner.graph.nodes.select(["position", "name", "op_type", "op", "backend", "role", "dtype"]).to_pylist()
    calls = [row for row in rows if row["op"] == "call_function"]
    if inner.graph.payload is None:
        if not calls or any(row["backend"] != BACKEND for row in calls) or not _is_payload(inner):
            return None
        nodes: list[int | None] = [inner.base + row["position"] for row in calls]
        return _Payload([row["op_type"] for row in calls], nodes, [None] * len(calls))
    try:
        found = list(operators(memoryview(inner.graph.payload)))
    except BROKEN:
        return None
    carriers = _carriers(inner, calls)
    placed = [_node(operator, carriers) for operator in found]
    return _Payload([o.kind for o in found], [node for node, _ in placed], [reason for _, reason in placed])


def _is_payload(inner: Place) -> bool:
    """Tells whether a graph was read from a payload, and is not the graph that the payload was made from."""
    return any(str(target).startswith("xnnpack.") for target in inner.graph.nodes["target"].to_pylist())


def _carriers(inner: Place, calls: Iterable[dict[str, Any]]) -> dict[int, list[tuple[int, dict[str, Any]]]]:
    by_position = {row["position"]: row for row in calls if row["role"] == "op" and row["op_type"] != "getitem"}
    found: dict[int, list[tuple[int, dict[str, Any]]]] = {}
    for row in inner.graph.tables["handles"].to_pylist():
        if row["namespace"] == "debug_handle" and row["position"] in by_position:
            node = by_position[row["position"]]
            found.setdefault(row["handle"], []).append((inner.base + row["position"], node))
    return found


def _node(operator: Ordered, carriers: dict[int, list[tuple[int, dict[str, Any]]]]) -> tuple[int | None, str | None]:
    """Returns the node that an operator of the payload was made from, and what is uncertain about it."""
    if operator.handle is None:
        return None, f"{operator.kind}: added by the backend"
    nodes = carriers.get(operator.handle, [])
    if len(nodes) > 1:
        nodes = [found for found in nodes if _same(operator, found[1])] or nodes
    if not nodes:
        return None, f"{operator.kind}: no node has its handle {operator.handle}"
    if len(nodes) == 1:
        return nodes[0][0], None
    return nodes[0][0], f"one of {len(nodes)} nodes of handle {operator.handle}"


def _same(operator: Ordered, node: dict[str, Any]) -> bool:
    kind, theirs = operator.kind, str(node["op_type"])
    if kind == "convert":
        quantises = operator.dtype is not None and "int" in operator.dtype
        return theirs.startswith("quantize" if quantises else "dequantize") or theirs == "_to_copy"
    known = _KINDS.get(kind.rstrip("0123456789"), _KINDS.get(kind, ()))
    return any(theirs.startswith(one) for one in known) or agrees(kind, theirs.replace("_", " "))
