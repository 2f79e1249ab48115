from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fxstore import connect

ROOT = Path(__file__).parents[2]


def writer(store: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.store.writer", str(store), name, str(count)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=_environment())


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def whole(store: Path) -> dict[str, str]:
    """Returns name to id of all runs, after checking that each has all its rows."""
    with connect(store, read_only=True) as opened:
        rows = opened.sql("""
            SELECT r.run_id, r.name, r.nodes, count(n.nid),
                   (SELECT count(*) FROM metrics AS m WHERE m.run_id = r.run_id)
            FROM runs AS r JOIN nodes AS n ON n.run_id = r.run_id GROUP BY ALL""").fetchall()
        assert len(rows) == len(opened.runs())
        for _, name, said, nodes, metrics in rows:
            assert said == nodes == metrics, name
        return {str(name): str(run_id) for run_id, name, *_ in rows}


def test_two_writers_and_a_reader(tmp_path: Path) -> None:
    store = tmp_path / "store"
    connect(store).close()
    writers = [writer(store, name, 6) for name in ("a", "b")]
    reads, seen = 0, 0
    with connect(store, read_only=True) as opened:
        while any(process.poll() is None for process in writers):
            rows = opened.sql(
                "SELECT r.nodes, count(*) FROM runs AS r JOIN nodes USING (run_id) GROUP BY ALL"
            ).fetchall()
            assert all(isinstance(n, int) and isinstance(c, int) and c % n == 0 for n, c in rows)
            now = len(opened.runs())
            assert now >= seen
            reads, seen = reads + 1, now
    acknowledged = {run_id for process in writers for run_id in process.communicate()[0].split()}
    assert [process.returncode for process in writers] == [0, 0]
    assert reads > 0
    assert set(whole(store).values()) == acknowledged
    assert len(acknowledged) == 12


@pytest.mark.parametrize("after", [0.05, 0.12])
def test_a_killed_writer_loses_at_most_its_open_run(tmp_path: Path, after: float) -> None:
    store = tmp_path / "store"
    connect(store).close()
    process = writer(store, "k", 10_000)
    assert process.stdout is not None
    acknowledged = [process.stdout.readline().strip()]  # it is at work
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    acknowledged += process.communicate()[0].split()
    found = set(whole(store).values())
    assert set(acknowledged) <= found
    assert len(found) <= len(acknowledged) + 1
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.writer", str(store), "next", "1"],
        cwd=ROOT, env=_environment(), check=True, capture_output=True,
    )  # fmt: skip
    assert done.stdout.decode().strip() in whole(store).values()
