"""Kills a process at each file operation of what it does, and looks at what it left.

``python -m tests.store.killing DIR WORK [every]`` forks a process for each operation, or for some of them, and prints
how many were killed.
"""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

from fxstore.records import RunRecord
from fxstore.store import Catalog, Directory, open_directory, verify, write_run
from fxstore.store.collection import collect
from fxstore.store.compaction import compact
from fxstore.store.merging import merge
from fxstore.store.runs import add
from tests.store.faults import faults
from tests.store.records import chain, graph, metric, node, overlay, run


def some_run(name: str, operator: str = "relu") -> RunRecord:
    made = graph([node("x", "placeholder"), operator], chain("x", operator))
    return run({"float": made}, name=name, overlays=[overlay("acc", [metric(f"float:{operator}", "cosine", 0.5)])])


def big_run(number: int) -> RunRecord:
    """A run with graphs of its own, of a few ten kilobytes."""
    names = [f"op{number}_{i * 7919 % 10007}" for i in range(400)]
    return run({"float": graph(names, chain(*names))}, name=f"big-{number}")


def make(folder: Path) -> Path:
    """Makes a store with a segment, what it replaced, runs beside it, and graphs of no run; and another to merge."""
    directory = open_directory(folder / "store")
    write_run(directory, some_run("a"), draw=lambda: 2**24)
    write_run(directory, some_run("b"))
    compact(directory)
    for name in ("c", "d"):
        write_run(directory, some_run(name))
    shutil.rmtree(directory.run(write_run(directory, some_run("gone", "gelu"))))
    other = open_directory(folder / "other")
    for name in ("e", "f"):
        add(other, write_run(other, some_run(name, "tanh")), {"from": "other"})
    return folder


def _merge(directory: Directory) -> None:
    # A copy of the base store stands beside it, or one level below.
    candidates = (parent / "other" for parent in directory.root.parents)
    merge(directory, open_directory(next(path for path in candidates if path.exists()), read_only=True))


SOME = 6
WORKS: dict[str, Callable[[Directory], object]] = {
    "commit": lambda directory: write_run(directory, some_run("new", "sigmoid")),
    "tag": lambda directory: add(directory, "01000000", {"green": "true"}),
    "compact": lambda directory: compact(directory, grace=0),
    "gc": lambda directory: collect(directory, keep_last=3),
    "merge": _merge,
}


def ids(directory: Directory) -> set[str]:
    catalog = Catalog(directory, quiet=True)
    catalog.refresh()
    return set(catalog.runs)


def check(directory: Directory, expected: set[str], work: str, finished: bool, where: str) -> None:
    """Raises where a run that must be there is not, or one is not whole.

    Args:
        expected: Ids of the runs that were there before.
        finished: The work is done, so what it was to do is there.
    """
    catalog = Catalog(directory)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        catalog.refresh()
    found = set(catalog.runs)
    if work == "gc":
        assert found <= expected, where
        assert len(found) >= 3, where
        assert not finished or len(found) == 3, where
    else:
        assert expected <= found, where
        more = {"commit": 1, "merge": 2}.get(work, 0)
        assert not finished or len(found - expected) >= more, where
    if finished and work == "tag":
        assert catalog.runs["01000000"].tags == {"green": "true"}, where
    if finished and work == "compact":
        assert catalog.loose() == [], where
    problems = verify(directory).problems
    assert problems == (), (where, problems)


def places(base: Path, work: str, every: bool) -> range:
    """Returns the numbers of the operations at which a work is to fail: all, or about ten."""
    path = base / "count" / "store"
    shutil.copytree(base / "store", path, dirs_exist_ok=True)
    directory = open_directory(path)
    with faults(path, 1 << 40, "io") as found:
        WORKS[work](directory)
    shutil.rmtree(path.parent)
    count = (1 << 40) - found.left
    return range(1, count + 1, 1 if every else max(1, count // SOME))


def main(folder: Path, work: str, every: bool) -> int:
    make(folder)
    expected = ids(open_directory(folder / "store"))
    killed = 0
    for at in places(folder, work, every):
        path = folder / f"{at}" / "store"
        shutil.copytree(folder / "store", path)
        directory = open_directory(path)
        child = os.fork()
        if child == 0:
            try:
                with faults(path, at, "kill"):
                    WORKS[work](directory)
            except BaseException as error:
                os.write(2, repr(error).encode())
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        finished = os.WIFEXITED(status)
        assert not finished or os.WEXITSTATUS(status) == 0, "the work failed"
        check(directory, expected, work, finished, f"killed at operation {at}")
        WORKS[work](directory)  # the next process goes on
        check(directory, expected, work, True, f"again, after operation {at}")
        left = ids(directory)
        collect(directory, grace=0)
        assert left == ids(directory)
        assert [name for name in os.listdir(directory.staging) if name != "maintenance.lock"] == []
        shutil.rmtree(path)
        killed += not finished
    return killed


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:] == ["every"]))
