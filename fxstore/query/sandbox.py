"""The questions of a store within limits that hold whatever a question does."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from fxstore.query import worker
from fxstore.query.hints import literal
from fxstore.query.result import Coverage, KnownNodes, Result

if TYPE_CHECKING:
    import pyarrow as pa

QUESTIONS: Final = frozenset({
    "sql", "worst", "first_bad", "sync", "sync_nid", "trace", "ancestors", "descendants", "neighbourhood",
    "nodes_between", "shortest_path", "common_ancestors", "subgraph", "match", "run_diff", "metric_diff", "op_counts",
    "fallback", "history", "first_broken", "same_operator", "stage_errors", "runs",
    "stages", "metrics", "overlays",
})  # fmt: skip


class Limited:
    """Asks each question in a process of its own, which ends at the limits; made by ``Store.limited``.

    Every method of the store that gives a :class:`Result` is here, with the same arguments; names are checked when the
    rows are needed.
    """

    def __init__(
        self,
        path: str,
        known_nodes: Callable[[], KnownNodes],
        finished: Callable[[Result], Result],
        timeout: float | None,
        memory_mb: int | None,
    ) -> None:
        self._path = path
        self._known_nodes = known_nodes
        self._finished = finished
        self._limits = timeout, memory_mb

    def __getattr__(self, question: str) -> Callable[..., Result]:
        if question not in QUESTIONS:
            raise AttributeError(f"{question!r} is no question that takes limits")

        def ask(*arguments: Any, **named: Any) -> Result:
            answer = _Answer(lambda: worker.fetch(self._path, question, arguments, named, *self._limits))
            given = [*map(literal, arguments), *(f"{name} := {literal(value)}" for name, value in named.items())]
            shown = str(arguments[0]) if question == "sql" else f"{question}({', '.join(given)})"
            told = Result(
                shown,
                lambda: answer.said[0],
                self._known_nodes,
                lambda: answer.said[1],
                why_empty=lambda: answer.said[2],
            )
            return self._finished(told)

        return ask


class _Answer:
    """Rows and coverage of one question, asked once."""

    def __init__(self, fetch: Callable[[], tuple[pa.Table, Coverage | None, str | None]]) -> None:
        self._fetch = fetch

    @cached_property
    def said(self) -> tuple[pa.Table, Coverage | None, str | None]:
        return self._fetch()
