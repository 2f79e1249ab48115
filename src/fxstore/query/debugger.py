"""A run as an intermediate output debugger gives it: a CSV with a row per node, and each graph coloured by verdict."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fxstore.query import text
from fxstore.query.drawings import Drawings, box_sizes
from fxstore.query.session import Store
from fxstore.query.stored import StoredGraph, graphs_of
from fxstore.render.svg import Box, svg

_COLUMNS: Final = (
    "name", "op_code", "target", "num_users", "pytorch_layout", "scale(s)", "zero_point(s)", "debug_handle", "stage",
    "graph", "dtype", "compared", "scope", "samples",
)  # fmt: skip
_FILLS: Final = {
    "pass": "#9fd8a4",
    "fail": "#f08a80",
    "not finite": "#c46bd0",
    "measured": "#a9cdf3",
    "not measured": "#e4e7ec",
}
_QUANTISED: Final = ("quantize_per_tensor", "dequantize_per_tensor", "quantize_per_channel", "dequantize_per_channel")


@dataclass
class _Found:
    """What was measured at one node.

    Attributes:
        values: Number by metric; NaN and infinite ones too.
        reasons: Why there is none, by metric, or what is said about one.
    """

    overlay: str = ""
    scope: str | None = None
    samples: int = 0
    values: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    verdicts: set[str] = field(default_factory=set)
    broken: bool = False

    @property
    def verdict(self) -> str | None:
        """``fail`` where any metric fails; None where no metric had a threshold."""
        return max(self.verdicts, key="fail".__eq__, default=None)

    @property
    def kind(self) -> str:
        """What colours the node."""
        if self.verdict is not None:
            return self.verdict
        return "not finite" if self.broken else "measured" if self.values else "not measured"


def write(store: Store, run_id: str | None, path: Path) -> None:
    """Writes ``nodes.csv`` and one SVG per graph of a run, the latest by default, into a new folder."""
    run = store.existing_run(run_id)
    found = _measured(store, run.run_id)
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
            (path / f"{number:02d}-{name}.svg").write_text(_picture(stage, graph, found, drawings), "utf-8")
            number += 1
    columns = [*_COLUMNS, *metrics, "reason", "verdict"]
    (path / "nodes.csv").write_text(text.as_csv(columns, rows), "utf-8", errors="replace")


def _measured(store: Store, run_id: str) -> dict[int, _Found]:
    found: dict[int, _Found] = defaultdict(_Found)
    for row in store.rows_of("_debugger_numbers", run_id).to_pylist():
        one = found[row["nid"]]
        one.overlay, one.scope, one.samples = row["overlay"], row["scope"], row["samples"]
        if row["value"] is not None:
            one.values[row["metric"]] = row["value"]
            one.broken |= math.isnan(row["value"]) or (
                row["status"] == "non_finite" and not (row["reason"] or "").startswith("identical")
            )
        if row["reason"] is not None or row["value"] is None:
            one.reasons[row["metric"]] = row["reason"] or "no data"
        if row["verdict"] is not None:
            one.verdicts.add(row["verdict"])
    return found


def _rows(
    stage: str, graph: StoredGraph, found: Mapping[int, _Found], handles: Mapping[int, str], metrics: Sequence[str]
) -> list[tuple[object, ...]]:
    nodes, edges = graph.nodes.to_pylist(), graph.edges.to_pylist()
    users: dict[int, set[int]] = defaultdict(set)
    for edge in edges:
        users[edge["src"]].add(edge["dst"])
    rows: list[tuple[object, ...]] = []
    for i, node in enumerate(nodes):
        one = found.get(node["nid"], _Found())
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


def _picture(stage: str, graph: StoredGraph, found: Mapping[int, _Found], drawings: Drawings) -> str:
    drawing = drawings.get(graph.graph_hash, graph.nodes, graph.edges)
    boxes, counts = [], dict.fromkeys(_FILLS, 0)
    for node, (width, height) in zip(graph.nodes.to_pylist(), box_sizes(graph.nodes), strict=True):
        one = found.get(node["nid"], _Found())
        counts[one.kind] += 1
        title = node["op_type"] or node["role"] or ""
        boxes.append(Box(title, node["name"] or "", width, height, _FILLS[one.kind], _tip(node, one)))
    legend = [(f"{kind}: {count}", _FILLS[kind]) for kind, count in counts.items() if count]
    edges = list(zip(graph.edges["src"].to_pylist(), graph.edges["dst"].to_pylist(), strict=True))
    heading = f"{stage} · {graph.title}" if graph.title else stage
    return svg(drawing, boxes, edges, legend, heading)


def _tip(node: Mapping[str, Any], one: _Found) -> str:
    numbers = [f"{metric}: {text.cell(value)}" for metric, value in one.values.items()]
    return "\n".join([str(node["name"]), str(node["target"]), *numbers, *dict.fromkeys(one.reasons.values())])
