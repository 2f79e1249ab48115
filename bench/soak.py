"""Many processes on one store at once: writers, readers, one that compacts and collects.

    python -m bench.soak FOLDER --seconds 180

Writers acknowledge each run on their standard output; readers check in every answer that each run that they see has all
its nodes and metrics, and that no run that was acknowledged before they asked is missing. Prints what was done.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pyarrow.parquet  # noqa: F401  (loaded before the clock starts)

from bench.arguments import existing, options, positive
from fxstore import connect
from fxstore.errors import FxstoreError
from fxstore.store import write_run

ROOT = Path(__file__).parents[1]
# One statement, so that all rows are of one state of the store.
WHOLE = """
    SELECT r.run_id, r.nodes, coalesce(n.nodes, 0), coalesce(m.metrics, 0)
    FROM runs AS r
    LEFT JOIN (SELECT run_id, count(*) AS nodes FROM nodes GROUP BY run_id) AS n USING (run_id)
    LEFT JOIN (SELECT run_id, count(*) AS metrics FROM metrics GROUP BY run_id) AS m USING (run_id)"""


def write(store: Path, log: Path, number: int, until: float) -> dict[str, Any]:
    """Commits runs, some of which share graphs, and acknowledges each in ``log``; tags some."""
    from tests.store.records import chain, graph, metric, overlay, run

    count = 0
    with connect(store) as opened, open(log, "a", encoding="utf-8") as acknowledged:
        while time.time() < until:
            names = [f"relu_{j}" for j in range(20 + count % 5)]
            names += [f"own_{number}_{count}"] * (count % 3 == 0)
            values = [metric(f"float:{name}", "cosine", 0.5) for name in names]
            record = run({"float": graph(names, chain(*names))}, name=f"w{number}-{count}",
                         overlays=[overlay("accuracy", values)])  # fmt: skip
            run_id = write_run(opened.directory, record)
            acknowledged.write(f"{run_id}\n")
            acknowledged.flush()
            if count % 10 == 0:
                opened.tag(run_id, {"kept": "yes"})
            count += 1
    return {"runs": count}


def read(store: Path, logs: list[Path], until: float) -> dict[str, Any]:
    """Asks over all runs and over one; raises where a run is torn or missing."""
    questions, most = 0, 0
    with connect(store, read_only=True) as opened:
        while time.time() < until:
            before = acknowledged(logs)
            rows = opened.sql(WHOLE).fetchall()
            torn = [row for row in rows if not row[1] == row[2] == row[3]]
            if torn:
                raise SystemExit(f"torn: {torn[:3]}")
            if lost := before - {str(row[0]) for row in rows}:
                raise SystemExit(f"lost: {sorted(lost)[:3]}")
            if rows:
                run_id = str(rows[questions % len(rows)][0])
                worst = len(opened.worst("cosine", n=100, run=run_id))
                if worst != rows[questions % len(rows)][1]:
                    raise SystemExit(f"torn: run {run_id} ranks {worst} nodes")
            questions, most = questions + 2, max(most, len(rows))
    return {"questions": questions, "most_runs": most}


def keep(store: Path, until: float) -> dict[str, Any]:
    """Compacts and collects, again and again; what is replaced goes at once."""
    compacted, collected, removed = 0, 0, 0
    with connect(store) as opened:
        while time.time() < until:
            done = opened.compact(grace=0)
            compacted, removed = compacted + bool(done.segments), removed + done.removed
            opened.gc(grace=60)
            collected += 1
            time.sleep(0.2)
    return {"compactions": compacted, "collections": collected, "directories_removed": removed}


def acknowledged(logs: list[Path]) -> set[str]:
    """Returns the ids that writers have acknowledged so far."""
    found: set[str] = set()
    for log in logs:
        if log.exists():
            text = log.read_text("utf-8")
            found.update(text[: text.rfind("\n") + 1].split())
    return found


def main(folder: Path, seconds: float, writers: int = 8, readers: int = 4) -> dict[str, Any]:
    """Runs all processes for some seconds and returns what they did.

    Raises:
        SystemExit: A run was torn or lost, or a process failed.
    """
    store = folder / "store"
    shutil.rmtree(store, ignore_errors=True)
    for log in folder.glob("writer-*.log"):
        log.unlink()
    connect(store).close()
    logs = [folder / f"writer-{number}.log" for number in range(writers)]
    parts = [*(("write", str(number)) for number in range(writers)), *[("read", "")] * readers, ("keep", "")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.soak", str(folder), "--part", part, "--number", number,
             "--writers", str(writers)],
            cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for part, number in parts
    ]  # fmt: skip
    done: dict[str, Any] = {"seconds": seconds, "writers": writers, "readers": readers}
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()  # it is ready
    until = str(time.time() + seconds)
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(f"{until}\n")
        process.stdin.flush()
    ends = [(*process.communicate(), process.returncode) for process in processes]
    for said, wrong, code in ends:
        if code:
            raise SystemExit(wrong or said)
        for key, value in json.loads(said).items():
            done[key] = max(value, done.get(key, 0)) if key == "most_runs" else done.get(key, 0) + value
    with connect(store) as opened:
        expected = acknowledged(logs)
        found = {run.run_id for run in opened.committed_runs()}
        checked = opened.verify()
        done |= {"lost": len(expected - found), "problems": len(checked.problems), "acknowledged": len(expected)}
        tagged = opened.sql("SELECT count(*) FROM runs WHERE tags['kept'] = 'yes'").fetchall()[0][0]
        done["tags_lost"] = sum(len(range(0, len(acknowledged([log])), 10)) for log in logs) - int(str(tagged))
        opened.compact(grace=0)
        done["files_in_the_end"] = sum(path.is_file() for path in (store / "segments").rglob("*"))
        done["run_directories_in_the_end"] = sum(path.is_dir() for path in (store / "runs").iterdir())
    return done


def part(arguments: argparse.Namespace) -> dict[str, Any]:
    """Does what one process does, from when it is told until when."""
    from tests.store import records  # noqa: F401

    with connect(arguments.folder / "store", read_only=True) as opened:
        opened.runs().arrow()  # what is loaded for it is loaded before the clock starts
    print("ready", flush=True)
    arguments.until = float(sys.stdin.readline())
    store = arguments.folder / "store"
    logs = [arguments.folder / f"writer-{number}.log" for number in range(arguments.writers)]
    if arguments.part == "write":
        number = int(arguments.number)
        return write(store, logs[number], number, arguments.until)
    return read(store, logs, arguments.until) if arguments.part == "read" else keep(store, arguments.until)


if __name__ == "__main__":
    parser = options(__file__, __doc__)
    parser.add_argument("folder", type=existing, help="an existing directory; the store in it is made anew")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--writers", type=positive, default=8)
    for hidden in ("--part", "--number"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("error")
    if given.part:
        try:
            print(json.dumps(part(given)))
        except FxstoreError as error:
            raise SystemExit(f"{given.part}: {error} | {error.hint}") from error
    else:
        print(json.dumps(main(given.folder, given.seconds, given.writers), indent=1))
