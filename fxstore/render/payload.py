"""A page's model as one compact, versioned payload.

The container is that of :mod:`fxstore.render.container`. Nodes are numbered through all panes and graphs in order;
every reference in a column is such a number. Lengths are half pixels. A reader refuses another ``version``.
"""

from __future__ import annotations

import base64
import gzip
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fxstore.layout import Drawing, Stretch
from fxstore.render.container import Columns, Strings, short_path, short_paths
from fxstore.render.model import Answer, ColorBy, DrawnGraph, PageModel, Verdict
from fxstore.render.model import Numbers as Sample

# The drawn graphs of a page as columns: nodes, edges, module boxes, and what has brought them to equal heights.


TEXTS: Final = (
    *("name", "op", "target", "op_type", "role", "dtype", "module_path", "backend"),
    *("source_file", "source_code", "attrs", "unmatched"),
)
_UNMOVED: Final = Stretch(np.zeros(0), np.zeros(0))


def add_graphs(columns: Columns, strings: Strings, graphs: Sequence[DrawnGraph], model: PageModel) -> None:
    """Adds all columns that say what the graphs are and where they stand."""
    _nodes(columns, strings, graphs, model)
    _edges(columns, strings, graphs)
    _blocks(columns, strings, graphs)
    _stretches(columns, graphs)


def _nodes(columns: Columns, strings: Strings, graphs: Sequence[DrawnGraph], model: PageModel) -> None:
    columns.floats("node.nid", joined(graphs, "nid"), delta=True)
    for name in TEXTS:
        texts = joined(graphs, name)
        if name == "source_file" and not model.with_sources:
            texts = [text and short_path(text) for text in texts]
        if name in ("attrs", "source_code") and not model.with_sources:
            texts = [text and short_paths(text) for text in texts]
        if name == "source_code" and not model.with_code:
            texts = [None] * len(texts)
        columns.ints(f"node.{name}", strings.numbers(texts), delta=name == "name")
    shapes = [None if shape is None else f"[{', '.join(shape)}]" for shape in joined(graphs, "shape")]
    columns.ints("node.shape", strings.numbers(shapes))
    columns.ints("node.source_line", [-1 if line is None else line for line in joined(graphs, "source_line")])
    for axis in ("x", "y"):
        columns.ints(f"node.{axis}", _half_pixels(getattr(graph.drawing, axis) for graph in graphs), delta=True)
    for extent in ("width", "height"):
        columns.ints(f"node.{extent}", _half_pixels([np.asarray(joined(graphs, extent), dtype=np.float64)]))


def _edges(columns: Columns, strings: Strings, graphs: Sequence[DrawnGraph]) -> None:
    base = np.repeat(_starts([graph.nodes.num_rows for graph in graphs]), [graph.edges.num_rows for graph in graphs])
    for end in ("src", "dst"):
        columns.ints(f"edge.{end}", base + np.asarray(joined(graphs, end, "edges"), dtype=np.int64), delta=True)
    columns.ints("edge.src_port", joined(graphs, "src_port", "edges"))
    columns.ints("edge.dst_arg", strings.numbers(joined(graphs, "dst_arg", "edges")))
    columns.ints("edge.feedback", _chained(graph.drawing.feedback for graph in graphs))
    columns.ints("edge.stub", _chained(np.resize(graph.drawing.stub, graph.edges.num_rows) for graph in graphs))
    columns.ints("edge.corners", _chained(np.diff(graph.drawing.offsets) for graph in graphs))
    for axis, name in enumerate(("corner.x", "corner.y")):
        columns.ints(name, _half_pixels(graph.drawing.points.reshape(-1, 2)[:, axis] for graph in graphs), delta=True)


def _blocks(columns: Columns, strings: Strings, graphs: Sequence[DrawnGraph]) -> None:
    columns.ints("block.path", strings.numbers(path for graph in graphs for path in graph.drawing.blocks))
    for axis, name in enumerate(("left", "top", "width", "height")):
        boxes = (graph.drawing.block_boxes.reshape(-1, 4)[:, axis] for graph in graphs)
        columns.ints(f"block.{name}", _half_pixels(boxes), delta=True)
    for axis, name in enumerate(("closed_left", "closed_width")):
        columns.ints(f"block.{name}", _half_pixels(_closed(graph.drawing)[:, axis] for graph in graphs), delta=True)


def _stretches(columns: Columns, graphs: Sequence[DrawnGraph]) -> None:
    """Adds how far each graph was moved down for the other panes' sake: each height at which that changes."""
    if all(graph.stretch is None for graph in graphs):
        return
    sizes, at, add = [], [], []
    for stretch in (graph.stretch or _UNMOVED for graph in graphs):
        changes = np.flatnonzero(np.diff(stretch.add, prepend=0.0))
        sizes.append(len(changes))
        at.append(stretch.at[changes])
        add.append(stretch.add[changes])
    columns.ints("stretch.size", sizes)
    columns.ints("stretch.at", _half_pixels(at), delta=True)
    columns.ints("stretch.add", _half_pixels(add), delta=True)


def _closed(drawing: Drawing) -> npt.NDArray[Any]:
    """Returns left and width of each module box when it is closed: its own where the layout names no other."""
    boxes = np.asarray(drawing.block_boxes.reshape(-1, 4)[:, [0, 2]], dtype=np.float64)
    has_border = drawing.folding.module >= 0
    boxes[drawing.folding.module[has_border]] = drawing.folding.closed[has_border][:, :2]
    return boxes


def joined(graphs: Sequence[DrawnGraph], column: str, table: str = "nodes") -> list[Any]:
    """Returns a column of the tables of all graphs, one after the other."""
    return [value for graph in graphs for value in getattr(graph, table).column(column).to_pylist()]


def _half_pixels(parts: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.rint(2 * _chained(parts).astype(np.float64))


def _chained(parts: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0), *parts])


def _starts(counts: Sequence[int]) -> npt.NDArray[Any]:
    return np.cumsum([0, *counts], dtype=np.int64)[:-1]


SCHEMA: Final = "fxstore.page"
VERSION: Final = 1
OK, NAN, PLUS_INF, MINUS_INF, MISSING, NO_DATA = range(6)
_EXACT: Final = 2**53

Numbers = Mapping[int, Sequence[int]]


def encode(model: PageModel) -> bytes:
    """Returns the payload, uncompressed: the same bytes for the same model in any process."""
    columns, strings = Columns(), Strings()
    graphs = [graph for pane in model.panes for graph in pane.graphs]
    answer = model.answer
    if answer and not model.with_code:
        answer = _without_code(answer)
    if answer and not model.with_sources:
        answer = _without_paths(answer, {file for file in joined(graphs, "source_file") if file})
    numbers = _numbers(graphs)
    add_graphs(columns, strings, graphs, model)
    sets = _sync_sets(columns, model.sync_sets, numbers)
    _focus(columns, model.focus, sets, numbers)
    _equal_values(columns, strings, model.equal_values, numbers)
    if model.more:
        columns.ints("node.more", _spread(numbers, model.more, 0))
    columns.ints("highlight", [n for nid in model.highlight for n in numbers.get(nid, ())])
    header = {
        "schema": SCHEMA,
        "version": VERSION,
        "title": model.title,
        "facts": [[str(name), str(value)] for name, value in model.facts],
        "panes": _panes(model),
        "graphs": _graphs(model),
        "colors": [_color(columns, strings, i, by, numbers) for i, by in enumerate(model.colors)],
        "answer": _answer(columns, answer, numbers) if answer else None,
        "leftOut": model.left_out,
        "inColumns": model.columns,
        "statistics": _statistics(model.statistics, numbers),
        **({"verdict": _verdict(model, model.verdict, numbers)} if model.verdict else {}),
    }
    return columns.pack({**header, "strings": strings.all()})


def _verdict(model: PageModel, verdict: Verdict, numbers: Numbers) -> dict[str, Any]:
    """Returns the verdict; a part that names a node on the page is its name and number."""

    def part(one: str | tuple[str, int]) -> str | list[Any]:
        if isinstance(one, str):
            return one
        name, nid = one
        return [name, numbers[nid][0]] if nid in numbers else name

    sentences = [[part(one) for one in sentence] for sentence in verdict.sentences]
    titles = [pane.title for pane in model.panes]
    panes = [titles.index(stage) for stage in dict.fromkeys(verdict.stages) if stage in titles]
    return {"level": verdict.level, "caption": verdict.caption, "sentences": sentences, "panes": panes}


def compress(payload: bytes) -> str:
    """Returns the payload as base64 of gzip, without a time stamp."""
    return base64.b64encode(gzip.compress(payload, compresslevel=9, mtime=0)).decode("ascii")


def _numbers(graphs: Sequence[DrawnGraph]) -> dict[int, list[int]]:
    """Returns the numbers of each nid: several, where a page shows one graph in several panes."""
    numbers: dict[int, list[int]] = {}
    nids = (nid for graph in graphs for nid in graph.nodes.column("nid").to_pylist())
    for number, nid in enumerate(nids):
        numbers.setdefault(nid, []).append(number)
    return numbers


def _panes(model: PageModel) -> list[dict[str, Any]]:
    return [
        {"title": pane.title, "subtitle": pane.subtitle, "run": pane.run, "graphs": len(pane.graphs)}
        for pane in model.panes
    ]


def _graphs(model: PageModel) -> list[dict[str, Any]]:
    """Returns one entry per graph; ``parent`` is the number of the calling node in the same pane, or -1."""
    out: list[dict[str, Any]] = []
    first = 0
    for pane in model.panes:
        local = _numbers(pane.graphs)
        for graph in pane.graphs:
            callers = local.get(graph.parent_nid, []) if graph.parent_nid is not None else []
            out.append(
                {
                    "title": graph.title,
                    "nodes": graph.nodes.num_rows,
                    "edges": graph.edges.num_rows,
                    "blocks": len(graph.drawing.blocks),
                    "parent": first + callers[0] if callers else -1,
                    "width": math.ceil(2 * graph.drawing.width),
                    "height": math.ceil(2 * graph.drawing.height),
                    **({"beside": True} if graph.beside else {}),
                }
            )
        first += sum(graph.nodes.num_rows for graph in pane.graphs)
    return out


def _sync_sets(columns: Columns, sets: Sequence[Sequence[tuple[int, bool]]], numbers: Numbers) -> dict[int, int]:
    """Adds the sets' members that are on the page, and returns the number of each set that has any."""
    kept: dict[int, int] = {}
    sizes: list[int] = []
    members: list[tuple[int, bool]] = []
    for index, members_of_set in enumerate(sets):
        present = sorted((n, bool(primary)) for nid, primary in members_of_set for n in numbers.get(nid, ()))
        if present:
            kept[index] = len(sizes)
            sizes.append(len(present))
            members.extend(present)
    columns.ints("set.size", sizes)
    columns.ints("set.node", [node for node, _ in members], delta=True)
    columns.ints("set.primary", [int(primary) for _, primary in members])
    return kept


def _focus(columns: Columns, focus: Mapping[int, int], sets: Mapping[int, int], numbers: Numbers) -> None:
    columns.ints(
        "node.focus", _spread(numbers, {nid: sets.get(index, -1) for nid, index in focus.items()}, -1), delta=True
    )


def _equal_values(
    columns: Columns, strings: Strings, sets: Sequence[Sequence[tuple[int, int, str]]], numbers: Numbers
) -> None:
    """Adds each set of which two values or more are on the page."""
    sizes: list[int] = []
    members: list[tuple[int, int, int]] = []
    for values in sets:
        present = [(n, port, strings.number(evidence)) for nid, port, evidence in values for n in numbers.get(nid, ())]
        if len(present) > 1:
            sizes.append(len(present))
            members.extend(present)
    columns.ints("value.size", sizes)
    columns.ints("value.node", [node for node, _, _ in members], delta=True)
    columns.ints("value.port", [port for _, port, _ in members])
    columns.ints("value.evidence", [evidence for _, _, evidence in members])


def _statistics(statistics: Mapping[int, Mapping[str, object]], numbers: Numbers) -> list[object]:
    """Returns for each node that has any its number and its statistics."""
    return [
        [number, {name: _plain(value) for name, value in known.items()}]
        for nid, known in statistics.items()
        for number in numbers.get(nid, ())
    ]


def _plain(value: object) -> object:
    return [_cell(one) for one in value] if isinstance(value, (list, tuple)) else _cell(value)


def _color(columns: Columns, strings: Strings, index: int, by: ColorBy, numbers: Numbers) -> dict[str, Any]:
    """Adds a status per node, a value per node with status OK, a reason per node with status MISSING, a note per node.

    The first three once more for each sample. Of categories it adds a text per node.
    """
    if by.texts:
        texts = {nid: strings.number(text) for nid, text in by.texts.items()}
        columns.ints(f"color{index}.text", _spread(numbers, texts, -1))
        fills = {"fills": {name: list(pair) for name, pair in by.fills.items()}} if by.fills else {}
        return {"name": by.name, "metric": by.metric, "unit": None, "better": None, "categories": True, **fills}
    if not by.parts:
        _numbers_of(columns, strings, f"color{index}", by, numbers)
        for i, one in enumerate(by.samples):
            _numbers_of(columns, strings, f"color{index}.sample{i}", one, numbers)
    if by.notes and not by.parts:
        notes = {nid: strings.number(text) for nid, text in by.notes.items()}
        columns.ints(f"color{index}.note", _spread(numbers, notes, -1))
    several = {"samples": [one.name for one in by.samples], "allSamples": by.all_samples} if by.samples else {}
    known = {
        "whole": by.whole,
        "threshold": by.threshold,
        "differ": None if by.differ is None else sorted(n for nid in by.differ for n in numbers.get(nid, ())),
    }
    told = {name: value for name, value in known.items() if value is not None}
    if by.parts:
        told["parts"] = list(by.parts)
    return {"name": by.name, "metric": by.metric, "unit": by.unit, "better": by.better, **told, **several}


def _numbers_of(columns: Columns, strings: Strings, name: str, of: ColorBy | Sample, numbers: Numbers) -> None:
    states = dict.fromkeys(of.missing, MISSING) | {nid: _status(value) for nid, value in of.values.items()}
    status = _spread(numbers, states, NO_DATA)
    value = np.asarray(_spread(numbers, of.values, math.nan), dtype=np.float64)
    reason = np.asarray(_spread(numbers, {nid: strings.number(text) for nid, text in of.missing.items()}, -1))
    columns.ints(f"{name}.status", status)
    columns.floats(f"{name}.value", value[np.asarray(status) == OK])
    columns.ints(f"{name}.reason", reason[np.asarray(status) == MISSING])


def _answer(columns: Columns, answer: Answer, numbers: Numbers) -> dict[str, Any]:
    """Adds the nodes of each row (``answer.size`` many in ``answer.node``) and returns the table itself."""
    nodes = [[n for nid in row for n in numbers.get(nid, ())] for row in answer.nids]
    columns.ints("answer.size", [len(row) for row in nodes])
    columns.ints("answer.node", [n for row in nodes for n in row])
    return {
        "query": answer.query,
        "columns": [str(name) for name in answer.columns],
        "rows": [[_cell(value) for value in row] for row in answer.rows],
        "note": answer.note,
    }


def _without_code(answer: Answer) -> Answer:
    """Returns the answer without what stands in its column of source code."""
    rows = [
        tuple(None if name == "source_code" else value for name, value in zip(answer.columns, row, strict=True))
        for row in answer.rows
    ]
    return replace(answer, rows=rows)


def _without_paths(answer: Answer, files: set[str]) -> Answer:
    """Returns the answer with short source files: in their own column, and those of the page wherever they stand."""

    def cell(column: str, value: object) -> object:
        return short_path(value) if isinstance(value, str) and (column == "source_file" or value in files) else value

    rows = [tuple(cell(*pair) for pair in zip(answer.columns, row, strict=True)) for row in answer.rows]
    return replace(answer, rows=rows)


def _cell(value: object) -> object:
    """Returns a JSON value; what JSON has no number for stands as ``{"number": text}``."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value) if abs(int(value)) < _EXACT else {"number": str(int(value))}
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else {"number": _non_finite(float(value))}
    return str(value)


def _non_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _status(value: float) -> int:
    if math.isfinite(value):
        return OK
    return NAN if math.isnan(value) else PLUS_INF if value > 0 else MINUS_INF


def _spread(numbers: Numbers, by_nid: Mapping[int, Any], default: Any) -> list[Any]:
    """Returns one value per node number."""
    out = [default] * sum(map(len, numbers.values()))
    for nid, value in by_nid.items():
        for number in numbers.get(nid, ()):
            out[number] = value
    return out
