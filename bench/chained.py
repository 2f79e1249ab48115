"""Pages of any size: one layer of a real export, as two stages, chained as often as wanted."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fxstore.layout import draw
from fxstore.render import Answer, ColorBy, DrawnGraph, PageModel, Pane
from fxstore.render.boxes import box_size

MODULE = "layers.1"
STAGES = ("core", "again")
Row = dict[str, Any]
Member = tuple[int, int, bool]
"""Pane, row within the layer, whether it holds the value."""


@dataclass(frozen=True)
class Layer:
    """One layer: its nodes, edges within it, and the row that the next layer reads."""

    schema: pa.Schema
    rows: list[Row]
    edges: list[tuple[int, int, int, str | None]]
    entry: list[tuple[int, str | None]]
    exit: int


@dataclass(frozen=True)
class Template:
    """The same layer in each stage, and its sync sets."""

    layers: Sequence[Layer]
    sets: Sequence[Sequence[Member]]


def record() -> Template:
    """Exports a transformer encoder twice and cuts its middle layer out of both stages, with their links."""
    import torch

    import fxstore
    from bench.models import Bert
    from fxstore.render.page.run_tables import graphs_of, sync_members

    core = torch.export.export(Bert().eval(), (torch.randint(0, 50, (2, 8)),)).run_decompositions()
    with fxstore.connect(":memory:") as store:
        run = store.ingest({STAGES[0]: core, STAGES[1]: core.run_decompositions({})}, name="bert")
        graphs = graphs_of(store, run.run_id, STAGES)
        tables = [graphs[stage][0] for stage in STAGES]
        cut = [_cut(graph.nodes, graph.edges) for graph in tables]
        places = {row["nid"]: (pane, i) for pane, layer in enumerate(cut) for i, row in enumerate(layer.rows)}
        sets: dict[int, list[Member]] = {}
        for row in sync_members(store, run.run_id).to_pylist():
            if row["nid"] in places:
                sets.setdefault(row["sync_set"], []).append((*places[row["nid"]], row["is_primary"]))
    return Template(cut, list(sets.values()))


def _cut(nodes: pa.Table, edges: pa.Table) -> Layer:
    rows = nodes.to_pylist()
    parameter = MODULE.replace(".", "_")
    kept = [
        i
        for i, row in enumerate(rows)
        if f"{row['module_path']}.".startswith(f"{MODULE}.") or f"p_{parameter}_" in row["name"]
    ]
    place = {row: i for i, row in enumerate(kept)}
    inner, entry = [], []
    for edge in edges.to_pylist():
        if edge["dst"] in place and edge["src"] in place:
            inner.append((place[edge["src"]], place[edge["dst"]], edge["src_port"], edge["dst_arg"]))
        elif edge["dst"] in place:
            entry.append((place[edge["dst"]], edge["dst_arg"]))
    return Layer(nodes.schema, [rows[i] for i in kept], inner, entry, len(kept) - 1)


def page(template: Template, nodes: int, seed: int = 1) -> PageModel:
    """Returns a page of two panes with about that many nodes each."""
    count = max(1, round(nodes / len(template.layers[0].rows)))
    panes = tuple(
        Pane(stage, (_pane(layer, count, (pane + 1) << 32),))
        for pane, (stage, layer) in enumerate(zip(STAGES, template.layers, strict=True))
    )
    sizes = [len(layer.rows) for layer in template.layers]
    sets = [
        [(((pane + 1) << 32) + layer * sizes[pane] + row, primary) for pane, row, primary in members]
        for layer in range(count)
        for members in template.sets
    ]
    focus = {nid: i for i, members in enumerate(sets) for nid, _ in members}
    rng = random.Random(seed)
    second = panes[1].graphs[0].nodes
    cosine = {
        nid: 1 - abs(rng.gauss(0, 0.02)) ** 1.5
        for nid, role in zip(second["nid"].to_pylist(), second["role"].to_pylist(), strict=True)
        if role == "op"
    }
    worst = sorted(cosine, key=cosine.__getitem__)[:20]
    answer = Answer("SELECT nid, value FROM worst('cosine')", ["nid", "value"], [(n, cosine[n]) for n in worst],
                    [[n] for n in worst])  # fmt: skip
    color = ColorBy("core ↔ again", "cosine", cosine, better="higher")
    return PageModel(f"{nodes} nodes a pane", panes, sets, focus, (color,), answer, worst)


def _pane(layer: Layer, count: int, first: int) -> DrawnGraph:
    rows = [_renamed(row, n, first + n * len(layer.rows) + i) for n in range(count) for i, row in enumerate(layer.rows)]
    edges = []
    for n in range(count):
        base = n * len(layer.rows)
        if n:
            edges += [(base - len(layer.rows) + layer.exit, base + dst, 0, arg) for dst, arg in layer.entry]
        edges += [(base + src, base + dst, port, arg) for src, dst, port, arg in layer.edges]
    sizes = [box_size(row["op_type"] or row["role"] or "", row["name"]) for row in rows]
    table = pa.Table.from_pylist(rows, schema=layer.schema)
    for name, values in (("width", [w for w, _ in sizes]), ("height", [h for _, h in sizes])):
        table = table.append_column(name, pa.array(np.array(values, np.float32)))
    drawing = draw(sizes, [(src, dst) for src, dst, _, _ in edges], [row["module_path"] for row in rows])
    columns = list(zip(*edges, strict=True))
    names = ("src", "dst", "src_port", "dst_arg")
    return DrawnGraph("", table, pa.table(dict(zip(names, columns, strict=True))), drawing)


def _renamed(row: Row, layer: int, nid: int) -> Row:
    def numbered(text: str | None) -> str | None:
        return text and text.replace(MODULE, f"layers.{layer}").replace("layers_1_", f"layers_{layer}_")

    name = row["name"] if "layers_1_" in row["name"] else f"{row['name']}_{layer}"
    return row | {"nid": nid, "name": numbered(name), "module_path": numbered(row["module_path"]),
                  "target": numbered(row["target"])}  # fmt: skip
