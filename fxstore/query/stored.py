"""What a page needs of one run: its graphs, its sync sets, its numbers; one statement for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from fxstore.errors import QueryError
from fxstore.query.session import Store
from fxstore.render.model import Numbers
from fxstore.store import CommittedRun

Sets = list[list[tuple[int, bool]]]


@dataclass(frozen=True)
class StoredGraph:
    """One graph of a stage.

    Attributes:
        title: ``''`` for the top graph of a stage's only method; else method and path, for a delegate its backend too.
        nodes: One row per node, in order, with its nid; ``unmatched`` is why it has no counterpart in a neighbouring
            stage, or NULL.
        edges: One row per use of a value: src and dst (rows of ``nodes``), src_port, dst_arg.
        parent_nid: The node that calls it, or None at the top.
        method: The entry point that it belongs to.
        path: ``''`` at the top, else where it is nested.
    """

    title: str
    graph_hash: str
    nodes: pa.Table
    edges: pa.Table
    parent_nid: int | None
    method: str = ""
    path: str = ""


@dataclass(frozen=True)
class NodeValues:
    """The numbers of one metric in one overlay of a run, one per node, chosen as in ``worst``.

    Attributes:
        number: The overlay's place in the run.
        values: nid to number.
        missing: nid to the reason why there is no number.
        texts: nid to category, for what is no number.
        samples: The same of each sample on its own, by its name or number, in order; none where there is one sample.
    """

    overlay: str
    metric: str
    number: int
    kind: str
    unit: str | None
    better: str | None
    values: dict[int, float] = field(default_factory=dict)
    missing: dict[int, str] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    samples: dict[str, Numbers] = field(default_factory=dict)


def need_graphs(run: CommittedRun) -> None:
    """Raises a QueryError where a run holds no graph: it was given none, or broke off before its first one."""
    if not run.graph_hashes:
        raise QueryError(f"run {run.name!r} holds no graph", hint="store.runs() lists the others")


def graphs_of(store: Store, run_id: str, stages: Sequence[str]) -> dict[str, list[StoredGraph]]:
    """Returns the graphs of each of some stages: top graphs first, then the nested ones.

    Raises:
        QueryError: The run holds no graph.
    """
    need_graphs(store.existing_run(run_id))
    graphs = store.rows_of("_page_graphs", run_id, list(stages)).to_pylist()
    nodes = _by_graph(store.rows_of("_page_nodes", run_id, list(stages)))
    edges = _by_graph(store.rows_of("_page_edges", run_id, list(stages)))
    methods = {stage: {graph["method"] for graph in graphs if graph["stage"] == stage} for stage in stages}
    found: dict[str, list[StoredGraph]] = {stage: [] for stage in stages}
    for graph in graphs:
        stage, number = graph["stage"], graph["graph"]
        method = graph["method"] if len(methods[stage]) > 1 else ""
        title = _title(method, graph["path"], graph["backend"])
        place = graph["parent_nid"], graph["method"], graph["path"]
        found[stage].append(StoredGraph(title, graph["graph_hash"], nodes(number), edges(number), *place))
    return found


def sync_members(store: Store, run_id: str) -> pa.Table:
    """Returns one row per member of each sync set of a run: sync_set, nid, is_primary, focus."""
    return store.rows_of("_page_sync_sets", run_id)


def sync_sets(store: Store, run_ids: Sequence[str]) -> tuple[Sets, dict[int, int]]:
    """Returns the members of each sync set of some runs as (nid, is_primary), and the number of each node's own set."""
    sets: Sets = []
    focus: dict[int, int] = {}
    for run_id in run_ids:
        numbers: dict[int, int] = {}
        for row in sync_members(store, run_id).to_pylist():
            number = numbers.setdefault(row["sync_set"], len(sets))
            if number == len(sets):
                sets.append([])
            sets[number].append((row["nid"], row["is_primary"]))
            if row["focus"]:
                focus[row["nid"]] = number
    return sets, focus


def node_values(store: Store, run_id: str) -> list[NodeValues]:
    """Returns the numbers on the nodes of a run, per overlay and metric; those without any number are left out."""
    found: dict[tuple[int, str], NodeValues] = {}
    of_samples: dict[tuple[int, str], dict[int, tuple[str, Numbers]]] = {}
    for row in store.rows_of("_page_values", run_id).to_pylist():
        key = (row["number"], row["metric"])
        if key not in found:
            found[key] = NodeValues(
                row["overlay"], row["metric"], *(row[k] for k in ("number", "kind", "unit", "better"))
            )
        held: list[NodeValues | Numbers] = [found[key]] if row["is_shown"] else []
        if (sample := row["sample"]) is not None:
            named = of_samples.setdefault(key, {}).setdefault(sample, (row["sample_name"] or str(sample), Numbers()))
            held.append(named[1])
        for one in held:
            if row["value"] is not None:
                one.values[row["nid"]] = row["value"]
            else:
                one.missing[row["nid"]] = row["reason"] or "no data"
    for key, samples in of_samples.items():
        if len(samples) > 1:
            for number, (name, numbers) in sorted(samples.items()):
                found[key].samples[f"{name} ({number})" if name in found[key].samples else name] = numbers
    return [one for one in found.values() if one.values]


def node_texts(store: Store, run_id: str) -> list[NodeValues]:
    """Returns the texts on the nodes of a run, per overlay and metric: categories, and histograms as JSON."""
    found: dict[tuple[int, str], NodeValues] = {}
    for row in store.rows_of("_page_texts", run_id).to_pylist():
        key = (row["number"], row["metric"])
        if key not in found:
            found[key] = NodeValues(row["overlay"], row["metric"], row["number"], row["kind"], None, None)
        found[key].texts[row["nid"]] = row["text"]
    return list(found.values())


def equal_values(store: Store, run_id: str) -> list[list[tuple[int, int, str]]]:
    """Returns the values of a run, as (nid, port, evidence), in sets that must be equal up to numerical error."""
    sets: dict[int, list[tuple[int, int, str]]] = {}
    for row in store.rows_of("_page_equal_values", run_id).to_pylist():
        sets.setdefault(row["value_class"], []).append((row["nid"], row["port"], row["evidence"] or ""))
    return list(sets.values())


def _title(method: str, path: str, backend: str | None) -> str:
    place = "/".join(part for part in (method, path) if part)
    return f"{place} · {backend}" if backend and path else place


class _by_graph:
    """A table whose graphs' rows stand together, cut into one table per graph."""

    def __init__(self, table: pa.Table) -> None:
        numbers = table["graph"].to_pylist()
        self._table = table.drop_columns(["graph"])
        self._places: dict[int, tuple[int, int]] = {}
        start = 0
        for i, number in enumerate(numbers):
            if i + 1 == len(numbers) or numbers[i + 1] != number:
                self._places[number] = (start, i + 1 - start)
                start = i + 1

    def __call__(self, graph: int) -> pa.Table:
        start, length = self._places.get(graph, (0, 0))
        return self._table.slice(start, length)
