"""Checks value pairs by running both stages: ``python -m bench.values [MODEL[:q|x] …]``.

Every (node, port) of neighbouring stages that a value class says must be equal is compared by cosine and by largest
difference. Stages that keep floats must agree to rounding; a quantised one to its steps.
"""

from __future__ import annotations

import itertools
import logging
import sys
import warnings
from collections import defaultdict
from typing import Any

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

from bench.models import MODELS, build  # noqa: E402

from fxstore.ingest import adapters  # noqa: E402
from fxstore.ingest.demo.pipeline import compile_network  # noqa: E402
from fxstore.ingest.values import capture_values  # noqa: E402
from fxstore.link import structure_of  # noqa: E402
from fxstore.metrics import compare  # noqa: E402
from fxstore.records import Stage  # noqa: E402

Port = tuple[str, str, int]


def run(name: str, quantise: bool) -> dict[tuple[str, str], tuple[int, int, float]]:
    """Returns, per stage pair: pairs compared, operators with a pair in percent, and the worst cosine."""
    network, inputs = build(name)
    stages: list[Stage] = []
    values: dict[str, dict[Port, Any]] = {}

    def stage(label: str, source: Any) -> None:
        (snapshot,) = adapters.read(source).stages
        stages.append(Stage(label, snapshot.graphs, snapshot.kind))
        if label != "runtime":
            program = source.exported_program() if hasattr(source, "to_executorch") else source
            values[label] = capture_values(program, inputs).values

    compile_network(network, inputs, stage, quantise=quantise)
    structure = structure_of(stages)
    where = []
    for row, graph in zip(structure.tables["graphs"].to_pylist(), structure.graphs, strict=True):
        where += [(row["stage"], row["path"], node) for node in graph.nodes["name"].to_pylist()]
    classes: dict[int, list[tuple[str, Port]]] = defaultdict(list)
    for row in structure.tables["value_classes"].to_pylist():
        home, path, node = where[row["ordinal"]]
        classes[row["value_class"]].append((home, (path, node, row["port"])))
    found = {}
    for earlier, later in itertools.pairwise(values):
        compared, paired, worst = 0, set(), 1.0
        for members in classes.values():
            ours = [values[later][port] for home, port in members if home == later and port in values[later]]
            theirs = [values[earlier][port] for home, port in members if home == earlier and port in values[earlier]]
            for a, b in itertools.product(theirs[:1], ours):
                cosine = compare(a, b, ["cosine"])["cosine"]
                if cosine.number is not None:  # an empty tensor has none
                    compared += 1
                    worst = min(worst, cosine.number)
            if theirs:
                paired |= {port for home, port in members if home == later and port in values[later]}
        found[earlier, later] = (compared, round(100 * len(paired) / len(values[later])), worst)
    return found


def main(wanted: list[str]) -> None:
    """Prints one line per model and stage pair."""
    print(f"{'model':14}{'stages':24}{'pairs':>6}{'paired':>8}  worst cosine")
    for one in wanted:
        name, _, variant = one.partition(":")
        for kind in variant or "qx":
            for (earlier, later), (compared, percent, worst) in run(name, kind == "q").items():
                print(
                    f"{name + ':' + kind:14}{earlier + ' - ' + later:24}{compared:6}{percent:7} %  {worst:.9f}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:] or list(MODELS))
