"""What the store's files cost: rows written, bytes kept, columns scanned, beside what the machine can do at most.

Run with ``python -m bench.store``. A run of five linked stages of 2,000 nodes; nothing in it needs torch.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.arguments import options
from bench.figures import COLUMNS, Figure, cpu, in_turns, paired, rows, size, size_of, table
from bench.link_speed import stages
from bench.stores import accuracy
from fxstore import connect
from fxstore.link import structure_of
from fxstore.records import RunRecord
from fxstore.store.parquet import graph_files

SCANNED = ("position", "name", "op", "target", "op_type", "role", "dtype", "fingerprint")
SCANNED_NODES = 100_000


def record() -> RunRecord:
    """Returns a run of 10,010 nodes with an overlay of 1,000 numbers."""
    made = tuple(stages(5, 2_000))
    return RunRecord("bench", made, structure_of(list(made)), (accuracy(0),))


def content(run: RunRecord) -> list[pa.Table]:
    """Returns the tables that a store keeps of a run, each distinct graph once."""
    graphs = [found for graph in run.structure.graphs for found in graph_files(graph.tables).values()]
    return [*graphs, *run.structure.tables.values(), *(overlay.metrics for overlay in run.overlays)]


def figures(quick: bool) -> Iterator[Figure]:
    """Yields what the suite shows of the store."""
    run = record()
    tables = content(run)
    with tempfile.TemporaryDirectory() as name:
        folder, number = Path(name), itertools.count()
        written = sum(one.num_rows for one in tables)

        def commit() -> float:
            with connect(folder / f"store{next(number)}") as store:
                return written / cpu(lambda: store.commit(run))

        def plain() -> float:
            to = folder / f"plain{next(number)}"
            to.mkdir()
            return written / cpu(lambda: [pq.write_table(one, to / f"{i}.parquet") for i, one in enumerate(tables)])

        both = in_turns(commit, plain, 5 if quick else 15)
        yield paired("store", "a run committed", "rows/s", "higher", "plain pyarrow writing", both)
        yield size("store", "a run's bytes", used(folder / "store0"), "its columns, zstd 19", squeezed(tables))
        with connect(folder / "store0") as store:
            before = used(store.path)
            store.commit(run)
            grown = used(store.path) - before
        yield size("store", "the same run again", grown, "its numbers, zstd 19", squeezed([run.overlays[0].metrics]))
        yield scanned(folder / "large", 5 if quick else 15, SCANNED_NODES // 4 if quick else SCANNED_NODES)


def used(path: Path) -> int:
    """Returns the bytes of a store's graphs, structures and runs."""
    return sum(size_of(path / part) for part in ("graphs", "structures", "runs"))


def squeezed(tables: list[pa.Table]) -> int:
    """Returns the bytes of all columns, each compressed as a whole: about what zstd leaves of what they hold."""
    codec = pa.Codec("zstd", 19)
    total = 0
    for one in tables:
        for column in one.itercolumns():
            total += sum(len(codec.compress(part)) for part in parts(column.combine_chunks()) if part)
    return total


def parts(values: pa.Array) -> Iterator[bytes]:
    """Yields what an array holds: which values there are, how long each is, and the values one after the other."""
    if values.null_count:
        yield np.packbits(values.is_valid().to_numpy(False)).tobytes()
    if pa.types.is_string(values.type):
        yield pc.binary_length(values).fill_null(0).to_numpy(False).astype(np.int32).tobytes()
        yield "".join(values.drop_null().to_pylist()).encode()
    elif pa.types.is_list(values.type):
        yield pc.list_value_length(values).fill_null(0).to_numpy(False).astype(np.int32).tobytes()
        yield from parts(values.flatten())
    elif pa.types.is_struct(values.type):
        for part in values.flatten():
            yield from parts(part)
    else:
        yield values.drop_null().to_numpy(False).tobytes()


def scanned(path: Path, rounds: int, nodes: int) -> Figure:
    """Returns how fast all rows of columns are read and looked at, beside copying as many bytes in memory."""
    made = tuple(stages(2, nodes // 2))
    query = f"SELECT {', '.join(f'max({name})' for name in SCANNED)} FROM nodes"
    with connect(path) as store:
        store.commit(RunRecord("large", made, structure_of(list(made))))
        held = store.sql(f"SELECT {', '.join(SCANNED)} FROM nodes").arrow().nbytes
        block, target = np.ones(held, np.uint8), np.zeros(held, np.uint8)
        copies = 20

        def copy() -> None:
            for _ in range(copies):
                np.copyto(target, block)

        both = in_turns(
            lambda: held / cpu(lambda: store.sql(query).arrow()) / 1e6, lambda: copies * held / cpu(copy) / 1e6, rounds
        )
    return paired("store", f"scan, {len(SCANNED)} columns", "MB/s", "higher", "memory, copied", both)


if __name__ == "__main__":
    options(__file__, __doc__).parse_args()
    print(table(rows(figures(False)), COLUMNS))
