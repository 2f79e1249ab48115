"""All of bench in one table: ``python -m bench [--quick] [-o FILE] [AREA ...]``.

Each area runs in a process of its own, so that one that fails, or whose packages are not there, takes no other with it:
the table then says why. The figures are kept as JSON, in ``bench/results`` unless told otherwise, and
``python -m bench.compare`` tells what got worse between two such files.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from bench.arguments import options
from bench.figures import Figure, rows, table

AREAS = {
    "ingest": "bench.ingest",
    "link": "bench.link_speed",
    "measure": "bench.measure",
    "query": "bench.query",
    "layout": "bench.layout",
    "page": "bench.page",
    "store": "bench.store",
}
# Of threads that wait for each other, the waiting counts as CPU time, too.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
LIMIT_S = {True: 300, False: 3600}
RESULTS = Path(__file__).parent / "results"
PACKAGES = ("fxstore", "duckdb", "pyarrow", "numpy", "torch", "executorch", "fast-sugiyama", "networkx")


def alone(area: str, quick: bool, to: Path) -> None:
    """Measures one area in this process and writes its figures."""
    warnings.simplefilter("ignore")
    found = importlib.import_module(AREAS[area]).figures(quick)
    to.write_text(json.dumps([figure.to_json() for figure in found]), "utf-8")


def measured(area: str, quick: bool) -> tuple[list[Figure], str | None]:
    """Returns an area's figures, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder) / "figures.json"
        command = [sys.executable, "-m", "bench", area, "--alone", str(to), *(["--quick"] if quick else [])]
        try:
            done = subprocess.run(
                command,
                env=os.environ | ONE_THREAD,
                capture_output=True,
                text=True,
                check=False,
                timeout=LIMIT_S[quick],
            )
        except subprocess.TimeoutExpired:
            return [], f"not done in {LIMIT_S[quick]} s"
        if done.returncode:
            return [], (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return [Figure(**one) for one in json.loads(to.read_text("utf-8"))], None


def about(quick: bool) -> dict[str, Any]:
    """Returns what the figures were measured on."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "format": 1,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "python": platform.python_version(),
        "versions": versions,
    }


def main(areas: Iterable[str], quick: bool, to: Path | None) -> int:
    """Prints the table, keeps the figures; returns the exit code."""
    said = about(quick)
    target = to or RESULTS / f"{said['made'].replace(':', '')}.json"
    figures: list[Figure] = []
    missing: dict[str, str] = {}
    for area in areas:
        began = time.perf_counter()
        found, why = measured(area, quick)
        figures += found
        if why is not None:
            missing[area] = why
        print(
            f"{area}: {why or f'{len(found)} figures'}, {time.perf_counter() - began:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    print(table(rows(figures)))
    for area, why in missing.items():
        print(f"{area}: not measured: {why}")
    target.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**said, "missing": missing, "figures": [figure.to_json() for figure in figures]}, indent=1)
    target.write_text(text + "\n", "utf-8")
    print(f"Wrote {target}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    parser = options(__file__, __doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"of {', '.join(AREAS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="smaller networks and fewer rounds: five minutes")
    parser.add_argument("-o", dest="to", type=Path, help="the file of figures")
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if unknown := [area for area in arguments.areas if area not in AREAS]:
        parser.error(f"there is no area {unknown[0]!r}; there are {', '.join(AREAS)}")
    if arguments.alone:
        alone(arguments.areas[0], arguments.quick, arguments.alone)
    else:
        sys.exit(main(arguments.areas or list(AREAS), arguments.quick, arguments.to))
