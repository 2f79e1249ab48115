"""Where everything of a picture stands: panes beside each other, in each its graphs; still plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fxstore.colors.palettes import Palette, palette
from fxstore.colors.scales import with_unit
from fxstore.render.model import ColorBy, DrawnGraph, PageModel, Pane
from fxstore.render.still.coloring import Coloring, coloring
from fxstore.render.still.wording import width_of

HEAD: Final = 46
"""Height of a pane's title and subtitle."""
NAME: Final = 20
"""Height of a graph's title."""
NAME_SIZE: Final = 11.0
MOST_TITLE: Final = 240.0
"""Width that a graph has at least where its title needs it."""
_PANE_GAP, _GRAPH_GAP, _PADDING = 28.0, 40.0, 16.0
_LEAST_PANE: Final = 120.0
_TOP: Final = float(HEAD + NAME)


@dataclass(frozen=True)
class PlacedGraph:
    """One graph of a pane.

    Attributes:
        title: Its title, and what calls it; '' for the only graph of a stage.
        left, top: Of its drawing, in the pane; its title stands above that.
    """

    graph: DrawnGraph
    title: str
    left: float
    top: float


@dataclass(frozen=True)
class PlacedPane:
    """One stage; ``left`` is its place in the picture."""

    pane: Pane
    graphs: Sequence[PlacedGraph]
    left: float
    width: float
    height: float


@dataclass(frozen=True)
class Scene:
    """One picture.

    Attributes:
        note: What was asked, and what is left out.
        colors: All that is known of the nodes.
        ranks: nid to its place in the answer, from 1.
        width, height: Of all panes, in pixels.
    """

    title: str
    note: Sequence[str]
    panes: Sequence[PlacedPane]
    coloring: Coloring
    colors: Sequence[ColorBy]
    palette: Palette
    ranks: dict[int, int]
    more: dict[int, int]
    width: float
    height: float


def scene(model: PageModel, theme: str = "light", color_by: str | None = None) -> Scene:
    """Returns a picture of what a page would show.

    Args:
        theme: ``light`` or ``dark``.
        color_by: As :func:`~fxstore.render.still.coloring.coloring` takes it.

    Raises:
        UsageError: There is no such theme, or no such colours.
    """
    colors = palette(theme)
    panes: list[PlacedPane] = []
    left = 0.0
    for pane in model.panes:
        placed = _placed(pane, left)
        panes.append(placed)
        left += placed.width + _PANE_GAP
    return Scene(
        title=model.title,
        note=[text for text in (model.answer.query if model.answer else "", _left_out(model)) if text],
        panes=panes,
        coloring=coloring(model, colors, color_by),
        colors=model.colors,
        palette=colors,
        ranks={nid: i for i, nid in enumerate(dict.fromkeys(model.highlight), 1)},
        more=dict(model.more),
        width=max(0.0, left - _PANE_GAP),
        height=max((placed.height for placed in panes), default=0.0),
    )


def _left_out(model: PageModel) -> str:
    """Returns how much is drawn; the rest of the page's line is about what one can do on a page."""
    return model.left_out.partition(";")[0]


def _placed(pane: Pane, left: float) -> PlacedPane:
    """Returns a pane with its top graphs side by side, and the nested ones right of them, about as high as the call."""
    shown = [graph for graph in pane.graphs if not graph.beside]
    names = {nid: name for graph in shown for nid, name in _column(graph, "name")}
    titles = [_title(graph, names.get(graph.parent_nid or 0)) for graph in shown]
    stacks: list[_Stack] = []
    heights: dict[int, float] = {}
    at: list[tuple[_Stack, float]] = []
    for graph, title in zip(shown, titles, strict=True):
        nested = graph.parent_nid in names
        caller = heights.get(graph.parent_nid or 0)  # none where graphs call each other in a circle
        wanted = _TOP if caller is None else caller - graph.drawing.height / 2
        stack, y = _stacked(stacks, graph, nested, wanted)
        stack.width = max(stack.width, min(MOST_TITLE, width_of(title, NAME_SIZE, bold=True)))
        at.append((stack, y))
        heights |= {
            nid: y + below for (nid, _), below in zip(_column(graph, "name"), graph.drawing.y.tolist(), strict=True)
        }
    right = _PADDING
    for stack in stacks:
        stack.left, right = right, right + stack.width + _GRAPH_GAP
    placed = [
        PlacedGraph(graph, title, stack.left, y) for graph, title, (stack, y) in zip(shown, titles, at, strict=True)
    ]
    height = max([_TOP, *(stack.bottom for stack in stacks)]) + _PADDING
    return PlacedPane(pane, placed, left, max(_LEAST_PANE, right - _GRAPH_GAP) + _PADDING, height)


def _title(graph: DrawnGraph, caller: str | None) -> str:
    return " · called by ".join(filter(None, (graph.title, caller)))


@dataclass
class _Stack:
    """Graphs one under the other."""

    nested: bool
    left: float = 0.0
    width: float = 0.0
    bottom: float = 0.0


def _stacked(stacks: list[_Stack], graph: DrawnGraph, nested: bool, wanted: float) -> tuple[_Stack, float]:
    """Returns the stack that a graph joins, and its top; a nested graph joins one where it does not hang below all."""
    height = graph.drawing.height
    deepest = max([_TOP + height, *(stack.bottom for stack in stacks)])
    stack, y = None, _TOP
    for one in stacks if nested else ():
        if one.nested and one.bottom + _GRAPH_GAP + NAME + height <= deepest:
            stack, y = one, one.bottom + _GRAPH_GAP + NAME
            break
    if stack is None:
        stack = _Stack(nested)
        stacks.append(stack)
    if nested:
        y = max(y, min(wanted, deepest - height))
    stack.width, stack.bottom = max(stack.width, graph.drawing.width), y + height
    return stack, y


def _column(graph: DrawnGraph, name: str) -> list[tuple[int, str]]:
    return list(zip(graph.nodes["nid"].to_pylist(), graph.nodes[name].to_pylist(), strict=True))


# What a picture says of a node: on its box, and beside it.


_MOST_NUMBERS: Final = 8


def label(node: Mapping[str, Any]) -> tuple[str, str]:
    """Returns the lines of a node's box; the second is '' where it says nothing new."""
    title, name = node["op_type"] or node["role"] or "", node["name"] or ""
    return title, name if name != title else ""


def tooltip(scene: Scene, node: Mapping[str, Any]) -> str:
    """Returns what is told of a node beside its box, a fact per line."""
    shape = "" if node["shape"] is None else f"[{', '.join(node['shape'])}]"
    facts = [node["name"], node["target"], " ".join(filter(None, (node["dtype"], shape))), node["module_path"]]
    facts += list(_numbers(scene.colors, node["nid"]))[:_MOST_NUMBERS]
    return "\n".join(dict.fromkeys(str(fact) for fact in facts if fact))


def _numbers(colors: Sequence[ColorBy], nid: int) -> Iterator[str]:
    for by in colors:
        told = by.texts.get(nid) or by.missing.get(nid)
        if nid in by.values:
            told = with_unit(by.values[nid], by.unit)
        if told:
            yield f"{by.metric}: {told}"
