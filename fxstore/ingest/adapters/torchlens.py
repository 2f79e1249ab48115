"""The adapter for live TorchLens traces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fxstore.ingest.adapters import Ingested
from fxstore.ingest.torchlens_trace import is_trace


class TorchLensAdapter:
    """A ``torchlens.Trace``: what was run as a stage, what was measured as overlays."""

    options = frozenset({"fields"})

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a trace, without importing TorchLens."""
        return is_trace(source)

    def read(self, source: Any, *, fields: Iterable[str | Callable[[Any], Any]] | Mapping[str, Any] = ()) -> Ingested:
        """Takes a snapshot of a trace.

        Args:
            fields: Names of fields of TorchLens's records, or functions of a record, as further overlays.
        """
        from fxstore.ingest.torchlens_overlays import overlays_of
        from fxstore.ingest.torchlens_trace import stage_of

        stage = stage_of(source)
        return Ingested((stage,), tuple(overlays_of(source, fields)), stage.status)
