"""The committed runs of a store, and the only place that knows which files hold what."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fxstore import tables
from fxstore.store.directory import FORMAT, Directory

_RUN_ID: Final = re.compile("[0-9a-f]{8}")
Files = dict[str, list[str]]
"""Relation to the files that hold it; never an empty list."""


@dataclass(frozen=True)
class CommittedRun:
    """One run as its ``run.json`` describes it.

    Attributes:
        run_id: Eight hexadecimal digits of ``run_key``.
        run_key: 31 bits; the high bits of each of the run's nids.
        created_at: UTC, ISO 8601 with microseconds.
        stages: One mapping per stage, in order: stage, stage_index, kind, status, note.
        graph_hashes: Each distinct graph once.
        nodes: Number of nodes: ordinals run from 0 to it.
    """

    run_id: str
    run_key: int
    name: str
    model: str | None
    created_at: str
    status: str
    tags: dict[str, str]
    versions: dict[str, str]
    structure_hash: str
    stages: tuple[dict[str, Any], ...]
    graph_hashes: tuple[str, ...]
    nodes: int

    def to_json(self) -> str:
        """Returns the text of the run's ``run.json``."""
        return json.dumps({"format": FORMAT, **self.__dict__}, indent=1, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> CommittedRun:
        """Returns the run that a ``run.json`` describes.

        Raises:
            ValueError, KeyError, TypeError: The text does not describe one.
        """
        found = json.loads(text)
        if found["format"] > FORMAT:
            raise ValueError(f"format {found['format']}")
        fields = {name: found[name] for name in cls.__dataclass_fields__}
        return cls(**{**fields, "stages": tuple(fields["stages"]), "graph_hashes": tuple(fields["graph_hashes"])})


class Catalog:
    """The runs that were committed when :meth:`refresh` last looked, oldest first."""

    def __init__(self, directory: Directory) -> None:
        self.directory = directory
        self.runs: dict[str, CommittedRun] = {}
        self._seen: frozenset[str] = frozenset()
        self._contents: dict[Path, frozenset[str]] = {}

    def refresh(self) -> bool:
        """Takes in what was committed or removed since; returns whether anything was.

        A committed run never changes, so comparing the names of the run directories is enough. A run whose
        ``run.json`` cannot be read, or whose graphs are missing, is left out with a warning: the others stay readable.
        """
        names = frozenset(filter(_RUN_ID.fullmatch, os.listdir(self.directory.runs)))
        if names == self._seen:
            return False
        runs = {name: self.runs[name] for name in names & self.runs.keys()}
        for name in sorted(names - self._seen):
            if run := self._read(name):
                runs[name] = run
        self.runs = dict(sorted(runs.items(), key=lambda item: (item[1].created_at, item[0])))
        self._seen = names
        return True

    def _read(self, name: str) -> CommittedRun | None:
        path = self.directory.run(name) / "run.json"
        try:
            run = CommittedRun.from_json(path.read_text("utf-8"))
            if run.run_id != name:
                raise ValueError(f"it names run {run.run_id}")
            for content in (self.directory.structure(run.structure_hash), *map(self.directory.graph, run.graph_hashes)):
                self._listing(content)
        except (OSError, ValueError, KeyError, TypeError) as error:
            warnings.warn(f"run {name} is left out: {_said(error)}", stacklevel=4)
            return None
        return run

    def latest(self) -> CommittedRun | None:
        """Returns the newest complete run, the newest of any status where none is complete, or None."""
        newest_first = list(reversed(self.runs.values()))
        return next((run for run in newest_first if run.status == "complete"), next(iter(newest_first), None))

    def names(self) -> dict[str, str]:
        """Returns the run id for each name (of its latest run) and each id; where both are alike, the id counts."""
        by_name = {run.name: run.run_id for run in self.runs.values()}
        return {**by_name, **{run_id: run_id for run_id in self.runs}}

    def structure_files(self, structure_hash: str, graph_hashes: Iterable[str]) -> Files:
        """Returns the files of a structure and of its graphs."""
        graphs = [self.directory.graph(graph_hash) for graph_hash in graph_hashes]
        files = {name: self._existing(name, graphs) for name in tables.GRAPH_TABLES}
        own = [self.directory.structure(structure_hash)]
        return files | {name: self._existing(name, own) for name in tables.STRUCTURE_TABLES}

    def all_files(self) -> Files:
        """Returns the files of every relation over all runs, each once."""
        graphs = dict.fromkeys(h for run in self.runs.values() for h in run.graph_hashes)
        structures = dict.fromkeys(run.structure_hash for run in self.runs.values())
        places = (
            (tables.GRAPH_TABLES, [self.directory.graph(graph) for graph in graphs]),
            (tables.STRUCTURE_TABLES, [self.directory.structure(structure) for structure in structures]),
            (tables.RUN_TABLES, [self.directory.run(run_id) for run_id in self.runs]),
        )
        return {name: self._existing(name, directories) for names, directories in places for name in names}

    def _existing(self, relation: str, directories: Iterable[Path]) -> list[str]:
        name = f"{relation}.parquet"
        found = [str(directory / name) for directory in directories if name in self._listing(directory)]
        return found or [str(self.directory.empty(relation))]

    def _listing(self, directory: Path) -> frozenset[str]:
        listing = self._contents.get(directory)
        if listing is None:
            listing = self._contents[directory] = frozenset(os.listdir(directory))
        return listing


def _said(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    return f"its run.json cannot be read ({error})"
