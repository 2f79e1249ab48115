"""The committed runs of a store, and the only place that knows which files hold what."""

from __future__ import annotations

import errno
import os
import re
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from fxstore import tables
from fxstore.store import manifest, tagging
from fxstore.store.directory import RUN_PREFIX, Directory
from fxstore.store.runs import CommittedRun

_RUN_NAME: Final = re.compile(f"{RUN_PREFIX}([0-9a-f]{{8}})")
# A directory's time may be as coarse as this; one that changed within it before we looked may change again unseen.
_COARSE_NS: Final = 2_000_000_000


class Catalog:
    """The runs that were committed when :meth:`refresh` last looked, oldest first."""

    def __init__(self, directory: Directory) -> None:
        self.directory = directory
        self.runs: dict[str, CommittedRun] = {}
        self._committed: dict[str, CommittedRun] = {}
        self._runs_directory = str(directory.runs)
        self._seen: frozenset[str] = frozenset()
        self._unchanged_since: int | None = None
        self._present: set[str] = set()
        self._names: dict[str, str] = {}
        self._latest: CommittedRun | None = None
        self._all: dict[str, list[str]] = {}

    def refresh(self) -> bool:
        """Takes in what was committed or removed since; returns whether anything was.

        A committed run never changes, and the tags that it gets later are names of files, so comparing the names beside
        the run directories is enough. A run whose
        ``run.json`` cannot be read, or whose graphs are missing, is left out with a warning: the others stay readable.
        """
        names = self._list()
        if names is None or names == self._seen:
            return False
        gone, new = self._seen - names, names - self._seen
        runs = {run_id: run for run_id, run in self._committed.items() if f"{RUN_PREFIX}{run_id}" not in gone}
        runs |= self._read(sorted(match[1] for match in map(_RUN_NAME.fullmatch, new) if match))
        self._committed = dict(sorted(runs.items(), key=lambda item: (item[1].created_at, item[0])))
        tags = tagging.named(names)
        self.runs = {
            run_id: run._replace(tags={**run.tags, **tags[run_id]}) if run_id in tags else run
            for run_id, run in self._committed.items()
        }
        self._seen = names
        self._index()
        return True

    def _list(self) -> frozenset[str] | None:
        """Returns the names of the run directories; None where none can have come or gone since the last time."""
        before = time.time_ns()
        changed = os.stat(self.directory.runs).st_mtime_ns
        if changed == self._unchanged_since:
            return None
        names = frozenset(os.listdir(self.directory.runs))
        self._unchanged_since = changed if before - changed > _COARSE_NS else None
        return names

    def _index(self) -> None:
        by_name = {run.name: run_id for run_id, run in self.runs.items()}
        self._names = {**by_name, **{run_id: run_id for run_id in self.runs}}
        newest_first = reversed(self.runs.values())
        complete = next((run for run in newest_first if run.status == "complete"), None)
        self._latest = complete or next(reversed(self.runs.values()), None)
        self._all = {}

    def _read(self, run_ids: list[str]) -> dict[str, CommittedRun]:
        known = manifest.load(self.directory) if len(run_ids) > 1 else {}
        found: dict[str, CommittedRun] = {}
        for run_id in run_ids:
            try:
                found[run_id] = known.get(run_id) or self._read_one(run_id)
            except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
                _leave_out(run_id, _said(error))
        missing = self._missing({run.structure_hash: run for run in found.values()}.values())
        for run in [run for run in found.values() if run.structure_hash in missing]:
            _leave_out(run.run_id, f"{missing[run.structure_hash]}: {os.strerror(errno.ENOENT)}")
            del found[run.run_id]
        return found

    def _read_one(self, run_id: str) -> CommittedRun:
        run = CommittedRun.from_json((self.directory.run(run_id) / "run.json").read_text("utf-8"))
        if run.run_id != run_id:
            raise ValueError(f"it names run {run.run_id}")
        return run

    def _missing(self, runs: Iterable[CommittedRun]) -> dict[str, Path]:
        """Returns, for each structure that lacks some of its files' directories, the first of them.

        Directories that stand together are found by one listing.
        """
        contents = {
            run.structure_hash: [
                self.directory.structure(run.structure_hash),
                *map(self.directory.graph, run.graph_hashes),
            ]
            for run in runs
        }
        for shard in {path.parent for paths in contents.values() for path in paths if path.name not in self._present}:
            if shard.is_dir():
                self._present.update(os.listdir(shard))
        firsts = {
            structure: next((path for path in paths if path.name not in self._present), None)
            for structure, paths in contents.items()
        }
        return {structure: path for structure, path in firsts.items() if path is not None}

    def committed(self) -> Iterable[CommittedRun]:
        """Returns the runs as they were committed, without the tags that they got later."""
        return self._committed.values()

    def latest(self) -> CommittedRun | None:
        """Returns the newest complete run, the newest of any status where none is complete, or None."""
        return self._latest

    def names(self) -> dict[str, str]:
        """Returns the run id for each name (of its latest run) and each id; where both are alike, the id counts."""
        return self._names

    def find(self, run: str | None) -> CommittedRun | None:
        """Returns a run by id or name, or the latest; None where there is none."""
        return self._latest if run is None else self.runs.get(self._names.get(run, ""))

    def files(self, run: CommittedRun, relation: str) -> list[str]:
        """Returns the files of a relation that hold one run's rows."""
        if relation in tables.RUN_TABLES:
            return [f"{self._runs_directory}/{RUN_PREFIX}{run.run_id}/{relation}.parquet"]
        if relation in tables.STRUCTURE_TABLES:
            return [f"{self.directory.structure(run.structure_hash)}/{relation}.parquet"]
        return [f"{self.directory.graph(graph)}/{relation}.parquet" for graph in run.graph_hashes]

    def all_files(self, relation: str) -> list[str]:
        """Returns the files of a relation over all runs, each once; a file without rows where there is no run."""
        if relation not in self._all:
            own = relation in tables.RUN_TABLES
            runs = self.runs.values() if own else {run.structure_hash: run for run in self.runs.values()}.values()
            found = dict.fromkeys(file for run in runs for file in self.files(run, relation))
            self._all[relation] = list(found) or [str(self.directory.empty(relation))]
        return self._all[relation]


def _leave_out(run_id: str, why: str) -> None:
    warnings.warn(f"run {run_id} is left out: {why}", stacklevel=5)


def _said(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    return f"its run.json cannot be read ({error})"
