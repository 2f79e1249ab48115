"""One run's nodes as numpy columns, and what is computed from them alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_PRIMES: Final = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))
_SHIFT: Final = np.uint64(29)


def mix(*columns: npt.NDArray[Any]) -> Hashes:
    """Returns one hash per row of some columns of equal length."""
    mixed = np.full(len(columns[0]), _PRIMES[2], np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64, copy=False)) * _PRIMES[0]
        mixed = (mixed ^ (mixed >> _SHIFT)) * _PRIMES[1]
    return mixed ^ (mixed >> _SHIFT)


@dataclass(frozen=True)
class Graphs:
    """The graphs of a run, one entry each.

    Attributes:
        number: Number of the graph in its run.
        entry: Stage and method, as one text.
        path: Path of the graph, empty at the top.
        parent: Row of the node that calls it, or None.
        content: Hash of its rows: equal graphs have equal ones.
    """

    number: Sequence[int]
    entry: Sequence[str]
    path: Sequence[str]
    parent: Sequence[int | None]
    content: Sequence[str]


@dataclass(frozen=True)
class Nodes:
    """Columns with one row per node: graph by graph, each in program order.

    Attributes:
        graph: Number of its graph in the run.
        label: Hash of operator, role, type, shape and constants.
        kind: Hash of operator and role alone.
        name: Hash of its name.
        call: Which call of its module it belongs to, from 1; 0 for none.
        leaf: Whether it takes its value from outside: a placeholder or an attribute.
        modules: Its module's path, or None.
    """

    graph: Numbers
    label: Hashes
    kind: Hashes
    name: Hashes
    call: Numbers
    leaf: Flags
    modules: Sequence[str | None]


@dataclass(frozen=True)
class Uses:
    """Columns with one row per use of a value.

    Attributes:
        src: Row of the node that gives it.
        dst: Row of the node that uses it.
        slot: Hash of the argument, and of the output that it takes.
    """

    src: Numbers
    dst: Numbers
    slot: Hashes


class Side:
    """One of two runs that are matched."""

    def __init__(self, graphs: Graphs, nodes: Nodes, uses: Uses) -> None:
        self.graphs = graphs
        self.nodes = nodes
        self.uses = uses
        self.size = len(nodes.graph)

    def around(self, colors: Hashes) -> Hashes:
        """Returns each node's colour with those of its inputs and its users, whatever their order in the graph."""
        uses = self.uses
        from_inputs = np.zeros(self.size, np.uint64)
        from_users = np.zeros(self.size, np.uint64)
        np.add.at(from_inputs, uses.dst, mix(colors[uses.src], uses.slot))
        np.add.at(from_users, uses.src, mix(colors[uses.dst], uses.slot))
        return mix(colors, from_inputs, from_users)

    @cached_property
    def listed(self) -> tuple[list[int], list[int], list[int]]:
        """Source, target and slot of each use as Python numbers."""
        return self.uses.src.tolist(), self.uses.dst.tolist(), self.uses.slot.tolist()

    @cached_property
    def inputs(self) -> Adjacency:
        """For each node, its uses of others."""
        return Adjacency(self.uses.dst, self.size)

    @cached_property
    def users(self) -> Adjacency:
        """For each node, the uses of it."""
        return Adjacency(self.uses.src, self.size)


class Adjacency:
    """Rows of uses, grouped by a node."""

    def __init__(self, keys: Numbers, size: int) -> None:
        order = np.argsort(keys, kind="stable")
        self._rows: list[int] = order.tolist()
        self._starts: list[int] = np.searchsorted(keys[order], np.arange(size + 1)).tolist()

    def __getitem__(self, node: int) -> list[int]:
        return self._rows[self._starts[node] : self._starts[node + 1]]
