"""Builds what a compare page shows from a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from fxstore.errors import QueryError, UsageError
from fxstore.query import hints, text
from fxstore.query.across import Store
from fxstore.query.cross_run import Bridge, bridges, joined
from fxstore.query.result import Result
from fxstore.render.model import Answer, DrawnGraph, PageModel, Pane, Verdict
from fxstore.render.page.align import aligned
from fxstore.render.page.colors import MOST_SAMPLES, VERDICT, change_colors, colors_of, statistics_of, verdict_colors
from fxstore.render.page.drawings import Drawings, box_sizes, sides_of
from fxstore.render.page.expansion import HOPS, Neighbourhood, beside, grid, neighbourhood
from fxstore.render.page.run_tables import (
    NodeValues,
    StoredGraph,
    equal_values,
    graphs_of,
    node_texts,
    node_values,
    sync_members,
    sync_sets,
)
from fxstore.render.page.training import as_steps, stages_in, training_colors
from fxstore.store import CommittedRun
from fxstore.tables import ORDINAL_BITS

_NODE_COLUMNS: Final = (
    "nid", "name", "op", "target", "op_type", "role", "dtype", "shape", "module_path", "backend", "source_file",
    "source_line", "source_code", "attrs", "width", "height", "unmatched", "side",
)  # fmt: skip
_HUGE: Final = 30_000
"""Nodes from which on an answer is drawn with its neighbourhood only."""
_LARGE_SET: Final = 100
# A store that may not be written keeps its drawings for as long as the process uses it.
_drawings = lru_cache(maxsize=4)(Drawings)


def page_model(
    store: Store,
    runs: Sequence[str] | str | None = None,
    stages: Sequence[str] | None = None,
    color_by: str | None = None,
    result: Result | None = None,
    highlight: Iterable[int] | None = None,
    title: str | None = None,
    hops: int | None = None,
    whole: bool = False,
    kinds: Sequence[str] | None = None,
) -> PageModel:
    """Returns the page of some runs' stages side by side.

    Args:
        store: Where the runs are.
        runs: Ids or names; by default the runs that ``result`` or ``highlight`` names nodes of, else the latest.
        stages: Names of the stages to show, in that order; by default all of each run.
        color_by: An overlay or a metric that colours the nodes at first, or ``verdict``; by default the overlay
            that all rows of ``result`` name, else the cosine of all measured stages, each against its reference.
        result: The answer that the page lists and highlights.
        highlight: nids to highlight instead of the result's.
        title: The page's title; by default the names of the runs.
        hops: Draw only the highlighted nodes, their counterparts and what is that near to them; by default everything,
            and of more than 30,000 nodes what is within 3 hops.
        whole: Draw everything, however much it is.
        kinds: The kinds of overlays that may colour; by default all.

    Raises:
        QueryError: A run, stage or overlay does not exist, or ``result`` names no node.
    """
    named = list(highlight) if highlight is not None else []
    answer = _answer(result) if result is not None else None
    if result is not None and highlight is None:
        named = result.nids()
    shown = _runs(store, runs, named)
    _check_stages(shown, stages)
    parts = [as_steps(store, run.run_id, _stages(store, run, stages)) for run in shown]
    whole_stages = [graphs for part in parts for graphs in part.values()]
    reduced = [] if whole or not named else _reduced(store, shown, parts, named, hops)
    hidden: list[dict[str, list[StoredGraph]]] = [{} for _ in shown]
    if reduced:
        hidden = [beside(part, near) for part, near in zip(parts, reduced, strict=True)]
        parts = [part.graphs for part in reduced]
    panes = [
        pane
        for run, graphs, extra in zip(shown, parts, hidden, strict=True)
        for pane in _panes(store, run, graphs, extra, len(shown) > 1)
    ]
    visible = {nid for pane in panes for graph in pane.graphs for nid in graph.nodes["nid"].to_pylist()}
    ways = bridges(store, shown)
    sets, focus = joined(ways, *sync_sets(store, [run.run_id for run in shown]), visible)
    panes = [_told(pane, ways) for pane in panes]
    changes = change_colors(store, shown, visible)
    steps = training_colors(store, [run.run_id for run in shown])
    if color_by == VERDICT and (kinds is None or "accuracy" in kinds):
        steps += verdict_colors(store, [run.run_id for run in shown])
    known = [
        one for run in shown for one in (*node_values(store, run.run_id, MOST_SAMPLES), *node_texts(store, run.run_id))
    ]
    if kinds is not None:
        known = [one for one in known if one.kind in kinds]
    return PageModel(
        title=title or ", ".join(dict.fromkeys(run.name for run in shown)),
        panes=aligned(panes, sets, _drawings(store.directory).beside),
        sync_sets=sets,
        focus=focus,
        colors=colors_of(
            known,
            steps,
            changes,
            color_by or _asked_overlay(result, known),
            answer is not None and "change" in answer.columns,
            visible,
            whole_stages,
        ),
        answer=answer,
        highlight=[nid for nid in named if nid in visible],
        facts=[*_facts(shown), *((f"{way.base.name} and {way.head.name}", str(way)) for way in ways[::2])],
        equal_values=[values for run in shown for values in equal_values(store, run.run_id)],
        more={nid: count for part in reduced for nid, count in part.more.items()},
        left_out=_left_out(reduced, HOPS if hops is None else hops),
        statistics=statistics_of(known),
        verdict=_verdict(store, shown),
    )


_TOLD: Final = ("origin", "output", "before", "missing", "coverage")


def _verdict(store: Store, runs: Sequence[CommittedRun]) -> Verdict | None:
    """Returns what the top of the page says of its one run; None where nothing was compared."""
    if len(runs) != 1:
        return None
    try:
        found = store.why(runs[0].run_id)
    except (QueryError, UsageError):  # its metrics have no default threshold
        return None
    if found.metric is None:
        return None
    sentences = [
        [part if isinstance(part, str) else (part.text, part.nid) for part in one.parts]
        for one in found.sentences
        if one.about in _TOLD
    ]
    stages = {row["stage"]: row for row in found.facts["stages"]}
    first = stages.get(found.stage) or next(iter(stages.values()), None)
    kinds = {str(one["kind"]): str(one["stage"]) for one in runs[0].stages}
    wanted = [] if first is None else [first["reference"], first["stage"], kinds.get("runtime")]
    return Verdict(found.level, found.caption, sentences, [stage for stage in wanted if stage])


def _asked_overlay(result: Result | None, known: Sequence[NodeValues]) -> str | None:
    """Returns the overlay that an answer is about; None where its rows name several, or none."""
    if result is None or "overlay" not in result.columns:
        return None
    place = result.columns.index("overlay")
    named = {row[place] for row in result if row[place] is not None}
    first = named.pop() if len(named) == 1 else None
    return str(first) if any(one.overlay == first for one in known) else None


def _runs(store: Store, runs: Sequence[str] | str | None, nids: Iterable[int]) -> list[CommittedRun]:
    if isinstance(runs, str):
        runs = [runs]
    names = runs or dict.fromkeys(f"{nid >> ORDINAL_BITS:08x}" for nid in nids) or [None]
    return list({run.run_id: run for run in map(store.existing_run, names)}.values())


def _check_stages(runs: Sequence[CommittedRun], stages: Sequence[str] | None) -> None:
    known = list(dict.fromkeys(str(stage["stage"]) for run in runs for stage in run.stages))
    for stage in stages or ():
        if stage not in known:
            raise QueryError(f"there is no stage {stage!r}", hint=hints.among(stage, known))


def _stages(store: Store, run: CommittedRun, stages: Sequence[str] | None) -> dict[str, list[StoredGraph]]:
    """Returns the graphs of the stages to show, in their order."""
    recorded = [str(stage["stage"]) for stage in run.stages]
    return graphs_of(store, run.run_id, [name for name in (recorded if stages is None else stages) if name in recorded])


def _reduced(
    store: Store,
    runs: Sequence[CommittedRun],
    parts: Sequence[dict[str, list[StoredGraph]]],
    named: Sequence[int],
    hops: int | None,
) -> list[Neighbourhood]:
    """Returns of each run the neighbourhood of the named nodes and their counterparts; nothing where all is drawn."""
    count = sum(graph.nodes.num_rows for part in parts for graphs in part.values() for graph in graphs)
    if hops is None and count <= _HUGE:
        return []
    out = []
    for run, part in zip(runs, parts, strict=True):
        beside = _Counterparts(store, run)
        near = neighbourhood(part, beside(named), HOPS if hops is None else hops)
        drawn = [nid for own in near.graphs.values() for graph in own for nid in graph.nodes["nid"].to_pylist()]
        out.append(neighbourhood(part, beside(drawn), 0))
    return out


class _Counterparts:
    """The sync sets of a run's nodes, each node's own: a delegate call is in the sets of all that it holds.

    Of a large set, which is the delegate call's, only the primary members count.
    """

    def __init__(self, store: Store, run: CommittedRun) -> None:
        self._members: dict[int, list[int]] = {}
        self._sets: dict[int, list[int]] = {}
        primary: set[tuple[int, int]] = set()
        for row in sync_members(store, run.run_id).to_pylist():
            number, nid = row["sync_set"], row["nid"]
            self._members.setdefault(number, []).append(nid)
            if row["focus"]:
                self._sets.setdefault(nid, []).append(number)
            if row["is_primary"]:
                primary.add((number, nid))
        for number, members in self._members.items():
            if len(members) > _LARGE_SET:
                self._members[number] = [nid for nid in members if (number, nid) in primary]

    def __call__(self, nids: Iterable[int]) -> list[int]:
        """Returns nodes and all members of their own sets, each once, in their order."""
        both = ((nid, *(m for one in self._sets.get(nid, ()) for m in self._members[one])) for nid in nids)
        return list(dict.fromkeys(nid for group in both for nid in group))


def _left_out(parts: Sequence[Neighbourhood], hops: int) -> str:
    drawn, total = sum(part.drawn for part in parts), sum(part.all for part in parts)
    if drawn == total:
        return ""
    near = "1 hop" if hops == 1 else f"{hops} hops"
    return (
        f"{drawn:,} of {total:,} nodes are drawn: the answer's, their counterparts, and what is within {near}; "
        "'+N' on a node counts the neighbours that are left out, and opens the nearest of them. "
        "All: compare with whole=True, --whole."
    )


def _panes(
    store: Store,
    run: CommittedRun,
    graphs: dict[str, list[StoredGraph]],
    hidden: dict[str, list[StoredGraph]],
    several: bool,
) -> list[Pane]:
    notes = {str(stage["stage"]): stage["note"] for stage in run.stages}
    drawings = _drawings(store.directory)
    subtitle = f"{run.name} · {run.run_id}" if several else run.name
    return [
        Pane(
            title=name,
            graphs=(
                *(drawn_graph(graph, drawings) for graph in own),
                *(drawn_graph(graph) for graph in hidden.get(name, ())),
            ),
            subtitle=" · ".join(filter(None, (subtitle, *(notes.get(part) for part in stages_in(name))))),
            run=run.run_id,
        )
        for name, own in graphs.items()
    ]


def _told(pane: Pane, ways: Sequence[Bridge]) -> Pane:
    """Returns a pane that says how its nodes lead to those of the other runs."""
    for way in ways:
        if pane.run == way.base.run_id and way.stages is None:
            return replace(
                pane, subtitle=f"{pane.subtitle} · no common stage with {way.head.name}: matched by structure"
            )
        if pane.run == way.base.run_id and way.stages and pane.title == way.stages[0]:
            return replace(pane, subtitle=f"{pane.subtitle} · common stage")
    return pane


def drawn_graph(graph: StoredGraph, drawings: Drawings | None = None) -> DrawnGraph:
    """Returns a graph with its drawing, or, without ``drawings``, one that waits beside its caller."""
    sizes = box_sizes(graph.nodes)
    nodes = graph.nodes.append_column("width", _floats([width for width, _ in sizes]))
    nodes = nodes.append_column("height", _floats([height for _, height in sizes]))
    if "side" not in nodes.column_names:
        nodes = nodes.append_column("side", pa.array(sides_of(nodes["role"].to_pylist()), pa.int32()))
    return DrawnGraph(
        title=graph.title,
        nodes=nodes.select(_NODE_COLUMNS),
        edges=graph.edges,
        drawing=drawings.get(graph.graph_hash, nodes, graph.edges) if drawings else grid(sizes),
        parent_nid=graph.parent_nid,
        beside=drawings is None,
    )


def _floats(values: list[float]) -> pa.Array:
    """Returns a column of numbers; ``pyarrow.array`` would import pandas."""
    return pa.Array.from_buffers(pa.float32(), len(values), [None, pa.py_buffer(np.array(values, np.float32))])


def _answer(result: Result) -> Answer:
    rows = [tuple(_cell(value) for value in row) for row in result]
    return Answer(
        query=result.query,
        columns=result.columns,
        rows=rows,
        nids=result.row_nids(),
        note=str(result.coverage) if result.coverage else "",
    )


def _cell(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str) else text.cell(value)


def _facts(runs: Sequence[CommittedRun]) -> list[tuple[str, str]]:
    facts = []
    for run in runs:
        facts += [("run", f"{run.name} ({run.run_id})"), ("recorded", f"{run.created_at[:19]}Z")]
        facts += [("model", run.model)] if run.model else []
        facts += [("status", run.status)] if run.status != "complete" else []
        facts += [*run.tags.items(), *run.versions.items()]
    return facts
