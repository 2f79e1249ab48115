"""Compares the values of one stage with those of another, along value pairs, into rows of metrics.

The reference's values are held; the other stage's are compared as they come and dropped, so that only one side has to
fit into memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fxstore.ingest.executorch.attach import Attached
from fxstore.ingest.overlays import ROWS as ROWS
from fxstore.ingest.overlays import rows_of
from fxstore.metrics import Asked, Description, Measured, QParams, describe, not_measured, resolve
from fxstore.metrics.comparison import Found, measure
from fxstore.records import Graph

Array = npt.NDArray[Any]
K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)
Key = tuple[str, str, int]
"""Path of the graph, name of the node, output port."""

_NOT_EXECUTED = "not executed"
_NO_REFERENCE = "no reference value"


class Values(Protocol[K_contra]):
    """Arrays by key: a dict, or what holds part of them in files."""

    def get(self, key: K_contra, /) -> Array | None:
        """Returns an array, or None."""
        ...


@dataclass(frozen=True)
class Pair(Generic[K]):
    """Two values that must be equal up to numerical error.

    Attributes:
        reference: Key of the reference's value; None where the value has no counterpart, with ``reason``.
        value: Key of the value.
        ref: Ordinal of the reference node, or None.
        ordinal: Ordinal of the node.
        port: Output port of the node.
        reason: Why it is not measured, where that is known beforehand (``constant``); or None.
    """

    reference: K | None
    value: K
    ref: int | None
    ordinal: int
    port: int
    reason: str | None = None


class Comparison(Generic[K]):
    """The metrics of one run of one stage against a reference; feed it values, then ask for its rows.

    Args:
        pairs: What is compared with what; one value may be in several pairs.
        reference: The reference's values.
        metrics: As :func:`fxstore.metrics.resolve` takes them.
        reference_missing: Reasons of reference values that there are not.
        qparams: Quantisation parameters of values that are integer codes.
        reference_qparams: The same for the reference's.
        scope: ``cumulative`` where each stage ran on its own values, ``local`` where it was fed the reference's.
        sample: Which input it is.
    """

    def __init__(
        self,
        pairs: Iterable[Pair[K]],
        reference: Values[K],
        metrics: object = None,
        *,
        reference_missing: Mapping[K, str] | None = None,
        qparams: Mapping[K, QParams] | None = None,
        reference_qparams: Mapping[K, QParams] | None = None,
        scope: str = "cumulative",
        sample: int = 0,
    ) -> None:
        self._pairs = list(pairs)
        self._reference = reference
        self._asked = resolve(metrics)
        self._metrics = {asked.name: asked for asked in self._asked}
        self._reference_missing = reference_missing or {}
        self._qparams = qparams or {}
        self._reference_qparams = reference_qparams or {}
        self._scope = scope
        self._sample = sample
        self._by_value: dict[K, list[int]] = {}
        self._measured: dict[int, dict[str, Measured]] = {}
        for i, pair in enumerate(self._pairs):
            if pair.reason is None:
                self._by_value.setdefault(pair.value, []).append(i)

    def wants(self, key: K) -> bool:
        """Whether a value is in any pair."""
        return key in self._by_value

    def take(self, key: K, value: Array, note: str | None = None) -> K | None:
        """Compares one value with its references; nothing of it is kept.

        Args:
            note: What is to be known of its numbers: a part of their reason.

        Returns:
            The key of a reference that has the same elements and dtype, or None.
        """
        same = None
        for i in self._by_value.get(key, ()):
            found = self._compare(self._pairs[i], value)
            noted = found.measured
            if note is not None:
                noted = {name: _noted(one, note) for name, one in noted.items()}
            self._measured[i] = noted
            same = self._pairs[i].reference if found.same else same
        return same

    def rows(self, missing: Mapping[K, str] | None = None) -> pa.Table:
        """Returns one row per pair and metric, in the order of the pairs; schema :data:`ROWS`.

        Args:
            missing: Reasons of values that there are not; what was neither taken nor has one was not executed.
        """
        found: list[tuple[Pair[K], Asked, str, Measured]] = []
        for i, pair in enumerate(self._pairs):
            reason = pair.reason or (missing or {}).get(pair.value)
            measured = self._measured.get(i)
            if reason is not None or measured is None:
                measured = dict.fromkeys(self._metrics, not_measured(reason or _NOT_EXECUTED))
            found += [(pair, self._of(name), name, one) for name, one in measured.items()]
        return rows_of(
            len(found),
            {
                "ordinal": [pair.ordinal for pair, *_ in found],
                "port": [pair.port for pair, *_ in found],
                "metric": [name for _, _, name, _ in found],
                "value": [one.number for *_, one in found],
                "status": [stored_status(one) for *_, one in found],
                "reason": [one.reason for *_, one in found],
                "scope": self._scope,
                "ref": [pair.ref for pair, *_ in found],
                "sample": self._sample,
                "unit": [asked.unit for _, asked, *_ in found],
                "better": [asked.better for _, asked, *_ in found],
                "threshold": [asked.threshold for _, asked, *_ in found],
                "verdict": [one.verdict for *_, one in found],
            },
        )

    def _compare(self, pair: Pair[K], value: Array) -> Found:
        if pair.reference is None:
            return Found(dict.fromkeys(self._metrics, not_measured(_NO_REFERENCE)))
        reference = self._reference.get(pair.reference)
        if reference is None:
            reason = self._reference_missing.get(pair.reference, _NO_REFERENCE)
            return Found(dict.fromkeys(self._metrics, not_measured(reason)))
        qparams = self._qparams.get(pair.value)
        return measure(reference, value, self._asked, qparams, self._reference_qparams.get(pair.reference))

    def _of(self, name: str) -> Asked:
        """Returns what a stored name was asked for as: a function that gives a dict has several."""
        while name not in self._metrics:
            name = name.rpartition(".")[0]
        return self._metrics[name]


def _noted(measured: Measured, note: str) -> Measured:
    return replace(measured, reason="; ".join(filter(None, (measured.reason, note))))


class StageNodes(Protocol):
    """Nodes by ordinal: path and name, and role."""

    key: dict[int, tuple[str, str]]
    role: dict[int, str]


class Described:
    """The statistics of one stage's values; feed it values, then ask for its rows.

    Args:
        nodes: The stage's nodes.
        sample: Which input it is.
    """

    _ROLES = frozenset({"input", "op", "symint", "delegate"})

    def __init__(self, nodes: StageNodes, sample: int) -> None:
        self._ordinals = {key: node for node, key in nodes.key.items() if nodes.role[node] in self._ROLES}
        self._found: list[tuple[Key, Description | str]] = []
        self._sample = sample

    def wants(self, key: Key) -> bool:
        """Whether a value is one that is computed or given, not a weight."""
        return key[:2] in self._ordinals

    def take(self, key: Key, value: Array, known: Description | None = None) -> Description | None:
        """Describes one value; nothing of it is kept.

        Args:
            known: Its description, where it is one that was described before.
        """
        found = (known or describe(value)) if self.wants(key) else None
        if found is not None:
            self._found.append((key, found))
        return found

    def lack(self, key: Key, reason: str) -> None:
        """Says why there is no value."""
        if self.wants(key):
            self._found.append((key, reason))

    def rows(self) -> pa.Table:
        """Returns one row per value and statistic; schema :data:`ROWS`. A histogram is JSON in ``text``."""
        names = ("ordinal", "port", "metric", "value", "text", "status", "reason")
        columns: tuple[list[Any], ...] = tuple([] for _ in names)
        for (path, name, port), found in self._found:
            told = _lacking(found) if isinstance(found, str) else _described(found)
            size = len(told[0])
            columns[0].extend([self._ordinals[path, name]] * size)
            columns[1].extend([port] * size)
            for column, cells in zip(columns[2:], told, strict=True):
                column.extend(cells)
        return rows_of(len(columns[0]), {**dict(zip(names, columns, strict=True)), "sample": self._sample})


def _described(found: Description) -> tuple[list[Any], ...]:
    """Returns metrics, values, texts, statuses and reasons of one value."""
    shape = [] if found.histogram is None else [found.histogram]
    size = len(found.numbers) + len(shape)
    return (
        [*found.numbers, *(["histogram"] * len(shape))],
        [*found.numbers.values(), *([None] * len(shape))],
        [*([None] * len(found.numbers)), *shape],
        ["ok"] * size,
        [None] * size,
    )


def _lacking(reason: str) -> tuple[list[Any], ...]:
    return ["mean"], [None], [None], ["not_measured"], [reason]


def stored_status(measured: Measured) -> str:
    """Returns the status of a stored row: a stored NaN or infinity is always ``non_finite``.

    That includes the infinite sqnr of identical tensors, whose :class:`~fxstore.metrics.Measured` is ``ok``: a ranking
    by the metric's direction puts it last all the same, and -inf first.
    """
    if measured.number is None:
        return "not_measured"
    return "ok" if np.isfinite(measured.number) else "non_finite"


def named(graph: Graph, attached: Attached) -> tuple[dict[Key, Array], dict[Key, str]]:
    """Returns a device run's values and reasons by (path, node name, port), as captured values are keyed."""
    names = graph.nodes["name"].to_pylist()
    values = {(graph.path, names[position], port): array for (position, port), array in attached.values.items()}
    missing = {(graph.path, names[position], port): reason for (position, port), reason in attached.missing.items()}
    return values, missing
