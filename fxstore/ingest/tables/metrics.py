"""Overlays out of whatever numbers a user brings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from fxstore.errors import SourceError, UsageError
from fxstore.ingest import metric_formats, metric_rows, metric_tables
from fxstore.ingest.metric_rows import About, Where
from fxstore.ingest.overlays import Laid, NodeOverlay, RunNodes

_SEVERAL = "names several nodes"


@dataclass(frozen=True)
class Given(NodeOverlay):
    """An overlay that a user brings: a name that stands in several places is an error, not a guess."""

    def lay(self, run: RunNodes) -> Iterator[Laid]:
        """Returns the overlay on the run's nodes.

        Raises:
            UsageError: A name stands in several graphs, and nothing says in which.
        """
        check_names(self, run)
        return super().lay(run)


def check_names(overlay: NodeOverlay, run: RunNodes) -> None:
    """Raises where a name of the overlay stands in several graphs of the run, and nothing says in which."""
    columns = [overlay.rows[key].to_pylist() for key in ("node", "stage", "method", "path")]
    for node, stage, method, path in dict.fromkeys(zip(*columns, strict=True)):
        found = run.find(node, stage, method, path) if node is not None else 0
        if isinstance(found, str) and found.startswith(_SEVERAL):
            raise UsageError(
                f"overlay {overlay.name}: {node!r} {found}", hint="say which: stage='…', method='…' or path='…'"
            )


def overlay_of(
    name: str,
    data: Any,
    where: Mapping[str, str | None],
    about: Mapping[str, str | None],
    metric: str | None = None,
    metrics: Sequence[str] | None = None,
    node: str | None = None,
) -> Given:
    """Returns the overlay that a mapping, a table or a file of one gives.

    Args:
        name: Its name.
        data: Mapping of :func:`fxstore.ingest.metric_rows.rows_of_mapping`, DataFrame, anything with
            ``__arrow_c_stream__``, or the path of a CSV or Parquet file.
        where: ``stage``, ``method`` and ``path`` of the nodes; None: any.
        about: ``kind``, ``unit`` and ``better``; None: told by the rows.
        metric: Name of the metric, where the data does not name it.
        metrics: Which to take of a table; default: all.
        node: The column that names the nodes.

    Raises:
        SourceError: The data cannot be read, or is refused.
        UsageError: It names no nodes, or an argument does not fit it.
    """
    if not isinstance(name, str) or not name:
        raise UsageError("an overlay's name is a text", hint="overlay('accuracy', …)")
    given, place = About(**about), Where(**where)
    if isinstance(data, Mapping):
        rows = metric_rows.rows_of_mapping(data, place, metric or "value")
        return _given(name, rows, "given", given)
    if isinstance(data, str):
        data = Path(data)
    table = data if metric_tables.is_pandas(data) and _is_inspectors(data.columns) else _table(data)
    names = table.column_names if isinstance(table, pa.Table) else list(table.columns)
    if metric_formats.is_numeric_gap(names):
        return _known(metric_formats.numeric_gap(table, name, metric or "gap", place), given)
    if metric_formats.is_events(names):
        return _known(metric_formats.events(table, name, place), given)
    if metric_formats.is_qnn_debugger(table.column_names):
        return _known(metric_formats.qnn_debugger(table, name, place), given)
    if metric is not None and metrics is None:
        metrics = [metric]
    rows = metric_rows.rows_of_table(table, place, metrics, node)
    source = data.suffix[1:].upper() if isinstance(data, Path) else "given"
    return _given(name, rows, source, given)


def _is_inspectors(columns: Iterable[str]) -> bool:
    """Tells whether a frame is Inspector's, whose cells are lists, dicts and tensors."""
    names = list(columns)
    return metric_formats.is_numeric_gap(names) or metric_formats.is_events(names)


def _given(name: str, rows: pa.Table, source: str, about: About) -> Given:
    kind, unit, better = about.of(rows)
    return Given(name, kind, rows, source, unit, better)


def _table(data: Any) -> Any:
    if isinstance(data, Path) and not data.is_file():
        raise SourceError(f"no such file: {data}", hint="check the path")
    if not (isinstance(data, Path) or metric_tables.is_pandas(data) or hasattr(data, "__arrow_c_stream__")):
        raise UsageError(
            f"an overlay cannot be made of a {type(data).__name__}",
            hint="pass a mapping from node to number, a DataFrame, an Arrow table, or a CSV or Parquet file",
        )
    return metric_tables.read_table(data)


def _known(overlay: NodeOverlay, about: About) -> Given:
    """Returns the same with what the user says about it."""
    found = Given(overlay.name, overlay.kind, overlay.rows, overlay.source, overlay.unit, overlay.better)
    return replace(
        found,
        kind=about.kind or found.kind,
        unit=about.unit or found.unit,
        better=about.better or found.better,
    )
