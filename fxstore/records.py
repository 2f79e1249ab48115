"""What ingest hands to link and store: graphs, overlays and runs as plain data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa

from fxstore import tables

EXECUTED: Final = "executed"
"""The kind of a stage that holds what was run, call by call, not a program."""


@dataclass(frozen=True)
class Graph:
    """One captured graph; nothing in it refers to a live object.

    Attributes:
        method: Entry point it belongs to, ``forward`` for most.
        path: ``''`` at the top, else the nested graph's (``true_graph_0``, ``lowered_module_0/…``).
        tables: One Arrow table per name in :data:`fxstore.tables.GRAPH_TABLES`.
        identities: Numbers by which provenance chains may cite this graph. Process-local: never stored, and never a
            key by themselves, since a number may be used again.
        source_graphs: The identity of each ``sources.graph`` number, in order. Process-local too.
        parent_path: Path of the graph that calls this one, or None at the top.
        parent_position: Position of the calling node there, or None.
        payload: What a backend was handed for this graph, where it was; never stored.
        signature: For placeholders and outputs, what they stand for across renames: name to a stable key
            (``parameter:conv.weight``, ``input:0``, ``output:1``).
    """

    method: str
    path: str
    tables: dict[str, pa.Table]
    identities: frozenset[int] = frozenset()
    source_graphs: tuple[int, ...] = ()
    parent_path: str | None = None
    parent_position: int | None = None
    signature: dict[str, str] = field(default_factory=dict)
    payload: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def nodes(self) -> pa.Table:
        """One row per node, in program order."""
        return self.tables["nodes"]

    @property
    def edges(self) -> pa.Table:
        """One row per use of a value."""
        return self.tables["edges"]

    def fingerprint(self) -> str:
        """Returns the hash of the graph's rows: equal content, equal hash, in any process."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        digest = hashlib.sha256()
        for name in tables.GRAPH_TABLES:
            digest.update(f"{name}\n".encode())
            digest.update(content_hash(self.tables[name]))
        return digest.hexdigest()[:32]


@dataclass(frozen=True)
class Delegate:
    """What a program's runtime maps tell about one delegate call.

    Attributes:
        backend: Name of the backend.
        handles: Debug handles by the backend's own identifier of an event, a number where it is one.
    """

    backend: str
    handles: dict[int | str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage:
    """One point of the pipeline, with a graph per method and their nested graphs.

    Attributes:
        kind: ``graph``, ``exported``, ``edge``, ``lowered``, ``runtime``, ``trace`` or ``executed``.
        status: ``complete``, ``partial`` or ``failed``.
        note: What is missing and why, or None.
        delegates: The delegate that an instruction calls, by method and instruction; never stored as such.
        made_by: The pass that made it of the stage before, where a recorder watched it; never stored as such.
    """

    name: str
    graphs: tuple[Graph, ...]
    kind: str = "graph"
    status: str = "complete"
    note: str | None = None
    delegates: Mapping[str, Mapping[int, Delegate]] = field(default_factory=dict)
    made_by: str | None = None


@dataclass(frozen=True)
class Overlay:
    """A named set of metrics with one source; rows as in :data:`fxstore.tables.METRICS`, without ``overlay``."""

    name: str
    kind: str
    source: str
    metrics: pa.Table
    unit: str | None = None
    better: str | None = None


@dataclass(frozen=True)
class Structure:
    """The graphs of a run in order, and what was computed between them (:data:`fxstore.tables.STRUCTURE_TABLES`)."""

    graphs: tuple[Graph, ...]
    tables: dict[str, pa.Table]


@dataclass(frozen=True)
class RunRecord:
    """Everything that is committed as one run."""

    name: str
    stages: tuple[Stage, ...]
    structure: Structure
    overlays: tuple[Overlay, ...] = ()
    model: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    status: str = "complete"


def content_hash(table: pa.Table) -> bytes:
    """Returns a digest of a table's values that does not depend on chunking, dictionary encoding or buffers' slack."""
    sink = pa.BufferOutputStream()
    flat = pa.Table.from_arrays(
        [pa.concat_arrays(c.chunks) if c.num_chunks else c for c in table.columns], schema=table.schema
    )
    with pa.ipc.new_stream(sink, flat.schema) as writer:
        writer.write_table(flat.combine_chunks())
    return hashlib.sha256(sink.getvalue()).digest()


def empty(schema: pa.Schema) -> pa.Table:
    """Returns a table of that schema without rows."""
    return schema.empty_table()


def starts(counts: Sequence[int]) -> list[int]:
    """Returns the first ordinal of each part, for parts of these sizes laid end to end."""
    return [0, *np.cumsum(counts).tolist()][: len(counts)]
