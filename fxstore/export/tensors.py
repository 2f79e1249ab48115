"""The export ``tensors``: values of an ETDump as files, named by the graphs of a stored run or of their sources."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from fxstore import tables
from fxstore.errors import UsageError
from fxstore.export.stores import FORMATS
from fxstore.ingest import adapters
from fxstore.ingest.executorch.dump_tensors import write_dump
from fxstore.ingest.executorch.events import EventLayer
from fxstore.query.session import Store
from fxstore.records import Delegate, Graph, Stage

FORMAT: Final = "tensors"
_NODES: Final = "SELECT graph_id, nid, position, name, op, target, op_type, role, dtype, shape, ports, backend, attrs"
_NEEDS: Final = "pass etdump= (--etdump) and debug_buffer= (--debug-buffer), the files that the traced run wrote"


def write(
    store: Store,
    run: str | None,
    path: Path,
    *,
    etdump: str | os.PathLike[str] | object = None,
    debug_buffer: str | os.PathLike[str] | bytes | None = None,
    source: object = None,
) -> None:
    """Writes the values of a dump into a new folder: ``.npy`` files and ``index.json``.

    A store keeps numbers about values, not the values: they are read from the dump's own files.

    Args:
        etdump: The ETDump, or a live Inspector.
        debug_buffer: Its debug buffer.
        source: What ran (a ``.pte`` or ``.etrecord`` file, a live program, or a dict of stages); default: the run's
            stages. Needed where a backend's own identifiers stand in a map, which no store keeps.

    Raises:
        UsageError: There is no dump.
        SourceError: The dump cannot be read, or has no values.
    """
    if etdump is None:
        raise UsageError("a store keeps no values, and there is no dump to take them from", hint=_NEEDS)
    _write(_stored(store, run) if source is None else _read(source), etdump, debug_buffer, path)


def write_values(etdump: Path, debug_buffer: Path, source: object, path: Path) -> None:
    """Writes the values of a dump without a store; without a source they are named by their instructions."""
    _write([] if source is None else _read(source), etdump, debug_buffer, path)


def _write(stages: Sequence[Stage], etdump: object, debug_buffer: object, path: Path) -> None:
    read = adapters.read(etdump, {} if debug_buffer is None else {"debug_buffer": debug_buffer})
    (layer,) = (one for one in read.overlays if isinstance(one, EventLayer))
    write_dump([*read.stages, *stages], layer.dump, path)


FORMATS[FORMAT] = write


def _read(source: object) -> list[Stage]:
    several = source if isinstance(source, Mapping) else {"": source}
    return [
        replace(stage, name=stage.name or str(name) or "program")
        for name, one in several.items()
        for stage in adapters.read(one).stages
    ]


def _stored(store: Store, run: str | None) -> list[Stage]:
    """Returns the stages of a run with what names values: nodes, uses and handles."""
    run_id = store.existing_run(run).run_id
    graphs = store.sql("SELECT * FROM graphs WHERE run_id = ? ORDER BY graph_id", [run_id]).arrow().to_pylist()
    nodes = _by_graph(store.sql(f"{_NODES} FROM nodes WHERE run_id = ? ORDER BY nid", [run_id]).arrow())
    position = {row["nid"]: (graph, row["position"]) for graph, rows in nodes.items() for row in rows}
    edges = _by_graph(store.sql("SELECT * FROM edges WHERE run_id = ? ORDER BY dst_nid, position", [run_id]).arrow())
    handles: dict[int, list[dict[str, Any]]] = {}
    for row in store.sql("SELECT nid, namespace, handle FROM handles WHERE run_id = ?", [run_id]).arrow().to_pylist():
        graph, at = position[row["nid"]]
        handles.setdefault(graph, []).append({**row, "position": at})
    backend = "SELECT nid, text FROM metrics WHERE run_id = ? AND metric = 'backend'"
    owners = {row["nid"]: row["text"] for row in store.sql(backend, [run_id]).arrow().to_pylist()}
    paths = {graph["graph_id"]: graph["path"] for graph in graphs}
    found: dict[str, list[Graph]] = {}
    calls: dict[str, dict[str, dict[int, Delegate]]] = {}
    for graph in graphs:
        number = graph["graph_id"]
        own = nodes.get(number, [])
        caller, at = position.get(graph["parent_nid"], (None, None))
        uses = [
            {**row, "src": position[row["src_nid"]][1], "dst": position[row["dst_nid"]][1]}
            for row in edges.get(number, [])
        ]
        parts = {"nodes": own, "edges": uses, "handles": handles.get(number, [])}
        content = {name: _table(parts.get(name, []), schema) for name, schema in tables.GRAPH_TABLES.items()}
        found.setdefault(graph["stage"], []).append(
            Graph(graph["method"], graph["path"], content, parent_path=paths.get(caller), parent_position=at)
        )
        if not graph["path"]:
            delegated = calls.setdefault(graph["stage"], {}).setdefault(graph["method"], {})
            delegated.update(_delegates(parts["handles"], owners))
    stages = store.sql("SELECT stage, kind FROM stages WHERE run_id = ? ORDER BY stage_index", [run_id]).arrow()
    return [
        Stage(row["stage"], tuple(found.get(row["stage"], ())), row["kind"], delegates=calls.get(row["stage"], {}))
        for row in stages.to_pylist()
    ]


def _delegates(handles: list[dict[str, Any]], owners: Mapping[int, str | None]) -> dict[int, Delegate]:
    """Returns the delegate that each instruction calls, as the owners of its nodes tell."""
    named = ((row["handle"], owners.get(row["nid"])) for row in handles if row["namespace"] == "instruction")
    return {at: Delegate(owner) for at, owner in named if owner not in (None, "portable")}


def _by_graph(table: pa.Table) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        found.setdefault(row["graph_id"], []).append(row)
    return found


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    return pa.table({name: [row.get(name) for row in rows] for name in schema.names}, schema=schema)
