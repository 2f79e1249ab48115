"""What a page needs of one run: its graphs, its sync sets, its numbers; one statement for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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


@dataclass
class NodeValues:
    """The numbers of one metric in one overlay of a run, one per node, chosen as in ``worst``.

    Attributes:
        number: The overlay's place in the run.
        threshold: Worst number that still passes the gate; None where there is no gate, or several.
        values: nid to number.
        missing: nid to the reason why there is no number.
        texts: nid to category, for what is no number.
        notes: nid to what is to be known of its number: which sample's it is, or the spread of a time.
        samples: The same of each sample on its own, by its number; none where there are not several.
        all_samples: How many samples there are.
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
    notes: dict[int, str] = field(default_factory=dict)
    samples: dict[int, Numbers] = field(default_factory=dict)
    all_samples: int = 0
    threshold: float | None = None


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


def node_values(store: Store, run_id: str, most_samples: int = 0) -> list[NodeValues]:
    """Returns the numbers on the nodes of a run, per overlay and metric; those without any number are left out.

    Args:
        most_samples: Of so many samples, the first ones, the numbers of each are told, too.
    """
    found: dict[tuple[int, str], NodeValues] = {}
    for row in store.rows_of("_page_values", run_id, most_samples).to_pylist():
        key = (row["number"], row["metric"])
        if key not in found:
            about = {name: row[name] for name in ("number", "kind", "unit", "better", "threshold")}
            found[key] = NodeValues(row["overlay"], row["metric"], **about)
        one = found[key]
        one.all_samples = max(one.all_samples, row["samples"])
        if row["is_shown"]:
            _add(row, one.values, one.missing)
            if row["value"] is not None and (note := _note(row)):
                one.notes[row["nid"]] = note
        if row["is_sample"]:
            name = row["sample_name"] or f"sample {row['sample']}"
            sample = one.samples.setdefault(row["sample"], Numbers(name))
            _add(row, sample.values, sample.missing)
    return [one for one in found.values() if one.values]


def _add(row: Mapping[str, Any], values: dict[int, float], missing: dict[int, str]) -> None:
    if row["value"] is not None:
        values[row["nid"]] = row["value"]
    else:
        missing[row["nid"]] = row["reason"] or "no data"


def _note(row: Mapping[str, Any]) -> str | None:
    """Returns what to know of a number that stands for several: their spread, or which of them it is."""
    if row["executions"] is not None:
        if row["executions"] < 2:
            return None
        unit = f" {row['unit']}" if row["unit"] else ""
        cold = f", {row['cold']} of them cold" if row["cold"] else ""
        return f"median; p10 {row['p10']:.4g}, p90 {row['p90']:.4g}{unit}; {row['executions']} executions{cold}"
    if row["samples"] > 1 and row["sample"] is not None:
        return f"worst of {row['samples']}: {row['sample_name'] or 'sample ' + str(row['sample'])}"
    return None


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
