"""One comparison of two tensors, in float64, with a number or the reason why there is none."""

from __future__ import annotations

from fxstore.metrics.comparison import Measured, compare, judged, not_measured
from fxstore.metrics.definitions import BETTER, DEFAULT, METRICS, UNIT, Metric
from fxstore.metrics.description import Description, describe
from fxstore.metrics.operands import QParams
from fxstore.metrics.resolve import Asked, register, resolve

__all__ = [
    "BETTER",
    "DEFAULT",
    "METRICS",
    "UNIT",
    "Asked",
    "Description",
    "Measured",
    "Metric",
    "QParams",
    "compare",
    "describe",
    "judged",
    "not_measured",
    "register",
    "resolve",
]
