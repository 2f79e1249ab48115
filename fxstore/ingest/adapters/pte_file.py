"""The adapter for ``.pte`` files; needs neither torch nor executorch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fxstore.ingest.adapters import Ingested
from fxstore.ingest.overlays import NodeOverlay
from fxstore.records import Stage

if TYPE_CHECKING:
    from fxstore.ingest.pte import Program


class PteFileAdapter:
    """A ``.pte`` program: one stage with a graph per method, those of its XNNPACK delegates, and sizes."""

    endings = (".pte",)

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a path that ends in ``.pte``."""
        return isinstance(source, Path) and source.suffix in self.endings

    def read(self, source: Path) -> Ingested:
        """Reads the program's FlatBuffer; nothing is loaded or run."""
        from fxstore.ingest.pte import read_pte

        program = read_pte(source)
        stage = Stage("", tuple(program.graphs), "runtime", note="; ".join(program.notes) or None)
        return Ingested((stage,), (sizes(program),))


def sizes(program: Program) -> NodeOverlay:
    """Returns the sizes in a program as an overlay: of constants and payloads by node, of memory by method."""
    return NodeOverlay.of("size", "static", _sizes(program), source="the program", unit="bytes", better="lower")


def _sizes(program: Program) -> Iterator[dict[str, object]]:
    for size in program.sizes:
        text = size.method if size.node is None else None
        yield {
            "method": size.method, "path": size.path, "node": size.node, "metric": size.metric,
            "value": float(size.count), "text": text,
        }  # fmt: skip
