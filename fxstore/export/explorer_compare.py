"""Two stages, of one run or of two, beside each other in Model Explorer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fxstore.errors import QueryError, UsageError
from fxstore.export.explorer import Options, exported, sources_of, values_of_run
from fxstore.model_explorer.collection import Collection, collection, where
from fxstore.model_explorer.export import compare_files, run_files
from fxstore.model_explorer.export import write as write_files
from fxstore.model_explorer.overlays import Synced, Values, node_data, synced, worst
from fxstore.model_explorer.views import BUDGET
from fxstore.privacy import is_public, plain
from fxstore.query import hints
from fxstore.query.cross_run import bridges, joined
from fxstore.query.session import Store
from fxstore.render.page.run_tables import sync_sets
from fxstore.store import CommittedRun

Place = tuple[str | None, str]
Graphs = tuple[str, str]


@dataclass(frozen=True)
class _Side:
    run: CommittedRun
    stage: str
    shown: Collection


def compare(store: Store, left: Place, right: Place, options: Options, metric: str | None = None) -> dict[str, Any]:
    """Returns the files of a comparison by name: left, right, their node data, and what syncs them.

    Args:
        left: Run, None for the latest, and stage.
        right: Likewise.
        options: Of which stages and steps do not count.
        metric: A metric or an overlay that becomes node data; by default the cosine, else what was measured first.

    Raises:
        QueryError: There is no such run, stage, or metric in either.
        UsageError: Both sides are the same, or there is no such privacy.
    """
    public = is_public(options.privacy)
    runs = [store.existing_run(run) for run, _ in (left, right)]
    if runs[0].run_id == runs[1].run_id and left[1] == right[1]:
        raise UsageError("both sides are the same stage", hint="compare two stages, or a stage of two runs")
    sides = [
        _side(store, name, run, stage, public)
        for name, run, (_, stage) in zip(("left", "right"), runs, (left, right), strict=True)
    ]
    pairs = _pairs(store, sides)
    if not pairs:
        raise QueryError(
            f"no node of {left[1]!r} is known to be one of {right[1]!r}",
            hint="store.sync tells what is known of a node",
        )
    sets = {graphs: synced(found) for graphs, found in sorted(pairs.items(), key=lambda item: -len(item[1]))}
    shown = next(iter(sets))
    for side, graph in zip(sides, shown, strict=True):
        _tell(side.shown, graph, sets[shown])
    data = _node_data(store, sides, sets[shown], shown, metric, public)
    return compare_files([side.shown for side in sides], list(sets.items()), data)


def _side(store: Store, name: str, run: CommittedRun, stage: str, public: bool) -> _Side:
    sources = [source for own in sources_of(store, run, [stage], public).values() for source in own]
    named = [plain(text) if public else text for text in (run.name, stage)]
    return _Side(run, stage, collection(f"{name}: {' · '.join(named)}", sources))


def _pairs(store: Store, sides: Sequence[_Side]) -> dict[Graphs, list[tuple[str, str]]]:
    """Returns the pairs of nodes that are one computation, by the graphs that they stand in.

    A node leads to those of its own set that hold the set's value; where none does, to all of them.
    """
    places = [{nid: at[0] for nid, at in where([side.shown]).items()} for side in sides]
    runs = list({side.run.run_id: side.run for side in sides}.values())
    visible = places[0].keys() | places[1].keys()
    sets, focus = joined(bridges(store, runs), *sync_sets(store, [run.run_id for run in runs]), visible)
    found: dict[Graphs, dict[tuple[str, str], None]] = defaultdict(dict)
    for nid, number in focus.items():
        own = int(nid not in places[0])
        others = [member for member in sets[number] if member[0] in places[1 - own]]
        for other in [member for member, holds in others if holds] or [member for member, _ in others]:
            left, right = (nid, other) if own == 0 else (other, nid)
            (left_graph, left_node), (right_graph, right_node) = places[0][left], places[1][right]
            found[left_graph, right_graph][left_node, right_node] = None
    order = [
        {(graph, node): i for graph, nodes in side.shown.nodes.items() for i, (node, _) in enumerate(nodes)}
        for side in sides
    ]
    return {
        graphs: sorted(pairs, key=lambda pair: tuple(order[i][graphs[i], pair[i]] for i in (0, 1)))
        for graphs, pairs in found.items()
    }


def _tell(shown: Collection, graph: str, sets: Synced) -> None:
    """Says in a graph what is synced."""
    (payload,) = (one for one in shown.graphs if one["id"] == graph)
    payload["groupNodeAttributes"][""]["sync"] = str(sets)
    shown.notes.append((graph, f"sync: {sets}"))


def _node_data(
    store: Store, sides: Sequence[_Side], sets: Synced, graphs: Graphs, metric: str | None, public: bool
) -> list[tuple[str, Values, dict[str, Any], Any]]:
    """Returns node data for each side: the metrics asked for, and how they change from left to right."""
    known = [values_of_run(store, side.run, None, public) for side in sides]
    if metric is not None and not any(_named(one, metric) for values in known for one in values):
        names = dict.fromkeys(name for values in known for one in values for name in (one.overlay, one.metric))
        raise QueryError(f"neither run has an overlay or metric {metric!r}", hint=hints.among(metric, names))
    made = [
        [(name, one, *node_data(one, [side.shown])) for one in values if metric is None or _named(one, metric)]
        for name, side, values in zip(("left", "right"), sides, known, strict=True)
    ]
    if metric is None:
        first = next((one.metric for own in made for _, one, document, _ in own if document), None)
        made = [[one for one in own if one[1].metric == first and one[2]][:1] for own in made]
    out = [one for own in made for one in own if one[2]]
    for left in made[0]:
        for right in (one for one in made[1] if (one[1].metric, one[1].unit) == (left[1].metric, left[1].unit)):
            change = _change(left[1], right[1], sides, sets, graphs)
            for name, side in zip(("left", "right"), sides, strict=True):
                document, coverage = node_data(change, [side.shown])
                if document:
                    out.append((name, change, document, coverage))
            break
    return out


def _named(values: Values, name: str) -> bool:
    return name in (values.overlay, values.metric)


def _change(left: Values, right: Values, sides: Sequence[_Side], sets: Synced, graphs: Graphs) -> Values:
    """Returns right less left for each set of nodes with a number on either side, on all its nodes."""
    nids = [
        {node: own[0] for node, own in side.shown.nodes[graph] if own}
        for side, graph in zip(sides, graphs, strict=True)
    ]
    found: dict[int, float] = {}
    for entry in sets.entries:
        members = [[nids[i][node] for node in nodes if node in nids[i]] for i, nodes in enumerate(entry)]
        before, after = (
            [values.values[nid] for nid in own if nid in values.values]
            for values, own in zip((left, right), members, strict=True)
        )
        if before and after:
            change = worst(after, right.better) - worst(before, left.better)
            found.update(dict.fromkeys((*members[0], *members[1]), change))
    missing = {nid: "no number on one side" for own in nids for nid in own.values() if nid not in found}
    return replace(right, overlay="right less left", values=found, texts={}, missing=missing, signed=True)


def write(
    store: Store,
    run: str | None,
    path: Path,
    *,
    stages: Sequence[str] | None = None,
    overlays: Sequence[str] | None = None,
    steps: str | None = None,
    budget: int = BUDGET,
    privacy: str | None = None,
    compare_with: Sequence[Place] | None = None,
    metric: str | None = None,
) -> None:
    """Writes a run into a new folder, or two stages beside each other.

    Args:
        stages: As :class:`fxstore.export.explorer.Options` has it; so are ``overlays`` to ``privacy``.
        compare_with: Left and right, each a run (None for ``run``) and a stage.
        metric: What is compared, of a comparison.
    """
    options = Options(stages, overlays, steps, budget, privacy)
    if compare_with is None:
        found = exported(store, run, options)
        write_files(path, run_files(found.run, found.main, found.steps, found.overlays))
        return
    left, right = ((run if own is None else own, stage) for own, stage in compare_with)
    write_files(path, compare(store, left, right, options, metric))
