"""A picture as DOT, for graphviz and what else reads it: the graph, its clusters and its colours."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from fxstore.colors.palettes import ink_on
from fxstore.layout import Drawing
from fxstore.render.still import legend
from fxstore.render.still.coloring import Key, Scale
from fxstore.render.still.scene import PlacedGraph, Scene, label, tooltip
from fxstore.render.still.wording import line, printable

_MOST_LABEL: Final = 120
_LEFT: Final = "\\l"
CLUSTERS: Final = ("module", "side", "none")
_SIDES: Final = {
    **dict.fromkeys(("forward", "forward_output", "saved", "recomputed"), "forward"),
    **dict.fromkeys(("backward", "backward_output", "tangent"), "backward"),
}
_BORDERS: Final = {"stripe": "dashed", "cross": "dashed", "dot": "dotted"}


def dot(scene: Scene, cluster: str | None = None) -> str:
    """Returns a DOT document: a cluster per stage, per graph of several, and as ``cluster`` says.

    Args:
        cluster: ``module`` (as modules are nested), ``side`` (forward and backward) or ``none``; by default sides of
            a graph that has both, else modules.
    """
    colors = scene.palette
    writer = _Writer()
    writer.open("digraph fxstore")
    title = "\n".join([scene.title, *scene.note])
    writer.set(
        "graph", label=title, labelloc="t", labeljust="l", fontname="Helvetica", fontsize="18", compound="true",
        bgcolor=colors.graph["paper"], fontcolor=colors.chrome["ink"], rankdir="TB", nodesep="0.2", ranksep="0.35",
    )  # fmt: skip
    writer.set(
        "node", shape="box", style="rounded,filled", fontname="Helvetica", fontsize="11", height="0.3",
        margin="0.1,0.04", color=colors.graph["border"],
    )  # fmt: skip
    writer.set("edge", color=colors.graph["edge"], arrowsize="0.6", fontname="Helvetica", fontsize="8",
               fontcolor=colors.chrome["muted"])  # fmt: skip
    _legend(writer, scene)
    for pane in scene.panes:
        writer.open(f"subgraph cluster_{writer.number()}")
        _frame(writer, scene, "\n".join(filter(None, (pane.pane.title, pane.pane.subtitle))), 14)
        for placed in pane.graphs:
            _graph(writer, scene, placed, cluster)
        writer.close()
    writer.close()
    return writer.text()


class _Writer:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._clusters = 0
        self.nodes = 0

    def number(self) -> int:
        """Returns the number of the next cluster."""
        self._clusters += 1
        return self._clusters

    def open(self, head: str) -> None:
        self.add(f"{head} {{")
        self._depth += 1

    def close(self) -> None:
        self._depth -= 1
        self.add("}")

    def set(self, what: str, **attributes: str) -> None:
        """Adds a statement; what is given as text is escaped."""
        left = _LEFT if what == "graph" else "\\n"
        given = ", ".join(
            f"{name}={_quoted(value, left if name == 'label' else '')}" for name, value in attributes.items()
        )
        self.add(f"{what} [{given}]" if given else what)

    def add(self, statement: str) -> None:
        """Adds a statement as it is."""
        self._lines.append("  " * self._depth + statement)

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def _quoted(told: str, end: str = "\\n") -> str:
    """Returns a text as a DOT string; graphviz reads backslashes and, in what it shows, HTML's names of characters.

    Args:
        end: Of each line, as graphviz has it for lines in the middle, or on the left.
    """
    lines = printable(told).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;").splitlines()
    return '"' + (f"{end.join(lines)}{end}" if end == _LEFT else end.join(lines)).replace("\t", " ") + '"'


def _frame(writer: _Writer, scene: Scene, title: str, size: int) -> None:
    """Sets how a cluster looks."""
    colors = scene.palette
    writer.set("graph", label=title, fontsize=str(size), labeljust="l", style="rounded", color=colors.chrome["line"])


def _legend(writer: _Writer, scene: Scene) -> None:
    """Adds one node that is a table: a row per colour."""
    colors = scene.palette
    rows = [_row(scene.coloring.title, colors.graph["paper"], colors.chrome["ink"], bold=True)]
    rows += [_row(told, fill, ink_on(fill)) for told, fill in _keys(scene)]
    table = f'<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="2" COLOR="{colors.graph["border"]}">{"".join(rows)}</TABLE>'
    writer.add(f'legend [shape=plain, style="", label=<{table}>]')


def _row(told: str, fill: str, ink: str, bold: bool = False) -> str:
    text = html.escape(line(told)[:_MOST_LABEL]) or " "
    shown = f"<B>{text}</B>" if bold else text
    return f'<TR><TD BGCOLOR="{fill}" ALIGN="LEFT"><FONT COLOR="{ink}" POINT-SIZE="10">{shown}</FONT></TD></TR>'


def _keys(scene: Scene) -> Iterator[tuple[str, str]]:
    for entry in legend.entries(scene):
        if isinstance(entry, Scale):
            last = len(entry.stops) - 1
            for at, tick in entry.ticks:
                place = round(at * last)
                end = {0: entry.ends[0], last: entry.ends[1]}.get(place, "")
                yield " ".join(filter(None, (end, tick, entry.note))), entry.stops[place]
        elif isinstance(entry, Key):
            yield entry.text, entry.fill.color


def _style(hatch: str) -> str:
    return ",".join(filter(None, ("rounded,filled", _BORDERS.get(hatch))))


def _graph(writer: _Writer, scene: Scene, placed: PlacedGraph, cluster: str | None) -> None:
    titled = bool(placed.graph.title)
    if titled:
        writer.open(f"subgraph cluster_{writer.number()}")
        _frame(writer, scene, placed.graph.title, 12)
    nodes = placed.graph.nodes.to_pylist()
    names = [f"n{writer.nodes + i}" for i in range(len(nodes))]
    writer.nodes += len(nodes)
    paths = _paths(placed.graph.drawing, nodes, cluster)
    _cluster(writer, scene, nodes, names, paths, list(range(len(nodes))), 0)
    for edge in placed.graph.edges.to_pylist():
        _edge(writer, names, edge)
    if titled:
        writer.close()


_Path = tuple[tuple[int, str], ...]


def _paths(drawing: Drawing, nodes: Sequence[Mapping[str, Any]], cluster: str | None) -> list[_Path]:
    """Returns number and name of the clusters around each node, outermost first."""
    found = [_SIDES.get(node["role"] or "", "") for node in nodes]
    if cluster == "side" or (cluster is None and {"forward", "backward"} <= set(found)):
        return [((0, side),) if side else () for side in found]
    if cluster == "none":
        return [()] * len(nodes)
    if not len(drawing.folding.module):
        return [tuple((0, part) for part in (node["module_path"] or "").split(".") if part) for node in nodes]
    return [_frames(drawing, row) for row in range(len(nodes))]


def _frames(drawing: Drawing, node: int) -> _Path:
    """Returns the module boxes in which the layout has put a node: parameters stand with what reads them."""
    folding = drawing.folding
    block = int(np.searchsorted(folding.first_row, folding.row[node], side="right")) - 1
    found: list[tuple[int, str]] = []
    while block >= 0:
        module = int(folding.module[block])
        if module >= 0:
            found.insert(0, (module, drawing.blocks[module].rpartition(".")[2]))
        block = int(folding.parent[block])
    return tuple(found)


def _cluster(
    writer: _Writer,
    scene: Scene,
    nodes: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    paths: Sequence[_Path],
    rows: Sequence[int],
    depth: int,
) -> None:
    """Writes some nodes, those of one inner cluster after the other, in order of first occurrence."""
    inner: dict[tuple[int, str], list[int]] = {}
    for row in rows:
        if len(paths[row]) == depth:
            _node(writer, scene, names[row], nodes[row])
        else:
            inner.setdefault(paths[row][depth], []).append(row)
    for (_, name), own in inner.items():
        writer.open(f"subgraph cluster_{writer.number()}")
        _frame(writer, scene, name, 10)
        _cluster(writer, scene, nodes, names, paths, own, depth + 1)
        writer.close()


def _node(writer: _Writer, scene: Scene, name: str, node: Mapping[str, Any]) -> None:
    fill, rank = scene.coloring.fills[node["nid"]], scene.ranks.get(node["nid"])
    told = [
        part if len(part := line(text)) <= _MOST_LABEL else f"{part[:_MOST_LABEL]}…" for text in label(node) if text
    ]
    more = scene.more.get(node["nid"])
    told += [f"+{more:,}"] if more else []
    if rank is not None and told:
        told[0] = f"#{rank} {told[0]}"
    marked = {"color": scene.palette.graph["select"], "penwidth": "3"} if rank is not None else {}
    writer.set(name, label="\n".join(told), tooltip=tooltip(scene, node), fillcolor=fill.color,
               fontcolor=ink_on(fill.color), style=_style(fill.hatch), **marked)  # fmt: skip


def _edge(writer: _Writer, names: Sequence[str], edge: Mapping[str, Any]) -> None:
    port = f"output {edge['src_port']} to " if edge["src_port"] else ""
    writer.set(f"{names[edge['src']]} -> {names[edge['dst']]}", tooltip=f"{port}argument {edge['dst_arg']}")
