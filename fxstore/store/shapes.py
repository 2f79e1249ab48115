"""What files of a store must hold, whatever their digests say: who writes both can make them agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from fxstore import tables
from fxstore.store import parquet, reading
from fxstore.store.directory import RELATIONS, RUN_PREFIX, Directory
from fxstore.store.runs import CommittedRun


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
