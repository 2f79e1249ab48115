"""Reads ``.pt2`` files of ``torch.export.save`` with zipfile and json alone: the graphs; no weight, no pickle.

``torch.export.load`` unpickles constants and example inputs where the safe way fails; here they are left alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from fxstore.ingest.archive import Archive
from fxstore.ingest.export_json import Program, read_program

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
