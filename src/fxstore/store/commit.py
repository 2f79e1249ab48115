"""Writes one run. Everything is staged and renamed; the rename of the run's directory is the commit."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow as pa

from fxstore import tables
from fxstore.collector import at_rest
from fxstore.errors import StoreError
from fxstore.records import Graph, Overlay, RunRecord, content_hash
from fxstore.store import manifest, parquet
from fxstore.store.directory import Directory
from fxstore.store.packing import graph_files
from fxstore.store.runs import CommittedRun

_ORDER: Final[dict[str, tuple[str, ...]]] = {
    "nodes": ("position",),
    "edges": ("dst", "position"),
    "sources": ("source",),
    "origins": ("position", "branch"),
    "handles": ("position", "namespace", "handle"),
    "roles": ("position", "role"),
    "graphs": ("graph",),
    "links": ("src", "dst"),
    "sync_sets": ("sync_set", "ordinal"),
    "value_classes": ("value_class", "ordinal", "port"),
    "ancestors": ("graph", "source"),
    "unmatched": ("ordinal", "towards"),
    "overlays": ("overlay",),
    "metrics": ("overlay", "metric", "ordinal", "port", "sample"),
}
# A key below 2^24 would make small numbers (counts, nanoseconds) look like nids.
_FIRST_KEY: Final = 1 << 24
_LAST_KEY: Final = (1 << tables.RUN_KEY_BITS) - 1


@at_rest()
def write_run(directory: Directory, record: RunRecord, *, draw: Callable[[], int] | None = None) -> str:
    """Writes a run and returns its id. Readers see all of it, or nothing.

    Args:
        directory: The store.
        record: The run.
        draw: Gives run keys; another is drawn where one is taken.

    Raises:
        StoreError: The store is read-only or cannot be written, or the record contradicts itself.
    """
    if directory.read_only:
        raise StoreError("the store is open for reading only", hint="open it without read_only")
    staging = directory.staging / secrets.token_hex(8)
    try:
        staging.mkdir()
        run_id = _Writer(directory, staging, record).write(draw or _draw)
    except OSError as error:
        raise StoreError(f"cannot write to the store {str(directory.root)!r}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    manifest.keep_up(directory)
    return run_id


def _draw() -> int:
    return _FIRST_KEY + secrets.randbelow(_LAST_KEY - _FIRST_KEY + 1)


class _Writer:
    def __init__(self, directory: Directory, staging: Path, record: RunRecord) -> None:
        self.directory = directory
        self.staging = staging
        self.record = record
        self.structure = {
            name: parquet.conform(record.structure.tables[name], schema, _ORDER[name])
            for name, schema in tables.STRUCTURE_TABLES.items()
        }
        self.overlays = _overlays(record.overlays)
        self.metrics = _metrics(record.overlays)
        self.nodes = _check(record, self.structure["graphs"], self.metrics)
        self._changed: set[Path] = set()

    def write(self, draw: Callable[[], int]) -> str:
        hashes = self.structure["graphs"]["graph_hash"].to_pylist()
        for graph_hash, graph in dict(zip(hashes, self.record.structure.graphs, strict=True)).items():
            self._graph(graph_hash, graph)
        structure_hash = self._structure()
        for changed in sorted(self._changed):
            parquet.sync(changed)
        while (run_id := self._run(draw(), structure_hash, tuple(dict.fromkeys(hashes)))) is None:
            pass
        return run_id

    def _graph(self, graph_hash: str, graph: Graph) -> None:
        target = self.directory.graph(graph_hash)
        if target.exists():
            self._changed.add(target.parent)
            return
        if graph.fingerprint() != graph_hash:
            raise StoreError(
                f"graph {graph.method}/{graph.path} does not have the hash {graph_hash} that its run gives it"
            )
        found = {
            name: parquet.conform(graph.tables[name], schema, _ORDER[name])
            for name, schema in tables.GRAPH_TABLES.items()
        }
        self._publish(graph_files(found), "graph_hash", graph_hash, target)

    def _structure(self) -> str:
        digest = hashlib.sha256()
        for name, table in self.structure.items():
            digest.update(f"{name}\n".encode() + content_hash(table))
        structure_hash = digest.hexdigest()[:32]
        self._publish(self.structure, "structure_hash", structure_hash, self.directory.structure(structure_hash))
        return structure_hash

    def _publish(self, found: dict[str, pa.Table], key: str, value: str, target: Path) -> None:
        """Puts content-addressed tables in place; what is there already is identical, so ours is dropped then."""
        self._changed.add(target.parent)
        if target.exists():
            return
        staged = self.staging / value
        staged.mkdir()
        for name, table in found.items():
            parquet.write(parquet.with_key(table, key, value), staged / f"{name}.parquet")
        parquet.sync(staged)
        if not target.parent.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            self._changed.add(target.parent.parent)
        _rename(staged, target)

    def _run(self, run_key: int, structure_hash: str, graph_hashes: tuple[str, ...]) -> str | None:
        """Commits the run under that key; returns None where the key is taken."""
        run = self._describe(run_key, structure_hash, graph_hashes)
        target = self.directory.run(run.run_id)
        if target.exists():
            return None
        staged = self.staging / run.run_id
        staged.mkdir()
        for name, table in (("overlays", self.overlays), ("metrics", self.metrics)):
            keyed = parquet.with_key(table, "run_key", run_key, pa.int32())
            parquet.write(keyed, staged / f"{name}.parquet")
        parquet.write_text(run.to_json(), staged / "run.json")
        parquet.sync(staged)
        if not _rename(staged, target):
            return None
        parquet.sync(self.directory.runs)
        return run.run_id

    def _describe(self, run_key: int, structure_hash: str, graph_hashes: tuple[str, ...]) -> CommittedRun:
        record = self.record
        return CommittedRun(
            run_id=f"{run_key:08x}",
            run_key=run_key,
            name=record.name,
            model=record.model,
            created_at=datetime.now(UTC).isoformat(timespec="microseconds"),
            status=record.status,
            tags=dict(record.tags),
            versions=dict(record.versions),
            structure_hash=structure_hash,
            stages=tuple(
                {"stage": s.name, "stage_index": i, "kind": s.kind, "status": s.status, "note": s.note}
                for i, s in enumerate(record.stages)
            ),
            graph_hashes=graph_hashes,
            nodes=self.nodes,
        )


def _rename(staged: Path, target: Path) -> bool:
    """Renames a directory; returns False where the target exists already."""
    try:
        os.rename(staged, target)
    except OSError:
        if not target.exists():
            raise
        return False
    return True


def _overlays(overlays: tuple[Overlay, ...]) -> pa.Table:
    rows = [(i, o.name, o.kind, o.source, o.unit, o.better) for i, o in enumerate(overlays)]
    columns = zip(*rows, strict=True) if rows else [()] * len(tables.OVERLAYS)
    arrays = [pa.array(c, type=f.type) for c, f in zip(columns, tables.OVERLAYS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=tables.OVERLAYS)


def _metrics(overlays: tuple[Overlay, ...]) -> pa.Table:
    numbered = [
        overlay.metrics.append_column("overlay", pa.repeat(pa.scalar(i, pa.int32()), overlay.metrics.num_rows))
        for i, overlay in enumerate(overlays)
    ]
    parts = [parquet.conform(table, tables.METRICS, _ORDER["metrics"]) for table in numbered]
    return pa.concat_tables(parts) if parts else tables.METRICS.empty_table()


def _check(record: RunRecord, graphs: pa.Table, metrics: pa.Table) -> int:
    """Returns the run's number of nodes; raises where ordinals cannot mean what they say."""
    counts = [graph.nodes.num_rows for graph in record.structure.graphs]
    bases = [sum(counts[:i]) for i in range(len(counts))]
    if graphs["nodes"].to_pylist() != counts or graphs["base"].to_pylist() != bases:
        raise StoreError("the structure's graphs do not have the nodes that it says")
    # Ids of graphs, overlays and sync sets count down from the top of the same range.
    others = len(counts) + len(record.overlays) + record.structure.tables["sync_sets"].num_rows
    if sum(counts) + others > 1 << tables.ORDINAL_BITS:
        raise StoreError(f"a run can hold about {1 << tables.ORDINAL_BITS:,} nodes and sync sets; this one has more")
    ordinals = metrics["ordinal"].drop_null().to_numpy()
    if ordinals.size and (ordinals.min() < 0 or ordinals.max() >= sum(counts)):
        raise StoreError("a metric is on a node that the run does not have")
    return sum(counts)
