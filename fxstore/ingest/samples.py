"""The inputs of a measurement, and what becomes of the numbers of several."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fxstore.errors import UsageError
from fxstore.ingest.overlays import ROWS
from fxstore.records import Overlay


@dataclass(frozen=True)
class Sample:
    """One input, as the model's caller gives it."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@dataclass(frozen=True)
class Given:
    """The inputs of one method.

    Attributes:
        carry_state: The samples are steps: each begins with the buffers that the one before left. Else each begins with
            those that were recorded.
    """

    samples: tuple[Sample, ...]
    method: str
    carry_state: bool = False


def given(inputs: object, kwargs: object, method: str, carry_state: bool = False) -> Given:
    """Returns the samples that a caller means.

    Args:
        inputs: A tuple is one input; a list of tuples is one per sample. A list of anything else is one input, too.
        kwargs: A mapping for all samples, or a list with one per sample.

    Raises:
        UsageError: It is neither, or the numbers differ.
    """
    if not isinstance(inputs, tuple | list):
        raise UsageError(f"the input is a {type(inputs).__name__}", hint="pass a tuple, as the model takes it: (x,)")
    several = isinstance(inputs, list) and bool(inputs) and all(isinstance(one, tuple) for one in inputs)
    args = list(inputs) if several else [tuple(inputs)]
    named: list[Any] = list(kwargs) if isinstance(kwargs, list | tuple) else [kwargs or {}] * len(args)
    if len(named) != len(args) or not all(isinstance(one, Mapping) for one in named):
        raise UsageError(f"{len(args)} inputs and {len(named)} keyword inputs", hint="one dict, or a list of as many")
    return Given(tuple(Sample(tuple(a), k) for a, k in zip(args, named, strict=True)), method, carry_state)


def given_by_method(inputs: object, kwargs: object, order: Sequence[str]) -> dict[str, Given]:
    """Returns the inputs of each method of a trace, whose state carries over.

    Args:
        inputs: One input for each execution, in order; or a dict of what :func:`given` takes, by method.
        kwargs: As ``inputs``.
        order: The method of each execution.

    Raises:
        UsageError: As :func:`given`.
    """
    names = list(dict.fromkeys(order))
    if isinstance(inputs, Mapping):
        named = kwargs if isinstance(kwargs, Mapping) else {}
        none = Given((), "", True)
        return {n: given(inputs[n], named.get(n), n, True) if n in inputs else none for n in names}
    if len(names) == 1:
        return {names[0]: given(inputs, kwargs, names[0], carry_state=True)}
    samples = given(inputs, kwargs, "", carry_state=True).samples
    return {
        name: Given(tuple(sample for sample, of in zip(samples, order, strict=False) if of == name), name, True)
        for name in names
    }


def merged(overlay: Overlay, rows: pa.Table) -> Overlay:
    """Returns an overlay with the rows of further samples, numbered on from its own."""
    last = pc.max(overlay.metrics["sample"]).as_py()
    start = 0 if last is None else last + 1
    numbered = rows.set_column(
        rows.column_names.index("sample"),
        rows.schema.field("sample"),
        pc.add(rows["sample"], pa.scalar(start, pa.int32())),
    )
    table = pa.concat_tables([overlay.metrics, numbered.cast(ROWS)])
    return Overlay(overlay.name, overlay.kind, overlay.source, table, overlay.unit, overlay.better)


def aggregated(overlay: Overlay) -> Overlay | None:
    """Returns the mean and the worst of each number over the samples of an overlay; None where there is one sample.

    One row per node, port, metric and scope: ``metric.mean`` and ``metric.worst``. NaN in one sample is NaN in both.
    A node that has a number in some samples only has it over these, and the reason says of how many.
    """
    count = len(pc.unique(overlay.metrics["sample"].drop_null()))
    if count < 2:
        return None
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in overlay.metrics.to_pylist():
        groups[row["ordinal"], row["port"], row["metric"], row["scope"]].append(row)
    rows = [row for group in groups.values() for row in _aggregate(group, count)]
    name = f"{overlay.name} over {count} samples"
    return Overlay(name, "statistics", overlay.source, pa.Table.from_pylist(rows, schema=ROWS))


def _aggregate(group: Sequence[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    numbers = [row["value"] for row in group if row["value"] is not None]
    first = {**group[0], "sample": None, "text": None}
    if not numbers:
        return [{**first, "metric": f"{first['metric']}.{what}", "verdict": None} for what in ("mean", "worst")]
    broken = any(math.isnan(number) for number in numbers)
    worst = math.nan if broken else min(numbers) if first["better"] == "higher" else max(numbers)
    of = None if len(numbers) == count else f"in {len(numbers)} of {count} samples"
    verdicts = {row["verdict"] for row in group} - {None}
    verdict = "fail" if "fail" in verdicts else "pass" if verdicts else None
    return [
        {
            **first,
            "metric": f"{first['metric']}.{what}",
            "value": number,
            "status": "ok" if math.isfinite(number) else "non_finite",
            "reason": of,
            "verdict": verdict if what == "worst" else None,
        }
        for what, number in (("mean", sum(numbers) / len(numbers)), ("worst", worst))
    ]
