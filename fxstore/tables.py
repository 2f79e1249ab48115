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

from fxstore import schema

ORDINAL_BITS: Final = 22
RUN_KEY_BITS: Final = 31

_TYPES: Final = {
    schema.TEXT: pa.string(), schema.TEXTS: pa.list_(pa.string()), schema.INT: pa.int32(), schema.LONG: pa.int64(),
    schema.REAL: pa.float64(), schema.FLAG: pa.bool_(),
}  # fmt: skip
_TEXT: Final = pa.string()


def _stored(relation: str, columns: str) -> pa.Schema:
    """Returns the schema of a file: columns of a relation as :mod:`fxstore.schema` defines them, and numbers.

    Args:
        relation: Name of the view over the file.
        columns: The names in their order, which the content hash of a graph depends on. A name that the view does not
            have is a number that only the file has, such as an ordinal.
    """
    shown = {column.name: column.type for column in schema.RELATIONS[relation].columns}
    return pa.schema([pa.field(name, _TYPES[shown.get(name, schema.INT)]) for name in columns.split()])


NODES: Final = _stored(
    "nodes",
    "position name op target op_type role dtype shape ports device module_path module_type module_call backend "
    "source_file source_line source_code fingerprint attrs",
)
# src and dst are positions in the graph.
EDGES: Final = _stored("edges", "src src_port dst dst_arg position")
# Provenance is a forest: a source names its own ancestor through `parent`, a source with a lower number, NULL at the
# root. `graph` is the ancestor's graph, numbered by first occurrence.
SOURCES: Final = pa.schema({
    "source": pa.int32(), "name": _TEXT, "target": _TEXT, "graph": pa.int32(), "pass_name": _TEXT, "action": _TEXT,
    "parent": pa.int32(),
})  # fmt: skip
ORIGINS: Final = _stored("provenance", "position branch source")
HANDLES: Final = _stored("handles", "position namespace handle")
ROLES: Final = _stored("node_roles", "position role")

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

# graph is the index in the run, parent the ordinal of the node that calls it, base the ordinal of its node 0.
GRAPHS: Final = pa.schema([
    *_stored("graphs", "graph stage stage_index method path parent"), ("graph_hash", _TEXT), ("base", pa.int32()),
    ("nodes", pa.int32()),
])  # fmt: skip
LINKS: Final = _stored("links", "src dst evidence inferred note")
# Membership, never pairs.
SYNC_SETS: Final = _stored("sync_sets", "sync_set ordinal is_primary focus")
# All members of one class hold one value, up to numerical error.
VALUE_CLASSES: Final = _stored("value_pairs", "value_class ordinal port evidence")
# Sources that are nodes of this run.
ANCESTORS: Final = _stored("provenance", "graph source ordinal")
UNMATCHED: Final = _stored("unmatched", "ordinal towards reason")

STRUCTURE_TABLES: Final = {
    "graphs": GRAPHS,
    "links": LINKS,
    "sync_sets": SYNC_SETS,
    "value_classes": VALUE_CLASSES,
    "ancestors": ANCESTORS,
    "unmatched": UNMATCHED,
}

# unit and better of a metric are NULL where those of its overlay hold.
OVERLAYS: Final = _stored("overlays", "overlay name kind source unit better")
METRICS: Final = _stored(
    "metrics",
    "overlay ordinal port metric value text status reason scope ref sample unit better threshold verdict",
)

RUN_TABLES: Final = {"overlays": OVERLAYS, "metrics": METRICS}
