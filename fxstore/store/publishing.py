"""Writes one run. Everything is staged and renamed; the rename of the run's directory is the commit."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow as pa

from fxstore import tables
from fxstore.errors import StoreError
from fxstore.gc_paused import at_rest
from fxstore.records import Graph, Overlay, RunRecord, content_hash
from fxstore.store import integrity, manifest, parquet, reading
from fxstore.store.directory import Directory, read_only, unwritable
from fxstore.store.parquet import graph_files
from fxstore.store.runs import CommittedRun

# How finished directories get into a store: staged first, then renamed at once, so that none is ever half there.


USES: Final = "uses"


@contextmanager
def staged(directory: Directory) -> Iterator[Path]:
    """Gives a new directory for what is not yet published; it goes away at the end."""
    staging = directory.staging / secrets.token_hex(8)
    try:
        staging.mkdir()
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def use(directory: Directory, staging: Path, structures: Iterable[str], graphs: Iterable[str]) -> None:
    """Says which structures and graphs a run that is being written refers to, so that no ``gc`` takes them away.

    To be called before looking whether they are there.
    """
    paths = [*map(directory.structure, structures), *map(directory.graph, graphs)]
    text = "".join(f"{path.relative_to(directory.root).as_posix()}\n" for path in paths)
    with open(staging / USES, "w", encoding="utf-8") as file:
        file.write(text)


def used(directory: Directory) -> set[str]:
    """Returns what writers have said that they use, as paths within the store."""
    found: set[str] = set()
    for entry in os.listdir(directory.staging):
        try:
            found.update(reading.content(directory.staging / entry / USES).decode("utf-8", "replace").splitlines())
        except (FileNotFoundError, NotADirectoryError):
            continue
    return found


def place(finished: Path, target: Path) -> set[Path]:
    """Puts a finished directory of immutable content in place; what is there already is identical, so ours is dropped.

    Returns:
        The directories whose names changed, for :func:`fxstore.store.parquet.sync`.
    """
    parquet.sync(finished)
    changed = {target.parent}
    if not target.parent.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        changed.add(target.parent.parent)
    rename(finished, target)
    return changed


def rename(finished: Path, target: Path) -> bool:
    """Renames a directory; returns False where the target exists already."""
    try:
        os.rename(finished, target)
    except OSError:
        if not target.exists():
            raise
        return False
    return True


def content_of(own: Mapping[str, pa.Table]) -> str:
    """Returns the digest of the tables of a structure, by which it is addressed."""
    digest = hashlib.sha256()
    for name, table in own.items():
        digest.update(f"{name}\n".encode() + content_hash(table))
    return digest.hexdigest()[:32]


def commit(directory: Directory, staging: Path, run: CommittedRun, own: Mapping[str, pa.Table]) -> bool:
    """Commits a run by one rename; returns False where its id is taken.

    Args:
        own: Its overlays and metrics, as :data:`fxstore.tables.RUN_TABLES` has them.
    """
    target = directory.run(run.run_id)
    if target.exists() or _compacted(directory, run.run_id):
        return False
    finished = staging / run.run_id
    finished.mkdir()
    for name, table in own.items():
        keyed = parquet.with_key(table, "run_key", run.run_key, pa.int32())
        parquet.write(keyed, finished / f"{name}.parquet")
    digests = integrity.of_files(finished, [f"{name}.parquet" for name in own])
    content = directory.structure(run.structure_hash), *map(directory.graph, run.graph_hashes)
    run = run._replace(digests=integrity.are_beside(content))
    parquet.write_text(run.to_json(digests), finished / "run.json")
    parquet.sync(finished)
    if not rename(finished, target):
        return False
    if _compacted(directory, run.run_id):  # between the look and the rename, and the run's directory was taken away
        os.rename(target, finished.with_name(f"{run.run_id}.taken"))
        return False
    parquet.sync(directory.runs)
    return True


def _compacted(directory: Directory, run_id: str) -> bool:
    """Tells whether a segment holds a run of that id; it may say yes where none does, and then another id is drawn."""
    sought = f'"{run_id}"'.encode()
    try:
        names = os.listdir(directory.segments)
    except FileNotFoundError:
        return False
    for name in names:
        try:
            if sought in reading.content(directory.segment(name) / "runs.json"):
                return True
        except OSError:
            continue
    return False


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
# Clocks of machines, and of a machine and its file server, differ by less.
_CLOCKS_DIFFER_S: Final = 5.0


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
        raise read_only(directory.location)
    try:
        with staged(directory) as staging:
            _mind_the_clock(directory)
            run_id = _Writer(directory, staging, record).write(draw or _draw)
    except OSError as error:
        raise unwritable(directory.root, error) from error
    manifest.keep_up(directory)
    return run_id


def _mind_the_clock(directory: Directory) -> None:
    """Warns where this run will be dated before one that is there already, since the newest run is the latest one."""
    ahead = directory.runs.stat().st_mtime - time.time()
    if ahead > _CLOCKS_DIFFER_S:
        warnings.warn(
            f"this clock is {ahead:.0f} s behind the last change of the store: the run is dated before it", stacklevel=4
        )


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
        self.own = {"overlays": _overlays(record.overlays), "metrics": _metrics(record.overlays)}
        self.nodes = _check(record, self.structure["graphs"], self.own["metrics"])
        self._changed: set[Path] = set()
        self._synced: set[Path] = set()

    def write(self, draw: Callable[[], int]) -> str:
        hashes = self.structure["graphs"]["graph_hash"].to_pylist()
        structure_hash = content_of(self.structure)
        use(self.directory, self.staging, [structure_hash], hashes)
        graphs = dict(zip(hashes, self.record.structure.graphs, strict=True))
        self._contents(structure_hash, graphs)
        while (run_id := self._run(draw(), structure_hash, tuple(graphs))) is None:
            pass
        self._contents(structure_hash, graphs)  # what a gc took away before it could see that they are used
        return run_id

    def _contents(self, structure_hash: str, graphs: dict[str, Graph]) -> None:
        self._changed.clear()
        for graph_hash, graph in graphs.items():
            self._graph(graph_hash, graph)
        self._publish(self.structure, "structure_hash", structure_hash, self.directory.structure(structure_hash))
        for changed in sorted(self._changed - self._synced):
            parquet.sync(changed)
        self._synced |= self._changed

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
        parent, source = (found["sources"][name].to_numpy() for name in ("parent", "source"))
        if bool((parent >= source).any()):  # NULL is NaN here, and neither
            raise StoreError(f"a source of graph {graph.method}/{graph.path} stands before the one that it comes from")
        self._publish(graph_files(found), "graph_hash", graph_hash, target)

    def _publish(self, found: dict[str, pa.Table], key: str, value: str, target: Path) -> None:
        """Puts content-addressed tables in place; what is there already is identical, so ours is dropped then."""
        self._changed.add(target.parent)
        if target.exists():
            return
        staged = self.staging / f"{value}.{secrets.token_hex(4)}"
        staged.mkdir()
        for name, table in found.items():
            parquet.write(parquet.with_key(table, key, value), staged / f"{name}.parquet")
        integrity.write(staged, [f"{name}.parquet" for name in found])
        changed = place(staged, target)
        self._changed |= changed
        self._synced -= changed

    def _run(self, run_key: int, structure_hash: str, graph_hashes: tuple[str, ...]) -> str | None:
        """Commits the run under that key; returns None where the key is taken."""
        run = self._describe(run_key, structure_hash, graph_hashes)
        committed = commit(self.directory, self.staging, run, self.own)
        return run.run_id if committed else None

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
            content=integrity.of_rows(self.own),
            versions=dict(record.versions),
            structure_hash=structure_hash,
            stages=tuple(
                {"stage": s.name, "stage_index": i, "kind": s.kind, "status": s.status, "note": s.note}
                for i, s in enumerate(record.stages)
            ),
            graph_hashes=graph_hashes,
            nodes=self.nodes,
        )


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
