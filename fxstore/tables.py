"""The tables that pass between ingest, link and store, as Arrow schemas.

Three kinds of content, each immutable once written:

* a *graph* (content-addressed by :func:`fxstore.records.Graph.fingerprint`): its nodes, edges, sources,
  origins, handles and roles, keyed by ``position``, the node's topological ordinal in the graph;
* a *structure* (content-addressed too): the graphs of one run in order, and what was computed between them:
  links, sync sets, value classes, unmatched nodes. Keyed by ``ordinal``, the node's number within the run:
  ``base`` of its graph plus its position;
* a *run*: its name, tags and versions, its stages, overlays and metrics.

``nid`` exists only in the views: ``run_key << 22 | ordinal``.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

ORDINAL_BITS: Final = 22
RUN_KEY_BITS: Final = 31

_TEXT = pa.string()
_INT = pa.int32()


def _schema(*fields: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(name, kind) for name, kind in fields])


NODES: Final = _schema(
    ("position", _INT),
    ("name", _TEXT),
    ("op", _TEXT),  # placeholder, get_attr, call_function, call_module, call_method, output
    ("target", _TEXT),
    ("op_type", _TEXT),
    ("role", _TEXT),
    ("dtype", _TEXT),  # of output port 0; NULL for what is no tensor
    ("shape", pa.list_(_TEXT)),  # of output port 0; symbols as text; NULL for what is no tensor
    ("ports", _INT),  # number of output values
    ("device", _TEXT),
    ("module_path", _TEXT),
    ("module_type", _TEXT),
    ("module_call", _INT),  # 1-based call of that module instance
    ("backend", _TEXT),
    ("source_file", _TEXT),
    ("source_line", _INT),
    ("source_code", _TEXT),
    ("fingerprint", _TEXT),
    ("attrs", _TEXT),  # JSON object: constant arguments, further outputs, quantisation parameters, custom meta
)
EDGES: Final = _schema(
    ("src", _INT),
    ("src_port", _INT),
    ("dst", _INT),
    ("dst_arg", _TEXT),  # argument path: '0', '0[1]', 'alpha'
    ("position", _INT),  # ordinal of the use among the uses of dst
)
# Provenance is a forest: a source names its own ancestor through `parent`.
SOURCES: Final = _schema(
    ("source", _INT),
    ("name", _TEXT),
    ("target", _TEXT),
    ("graph", _INT),  # the ancestor's graph, numbered by first occurrence
    ("pass_name", _TEXT),
    ("action", _TEXT),
    ("parent", _INT),  # a source with a lower number; NULL at the root
)
ORIGINS: Final = _schema(("position", _INT), ("branch", _INT), ("source", _INT))
HANDLES: Final = _schema(("position", _INT), ("namespace", _TEXT), ("handle", pa.int64()))
ROLES: Final = _schema(("position", _INT), ("role", _TEXT))

GRAPH_TABLES: Final = {
    "nodes": NODES,
    "edges": EDGES,
    "sources": SOURCES,
    "origins": ORIGINS,
    "handles": HANDLES,
    "roles": ROLES,
}

# What a node has several of stands beside it in the store, as a list: fewer files, and none without rows.
NODE_LISTS: Final = {
    "origins": pa.struct([ORIGINS.field("branch"), ORIGINS.field("source")]),
    "handles": pa.struct([HANDLES.field("namespace"), HANDLES.field("handle")]),
    "roles": _TEXT,
}
GRAPH_FILES: Final = {
    "nodes": pa.schema([*NODES, *(pa.field(name, pa.list_(kind)) for name, kind in NODE_LISTS.items())]),
    "edges": EDGES,
    "sources": SOURCES,
}

GRAPHS: Final = _schema(
    ("graph", _INT),  # index in the run
    ("stage", _TEXT),
    ("stage_index", _INT),
    ("method", _TEXT),
    ("path", _TEXT),
    ("parent", _INT),  # ordinal of the node that calls it; NULL at the top
    ("graph_hash", _TEXT),
    ("base", _INT),  # ordinal of its node 0
    ("nodes", _INT),
)
LINKS: Final = _schema(("src", _INT), ("dst", _INT), ("evidence", _TEXT), ("inferred", pa.bool_()), ("note", _TEXT))
# Membership, never pairs. `focus` is true in the one set that a click on that node shows.
SYNC_SETS: Final = _schema(("sync_set", _INT), ("ordinal", _INT), ("is_primary", pa.bool_()), ("focus", pa.bool_()))
# All members of one class hold one value, up to numerical error.
VALUE_CLASSES: Final = _schema(("value_class", _INT), ("ordinal", _INT), ("port", _INT), ("evidence", _TEXT))
# Sources that are nodes of this run.
ANCESTORS: Final = _schema(("graph", _INT), ("source", _INT), ("ordinal", _INT))
UNMATCHED: Final = _schema(("ordinal", _INT), ("towards", _TEXT), ("reason", _TEXT))

STRUCTURE_TABLES: Final = {
    "graphs": GRAPHS,
    "links": LINKS,
    "sync_sets": SYNC_SETS,
    "value_classes": VALUE_CLASSES,
    "ancestors": ANCESTORS,
    "unmatched": UNMATCHED,
}

OVERLAYS: Final = _schema(
    ("overlay", _INT),  # index in the run
    ("name", _TEXT),
    ("kind", _TEXT),  # accuracy, latency, category, static, statistics
    ("source", _TEXT),
    ("unit", _TEXT),
    ("better", _TEXT),  # higher, lower or NULL
)
METRICS: Final = _schema(
    ("overlay", _INT),
    ("ordinal", _INT),  # NULL for what belongs to the run, not to a node
    ("port", _INT),
    ("metric", _TEXT),
    ("value", pa.float64()),  # NULL only where there is no number; NaN and infinity are numbers
    ("text", _TEXT),
    ("status", _TEXT),  # ok, non_finite, not_measured
    ("reason", _TEXT),
    ("scope", _TEXT),  # local, cumulative or NULL
    ("ref", _INT),  # ordinal of the reference node
    ("sample", _INT),
    ("unit", _TEXT),  # where each metric of an overlay has its own; else NULL, and the overlay's holds
    ("better", _TEXT),  # as for unit: higher, lower or NULL
    ("threshold", pa.float64()),  # the last number that is still good; NULL where none was set
    ("verdict", _TEXT),  # pass or fail; NULL without a threshold or a number
)

RUN_TABLES: Final = {"overlays": OVERLAYS, "metrics": METRICS}
