"""Digests of files, by which damage is found: each directory of immutable files says what they must be.

A run's ``run.json`` and a segment's ``runs.json`` hold the digests of the files beside them; graphs and structures have
them in ``SHA256SUMS``, as ``sha256sum -c`` reads it, and the runs that refer to them say that they have.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from fxstore import tables
from fxstore.store import parquet, reading
from fxstore.store.directory import RELATIONS, RUN_PREFIX, Directory
from fxstore.store.runs import CommittedRun

NAME: Final = "SHA256SUMS"
DESCRIPTIONS: Final = ("run.json", "runs.json")
Digests = dict[str, str] | None
"""By the names of a directory's files; None where an early fxstore wrote it, without any."""


def of(path: Path) -> str:
    """Returns the SHA-256 of a file, as hexadecimal digits."""
    with reading.opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def of_files(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Returns the digests of some files of a directory, by their names."""
    return {name: of(folder / name) for name in sorted(names)}


def write(folder: Path, names: Iterable[str]) -> None:
    """Writes the digests of some files of a directory beside them."""
    lines = [f"{digest}  {name}\n" for name, digest in of_files(folder, names).items()]
    parquet.write_text("".join(lines), folder / NAME)


def of_rows(own: Mapping[str, pa.Table]) -> str:
    """Returns a digest of the rows of some tables of numbers and texts, however they lie in memory."""
    digest = hashlib.sha256()
    for name, table in own.items():
        digest.update(f"{name} {table.num_rows}\n".encode())
        for column in table.columns:
            for part in _parts(pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)):
                digest.update(part)
    return digest.hexdigest()[:32]


def _parts(values: pa.Array) -> Iterator[bytes]:
    """Yields what tells a column's values: which are there, and these, one after the other."""
    import pyarrow.compute as pc  # not loaded by a question

    yield np.packbits(values.is_valid().to_numpy(zero_copy_only=False)).tobytes()
    there = values.drop_null()
    if pa.types.is_string(values.type):
        yield pc.binary_length(there).to_numpy(zero_copy_only=False).tobytes()
        yield "".join(there.to_pylist()).encode("utf-8", "surrogatepass")
    else:
        yield there.to_numpy(zero_copy_only=False).tobytes()


def are_beside(folders: Iterable[Path]) -> bool:
    """Tells whether directories of graphs and structures all have digests."""
    return all((folder / NAME).is_file() for folder in folders)


def said(folder: Path, digested: Container[str] = ()) -> Digests:
    """Returns the digests that a directory says its files have; None where an early fxstore wrote it, without any.

    Args:
        digested: Names of directories that are known to have digests.

    Raises:
        ValueError: What says it cannot be read, or is not there although it must be.
        OSError: The same.
    """
    for name in DESCRIPTIONS:
        if (folder / name).is_file():
            found = reading.parsed(reading.text(folder / name))
            if not isinstance(found, dict) or "files" not in found:
                return _none(folder, name, isinstance(found, dict) and found.get("digests") is True)
            return {str(key): str(value) for key, value in dict(found["files"]).items()}
    if not (folder / NAME).is_file():
        return _none(folder, NAME, folder.name in digested)
    pairs = [line.split("  ", 1) for line in reading.text(folder / NAME).splitlines()]
    return {name: digest for digest, name in pairs}


def _none(folder: Path, name: str, digested: bool) -> Digests:
    """Returns that there are no digests; raises where there were some, or where the directory itself is gone.

    What was compacted or collected meanwhile is moved away as a whole: that says nothing of who wrote it.
    """
    os.stat(folder)
    if digested:
        raise ValueError(f"the digests that were written are gone from {name}")
    return None


def damage(path: Path, digested: Container[str] = ()) -> str | None:
    """Returns what is wrong with a file of a store; None where it is as its directory says."""
    return next(iter(damaged([path], digested=digested).values()), None)


def damaged(
    paths: Iterable[Path], known: dict[Path, Digests] | None = None, digested: Container[str] = ()
) -> dict[Path, str]:
    """Returns what is wrong with those of some files that are not as their directories say.

    Args:
        known: What directories say, where it was read before; what is read now is added.
        digested: Names of directories that are known to have digests: :attr:`Catalog.digested`.

    Raises:
        OSError, MemoryError: This process has no memory or handles left, which says nothing about a file.
    """
    known = {} if known is None else known
    found = {}
    for path in paths:
        if path.parent not in known:
            try:
                known[path.parent] = said(path.parent, digested)
            except (OSError, ValueError, TypeError) as error:
                if not reading.blames_the_file(error):
                    raise
                found[path] = f"what describes it cannot be read: {error}"
                continue
        if why := _wrong(path, known[path.parent]):
            found[path] = why
    return found


def _wrong(path: Path, digests: Digests) -> str | None:
    try:
        if digests is None:
            return _unread(path)
        if path.name not in digests:
            return "what describes it does not name it"
        return None if of(path) == digests[path.name] else "its bytes are not those that were written"
    except FileNotFoundError:
        return "it is missing"
    except OSError as error:
        if not reading.blames_the_file(error):
            raise
        return f"it cannot be read: {error.strerror or error}"


def _unread(path: Path) -> str | None:
    """Returns why a Parquet file that has no digest cannot be read; None where it can."""
    import pyarrow.parquet as pq

    try:
        with reading.opened(path) as file:
            pq.read_table(file)
    except (pa.ArrowException, ValueError) as error:
        if not reading.blames_the_file(error):
            raise
        return f"it cannot be read: {error}"
    return None


# What files of a store must hold, whatever their digests say: who writes both can make them agree.


def misshapen(paths: Iterable[Path]) -> dict[Path, str]:
    """Returns of those of some files that do not have the columns of their relation what is wrong.

    Raises:
        OSError, MemoryError: This process has no memory or handles left, which says nothing about a file.
    """
    found = {}
    for path in paths:
        try:
            _check_columns(path)
        except (OSError, ValueError, pa.ArrowException) as error:
            if not reading.blames_the_file(error):
                raise
            found[path] = f"{error}"
    return found


def contradiction(
    directory: Directory, run: CommittedRun, own: Mapping[str, pa.Table], known: dict[str, int]
) -> str | None:
    """Returns where what a run has and refers to contradicts itself or its description; None where it does not.

    Args:
        own: Its overlays and metrics.
        known: The numbers of nodes of what was found good before; what is found good now is added.
    """
    try:
        for graph in set(run.graph_hashes) - known.keys():
            known[graph] = _check_graph(directory.graph(graph))
        seen = " ".join((run.structure_hash, *run.graph_hashes))
        if known.get(seen) != run.nodes:
            _check_structure(directory.structure(run.structure_hash), run, known)
            known[seen] = run.nodes
        _check_range("metrics", own["metrics"]["ordinal"], run.nodes)
        _check_range("metrics", own["metrics"]["ref"], run.nodes)
        _check_range("metrics", own["metrics"]["overlay"], own["overlays"].num_rows)
    except (OSError, ValueError, pa.ArrowException) as error:
        return f"{error}"
    return None


def _check_columns(path: Path) -> None:
    import pyarrow.parquet as pq

    expected = RELATIONS[path.stem]
    with reading.opened(path) as file:
        content = pq.ParquetFile(file)
        found = content.schema_arrow
        keys = content.read(["run_key"])["run_key"] if "run_key" in found.names else None
    for field in expected:
        if field.name not in found.names or found.field(field.name).type != field.type:
            raise ValueError(f"its column {field.name!r} is missing, or of another type than {field.type}")
    if len(found.names) != len(expected):
        raise ValueError(f"it has columns that {path.stem} has not")
    if keys is not None and not set(keys.unique().to_pylist()) <= _keys(path.parent.name, keys):
        raise ValueError("its rows are of another run")


def _keys(folder: str, keys: pa.ChunkedArray) -> set[int]:
    """Returns the keys that rows may have: the run's own in its directory; any but none in a segment."""
    if folder.startswith(RUN_PREFIX):
        return {int(folder.removeprefix(RUN_PREFIX), 16)}
    return set(keys.drop_null().unique().to_pylist())


def _read(folder: Path, relation: str, key: str) -> pa.Table:
    """Returns the rows of a file, which all name the directory that they stand in."""
    path = folder / f"{relation}.parquet"
    try:
        _check_columns(path)
        rows = parquet.read(path)
        if rows.num_rows and rows[key].unique().to_pylist() != [folder.name]:
            raise ValueError(f"its rows are of another {key}")
    except (OSError, ValueError, pa.ArrowException) as error:
        raise ValueError(f"{path}: {error}") from error
    return rows


def _check_graph(folder: Path) -> int:
    """Returns the number of nodes; raises where nodes or edges cannot be those of a graph."""
    nodes, edges, _ = (_read(folder, relation, "graph_hash") for relation in tables.GRAPH_FILES)
    count: int = nodes.num_rows
    if nodes["position"].to_pylist() != list(range(count)):
        raise ValueError(f"{folder}: its nodes are not numbered")
    for end in ("src", "dst"):
        _check_range(f"{folder}: edges", edges[end], count)
    return count


def _check_structure(folder: Path, run: CommittedRun, nodes: Mapping[str, int]) -> None:
    held = {relation: _read(folder, relation, "structure_hash") for relation in tables.STRUCTURE_TABLES}
    graphs = held["graphs"]
    base = 0
    for row in graphs.select(["graph_hash", "base", "nodes"]).to_pylist():
        if (row["base"], row["nodes"]) != (base, nodes.get(row["graph_hash"])):
            raise ValueError(f"{folder}: its graphs do not have the nodes that it says")
        base += row["nodes"]
    if base != run.nodes or set(graphs["graph_hash"].to_pylist()) != set(run.graph_hashes):
        raise ValueError(f"{folder}: its graphs are not those of the run")
    for relation, columns in _ORDINALS.items():
        for column in columns:
            _check_range(f"{folder}: {relation}", held[relation][column], base)


_ORDINALS = {
    "graphs": ("parent",), "links": ("src", "dst"), "sync_sets": ("ordinal",), "value_classes": ("ordinal",),
    "ancestors": ("ordinal",), "unmatched": ("ordinal",),
}  # fmt: skip


def _check_range(what: str, values: pa.ChunkedArray, count: int) -> None:
    import pyarrow.compute as pc

    found = pc.min_max(values).as_py()
    if found["min"] is not None and not 0 <= found["min"] <= found["max"] < count:
        raise ValueError(f"{what} name what is not there")
