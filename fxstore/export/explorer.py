"""A run, or stages of it, as Model Explorer's collections and node data: what is read from the store for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Final

from fxstore.errors import QueryError
from fxstore.kinds import public_kinds
from fxstore.model_explorer.collection import Collection, collection, step_collections
from fxstore.model_explorer.names import escaped
from fxstore.model_explorer.overlays import Coverage, Values, node_data
from fxstore.model_explorer.source import Edge, Row, Source
from fxstore.model_explorer.views import BUDGET
from fxstore.privacy import NODE_COLUMNS, attributes, is_public, plain
from fxstore.query import hints
from fxstore.query.session import Store
from fxstore.render.container import short_path, short_paths
from fxstore.render.page.run_tables import need_graphs, node_texts, node_values
from fxstore.store import CommittedRun

_NAMES: Final = ("name", "target", "op_type", "module_path", "module_type", "backend")
_EMPTY: Final = dict.fromkeys(("source_file", "source_line", "source_code", "unmatched", "handles"))


@dataclass(frozen=True)
class Options:
    """What of a run is wanted, and how.

    Attributes:
        stages: Names of stages; default: all.
        overlays: Names of overlays or metrics that become node data; default: all that hold numbers or categories.
        steps: The module each call of which is a step; default: the outermost one that is called several times.
        budget: Characters of JSON that the steps of a graph may take.
        privacy: ``public`` leaves out sources, code, texts, values and what is derived from them.
    """

    stages: Sequence[str] | None = None
    overlays: Sequence[str] | None = None
    steps: str | None = None
    budget: int = BUDGET
    privacy: str | None = None


@dataclass(frozen=True)
class Exported:
    """A run as the app takes it.

    Attributes:
        run: Its name, a placeholder where that is not for everybody.
        main: All graphs of its stages.
        steps: A collection for each graph of several steps.
        overlays: Each overlay with its node data, by graph, and its coverage.
    """

    run: str
    main: Collection
    steps: list[Collection]
    overlays: list[tuple[Values, dict[str, Any], Coverage]]


def exported(store: Store, run: str | None, options: Options) -> Exported:
    """Returns a run as Model Explorer takes it.

    Raises:
        QueryError: There is no such run, stage, overlay or module.
        UsageError: There is no such privacy.
    """
    found = store.existing_run(run)
    public = is_public(options.privacy)
    sources = [source for own in sources_of(store, found, options.stages, public).values() for source in own]
    label = plain(found.name) if public else found.name
    main = collection(label, sources)
    steps = list(step_collections(label, sources, options.steps, options.budget))
    if options.steps is not None and not steps:
        raise QueryError(
            f"run {found.name!r} has no module {options.steps!r} that is called several times",
            hint="SELECT DISTINCT module_path FROM nodes WHERE module_call > 1",
        )
    known = values_of_run(store, found, options.overlays, public)
    overlays = [(values, *node_data(values, [main, *steps])) for values in known]
    return Exported(label, main, steps, [one for one in overlays if one[1] or options.overlays])


def sources_of(store: Store, run: CommittedRun, stages: Sequence[str] | None, public: bool) -> dict[str, list[Source]]:
    """Returns the graphs of a run's stages, top graphs first.

    Raises:
        QueryError: There is no such stage, or no graph at all.
    """
    recorded = {str(stage["stage"]): stage for stage in run.stages}
    for stage in stages or ():
        if stage not in recorded:
            raise QueryError(f"run {run.name!r} has no stage {stage!r}", hint=hints.among(stage, recorded))
    need_graphs(run)
    wanted = list(dict.fromkeys(stages)) if stages else list(recorded)
    graphs = store.rows_of("_page_graphs", run.run_id, wanted).to_pylist()
    nodes, edges = _by_graph(store, "_explorer_nodes", run, wanted), _by_graph(store, "_page_edges", run, wanted)
    methods = {stage: {graph["method"] for graph in graphs if graph["stage"] == stage} for stage in wanted}
    named = {graph["graph"]: _graph_id(graph, len(methods[graph["stage"]]) > 1, public) for graph in graphs}
    calls: dict[int, list[str]] = defaultdict(list)
    for graph in graphs:
        if graph["parent_nid"] is not None:
            calls[graph["parent_nid"]].append(named[graph["graph"]])
    found: dict[str, list[Source]] = {stage: [] for stage in wanted}
    for graph in graphs:
        rows = nodes.get(graph["graph"], [])
        called = {i: calls[row["nid"]] for i, row in enumerate(rows) if row["nid"] in calls}
        uses = [Edge(row["src"], row["src_port"], row["dst"], row["dst_arg"]) for row in edges.get(graph["graph"], [])]
        own = [_public(row) if public else _short(row) for row in rows]
        facts = _facts(run, recorded[graph["stage"]], graph, public)
        found[graph["stage"]].append(Source(named[graph["graph"]], own, uses, called, facts))
    return found


def _by_graph(store: Store, macro: str, run: CommittedRun, stages: Sequence[str]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = defaultdict(list)
    for row in store.rows_of(macro, run.run_id, list(stages)).to_pylist():
        found[row["graph"]].append(row)
    return found


def _graph_id(graph: Mapping[str, Any], with_method: bool, public: bool) -> str:
    parts = [graph["stage"], *([graph["method"]] if with_method else [])]
    parts += graph["path"].split("/") if graph["path"] else []
    return "/".join(escaped(plain(part) if public else part) for part in parts)


def _short(row: Row) -> Row:
    """Returns a node whose source files are named from their package on, as on a page."""
    texts = {name: row[name] and short_paths(row[name]) for name in ("source_code", "attrs")}
    return {**row, **texts, "source_file": row["source_file"] and short_path(row["source_file"])}


def _public(row: Row) -> Row:
    kept = {name: row[name] for name in (*NODE_COLUMNS, "nid") if name in row} | _EMPTY
    kept |= {name: row[name] and plain(row[name]) for name in _NAMES}
    return {**kept, "attrs": attributes(row["attrs"], row["op_type"] or "")}


def _facts(run: CommittedRun, stage: Mapping[str, Any], graph: Mapping[str, Any], public: bool) -> dict[str, str]:
    """Returns where a graph comes from, and with which versions; tags and notes are texts of strangers."""
    given = {
        "run": f"{run.name} ({run.run_id})",
        "recorded": f"{run.created_at[:19]}Z",
        "stage": f"{stage['stage']} ({stage['kind']})",
        "method": graph["method"],
        "path": graph["path"],
        "backend": graph["backend"],
        "model": run.model,
        "status": stage["status"] if stage["status"] != "complete" else None,
        "note": None if public else stage["note"],
        "tags": None if public else ", ".join(f"{key}={value}" for key, value in run.tags.items()),
        **{f"version of {name}": version for name, version in run.versions.items()},
    }
    facts = {name: plain(str(value)) if public else str(value) for name, value in given.items() if value}
    facts["exported by"] = f"fxstore {metadata.version('fxstore')}"
    facts["node ids"] = "module and operator, '|', and the index among these in the graph, from 1"
    return facts | ({"privacy": "public: without sources, code, texts and values"} if public else {})


def values_of_run(store: Store, run: CommittedRun, overlays: Sequence[str] | None, public: bool) -> list[Values]:
    """Returns the metrics of a run: those of the named overlays, or all; accuracy first, then as recorded.

    Raises:
        QueryError: There is no such overlay, or none that may be shown.
    """
    known = list(_merged(store, run, public))
    for name in overlays or ():
        if not any(name in (one.overlay, one.metric) for one in known):
            names = dict.fromkeys(name for one in known for name in (one.overlay, one.metric))
            what = "public overlay or metric" if public else "overlay or metric"
            raise QueryError(f"run {run.name!r} has no {what} {name!r}", hint=hints.among(name, names))
    if overlays is not None:
        known = [one for one in known if {one.overlay, one.metric} & set(overlays)]
    return sorted(known, key=lambda one: (one.kind != "accuracy", one.metric != "cosine"))


def _merged(store: Store, run: CommittedRun, public: bool) -> Iterator[Values]:
    """Yields the values of each metric of each overlay: numbers, and texts that are no histograms."""
    texts = {(one.number, one.metric): one for one in node_texts(store, run.run_id)}
    numbers = {(one.number, one.metric): one for one in node_values(store, run.run_id)}
    kinds = public_kinds() if public else ()
    for key in sorted({**texts, **numbers}):
        own, said = numbers.get(key), texts.get(key)
        one = own or said
        assert one is not None
        if key[1] == "histogram" or (public and one.kind not in kinds):
            continue
        told = said.texts if said else {}
        missing = own.missing if own else {}
        if public:
            told = {nid: plain(text) for nid, text in told.items()}
            missing = dict.fromkeys(missing, "no value")
        name, metric = (plain(one.overlay), plain(one.metric)) if public else (one.overlay, one.metric)
        yield Values(
            name, metric, one.kind, own.values if own else {}, told, missing, one.unit, one.better, one.threshold
        )
