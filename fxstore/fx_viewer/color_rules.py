"""From what is known of a node to its colour."""

from __future__ import annotations

import colorsys
import hashlib
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final

from fxstore import extensions
from fxstore.errors import UsageError
from fxstore.fx_viewer.models import Legend, non_finite, number_of, text_of

RuleType = Callable[..., "ColorRule"]
NodesData = Mapping[str, Mapping[str, Any]]

COLOR_MAPS: Final[Mapping[str, tuple[str, ...]]] = {
    "viridis": ("#6b3f86", "#4a6d9c", "#3f9a94", "#7fc66b", "#f0e34f"),
    "reds": ("#ffeae3", "#fcbea5", "#fb8a6b", "#e94a39", "#a81016"),
    "greens": ("#e9f7e4", "#bfe6b7", "#86cc85", "#3fa65c", "#0a6b33"),
    "blues": ("#e4eefa", "#bcd6ee", "#7db5dd", "#3d8bc5", "#0b559f"),
    "red_green": ("#c62a2f", "#ee8e5c", "#f5e6a0", "#97cc78", "#2a8a48"),
}
"""Colours at equal steps from the least value to the greatest; ``red_green`` is red at the least."""
NON_FINITE: Final[Mapping[str, str]] = {"NaN": "#b3006e", "Infinity": "#0a86b8", "-Infinity": "#6b4fb0"}
_LEGEND_STEPS: Final = 5
_FEW: Final = 10
_OUTLIERS: Final = 0.05


class ColorRule(ABC):
    """Colours nodes by one attribute of their data. A subclass may colour as it likes.

    Args:
        attribute: Key in a node's data.
    """

    def __init__(self, attribute: str) -> None:
        self.attribute = attribute

    @abstractmethod
    def apply(self, nodes_data: NodesData) -> tuple[dict[str, str], Legend]:
        """Returns the colours.

        Args:
            nodes_data: Node id to the node's data.

        Returns:
            Node id to ``#rrggbb``, for the nodes that have a colour, and the legend: ``{"label", "color"}`` each.
        """


class CategoricalColorRule(ColorRule):
    """Gives each text a colour of its own, the same one in every graph.

    Args:
        attribute: Key in a node's data; None and what is absent have no colour.
        color_map: Colours of some texts.
    """

    def __init__(self, attribute: str, color_map: Mapping[str, str] | None = None) -> None:
        super().__init__(attribute)
        self.color_map = dict(color_map or {})

    def apply(self, nodes_data: NodesData) -> tuple[dict[str, str], Legend]:
        """Returns the colours; the legend names the mapped texts first, then the others by name."""
        texts = {
            node: text_of(data[self.attribute])
            for node, data in nodes_data.items()
            if data.get(self.attribute) is not None
        }
        used = set(texts.values())
        shown = [*(text for text in self.color_map if text in used), *sorted(used - self.color_map.keys())]
        colors = {text: self.color_map.get(text) or _hashed(text) for text in shown}
        legend = [{"label": text, "color": color} for text, color in colors.items()]
        return {node: colors[text] for node, text in texts.items()}, legend


class NumericColorRule(ColorRule):
    """Colours numbers along a colour map. NaN and the infinities have colours of their own.

    Args:
        attribute: Key in a node's data; what is no number has no colour.
        cmap: A name of ``COLOR_MAPS``.
        vmin: Value of the first colour; by default, and where it is not finite, the least finite one.
        vmax: Value of the last colour; by default, and where it is not finite, the greatest finite one.
        handle_outliers: Of more than ten values, let the scale span the 5th to the 95th percentile.
    """

    def __init__(
        self,
        attribute: str,
        cmap: str = "viridis",
        vmin: float | None = None,
        vmax: float | None = None,
        handle_outliers: bool = True,
    ) -> None:
        super().__init__(attribute)
        self.cmap = cmap
        self.vmin = vmin
        self.vmax = vmax
        self.handle_outliers = handle_outliers
        if cmap.lower() not in COLOR_MAPS:
            known = ", ".join(COLOR_MAPS)
            warnings.warn(f"no colour map {cmap!r}, viridis is used; known: {known}", RuntimeWarning, stacklevel=2)

    def apply(self, nodes_data: NodesData) -> tuple[dict[str, str], Legend]:
        """Returns the colours; the legend has five steps of the scale, and NaN and the infinities where they occur."""
        numbers = {node: number_of(data.get(self.attribute)) for node, data in nodes_data.items()}
        known = {node: _float(value) for node, value in numbers.items() if value is not None}
        finite = sorted(value for value in known.values() if math.isfinite(value))
        broken = {non_finite(value) for value in known.values() if not math.isfinite(value)}
        legend: Legend = []
        low, high = self._ends(finite)
        if finite:
            steps = [i / (_LEGEND_STEPS - 1) for i in range(_LEGEND_STEPS)] if high > low else [1.0]
            values = [low * (1 - step) + high * step for step in steps]
            legend = [
                {"label": _label(value), "color": self._at(step)} for value, step in zip(values, steps, strict=True)
            ]
        legend += [{"label": name, "color": NON_FINITE[name]} for name in NON_FINITE if name in broken]
        return {node: self._color(value, low, high) for node, value in known.items()}, legend

    def _ends(self, finite: list[float]) -> tuple[float, float]:
        if not finite:
            return 0.0, 0.0
        low, high = finite[0], finite[-1]
        if self.handle_outliers and len(finite) > _FEW:
            low = finite[int(len(finite) * _OUTLIERS)]
            high = finite[min(len(finite) - 1, int(len(finite) * (1 - _OUTLIERS)))]
        given = (None if end is None else _float(end) for end in (self.vmin, self.vmax))
        low, high = (
            end if end is not None and math.isfinite(end) else own for end, own in zip(given, (low, high), strict=True)
        )
        return low, max(low, high)

    def _color(self, value: float, low: float, high: float) -> str:
        if not math.isfinite(value):
            return NON_FINITE[non_finite(value)]
        half = 1.0 if math.isfinite(high - low) else 0.5  # a span may be larger than any number
        return self._at((value * half - low * half) / (high * half - low * half) if high > low else 1.0)

    def _at(self, part: float) -> str:
        stops = COLOR_MAPS.get(self.cmap.lower(), COLOR_MAPS["viridis"])
        place = min(1.0, max(0.0, part)) * (len(stops) - 1)
        index = min(len(stops) - 2, int(place))
        pairs = zip(_channels(stops[index]), _channels(stops[index + 1]), strict=True)
        return "#" + "".join(f"{round(a + (b - a) * (place - index)):02x}" for a, b in pairs)


def applied(rule: ColorRule, nodes_data: NodesData, what: str) -> tuple[dict[str, str], Legend]:
    """Returns what a rule gives, as texts; nothing, with a RuntimeWarning, where it fails or gives something else."""
    try:
        colors, legend = rule.apply(nodes_data)
        given = {str(node): text_of(color) for node, color in colors.items() if color is not None}
        return given, [{key: text_of(entry[key]) for key in ("label", "color")} for entry in legend]
    except Exception as error:  # the user's own rule
        warnings.warn(f"color rule of {what} failed: {error!r}", RuntimeWarning, stacklevel=3)
        return {}, []


def checked_rule(rule: ColorRule) -> ColorRule:
    """Returns a rule.

    Raises:
        TypeError: It is none.
    """
    if not callable(getattr(rule, "apply", None)):
        raise TypeError(f"a color rule is a ColorRule, such as NumericColorRule(attribute), not {rule!r}")
    return rule


def _float(value: int | float) -> float:
    """Returns the nearest float; an infinite one for an integer beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _channels(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def _hashed(text: str) -> str:
    """Returns a colour that depends on the text alone."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    hue, lightness = int.from_bytes(digest[:2], "big") / 65536, 0.62 + 0.16 * digest[2] / 255
    return "#" + "".join(f"{round(part * 255):02x}" for part in colorsys.hls_to_rgb(hue, lightness, 0.55))


def _label(value: float) -> str:
    if value == 0:
        return "0"
    if abs(value) >= 1000 or abs(value) < 0.01:
        return f"{value:.2e}"
    return f"{int(value)}" if value.is_integer() else f"{value:.2f}"


_OWN: Final[Mapping[str, RuleType]] = {"numeric": NumericColorRule, "categorical": CategoricalColorRule}


def color_rule(name: str, attribute: str, **options: Any) -> ColorRule:
    """Returns a colour rule by name: ``numeric``, ``categorical``, or one that another package brings.

    Args:
        name: Of an entry point in the group ``fxstore.color_rules``; it names a :class:`ColorRule` class, or a function
            that gives one.
        attribute: Key in a node's data.
        options: What that rule takes.

    Raises:
        UsageError: There is no such rule, it cannot be made with these options, or it is no colour rule.
    """
    make = _OWN.get(name) or extensions.load("color-rules", name, _OWN)
    try:
        rule = make(attribute, **options)
    except Exception as error:  # another package's own class
        raise UsageError(f"color rule {name!r} cannot be made: {extensions.brief(error)}") from error
    if not isinstance(rule, ColorRule):
        raise UsageError(f"color rule {name!r} is no ColorRule, but {type(rule).__name__}")
    return rule
