"""What a caller may ask for as a metric: a name, a limit, a function of their own, a comparator of ExecuTorch."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Final

from fxstore.errors import UsageError, nearest
from fxstore.metrics.definitions import BITWISE, DEFAULT, DIRECTIONS, METRICS, UNDECLARED, Metric, known_better
from fxstore.metrics.operands import Array

Function = Callable[[Any, Any], Any]
"""Takes the reference and the value, returns a number or a dict of numbers by name."""

_LIMIT: Final = re.compile(r"^(?P<metric>[^<>]+?)\s*(?P<sign>>=|<=)\s*(?P<limit>\S+)$")
_MISMATCH: Final = re.compile(r"^mismatch\((?P<atol>[^,()]+),(?P<rtol>[^,()]+)\)$")
_ATOL, _RTOL = 1e-8, 1e-5
_DECIBELS: Final = frozenset({"snr", "sqnr", "psnr", "snrcomparator"})


@dataclass(frozen=True)
class Asked:
    """One metric that was asked for.

    Attributes:
        name: As it is stored.
        unit: ``1`` for a ratio, ``value`` for the tensor's own unit.
        better: ``higher`` or ``lower``; None where nobody has said: then it is shown, and neither ranked nor judged.
        metric: The built-in formula; None where ``function`` makes the number.
        function: Takes both operands as float64 arrays of one shape.
        tolerance: atol and rtol of a mismatch share, or None.
        finite_only: ``function`` would take NaN for 0, so it is not called on operands that are not finite.
        threshold: The last number that is still good; None for no verdict.
        is_valid: Tells whether a number is good, where a threshold alone does not; or None.
    """

    name: str
    unit: str
    better: str | None
    metric: Metric | None = None
    function: Callable[[Array, Array], Any] | None = None
    tolerance: tuple[float, float] | None = None
    finite_only: bool = False
    threshold: float | None = None
    is_valid: Callable[[float], Any] | None = None


_registered: dict[str, Asked] = {}
_by_function: dict[Function, Asked] = {}


def register(
    name: str, function: Function | None = None, *, unit: str = "value", better: str | None = None
) -> Callable[[Function], Function]:
    """Makes a function a metric: by its name from now on, and as ``module:function`` on the command line.

    Called on a function, or as a decorator: ``@register("hue", unit="degree", better="lower")``.

    Args:
        name: Under which its numbers are stored; of a dict that it returns, as ``name.key``.
        function: Takes the reference and the value, float64 arrays of one shape, dequantised, NaN and infinities as
            they are; returns a number, or a dict of them.
        unit: Of the number.
        better: ``higher`` or ``lower``; None: its numbers are shown, but not ranked, coloured as good or bad, or
            checked by a rule.

    Raises:
        UsageError: The name is built in or no name, or ``better`` is none of these.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[\w.\-]+", name) or name in (*METRICS, "mismatch", BITWISE):
        raise UsageError(f"a metric cannot be called {name!r}", hint="letters, digits, '_', '.' and '-'; not built in")
    _checked(name, better)

    def keep(given: Function) -> Function:
        if not callable(given):
            raise UsageError(f"metric {name!r} is a {type(given).__name__}, not a function")
        _registered[name] = _by_function[given] = Asked(name, unit, better, function=given)
        return given

    if function is not None:
        keep(function)
    return keep


def resolve(metrics: object = None) -> tuple[Asked, ...]:
    """Returns what was asked for, each name once, in order; the defaults for None.

    Of several functions of one name, as lambdas are, the later ones are numbered: ``<lambda>_2``.

    Args:
        metrics: One of these or a sequence of them: a name (``cosine``, ``mismatch(1e-3,1e-2)`` with atol and rtol, a
            registered one), a name with a limit (``cosine>=0.99``, ``mse<=1e-4``), ``module:function``, a function,
            a ``NumericalComparatorBase`` class or object of ExecuTorch; or a dict from these to thresholds.

    Raises:
        UsageError: There is no such metric, or a limit is no number or points the wrong way.
    """
    if metrics is None:
        metrics = DEFAULT
    if isinstance(metrics, Mapping):
        found = [_with_threshold(_one(item), limit) for item, limit in metrics.items()]
    elif isinstance(metrics, Sequence) and not isinstance(metrics, str):
        found = [item if isinstance(item, Asked) else _one(item) for item in metrics]
    else:
        found = [_one(metrics)]
    named: dict[str, Asked] = {}
    formulas = {asked.name for asked in found if asked.function is None}
    for asked in found:
        one = _numbered(asked, named, formulas)
        named[one.name] = one
    return tuple(named.values())


def _numbered(asked: Asked, named: Mapping[str, Asked], formulas: Set[str]) -> Asked:
    """Returns a metric under a name that no other function, and no formula, has."""
    name, number = asked.name, 1
    while asked.function is not None and (
        name in formulas or (name in named and named[name].function is not asked.function)
    ):
        number += 1
        name = f"{asked.name}_{number}"
    return asked if name == asked.name else replace(asked, name=name)


def _one(item: object) -> Asked:
    if isinstance(item, str):
        limit = _LIMIT.match(item)
        return _limited(limit) if limit else _named(item.strip())
    if hasattr(item, "element_compare"):
        return _comparator(item)
    if callable(item):
        return _by_function.get(item) or _function(item)
    raise UsageError(f"a {type(item).__name__} is no metric", hint="a name, a function or a comparator")


def _function(item: Function) -> Asked:
    name = str(getattr(item, "__name__", "metric"))
    return Asked(name, str(getattr(item, "unit", "value")), _declared(item, name), function=item)


def _declared(item: object, name: str) -> str | None:
    """Returns the direction that a function or comparator declares, or that its name is known for."""
    return _checked(name, getattr(item, "better", None)) or known_better(name)


def _checked(name: str, better: str | None) -> str | None:
    if better is not None and better not in DIRECTIONS:
        raise UsageError(f"better={better!r} of metric {name}", hint="'higher' or 'lower'")
    return better


def _limited(match: re.Match[str]) -> Asked:
    asked = _named(match["metric"])
    if asked.better is None:  # the sign says it
        asked = replace(asked, better="higher" if match["sign"] == ">=" else "lower")
    wanted = ">=" if asked.better == "higher" else "<="
    if match["sign"] != wanted:
        raise UsageError(f"{match[0]!r}: of {asked.name} {asked.better} is better", hint=f"write {asked.name}{wanted}N")
    return _with_threshold(asked, match["limit"])


def _with_threshold(asked: Asked, limit: object) -> Asked:
    if limit is None:
        return asked
    if asked.better is None:
        what = f"the metric {asked.name!r} has no direction, so the threshold {limit!r} makes no verdict"
        raise UsageError(what, hint=UNDECLARED)
    try:
        number = float(limit)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = float("nan")
    if number != number:
        raise UsageError(f"the threshold of {asked.name} is {limit!r}, not a number")
    return replace(asked, threshold=number, is_valid=None)


def _named(name: str) -> Asked:
    if (built_in := METRICS.get(name)) is not None:
        return Asked(name, built_in.unit, built_in.better, metric=built_in)
    if name in _registered:
        return _registered[name]
    if name == BITWISE:
        return Asked(name, "count", "lower", finite_only=True)
    if name == "mismatch":
        return Asked(name, "1", "lower", tolerance=(_ATOL, _RTOL))
    if match := _MISMATCH.match(name):
        return Asked(name, "1", "lower", tolerance=(_tolerance(match["atol"]), _tolerance(match["rtol"])))
    if ":" in name:
        return _one(_imported(name))
    known = [*METRICS, "mismatch", BITWISE, *_registered]
    raise UsageError(f"no metric {name!r}", hint=nearest(name, known) or f"one of {', '.join(known)}")


def _tolerance(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number < float("inf"):
        raise UsageError(f"mismatch takes two tolerances, not {text.strip()!r}", hint="mismatch(atol,rtol)")
    return number


def _imported(name: str) -> object:
    """Returns what ``module:function`` names; importing it runs that module."""
    module, _, attribute = name.partition(":")
    try:
        found = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever importing a module of the user's raises
        what = f"cannot import the metric {name!r}: {type(error).__name__}: {error}"
        raise UsageError(what, hint="write module:function") from error
    if not callable(found) and not hasattr(found, "element_compare"):
        raise UsageError(f"{name!r} is a {type(found).__name__}, not a function")
    return found


def _comparator(item: Any) -> Asked:
    """Makes a metric of ExecuTorch's ``NumericalComparatorBase``: its class, or an object of it.

    ``metric_name()``, ``is_valid_score()``, ``better`` and ``unit`` are honoured where it has them. Its documentation
    says that lower values typically are better, which is false of ExecuTorch's own SNR: nothing is concluded from it.
    """
    try:
        comparator = item() if isinstance(item, type) else item
        name = str(comparator.metric_name()) if hasattr(comparator, "metric_name") else type(comparator).__name__
    except Exception as error:  # whatever a comparator of the user's raises
        what = f"the comparator {getattr(item, '__name__', type(item).__name__)} cannot be asked"
        raise UsageError(f"{what}: {type(error).__name__}: {error}", hint="pass an object of the class") from error
    is_valid = getattr(comparator, "is_valid_score", None)
    better = _declared(comparator, name) or (None if is_valid is None else _told_by(is_valid))
    unit = str(getattr(comparator, "unit", "dB" if name.lower() in _DECIBELS else "value"))
    threshold = _threshold(comparator) if is_valid is not None else None
    return Asked(
        name, unit, better, function=_Compared(comparator), finite_only=True, threshold=threshold, is_valid=is_valid
    )


def _told_by(is_valid: Callable[[float], Any]) -> str | None:
    """Returns the direction of scores whose judge accepts anything large and nothing small, or the other way round."""
    try:
        high, low = bool(is_valid(math.inf)), bool(is_valid(-math.inf))
    except Exception:  # a judge that takes no infinity tells nothing
        return None
    return None if high == low else "higher" if high else "lower"


def _threshold(comparator: Any) -> float | None:
    """Returns the threshold of a comparator with ``is_valid_score``, as Qualcomm's have one, where it is a number."""
    found = getattr(comparator, "threshold", None)
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None


@dataclass(frozen=True)
class _Compared:
    """Calls a comparator as ExecuTorch does: preprocessing first, then element by element."""

    comparator: Any

    def __call__(self, reference: Array, value: Array) -> Any:
        torch = importlib.import_module("torch")  # loaded already: the comparator's module needs it
        operands = (torch.from_numpy(reference.copy()), torch.from_numpy(value.copy()))
        mapping = {((0,), operands[0]): ((0,), operands[1])}
        (_, left), (_, right) = next(iter(self.comparator.preprocessing(mapping).items()))
        return float(self.comparator.element_compare(left, right))
