"""What a training step saves for backward, as an overlay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fxstore.ingest.overlays import NodeOverlay
from fxstore.ingest.training import SavedValue


def saved_overlay(name: str, values: Iterable[SavedValue], stage: str, method: str) -> NodeOverlay:
    """Returns two metrics per saved value: ``saved_bytes``, its size, and ``new_bytes``, what only saving it keeps.

    The text of ``new_bytes`` says what is no new memory: ``view of input primals_3``, ``input``.
    """
    return NodeOverlay.of(
        name, "static", _rows(values, stage, method), source="forward graph", unit="B", better="lower"
    )


def _rows(values: Iterable[SavedValue], stage: str, method: str) -> Iterator[dict[str, object]]:
    for value in values:
        for metric, number, text in (
            ("saved_bytes", value.bytes, None),
            ("new_bytes", value.new_bytes, value.note),
        ):
            yield {
                "stage": stage,
                "method": method,
                "node": value.name,
                "port": 0,
                "metric": metric,
                "value": number,
                "text": text,
                "status": "not_measured" if number is None else "ok",
                "reason": "its shape is symbolic" if number is None else None,
                "sample": 0,
            }
