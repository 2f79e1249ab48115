"""What became of each node of two runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from fxstore.query.diff import arrow
from fxstore.query.diff.runs import Matching, wiring
from fxstore.query.diff.side import Flags, Numbers, Side
from fxstore.query.diff.steps import NONE
from fxstore.vocabulary import Change

CHANGES: Final = tuple(Change)
_ADDED, _CHANGED, _MOVED, _REMOVED, _RENAMED, _REWIRED, _SAME = range(len(CHANGES))
_CONTENT: Final = ("target", "dtype", "shape", "backend", "attrs")
# The first of these that holds is the change.
_CODES: Final = np.array([_CHANGED, _REWIRED, _MOVED, _RENAMED, _SAME])
_RANK: Final = {int(code): rank for rank, code in enumerate(_CODES)}
Fields = dict[str, Any]
"""Arrow columns by name."""
Told = tuple[Numbers, pa.Array]
"""Some rows, and a text for each."""


@dataclass(frozen=True)
class Run:
    """A run as it is matched, with what is told of it.

    Attributes:
        ordinals: The node's number in the run, per row of the nodes.
        graphs: One row per graph: number, stage, stage_index, method, path.
        nodes: One row per node: name, target, dtype, shape, backend, attrs, module_path.
        uses: One row per use: argument, port.
    """

    side: Side
    ordinals: Numbers
    graphs: Fields
    nodes: Fields
    uses: Fields

    @cached_property
    def graph_rows(self) -> Numbers:
        """The row of each node's graph."""
        numbers = arrow.numbers(self.graphs["number"], np.int64)
        return np.searchsorted(numbers, self.side.nodes.graph)


def changes(base: Run, head: Run) -> pa.StructArray:
    """Returns one row per node of either run: base, head, change, stage, name, detail, method, path."""
    matching = Matching(base.side, head.side)
    before = np.flatnonzero(matching.partner != NONE)
    after = matching.partner[before]
    code, detail = _Compared(base, head, matching, before, after).verdicts()
    origin = np.full(head.side.size, NONE, np.int64)
    origin[after] = before
    codes = np.full(head.side.size, _ADDED, np.int64)
    codes[after] = code
    said = arrow.placed(detail, after, head.side.size)
    removed = np.flatnonzero(matching.partner == NONE)
    return _table(base, head, origin, codes, said, removed)


def _table(base: Run, head: Run, origin: Numbers, codes: Numbers, said: pa.Array, removed: Numbers) -> pa.StructArray:
    """Lays the head's nodes and the removed ones out by stage and ordinal."""
    runs = ((head, np.arange(head.side.size)), (base, removed))
    index = [arrow.numbers(run.graphs["stage_index"], np.int64)[run.graph_rows[rows]] for run, rows in runs]
    ordinals = np.concatenate([run.ordinals[rows] for run, rows in runs])
    codes = np.concatenate([codes, np.full(len(removed), _REMOVED)])
    order = np.lexsort((codes, ordinals, np.concatenate(index)))
    there = np.concatenate([origin != NONE, np.ones(len(removed), bool)])
    bases = np.concatenate([base.ordinals[origin], base.ordinals[removed]]) if base.side.size else np.zeros(len(codes))
    heads = np.concatenate([head.ordinals, np.zeros(len(removed), np.int64)])

    def of_graphs(name: str) -> pa.Array:
        parts = [arrow.taken(run.graphs[name], run.graph_rows[rows]) for run, rows in runs]
        return arrow.taken(pa.concat_arrays(parts), order)

    names = pa.concat_arrays([head.nodes["name"], arrow.taken(base.nodes["name"], removed)])
    fields = {
        "base": arrow.int32(bases[order], there[order]),
        "head": arrow.int32(heads[order], order < head.side.size),
        "change": arrow.taken(arrow.texts(CHANGES), codes[order]),
        "stage": of_graphs("stage"),
        "name": arrow.taken(names, order),
        "detail": arrow.taken(pa.concat_arrays([said, arrow.texts([None] * len(removed))]), order),
        "method": of_graphs("method"),
        "path": of_graphs("path"),
    }
    return pa.StructArray.from_arrays(list(fields.values()), list(fields))


class _Compared:
    """The pairs of two runs, row ``before[i]`` of the base and ``after[i]`` of the head, column by column."""

    def __init__(self, base: Run, head: Run, matching: Matching, before: Numbers, after: Numbers) -> None:
        self.runs = (base, head)
        self.matching = matching
        self.rows = (before, after)

    def verdicts(self) -> tuple[Numbers, pa.Array]:
        """Returns the code of each pair's change, and the detail of those that are not the same."""
        size = len(self.rows[0])
        codes = np.full(size, _RANK[_SAME], np.int64)
        details: list[pa.Array] = []
        for code, parts in (
            (_CHANGED, [self._told(name, name) for name in _CONTENT]),
            (_REWIRED, [self._rewired()]),
            (_MOVED, self._moved()),
            (_RENAMED, [self._told("name", "name"), self._modules(self._module_renamed)]),
        ):
            for rows, texts in parts:
                if len(rows):
                    codes[rows] = np.minimum(codes[rows], _RANK[code])
                    details.append(arrow.placed(texts, rows, size))
        return _CODES[codes], arrow.joined(details, "; ") if details else arrow.texts([None] * size)

    def _moved(self) -> list[Told]:
        reordered = np.flatnonzero(self.matching.reordered()[self.rows[0]])
        paths = [run.graph_rows[rows] for run, rows in zip(self.runs, self.rows, strict=True)]
        return [
            self._modules(~self._module_renamed),
            self._told("module_call", "call"),
            _differing([run.graphs["path"] for run in self.runs], paths, "graph"),
            (reordered, arrow.texts(["order"] * len(reordered))),
        ]

    @cached_property
    def _module_renamed(self) -> Flags:
        renamed = self.matching.renamed
        if not renamed:
            return np.zeros(len(self.rows[0]), bool)
        before, after = (run.side.nodes.modules for run in self.runs)
        pairs = zip(*(rows.tolist() for rows in self.rows), strict=True)
        return np.array([before[b] in renamed and renamed[before[b]] == after[h] for b, h in pairs], bool)

    def _modules(self, among: Flags) -> Told:
        return _differing([run.nodes["module_path"] for run in self.runs], self.rows, "module", among)

    def _told(self, name: str, shown: str) -> Told:
        return _differing([run.nodes[name] for run in self.runs], self.rows, shown)

    def _rewired(self) -> Told:
        base, head = (run.side for run in self.runs)
        before = wiring(base, self.matching.partner[base.uses.src])
        rows = np.flatnonzero(before[self.rows[0]] != wiring(head, head.uses.src)[self.rows[1]])
        return rows, arrow.texts([self._inputs(row) for row in rows.tolist()])

    def _inputs(self, row: int) -> str:
        """Tells which inputs differ, argument by argument."""
        before, after = (self._sources(side, int(self.rows[side][row])) for side in (0, 1))
        partner = self.matching.partner
        said = []
        for argument in dict.fromkeys([*before, *after]):
            old, new = before.get(argument), after.get(argument)
            if old is None or new is None or (partner[old[0]], old[1]) != new:
                said.append(f"input {argument} {self._value(0, old)} -> {self._value(1, new)}")
        return "; ".join(said)

    def _sources(self, side: int, node: int) -> dict[str, tuple[int, int]]:
        run = self.runs[side]
        return {
            run.uses["argument"][use].as_py(): (int(run.side.uses.src[use]), run.uses["port"][use].as_py())
            for use in run.side.inputs[node]
        }

    def _value(self, side: int, value: tuple[int, int] | None) -> str:
        if value is None:
            return "none"
        name = self.runs[side].nodes["name"][value[0]].as_py()
        return f"{name}[{value[1]}]" if value[1] else str(name)


def _differing(told: Sequence[pa.Array], rows: Sequence[Numbers], shown: str, among: Flags | None = None) -> Told:
    """Returns where two columns differ, and tells how."""
    before, after = (arrow.taken(column, r) for column, r in zip(told, rows, strict=True))
    differs = arrow.differs(before, after)
    found = np.flatnonzero(differs if among is None else differs & among)
    if not len(found):
        return found, arrow.texts([])
    old, new = (arrow.shown(arrow.taken(column, found), "none") for column in (before, after))
    return found, arrow.concatenated(f"{shown} ", old, " -> ", new)
