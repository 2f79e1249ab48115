"""The adapter for the graphs of a training step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fxstore.ingest.adapters import Ingested
from fxstore.ingest.training import TrainingGraphs, is_training_step


class TrainingAdapter:
    """``TrainingGraphs``, or a dict of the graph modules ``forward`` and ``backward``, and ``joint``."""

    options = frozenset({"saved", "forward_outputs"})

    def accepts(self, source: object) -> bool:
        """Tells whether the source holds a training step's graphs."""
        return isinstance(source, TrainingGraphs) or is_training_step(source)

    def read(
        self,
        source: TrainingGraphs | Mapping[str, Any],
        *,
        saved: Sequence[str] | None = None,
        forward_outputs: int | None = None,
    ) -> Ingested:
        """Takes a snapshot of each graph, with the roles that they tell together.

        Args:
            saved: Names of the values that count as saved; default: all that forward returns for backward.
            forward_outputs: How many of forward's values are outputs.
        """
        from fxstore.ingest.training_stages import stages_of

        graphs = source if isinstance(source, TrainingGraphs) else TrainingGraphs(**source)
        if saved is not None:
            graphs = replace(graphs, saved=tuple(saved))
        if forward_outputs is not None:
            graphs = replace(graphs, forward_outputs=forward_outputs)
        stages, overlays = stages_of(graphs)
        complete = all(stage.status == "complete" for stage in stages)
        return Ingested(tuple(stages), tuple(overlays), "complete" if complete else "partial")
