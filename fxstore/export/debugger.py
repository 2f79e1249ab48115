"""A run as an intermediate output debugger gives it: a CSV with a row per node, and each graph coloured by verdict."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fxstore.query import text
from fxstore.query.session import Store
from fxstore.render.model import ColorBy, PageModel, Pane
from fxstore.render.page.build import drawn_graph
from fxstore.render.page.colors import FILLS, VERDICT, Found, measured
from fxstore.render.page.drawings import Drawings
from fxstore.render.page.run_tables import StoredGraph, graphs_of
from fxstore.render.still.scene import scene
from fxstore.render.still.svg import svg

_COLUMNS: Final = (
    "name", "op_code", "target", "num_users", "pytorch_layout", "scale(s)", "zero_point(s)", "debug_handle", "stage",
    "graph", "dtype", "compared", "scope", "samples",
)  # fmt: skip
_QUANTISED: Final = ("quantize_per_tensor", "dequantize_per_tensor", "quantize_per_channel", "dequantize_per_channel")


def write(store: Store, run_id: str | None, path: Path) -> None:
    """Writes ``nodes.csv`` and one SVG per graph of a run, the latest by default, into a new folder."""
    run = store.existing_run(run_id)
    found = measured(store, run.run_id)
    handles = {row["nid"]: row["handles"] for row in store.rows_of("_debugger_handles", run.run_id).to_pylist()}
    metrics = sorted({metric for one in found.values() for metric in (*one.values, *one.reasons)})
    stages = [str(stage["stage"]) for stage in run.stages]
    drawings = Drawings(store.directory)
    path.mkdir()
    rows: list[tuple[object, ...]] = []
    number = 0
    for stage, graphs in graphs_of(store, run.run_id, stages).items():
        for graph in graphs:
            rows += _rows(stage, graph, found, handles, metrics)
            name = re.sub(r"[^\w.-]+", "_", f"{stage}.{graph.title}" if graph.title else stage)[:80]
            (path / f"{number:02d}-{name}.svg").write_text(_picture(stage, graph, found, metrics, drawings), "utf-8")
            number += 1
    columns = [*_COLUMNS, *metrics, "reason", "verdict"]
    (path / "nodes.csv").write_text(text.as_csv(columns, rows), "utf-8", errors="replace")


def _rows(
    stage: str, graph: StoredGraph, found: Mapping[int, Found], handles: Mapping[int, str], metrics: Sequence[str]
) -> list[tuple[object, ...]]:
    nodes, edges = graph.nodes.to_pylist(), graph.edges.to_pylist()
    users: dict[int, set[int]] = defaultdict(set)
    for edge in edges:
        users[edge["src"]].add(edge["dst"])
    rows: list[tuple[object, ...]] = []
    for i, node in enumerate(nodes):
        one = found.get(node["nid"], Found())
        scale, zero_point = _parameters(node, [nodes[user] for user in sorted(users[i])])
        reasons = "; ".join(dict.fromkeys(one.reasons.values()))
        about = (stage, graph.title, node["dtype"], one.overlay or None, one.scope, one.samples or None)
        shape = None if node["shape"] is None else f"({', '.join(node['shape'])})"
        of_node = (node["name"], node["op"], node["target"], len(users[i]), shape, scale, zero_point)
        numbers = (one.values.get(metric) for metric in metrics)
        rows.append((*of_node, handles.get(node["nid"]), *about, *numbers, reasons or None, one.verdict))
    return rows


def _parameters(node: Mapping[str, Any], users: Sequence[Mapping[str, Any]]) -> tuple[object, object]:
    """Returns the scale and zero point that a value is quantised with: its node's own, else its quantizing user's."""
    readers = [user for user in users if user["op_type"] == "quantize_per_tensor"]
    for one in (node, *readers):
        if one["op_type"] in _QUANTISED:
            constants = json.loads(one["attrs"] or "{}").get("args", {})
            return tuple(constants.get(p, constants.get(n)) for p, n in (("1", "scale"), ("2", "zero_point")))
    return None, None


def _picture(
    stage: str, graph: StoredGraph, found: Mapping[int, Found], metrics: Sequence[str], drawings: Drawings
) -> str:
    kinds = {nid: found.get(nid, Found()).kind for nid in graph.nodes["nid"].to_pylist()}
    colors = [ColorBy(VERDICT, VERDICT, {}, texts=kinds, fills=FILLS)]
    for metric in metrics:
        values = {nid: one.values[metric] for nid, one in found.items() if metric in one.values}
        reasons = {nid: one.reasons[metric] for nid, one in found.items() if metric in one.reasons}
        colors.append(ColorBy("debugger", metric, values, reasons))
    pane = Pane(stage, (drawn_graph(graph, drawings),), graph.title)
    heading = f"{stage} · {graph.title}" if graph.title else stage
    return svg(scene(PageModel(heading, (pane,), (), {}, tuple(colors))))
