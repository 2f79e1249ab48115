"""A process that writes runs until it is stopped; prints the id of each run that was acknowledged."""

from __future__ import annotations

import sys

from fxstore.store import open_directory, write_run
from tests.store.records import chain, graph, metric, overlay, run


def main(path: str, name: str, count: int) -> None:
    directory = open_directory(path)
    for i in range(count):
        names = [f"relu_{j}" for j in range(20 + i % 3)]
        made = graph(names, chain(*names))
        values = [metric(f"float:{n}", "cosine", 0.5) for n in names]
        run_id = write_run(directory, run({"float": made}, name=f"{name}-{i}", overlays=[overlay("acc", values)]))
        print(run_id, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
