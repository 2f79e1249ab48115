"""Checks value pairs by running both stages: ``python -m bench.values [NETWORK[:qxes] …]``.

Every (node, port) of neighbouring stages that a value class says must be equal is compared by cosine. Stages that keep
floats must agree to rounding; a quantised one to its steps. Each stage begins with the buffers that the float one had:
calibration runs the prepared one, and so fills its caches.
"""

from __future__ import annotations

import itertools
import logging
import warnings
from collections import defaultdict
from typing import Any

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

from bench.arguments import options  # noqa: E402
from bench.compiling import add_networks, asked, compile_variant  # noqa: E402
from fxstore.ingest import adapters  # noqa: E402
from fxstore.ingest.export.snapshot import state  # noqa: E402
from fxstore.ingest.measure.values import stream_values  # noqa: E402
from fxstore.link import structure_of  # noqa: E402
from fxstore.metrics import compare  # noqa: E402
from fxstore.records import Stage  # noqa: E402

Port = tuple[str, str, int]


def run(name: str, variant: str) -> dict[tuple[str, str], tuple[int, int, float]]:
    """Returns, per stage pair: pairs compared, operators with a pair in percent, and the worst cosine."""
    stages: list[Stage] = []
    values: dict[str, dict[Port, Any]] = {}
    buffers: dict[str, Any] = {}

    def stage(label: str, source: Any, inputs: tuple[Any, ...]) -> None:
        (snapshot,) = adapters.read(source).stages
        stages.append(Stage(label, snapshot.graphs, snapshot.kind))
        if label == "float":
            buffers.update(state(source).written)
        if label != "runtime":
            values[label] = {}
            program = source.exported_program() if hasattr(source, "to_executorch") else source
            given = {name: value.clone() for name, value in buffers.items()}
            stream_values(program, inputs, None, lambda key, take, _: values[label].update({key: take()}), state=given)

    compile_variant(name, variant, stage)
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
    for name, variant in asked(wanted, "qxs"):
        for (earlier, later), (compared, percent, worst) in run(name, variant).items():
            label, between = f"{name}:{variant}", f"{earlier} - {later}"
            print(f"{label:14}{between:24}{compared:6}{percent:7} %  {worst:.9f}", flush=True)


if __name__ == "__main__":
    parser = options(__file__, __doc__)
    add_networks(parser)
    main(parser.parse_args().networks)
