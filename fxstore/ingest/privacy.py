"""Makes public runs: rows built from lists of what is kept, see :mod:`fxstore.privacy`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from fxstore import tables
from fxstore.ingest.build import fingerprints
from fxstore.ingest.measure.samples import SAMPLE_NAME
from fxstore.kinds import public_kinds
from fxstore.privacy import NODE_COLUMNS, attributes, holds_path, plain
from fxstore.records import Graph, Overlay, RunRecord, Stage, Structure

_METRICS: Final = ("ordinal", "port", "metric", "value", "status", "scope", "ref", "sample")


def public_run(record: RunRecord, link: Callable[[Sequence[Stage]], Structure]) -> RunRecord:
    """Returns a run as it may be shown to anybody.

    Args:
        link: Computes the structure of stages: that of the public ones has their hashes.
    """
    stages = tuple(map(_stage, record.stages))
    tags = {key: value for key, value in record.tags.items() if not holds_path(key + value)}
    kinds = public_kinds()
    overlays = tuple(_overlay(overlay) for overlay in record.overlays if overlay.kind in kinds)
    return replace(
        record,
        name=plain(record.name),
        stages=stages,
        structure=link(stages),
        overlays=overlays,
        model=None if record.model is None else plain(record.model),
        tags=tags,
    )


def _stage(stage: Stage) -> Stage:
    note = stage.note
    if note is not None and (stage.status == "failed" or plain(note) != note):
        note = "could not be read" if stage.status == "failed" else "something is missing"
    return replace(stage, graphs=tuple(map(public_graph, stage.graphs)), note=note)


def public_graph(graph: Graph) -> Graph:
    """Returns a graph with the columns that are kept; its fingerprints are those of what is left."""
    nodes = graph.nodes
    columns: dict[str, Any] = {name: nodes[name].to_pylist() for name in NODE_COLUMNS}
    for name in ("name", "target", "module_path", "backend"):
        columns[name] = [None if text is None else plain(text) for text in columns[name]]
    columns["module_type"] = [None if t is None else plain(t.rpartition(".")[2]) for t in columns["module_type"]]
    columns["attrs"] = list(map(attributes, nodes["attrs"].to_pylist(), columns["op_type"]))
    columns["fingerprint"] = fingerprints(columns, _uses(graph))
    kept = {name: columns.get(name, [None] * len(nodes)) for name in tables.NODES.names}
    found = {**graph.tables, "nodes": pa.table(kept, schema=tables.NODES), "sources": _sources(graph)}
    return replace(graph, tables=found, payload=None)


def _uses(graph: Graph) -> Iterator[tuple[int, int, int, str]]:
    columns = (graph.edges[name].to_pylist() for name in ("src", "src_port", "dst", "dst_arg"))
    return zip(*columns, strict=True)


def _sources(graph: Graph) -> pa.Table:
    table = graph.tables["sources"]
    columns = {name: table[name].to_pylist() for name in table.column_names}
    for name in ("name", "target", "pass_name"):
        columns[name] = [None if text is None else plain(text) for text in columns[name]]
    return pa.table(columns, schema=table.schema)


def _overlay(overlay: Overlay) -> Overlay:
    metrics = overlay.metrics.filter(pc.not_equal(overlay.metrics["metric"], SAMPLE_NAME))
    columns: dict[str, Any] = {
        name: metrics[name].to_pylist() if name in _METRICS else [None] * len(metrics) for name in metrics.column_names
    }
    columns["text"] = [None if text is None else plain(text) for text in metrics["text"].to_pylist()]
    table = pa.table(columns, schema=metrics.schema)
    return replace(overlay, name=plain(overlay.name), source=plain(overlay.source), metrics=table)
