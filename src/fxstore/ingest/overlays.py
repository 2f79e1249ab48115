"""Numbers that a user brings, laid on the nodes of a stage."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pyarrow as pa

from fxstore.errors import UsageError, nearest
from fxstore.ingest.measure import ROWS
from fxstore.records import Structure


def from_mapping(
    structure: Structure,
    data: Mapping[str, float | Mapping[str, float]],
    *,
    stage: str,
    method: str,
    metric: str,
) -> pa.Table:
    """Returns one row per node and metric; schema :data:`fxstore.ingest.measure.ROWS`.

    Raises:
        UsageError: The stage, or a name, is not in the run, or a name stands in several graphs of the stage.
    """
    ordinals = _ordinals(structure, stage, method)
    rows = []
    for name, given in data.items():
        found = ordinals.get(name, [])
        if len(found) != 1:
            why = f"stands in {len(found)} graphs of" if found else "is not in"
            raise UsageError(f"node {name!r} {why} stage {stage!r}", hint=nearest(name, ordinals))
        for key, value in (given if isinstance(given, Mapping) else {metric: given}).items():
            number = float(value)
            rows.append(
                {
                    "ordinal": found[0],
                    "port": 0,
                    "metric": key,
                    "value": number,
                    "status": "ok" if math.isfinite(number) else "non_finite",
                    "sample": 0,
                }
            )
    return pa.Table.from_pylist(rows, schema=ROWS)


def _ordinals(structure: Structure, stage: str, method: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    rows = structure.tables["graphs"].select(["stage", "method", "base"]).to_pylist()
    for graph, row in zip(structure.graphs, rows, strict=True):
        if (row["stage"], row["method"]) == (stage, method):
            for i, name in enumerate(graph.nodes["name"].to_pylist()):
                found.setdefault(name, []).append(row["base"] + i)
    if not found:
        stages = dict.fromkeys(structure.tables["graphs"]["stage"].to_pylist())
        raise UsageError(f"stage {stage!r} has no method {method!r} here", hint=nearest(stage, stages))
    return found
