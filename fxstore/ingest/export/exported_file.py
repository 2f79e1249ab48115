"""Reads ``.pt2`` files of ``torch.export.save`` with zipfile and json alone: the graphs; no weight, no pickle.

``torch.export.load`` unpickles constants and example inputs where the safe way fails; here they are left alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from fxstore.ingest.adapters import Ingested
from fxstore.ingest.archive import Archive
from fxstore.ingest.export.program_json import Program, read_program
from fxstore.records import Stage

_HINT = "save the program again with torch.export.save()"
_OLD = "serialized_exported_program.json"
_ONLY = "model"


def read_exported(path: str | os.PathLike[str]) -> list[Program]:
    """Returns the programs of a ``.pt2`` file; several of them are methods by their names.

    Raises:
        SourceError: It is no such file, is broken, or is refused; the message names file, entry and cause.
    """
    with Archive(path, "an exported program", _HINT) as archive:
        entries = list(_entries(archive.names))
        if not entries:
            raise archive.error("holds no exported program")
        methods = {name: "forward" if len(entries) == 1 and name == _ONLY else name for _, name in entries}
        return [archive.converted(entry, partial(_program, methods[name])) for entry, name in entries]


def _program(method: str, document: object) -> Program:
    return read_program(document, method)


def _entries(names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yields the entries of graphs, each with its model's name; they stand in one folder named after the file."""
    for name in names:
        parts = name.split("/")
        if parts[-1] == _OLD:
            yield name, _ONLY
        elif parts[-1].endswith(".json") and "models" in parts[:-1][-1:]:
            yield name, parts[-1].removesuffix(".json")


# The adapter for ``.pt2`` files; needs no torch.


class ExportedFileAdapter:
    """A ``.pt2`` file: one stage, with a graph per method and those nested in it."""

    endings = (".pt2",)

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a path that ends in ``.pt2``."""
        return isinstance(source, Path) and source.suffix in self.endings

    def read(self, source: Path) -> Ingested:
        """Reads the graphs with zipfile and json alone."""
        # MERGED

        programs = read_exported(source)
        return Ingested((Stage("", tuple(graph for one in programs for graph in one.graphs), programs[0].kind),))
