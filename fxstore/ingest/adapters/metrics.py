"""The adapter for numbers by node: mappings, DataFrames, Arrow streams, CSV and Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fxstore.ingest.adapters import Ingested


class MetricsAdapter:
    """A table or a mapping of metrics: an overlay on the stages of the run's other sources."""

    options = frozenset({"stage", "method", "path", "metric", "metrics", "node", "kind", "unit", "better"})
    endings = (".csv", ".tsv", ".parquet")

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a mapping of numbers, a table, or a file of one."""
        from fxstore.ingest import metric_rows, metric_tables

        if isinstance(source, Path):
            return source.suffix.lower() in metric_tables.SUFFIXES and source.is_file()
        return (
            metric_tables.is_pandas(source)
            or hasattr(source, "__arrow_c_stream__")
            or metric_rows.is_mapping_of_metrics(source)
        )

    def read(
        self,
        source: Any,
        *,
        stage: str | None = None,
        method: str | None = None,
        path: str | None = None,
        metric: str | None = None,
        metrics: Sequence[str] | str | None = None,
        node: str | None = None,
        kind: str | None = None,
        unit: str | None = None,
        better: str | None = None,
    ) -> Ingested:
        """Returns one overlay, called after the file, or ``metrics``.

        Args:
            stage: Where its nodes are; default: in whatever stage has the name, as long as it is one.
            method: Entry point that they belong to; default: any.
            path: Nested graph that they stand in; default: the outermost that has the name.
            metric: Name of the metric, for a mapping of plain numbers and for Inspector's frame.
            metrics: Those to take from a table; default: all.
            node: The column that names the nodes; default: ``node``, ``name``, ``node_name`` or ``id``.
            kind: ``accuracy``, ``latency``, ``category``, ``static`` or ``statistics``; default: ``category`` for
                texts, else ``accuracy``.
            better: ``higher`` or ``lower``.

        Raises:
            SourceError: The table cannot be read, or is refused.
            UsageError: An option does not fit it.
        """
        from fxstore.ingest.metrics_given import overlay_of

        name = source.stem if isinstance(source, Path) else "metrics"
        chosen = [part for part in metrics.split(",") if part] if isinstance(metrics, str) else metrics
        about = {"kind": kind, "unit": unit, "better": better}
        where = {"stage": stage, "method": method, "path": path}
        return Ingested(overlays=(overlay_of(name, source, where, about, metric, chosen, node),))
