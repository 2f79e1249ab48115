"""Sources read and linked in a store that leaves nothing behind."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fxstore.errors import SourceError
from fxstore.query.session import Store
from fxstore.query.stored import Sets, StoredGraph, graphs_of, node_texts, sync_sets


@dataclass(frozen=True)
class Source:
    """What one pane shows.

    Attributes:
        source: Whatever an adapter accepts as one stage.
        methods: Those of its methods that the pane shows; None for all.
    """

    source: object
    methods: frozenset[str] | None = None


@dataclass(frozen=True)
class CapturedPane:
    """The graphs of one pane, the top ones first.

    Attributes:
        ids: nid to the node's id in the pane.
        backends: nid to the backend that owns the node; empty where nothing is delegated.
    """

    graphs: tuple[StoredGraph, ...]
    ids: Mapping[int, str]
    backends: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Captured:
    """Panes of one run, and what links them.

    Attributes:
        sets: Members of each sync set as (nid, is_primary).
        focus: nid to the number of its set.
        handles: nid to the node's debug handles, least first.
        roots: nid to the name of the node that it goes back to, as the compiler recorded it.
    """

    panes: tuple[CapturedPane, ...]
    sets: Sets
    focus: Mapping[int, int]
    handles: Mapping[int, tuple[int, ...]]
    roots: Mapping[int, str]


def capture(panes: Sequence[tuple[str, Source]]) -> Captured:
    """Reads the sources of some panes as the stages of one run; panes of one source share a stage.

    Raises:
        SourceError: No source can be read. Of several, one that cannot be is an empty pane and a RuntimeWarning.
    """
    from fxstore.api import connect

    stages = _stages(panes)
    with connect(":memory:") as store:
        run = store.ingest(dict(stages.values()), name="fx_viewer")
        for note in run.notes:
            warnings.warn(f"fx_viewer: {note}", RuntimeWarning, stacklevel=3)
        graphs = graphs_of(store, run.run_id, [name for name, _ in stages.values()])
        if not any(graphs.values()):
            raise SourceError("there is no graph in these sources", hint="pass a GraphModule or an exported program")
        backends = _backends(store, run.run_id)
        sets, focus = sync_sets(store, [run.run_id])
        return Captured(
            tuple(_pane(graphs[stages[id(one.source)][0]], one.methods, backends) for _, one in panes),
            sets,
            focus,
            _handles(store),
            _roots(store),
        )


def _stages(panes: Sequence[tuple[str, Source]]) -> dict[int, tuple[str, object]]:
    """Returns the name of each source's stage, which is that of its first pane, by the source's identity."""
    stages: dict[int, tuple[str, object]] = {}
    for name, one in panes:
        stages.setdefault(id(one.source), (name, one.source))
    return stages


def _pane(graphs: Sequence[StoredGraph], methods: frozenset[str] | None, backends: Mapping[int, str]) -> CapturedPane:
    shown = tuple(graph for graph in graphs if methods is None or graph.method in methods)
    several = len({graph.method for graph in shown}) > 1
    ids: dict[int, str] = {}
    for graph in shown:
        prefix = "".join(f"{part}/" for part in (graph.method if several else "", graph.path) if part)
        names = zip(graph.nodes["nid"].to_pylist(), graph.nodes["name"].to_pylist(), strict=True)
        ids.update((nid, prefix + name) for nid, name in names)
    return CapturedPane(shown, ids, {nid: backends[nid] for nid in ids if nid in backends})


def _backends(store: Store, run_id: str) -> dict[int, str]:
    return {
        nid: text for one in node_texts(store, run_id) if one.overlay == "backend" for nid, text in one.texts.items()
    }


def _handles(store: Store) -> dict[int, tuple[int, ...]]:
    query = (
        "SELECT nid, list(DISTINCT handle ORDER BY handle) AS handles FROM handles "
        "WHERE namespace = 'debug_handle' AND handle <> 0 GROUP BY nid"
    )
    return {row["nid"]: tuple(row["handles"]) for row in store.sql(query).arrow().to_pylist()}


def _roots(store: Store) -> dict[int, str]:
    query = "SELECT nid, arg_max(ancestor_name, (branch, hop)) AS root FROM provenance GROUP BY nid"
    return {row["nid"]: row["root"] for row in store.sql(query).arrow().to_pylist()}
