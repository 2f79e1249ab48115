"""Counterparts across runs: through a stage that two runs have in common."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from fxstore.store import CommittedRun
from fxstore.tables import ORDINAL_BITS

if TYPE_CHECKING:
    from fxstore.query.session import Store
    from fxstore.render.page.run_tables import Sets

_ALIKE: Final = frozenset({"same", "renamed", "moved"})


@dataclass(frozen=True)
class Bridge:
    """What leads from the nodes of one run to those of another.

    Attributes:
        stages: The common stage, by its name in either run; None where there is none.
        equal: Whether the graphs of the common stage are equal, not only alike in structure.
        pairs: nid to nid: the nodes of the common stage; without one, those of all stages of one name that correspond.
    """

    base: CommittedRun
    head: CommittedRun
    stages: tuple[str, str] | None
    equal: bool
    pairs: dict[int, int]

    def __str__(self) -> str:
        if self.stages is None:
            return "no common stage: stages of one name are matched node by node, by structure"
        own, other = self.stages
        named = own if own == other else f"{own} = {other}"
        return f"through the stage {named}, {'equal' if self.equal else 'alike in structure'} in both"


def bridge(store: Store, base: CommittedRun, head: CommittedRun) -> Bridge:
    """Returns the way from one run to another: through the latest stage that is equal, or alike in structure."""
    rows = (
        store.rows_of("_run_changes", base.run_id, head.run_id).select(["base", "head", "change", "stage"]).to_pylist()
    )
    places = [{str(stage["stage"]): i for i, stage in enumerate(run.stages)} for run in (base, head)]
    alike = _alike(rows)
    common = [(places[0][stage] + places[1][stage], False, (stage, stage)) for stage in alike]
    graphs = [_contents(store, run) for run in (base, head)]
    common += [
        (places[0][own] + places[1][other], True, (own, other))
        for own, content in graphs[0].items()
        for other, others in graphs[1].items()
        if content.keys() == others.keys()
    ]
    if not common:
        return Bridge(base, head, None, False, _pairs(base, head, rows))
    _, equal, stages = max(common)
    if not equal:
        found = _pairs(base, head, [row for row in rows if row["stage"] == stages[0]])
        return Bridge(base, head, stages, False, found)
    own, other = graphs[0][stages[0]], graphs[1][stages[1]]
    found = {}
    for key, (start, nodes) in own.items():
        first = other[key][0]
        found.update({_nid(base, start + i): _nid(head, first + i) for i in range(nodes)})
    return Bridge(base, head, stages, True, found)


def _nid(run: CommittedRun, ordinal: int) -> int:
    return run.run_key << ORDINAL_BITS | ordinal


def _alike(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Returns the stages all of whose nodes correspond and compute the same."""
    changes: dict[str, set[str]] = {}
    for row in rows:
        changes.setdefault(row["stage"], set()).add(row["change"])
    return [stage for stage, found in changes.items() if found <= _ALIKE]


def _pairs(base: CommittedRun, head: CommittedRun, rows: Sequence[dict[str, Any]]) -> dict[int, int]:
    return {
        _nid(base, row["base"]): _nid(head, row["head"])
        for row in rows
        if row["base"] is not None and row["head"] is not None
    }


def _contents(store: Store, run: CommittedRun) -> dict[str, dict[tuple[str, str, str], tuple[int, int]]]:
    """Returns for each stage its graphs by method, path and content: first ordinal, and number of nodes."""
    found: dict[str, dict[tuple[str, str, str], tuple[int, int]]] = {}
    for row in store.rows_of("_run_graphs", run.run_id).to_pylist():
        key = row["method"], row["path"], row["graph_hash"]
        found.setdefault(row["stage"], {})[key] = row["base"], row["nodes"]
    return found


def joined(
    ways: Sequence[Bridge], sets: Sets, focus: dict[int, int], visible: Container[int]
) -> tuple[Sets, dict[int, int]]:
    """Returns the sync sets with their counterparts in the other runs.

    Through a common stage, a set gets the sets of the other run that its nodes there belong to: those of the nodes that
    hold the value, where these correspond. Without one it gets the corresponding nodes of each stage.

    Args:
        ways: From each run to each other one.
        sets: Members of each set: nid, and whether it holds the value.
        focus: nid to the set that a click on it shows; a node of a common stage without one gets one.
        visible: The nodes on the page; only these stay.
    """
    focus = dict(focus)
    own = [list(members) for members in sets]
    for nid in (nid for way in ways for nid in way.pairs):
        if nid not in focus:
            focus[nid] = len(own)
            own.append([(nid, True)])
    grown = [dict(members) for members in own]
    for way in ways:
        for members, all_members in zip(own, grown, strict=True):
            for nid, primary in _leading(members, way):
                other = way.pairs[nid]
                others = [(other, primary)] if way.stages is None else own[focus[other]]
                for member, holds in others:
                    all_members.setdefault(member, holds)
    shown = {nid: number for nid, number in focus.items() if nid in visible}
    return [[member for member in members.items() if member[0] in visible] for members in grown], shown


def _leading(members: Sequence[tuple[int, bool]], way: Bridge) -> list[tuple[int, bool]]:
    """Returns the members that lead to the other run."""
    paired = [(nid, primary) for nid, primary in members if nid in way.pairs]
    return [member for member in paired if member[1] and way.stages] or paired


def bridges(store: Store, runs: Sequence[CommittedRun]) -> list[Bridge]:
    """Returns the ways from each run to each other one."""
    found = []
    for base, head in combinations(runs, 2):
        way = bridge(store, base, head)
        back = way.stages and (way.stages[1], way.stages[0])
        found += [way, Bridge(head, base, back, way.equal, {other: nid for nid, other in way.pairs.items()})]
    return found
