"""Scales stand on what a metric means: the cases that the page's script is tested with, too."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from fxstore.colors.scales import Measure, anchored, badness, domain_of, ends, standing, ticks

CASES = json.loads((Path(__file__).parents[1] / "scales.json").read_text("utf-8"))


@pytest.mark.parametrize("one", CASES, ids=lambda one: one["why"])
def test_scales(one: dict[str, Any]) -> None:
    measure = Measure(one["metric"], one["unit"], one["better"], one.get("whole"), one.get("threshold"))
    values = {int(nid): float(value) for nid, value in one["values"].items()}
    domain = anchored(measure) or domain_of([v for v in values.values() if math.isfinite(v)], measure.better)
    assert domain is not None
    found = {int(nid): badness(values[int(nid)], domain, measure.better) for nid in one["at"]}
    assert found == pytest.approx({int(nid): at for nid, at in one["at"].items()}, abs=1e-6)
    differ = None if one["differ"] is None else frozenset(one["differ"])
    assert [list(pair) for pair in standing(values, measure, differ)] == one.get("standing", [])
    marks, note = ticks(domain, measure)
    if "ends" in one:
        assert list(ends(domain, measure)) == one["ends"]
    if "note" in one:
        assert note == one["note"]
    if "marks" in one:
        assert [text for _, text in marks] == [text for _, text in one["marks"]]
        assert [at for at, _ in marks] == pytest.approx([at for at, _ in one["marks"]], abs=1e-6)
