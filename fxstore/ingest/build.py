"""Collects one graph column by column; the one place that knows how rows become :class:`fxstore.records.Graph`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fxstore import tables
from fxstore.ingest.names import cited_target, op_type
from fxstore.records import Graph

Link = tuple[str, str, int, str, str]
"""One hop of a provenance chain: name, target, graph identity, pass name, action in letters of any case."""


@dataclass(frozen=True)
class Value:
    """What a node gives at one port; ``dtype`` is None for what is no tensor, and then so is ``shape``."""

    dtype: str | None = None
    shape: tuple[str, ...] | None = None
    device: str | None = None


@dataclass(frozen=True)
class Place:
    """Where a node comes from in the model and in its source.

    Attributes:
        outer_calls: Path and call of each module around the innermost one that is not called for the first time.
    """

    module_path: str | None = None
    module_type: str | None = None
    module_call: int | None = None
    source_file: str | None = None
    source_line: int | None = None
    source_code: str | None = None
    outer_calls: tuple[tuple[str, int], ...] = ()


def _json() -> Callable[[object], str]:
    """Returns what writes JSON; ``JSONEncoder.encode`` prepares for each call anew what can be prepared once."""
    encoder = json.JSONEncoder(sort_keys=True)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    quoted = json.encoder.encode_basestring_ascii
    chunks = make({}, encoder.default, quoted, None, ": ", ", ", True, False, True)
    return lambda value: "".join(chunks(value, 0))


_JSON = _json()
_HASH = hashlib.blake2b(digest_size=8)
_NAME = tables.NODES.names.index("name")
NOWHERE = Place()
NO_VALUE = Value()


class GraphBuilder:
    """Collects nodes, in program order, and the uses of their values.

    Args:
        method: Entry point that the graph belongs to.
        path: ``''`` at the top, else the nested graph's path.
        identities: Numbers by which provenance chains may cite it.
    """

    def __init__(self, method: str, path: str = "", identities: Iterable[int] = ()) -> None:
        self.method = method
        self.path = path
        self.identities = frozenset(identities)
        self.signature: dict[str, str] = {}
        self.positions: dict[str, int] = {}
        self._rows: list[tuple[object, ...]] = []
        self._uses: list[tuple[int, int, int, str, int]] = []
        self._use_counts: list[int] = []
        self._sources: dict[tuple[Link, int | None], int] = {}
        self._origins: list[tuple[int, int, int]] = []
        self._handles: list[tuple[int, str, int]] = []
        self._roles: list[tuple[int, str]] = []

    def node(
        self,
        name: str,
        op: str,
        target: str,
        role: str,
        *,
        kind: str | None = None,
        values: Sequence[Value] = (NO_VALUE,),
        place: Place = NOWHERE,
        backend: str | None = None,
        attrs: dict[str, object] | None = None,
    ) -> int:
        """Adds a node and returns its position.

        Args:
            kind: Its ``op_type``, where the target alone does not tell.
            values: One per output port.
            attrs: What is kept as JSON: constant arguments by path, custom meta. Values must be JSON already.
        """
        position = len(self._use_counts)
        first = values[0] if values else NO_VALUE
        if len(values) > 1:
            attrs = dict(attrs or {})
            attrs["outputs"] = [[value.dtype, value.shape] for value in values]
        if place.outer_calls:
            attrs = {**(attrs or {}), "module_calls": dict(place.outer_calls)}
        row = (
            position, name, op, target, kind or op_type(target), role, first.dtype, first.shape, len(values),
            first.device, place.module_path, place.module_type, place.module_call, backend, place.source_file,
            place.source_line, place.source_code, None, _JSON(attrs) if attrs else None,
        )  # fmt: skip
        self._rows.append(row)
        self.positions[name] = position
        self._use_counts.append(0)
        self._roles.append((position, role))
        return position

    def name(self, position: int) -> str:
        """Returns the name of a node that was added."""
        return str(self._rows[position][_NAME])

    def use(self, src: int, src_port: int, dst: int, dst_arg: str) -> None:
        """Adds one use of the value (src, src_port) by ``dst`` at an argument path."""
        self._uses.append((src, src_port, dst, dst_arg, self._use_counts[dst]))
        self._use_counts[dst] += 1

    def origin(self, position: int, branch: int, chain: Sequence[Link]) -> None:
        """Records a node's provenance, nearest ancestor first; equal tails of chains are stored once."""
        parent: int | None = None
        known = self._sources
        for link in reversed(chain):
            parent = known.setdefault((link, parent), len(known))
        if parent is not None:
            self._origins.append((position, branch, parent))

    def handle(self, position: int, namespace: str, handles: Iterable[int]) -> None:
        """Records a node's debug handles in a namespace (``debug_handle`` or ``instruction``)."""
        self._handles.extend((position, namespace, handle) for handle in handles)

    def role(self, position: int, role: str) -> None:
        """Records a further role of a node."""
        self._roles.append((position, role))

    def finish(self, parent_path: str | None = None, parent_position: int | None = None) -> Graph:
        """Returns the graph; the builder must not be used after it."""
        cells = zip(*self._rows, strict=True) if self._rows else [()] * len(tables.NODES)
        columns: dict[str, Sequence[object]] = dict(zip(tables.NODES.names, cells, strict=True))
        columns["fingerprint"] = fingerprints(columns, (use[:4] for use in self._uses))
        sources, graphs = _sources(self._sources)
        return Graph(
            method=self.method,
            path=self.path,
            tables={
                "nodes": _table(tables.NODES, columns.values()),
                "edges": _rows(tables.EDGES, self._uses),
                "sources": sources,
                "origins": _rows(tables.ORIGINS, self._origins),
                "handles": _rows(tables.HANDLES, self._handles),
                "roles": _rows(tables.ROLES, self._roles),
            },
            identities=self.identities,
            source_graphs=graphs,
            parent_path=parent_path,
            parent_position=parent_position,
            signature=self.signature,
        )


def _sources(known: Mapping[tuple[Link, int | None], int]) -> tuple[pa.Table, tuple[int, ...]]:
    """Returns the sources, and the graphs that they cite, numbered by first occurrence."""
    if not known:
        return tables.SOURCES.empty_table(), ()
    links, parents = zip(*known, strict=True)
    names, targets, graphs, passes, actions = zip(*links, strict=True)
    numbers = {graph: number for number, graph in enumerate(dict.fromkeys(graphs))}
    columns = (
        np.arange(len(known), dtype=np.int32),
        names,
        list(map(cited_target, targets)),
        [numbers[graph] for graph in graphs],
        passes,
        list(map(str.lower, actions)),
        parents,
    )
    return _table(tables.SOURCES, columns), tuple(numbers)


def fingerprints(columns: Mapping[str, Sequence[object]], uses: Iterable[tuple[int, int, int, str]]) -> list[str]:
    """Hashes each node with its inputs' operators: equal under renaming and renumbering.

    Args:
        columns: Those of the nodes.
        uses: Source, its port, target and argument path of each use, in order.
    """
    names = ("op_type", "role", "dtype", "shape", "attrs")
    local = list(map(str, zip(*(columns[name] for name in names), strict=True)))
    texts = list(local)
    for src, port, dst, arg in uses:
        texts[dst] += f"\n{arg}<{port}:{local[src]}"
    return list(map(_hashed, texts))


def _hashed(text: str) -> str:
    digest = _HASH.copy()  # twice as fast as to make one
    digest.update(text.encode())
    return digest.hexdigest()


def _rows(schema: pa.Schema, rows: Sequence[tuple[object, ...]]) -> pa.Table:
    return _table(schema, zip(*rows, strict=True)) if rows else schema.empty_table()


def _table(schema: pa.Schema, columns: Iterable[Any]) -> pa.Table:
    arrays = [pa.array(cells, field.type) for cells, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
