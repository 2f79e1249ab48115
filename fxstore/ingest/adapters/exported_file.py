"""The adapter for ``.pt2`` files; needs no torch."""

from __future__ import annotations

from pathlib import Path

from fxstore.ingest.adapters import Ingested
from fxstore.records import Stage


class ExportedFileAdapter:
    """A ``.pt2`` file: one stage, with a graph per method and those nested in it."""

    endings = (".pt2",)

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a path that ends in ``.pt2``."""
        return isinstance(source, Path) and source.suffix in self.endings

    def read(self, source: Path) -> Ingested:
        """Reads the graphs with zipfile and json alone."""
        from fxstore.ingest.exported_file import read_exported

        programs = read_exported(source)
        return Ingested((Stage("", tuple(graph for one in programs for graph in one.graphs), programs[0].kind),))
