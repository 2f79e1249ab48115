"""Segments: the overlays and metrics of many runs in two files, as a compaction writes them.

A segment is as immutable as a run. One that takes the place of others names them, so that its rename is one step from
the old ones to the new one; what it replaces is ignored from then on, and removed later.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fxstore import tables
from fxstore.store import integrity, manifest, parquet, reading
from fxstore.store.directory import Directory
from fxstore.store.runs import CommittedRun

if TYPE_CHECKING:
    import pyarrow.parquet as pq

DESCRIPTION: Final = "runs.json"
# Rows that a question of one run may read beside its own: few enough to cost less than opening a file.
_GROUP_ROWS: Final = 16_384
Rows = Callable[[str], Iterable[pa.Table]]


@dataclass(frozen=True)
class Segment:
    """One segment.

    Attributes:
        runs: Its runs by their ids.
        replaces: Names of the segments that it takes the place of.
    """

    name: str
    runs: dict[str, CommittedRun]
    replaces: frozenset[str]


def names(directory: Directory) -> frozenset[str]:
    """Returns the names of all segments, as they stood at one time."""
    found = _listed(directory.segments)
    while found != (again := _listed(directory.segments)):
        found = again
    return found


def _listed(path: Path) -> frozenset[str]:
    try:
        return frozenset(name for name in os.listdir(path) if not name.startswith("."))
    except FileNotFoundError:  # a store from before the first compaction
        return frozenset()


def read(directory: Directory, name: str) -> Segment:
    """Returns a segment.

    Raises:
        OSError, ValueError, KeyError, TypeError, IndexError: It cannot be read.
    """
    said = reading.parsed(reading.text(directory.segment(name) / DESCRIPTION))
    return Segment(name, manifest.from_said(said), frozenset(map(str, said["replaces"])))


def live(segments: Iterable[Segment]) -> list[Segment]:
    """Returns the segments that no other one replaces."""
    segments = list(segments)
    replaced = {name for segment in segments for name in segment.replaces}
    return [segment for segment in segments if segment.name not in replaced]


def write(
    directory: Directory, staging: Path, runs: Sequence[CommittedRun], rows: Rows, replaces: Iterable[str] = ()
) -> Segment:
    """Writes a segment and publishes it by one rename.

    Args:
        runs: As they were committed, by rising run key, so that an engine finds one run's row groups by their bounds.
        rows: Gives, for a relation, tables with the rows of these runs in that order, as their files have them.
        replaces: Names of the segments that it takes the place of.
    """
    segment = Segment(secrets.token_hex(8), {run.run_id: run for run in runs}, frozenset(replaces))
    finished = staging / segment.name
    finished.mkdir()
    for relation, schema in tables.RUN_TABLES.items():
        keyed = parquet.keyed(schema, "run_key", pa.int32())
        parquet.write_groups(_grouped(rows(relation), keyed), keyed, finished / f"{relation}.parquet")
    digests = integrity.of_files(finished, [f"{relation}.parquet" for relation in tables.RUN_TABLES])
    text = manifest.to_text(runs, replaces=sorted(segment.replaces), files=digests)
    parquet.write_text(text, finished / DESCRIPTION)
    parquet.sync(finished)
    directory.segments.mkdir(exist_ok=True)
    os.rename(finished, directory.segment(segment.name))
    parquet.sync(directory.segments)
    return segment


def _grouped(parts: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yields the rows in tables of about the same size; a run that is not large stays in one of them."""
    waiting: list[pa.Table] = []
    for part in parts:
        waiting.append(part.select(schema.names).cast(schema))
        if sum(table.num_rows for table in waiting) >= _GROUP_ROWS:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def by_run(folder: Path, relation: str) -> dict[int, pa.Table]:
    """Returns the rows of a relation in a directory of a run or a segment, by run key; none for runs without rows."""
    with _opened(folder / f"{relation}.parquet") as file:
        table = file.read()
    keys = table["run_key"].to_numpy()
    if not len(keys):
        return {}
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    ends = [*starts[1:].tolist(), len(keys)]
    return {int(keys[start]): table.slice(start, end - start) for start, end in zip(starts.tolist(), ends, strict=True)}


def own_tables(folder: Path, run: CommittedRun) -> dict[str, pa.Table]:
    """Returns the overlays and metrics of one run, without their key, from its directory or its segment's."""
    import pyarrow.compute as pc  # not loaded by a question

    found: dict[str, pa.Table] = {}
    for relation, schema in tables.RUN_TABLES.items():
        with _opened(folder / f"{relation}.parquet") as file:
            groups = [number for number in range(file.num_row_groups) if _may_hold(file, number, run.run_key)]
            rows = file.read_row_groups(groups)
        found[relation] = as_given(rows.filter(pc.equal(rows["run_key"], run.run_key)), schema)
    return found


def as_given(rows: pa.Table | None, schema: pa.Schema) -> pa.Table:
    """Returns rows as a writer gave them: without the run's key."""
    return schema.empty_table() if rows is None else rows.select(schema.names).cast(schema)


def _may_hold(file: pq.ParquetFile, number: int, run_key: int) -> bool:
    group = file.metadata.row_group(number)
    bounds = group.column(file.schema_arrow.get_field_index("run_key")).statistics
    return bounds is None or not bounds.has_min_max or bounds.min <= run_key <= bounds.max


def _opened(path: Path) -> pq.ParquetFile:
    import pyarrow.parquet as pq

    return pq.ParquetFile(path)
