"""The inputs of a measurement, and what becomes of the numbers of several."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from fxstore.errors import UsageError
from fxstore.ingest.overlays import ROWS, rows_of
from fxstore.metrics.definitions import known_better
from fxstore.records import Overlay

SAMPLE_NAME: Final = "sample_name"
"""Metric of the rows of the run that name an overlay's samples: the name is their text."""


@dataclass(frozen=True)
class Sample:
    """One input, as the model's caller gives it.

    Attributes:
        name: Of a prompt or a step; None where it has none but its number.
        continues: Whether it begins with the buffers that the one before left, instead of those that were recorded.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    name: str | None = None
    continues: bool = False


@dataclass(frozen=True)
class Given:
    """The inputs of one method."""

    samples: tuple[Sample, ...]
    method: str

    def names(self) -> list[pa.Table]:
        """Returns the rows that name the samples in an overlay, as one table, or none where no sample has a name."""
        named = [(number, sample.name) for number, sample in enumerate(self.samples) if sample.name is not None]
        if not named:
            return []
        columns = {"sample": [n for n, _ in named], "text": [name for _, name in named], "port": 0}
        return [rows_of(len(named), {**columns, "metric": SAMPLE_NAME, "status": "ok"})]


def given(inputs: object, kwargs: object, method: str, carry_state: bool = False) -> Given:
    """Returns the samples that a caller means.

    Args:
        inputs: A tuple is one input; a list of tuples is one per sample. A list of anything else is one input, too. A
            dict gives names: each to an input, or to a list of inputs, which are its steps.
        kwargs: A mapping for all samples, or a list with one per sample.
        carry_state: The inputs of a list are steps: each begins with the buffers that the one before left.

    Raises:
        UsageError: It is neither, or the numbers differ.
    """
    samples = [
        Sample(args, {}, _name(name, number, len(several), carry_state), carry_state and number > 0)
        for name, several in _groups(inputs)
        for number, args in enumerate(several)
    ]
    given: list[Any] = list(kwargs) if isinstance(kwargs, list | tuple) else [kwargs or {}] * len(samples)
    if len(given) != len(samples) or not all(isinstance(one, Mapping) for one in given):
        raise UsageError(
            f"{len(samples)} inputs and {len(given)} keyword inputs", hint="one dict, or a list of as many"
        )
    return Given(tuple(replace(sample, kwargs=k) for sample, k in zip(samples, given, strict=True)), method)


def _groups(inputs: object) -> list[tuple[str | None, list[tuple[Any, ...]]]]:
    """Returns the inputs under each name; those without a name under None."""
    if isinstance(inputs, Mapping):
        if not inputs or not all(isinstance(one, tuple | list) for one in inputs.values()):
            raise UsageError(
                "a dict of inputs gives each a name",
                hint='pass {"first prompt": (x,)}, or a list of tuples under a name: its steps',
            )
        return [(str(name), _several(one)) for name, one in inputs.items()]
    if not isinstance(inputs, tuple | list):
        raise UsageError(f"the input is a {type(inputs).__name__}", hint="pass a tuple, as the model takes it: (x,)")
    return [(None, _several(inputs))]


def _several(inputs: tuple[Any, ...] | list[Any]) -> list[tuple[Any, ...]]:
    are_samples = isinstance(inputs, list) and bool(inputs) and all(isinstance(one, tuple) for one in inputs)
    return list(inputs) if are_samples else [tuple(inputs)]


def _name(name: str | None, number: int, count: int, is_step: bool) -> str | None:
    """Returns what a sample is called: its name, the place under a name, or which step it is."""
    if count == 1:
        return name
    return f"{name or ''} step {number}".strip() if name is not None or is_step else None


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
        none = Given((), "")
        return {n: given(inputs[n], named.get(n), n, True) if n in inputs else none for n in names}
    if len(names) == 1:
        return {names[0]: given(inputs, kwargs, names[0], carry_state=True)}
    samples = given(inputs, kwargs, "", carry_state=True).samples
    return {
        name: Given(tuple(sample for sample, of in zip(samples, order, strict=False) if of == name), name)
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
    A metric without a direction has no worst.
    A node that has a number in some samples only has it over these, and the reason says of how many.
    """
    measured = overlay.metrics.filter(pc.not_equal(overlay.metrics["metric"], SAMPLE_NAME))
    count = len(pc.unique(measured["sample"].drop_null()))
    if count < 2:
        return None
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in measured.to_pylist():
        groups[row["ordinal"], row["port"], row["metric"], row["scope"]].append(row)
    rows = [row for group in groups.values() for row in _aggregate(group, count, overlay.better)]
    name = f"{overlay.name} over {count} samples"
    return Overlay(name, "statistics", overlay.source, pa.Table.from_pylist(rows, schema=ROWS))


def _aggregate(group: Sequence[dict[str, Any]], count: int, better: str | None) -> list[dict[str, Any]]:
    numbers = [row["value"] for row in group if row["value"] is not None]
    better = group[0]["better"] or better or known_better(group[0]["metric"])
    first = {**group[0], "sample": None, "text": None, "better": better}
    kinds = ("mean",) if better is None else ("mean", "worst")
    if not numbers:
        return [{**first, "metric": f"{first['metric']}.{what}", "verdict": None} for what in kinds]
    broken = any(math.isnan(number) for number in numbers)
    worst = math.nan if broken else min(numbers) if better == "higher" else max(numbers)
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
        if what in kinds
    ]
