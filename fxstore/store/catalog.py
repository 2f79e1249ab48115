"""The committed runs of a store, and the only place that knows which files hold what."""

from __future__ import annotations

import errno
import os
import re
import time
import warnings
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Final

from fxstore import tables
from fxstore.store import manifest, reading, runs, segments
from fxstore.store.directory import RUN_PREFIX, Directory
from fxstore.store.runs import CommittedRun
from fxstore.store.segments import Segment

_RUN_NAME: Final = re.compile(f"{RUN_PREFIX}([0-9a-f]{{8}})")
# A directory's time may be as coarse as this; one that changed within it before we looked may change again unseen.
_COARSE_NS: Final = 2_000_000_000
_WAITS: Final = 40
_WAIT_S: Final = 0.05
_UNREADABLE: Final = (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError)


class Catalog:
    """The runs that were committed when :meth:`refresh` last looked, oldest first.

    Attributes:
        runs: By their ids, with the tags that they got later.
        damaged: Why a run is left out, by its id.
        incomplete: Those of these that are described, but lack graphs: by their ids, as they were committed.
        unread: Why a segment is left out, by its name.
    """

    def __init__(self, directory: Directory, quiet: bool = False) -> None:
        """Makes a catalog that has not looked yet.

        Args:
            quiet: Do not warn of what is left out.
        """
        self.directory = directory
        self._quiet = quiet
        self.runs: dict[str, CommittedRun] = {}
        self.damaged: dict[str, str] = {}
        self.incomplete: dict[str, CommittedRun] = {}
        self.unread: dict[str, str] = {}
        self._committed: dict[str, CommittedRun] = {}
        self._segments: dict[str, Segment] = {}
        self._folders: dict[str, str] = {}
        self._seen: manifest.Names | None = None
        self._unchanged_since: tuple[int, int] | None = None
        self._present: set[str] = set()
        self._names: dict[str, str] = {}
        self._latest: CommittedRun | None = None
        self._all: dict[str, list[str]] = {}
        self._digested: frozenset[str] | None = None

    @property
    def digested(self) -> frozenset[str]:
        """Names of the directories of graphs and structures that have digests, as runs say that refer to them."""
        if self._digested is None:
            told = {run.structure_hash: run for run in self._committed.values() if run.digests}
            self._digested = frozenset(told) | {graph for run in told.values() for graph in run.graph_hashes}
        return self._digested

    def refresh(self, again: bool = False) -> bool:
        """Takes in what was committed, compacted or removed since; returns whether anything was.

        A committed run never changes, and the tags that it gets later are names of files, so comparing the names beside
        the run directories, and those of segments, is enough. A run whose ``run.json`` cannot be read, or whose graphs
        are missing, is left out with a warning: the others stay readable. Where graphs are missing, the next time looks
        for them again: a collection may have moved them aside, and put them back.

        Args:
            again: Look even where the directories seem unchanged.

        Raises:
            OSError, MemoryError: The directories cannot be read, or this process has no memory or handles left; the
                runs stay as they were.
        """
        found = self._list(again)
        if found is None and self.incomplete:
            found = self._seen
        if found is None or (found == self._seen and not self.incomplete):
            return False
        try:
            while not self._take_in(found):
                found = self._list(True) or found
        except (OSError, MemoryError):  # no memory or handles are left: the next time looks at all of it again
            self._seen = self._unchanged_since = None
            raise
        self._arrange()
        return True

    def _take_in(self, found: manifest.Names) -> bool:
        """Reads what is new; returns False where some of it was taken away after it was listed."""
        self._seen = found
        if not self._read_segments(found.segments):
            return False
        alone = {match[1] for match in map(_RUN_NAME.fullmatch, found.beside_runs) if match}
        self._folders = {
            **{run_id: f"{self.directory.runs}/{RUN_PREFIX}{run_id}" for run_id in alone},
            **{run_id: f"{self.directory.segment(one.name)}" for one in self.segments() for run_id in one.runs},
        }
        kept = {run_id: run for run_id, run in self._committed.items() if run_id in self._folders}
        self.damaged = {run_id: why for run_id, why in self.damaged.items() if run_id in self._folders}
        waiting, self.incomplete = self.incomplete.keys() & self._folders.keys(), {}
        read = self._read(sorted(waiting | (self._folders.keys() - kept.keys() - self.damaged.keys())))
        self._committed = kept | (read or {})
        return read is not None

    def _list(self, again: bool) -> manifest.Names | None:
        """Returns the names of runs, tags and segments; None where none can have come or gone since the last time.

        Runs first: what a compaction takes away from there is in a segment before.
        """
        self.directory.update(again)
        before = time.time_ns()
        changed = manifest.changed(self.directory.runs), manifest.changed(self.directory.segments)
        if changed == self._unchanged_since and not again:
            return None
        found = manifest.Names(manifest.listed(self.directory.runs), segments.names(self.directory))
        self._unchanged_since = changed if before - max(changed) > _COARSE_NS else None
        return found

    def _read_segments(self, found: frozenset[str]) -> bool:
        self._segments = {name: segment for name, segment in self._segments.items() if name in found}
        self.unread = {name: why for name, why in self.unread.items() if name in found}
        for name in sorted(found - self._segments.keys() - self.unread.keys()):
            try:
                self._segments[name] = segments.read(self.directory, name)
            except _UNREADABLE as error:
                if not reading.blames_the_file(error):
                    raise
                if not os.path.lexists(self.directory.segment(name)):
                    return False
                self.unread[name] = _said(error, segments.DESCRIPTION)
                if not self._quiet:
                    warnings.warn(f"segment {name} is left out, and its runs: {self.unread[name]}", stacklevel=5)
        return True

    def segments(self) -> list[Segment]:
        """Returns the segments whose runs count: those that no other one replaces."""
        return segments.live(self._segments.values())

    def replaced(self) -> set[str]:
        """Returns the names of the segments in whose place others stand."""
        return self._segments.keys() - {segment.name for segment in self.segments()}

    def superseded(self) -> set[str]:
        """Returns the ids of the runs whose own directories are still there although a segment holds them."""
        names = self._seen.beside_runs if self._seen else frozenset()
        return {run_id for one in self.segments() for run_id in one.runs if f"{RUN_PREFIX}{run_id}" in names}

    def tags_of_none(self) -> list[str]:
        """Returns the names of the files that are tags of runs that are not there."""
        names = self._seen.beside_runs if self._seen else frozenset()
        return [name for name in sorted(names) if (of := runs.run_of(name)) and of not in self._folders]

    def tag_files(self, run_ids: Container[str]) -> list[str]:
        """Returns the names of the files that are tags of some runs."""
        return runs.files(self._seen.beside_runs if self._seen else (), run_ids)

    def leave_out(self, damage: dict[str, str]) -> None:
        """Takes out runs whose files turned out to be damaged.

        Args:
            damage: Why, by run id.
        """
        for run_id, why in damage.items():
            self._leave_out(run_id, why)
            self._committed.pop(run_id, None)
        self._arrange()

    def _arrange(self) -> None:
        self._committed = dict(sorted(self._committed.items(), key=lambda item: (item[1].created_at, item[0])))
        tags = runs.named(self._seen.beside_runs if self._seen else ())
        self.runs = {
            run_id: run._replace(tags={**run.tags, **tags[run_id]}) if run_id in tags else run
            for run_id, run in self._committed.items()
        }
        self._index()

    def _index(self) -> None:
        by_name = {run.name: run_id for run_id, run in self.runs.items()}
        self._names = {**by_name, **{run_id: run_id for run_id in self.runs}}
        newest_first = reversed(self.runs.values())
        complete = next((run for run in newest_first if run.status == "complete"), None)
        self._latest = complete or next(reversed(self.runs.values()), None)
        self._all = {}
        self._digested = None

    def _read(self, run_ids: list[str]) -> dict[str, CommittedRun] | None:
        """Returns runs that are new here; None where one was taken away meanwhile."""
        compacted = {run_id: run for segment in self.segments() for run_id, run in segment.runs.items()}
        alone = sum(run_id not in compacted for run_id in run_ids)
        known = (manifest.load(self.directory) if alone > 1 else {}) | compacted
        found: dict[str, CommittedRun] = {}
        for run_id in run_ids:
            try:
                found[run_id] = known.get(run_id) or self._read_one(run_id)
            except _UNREADABLE as error:
                if not reading.blames_the_file(error):
                    raise
                if not os.path.lexists(self.directory.run(run_id)):
                    return None
                self._leave_out(run_id, _said(error, "run.json"))
        structures = {run.structure_hash: run for run in found.values()}.values()
        missing = self._missing(structures)
        for _ in range(_WAITS):
            if not missing or not manifest.is_collecting(self.directory):
                break
            time.sleep(_WAIT_S)  # a collection puts back what came to be used meanwhile
            missing = self._missing(structures)
        for run in [run for run in found.values() if run.structure_hash in missing]:
            self._leave_out(run.run_id, f"{missing[run.structure_hash]}: {os.strerror(errno.ENOENT)}")
            self.incomplete[run.run_id] = found.pop(run.run_id)
        self.damaged = {run_id: why for run_id, why in self.damaged.items() if run_id not in found}
        return found

    def _leave_out(self, run_id: str, why: str) -> None:
        if not self._quiet and self.damaged.get(run_id) != why:
            warnings.warn(f"run {run_id} is left out: {why}", stacklevel=5)
        self.damaged[run_id] = why

    def _read_one(self, run_id: str) -> CommittedRun:
        run = CommittedRun.from_json(reading.text(self.directory.run(run_id) / "run.json"))
        if run.run_id != run_id:
            raise ValueError(f"it names run {run.run_id}")
        return run

    def _missing(self, runs: Iterable[CommittedRun]) -> dict[str, Path]:
        """Returns, for each structure that lacks some of its files' directories, the first of them.

        Directories that stand together are found by one listing.
        """
        if self.directory.url:  # fetched when needed
            return {}
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

    def committed(self) -> dict[str, CommittedRun]:
        """Returns the runs as they were committed, without the tags that they got later, by their ids."""
        return self._committed

    def loose(self) -> list[CommittedRun]:
        """Returns, as they were committed, the runs that are in no segment."""
        compacted = {run_id for segment in self.segments() for run_id in segment.runs}
        return [run for run_id, run in self._committed.items() if run_id not in compacted]

    def is_shared(self, run: CommittedRun) -> bool:
        """Tells whether the files of a run's overlays and metrics hold other runs' rows, too."""
        return not self._folders[run.run_id].endswith(f"{RUN_PREFIX}{run.run_id}")

    def folder(self, run_id: str) -> Path:
        """Returns the directory that has a run's overlays and metrics: its own, or its segment's."""
        return Path(self._folders[run_id])

    def users(self, path: Path) -> list[str]:
        """Returns the ids of the runs that need a file of the store."""
        folder = path.parent
        return [
            run_id
            for run_id, run in self._committed.items()
            if self._folders[run_id] == str(folder)
            or self.directory.structure(run.structure_hash) == folder
            or (folder.name in run.graph_hashes and self.directory.graph(folder.name) == folder)
        ]

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
            return [f"{self._folders[run.run_id]}/{relation}.parquet"]
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


def _said(error: Exception, name: str) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    return f"its {name} cannot be read ({error})"
