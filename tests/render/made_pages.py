"""Pages made up for tests: a network of residual blocks through a pipeline of stages, without torch or a store."""

from __future__ import annotations

import json
import math
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from fxstore.layout import Drawing
from fxstore.render.model import Answer, ColorBy, DrawnGraph, PageModel, Pane

WIDTH, HEIGHT, ROW, COLUMN = 150.0, 36.0, 64.0, 190.0
NODES = pa.schema(
    [
        ("nid", pa.int64()),
        *((name, pa.string()) for name in ("name", "op", "target", "op_type", "role", "dtype")),
        ("shape", pa.list_(pa.string())),
        *((name, pa.string()) for name in ("module_path", "backend", "source_file")),
        ("source_line", pa.int32()),
        *((name, pa.string()) for name in ("source_code", "attrs")),
        ("width", pa.float64()),
        ("height", pa.float64()),
        ("unmatched", pa.string()),
    ]
)
EDGES = pa.schema([("src", pa.int32()), ("dst", pa.int32()), ("src_port", pa.int32()), ("dst_arg", pa.string())])
STAGES = ("float", "prepared", "quantized", "edge", "lowered", "runtime")


@dataclass
class Sketch:
    """A graph while it is being drawn up: rows of nodes, edges, and the computation that each node belongs to."""

    first_nid: int
    rows: list[dict[str, object]] = field(default_factory=list)
    edges: list[tuple[int, int, str]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def add(self, key: str, op_type: str, inputs: Sequence[int], **cells: object) -> int:
        """Appends a node and returns its row."""
        row = len(self.rows)
        base: dict[str, object] = dict.fromkeys(NODES.names)
        base |= {"nid": self.first_nid + row, "name": f"{op_type}_{row}", "op": "call_function", "op_type": op_type}
        base |= {
            "target": f"aten.{op_type}.default",
            "role": "op",
            "dtype": "float32",
            "shape": ["1", "32", "s0", "14"],
        }
        base |= {"width": WIDTH, "height": HEIGHT}
        self.rows.append(base | cells)
        self.edges += [(source, row, str(i)) for i, source in enumerate(inputs)]
        self.keys.append(key)
        return row

    def drawn(self, title: str = "", parent_nid: int | None = None) -> DrawnGraph:
        """Returns the finished graph."""
        nodes = pa.Table.from_pylist(self.rows, schema=NODES)
        edges = [{"src": src, "dst": dst, "src_port": 0, "dst_arg": arg} for src, dst, arg in self.edges]
        paths = [row["module_path"] for row in self.rows]
        drawing = trivial_drawing(len(self.rows), [(s, d) for s, d, _ in self.edges], paths)  # type: ignore[arg-type]
        return DrawnGraph(title, nodes, pa.Table.from_pylist(edges, schema=EDGES), drawing, parent_nid)


def trivial_drawing(count: int, edges: Sequence[tuple[int, int]], paths: Sequence[str | None]) -> Drawing:
    """Returns ranks from top to bottom, each rank's nodes side by side: overlap-free and no more."""
    rank = [0] * count
    for src, dst in sorted(edges, key=lambda edge: edge[1]):
        rank[dst] = max(rank[dst], rank[src] + 1)
    taken: dict[int, int] = defaultdict(int)
    column = []
    for node in range(count):
        column.append(taken[rank[node]])
        taken[rank[node]] += 1
    x = np.array([WIDTH / 2 + 30 + COLUMN * c for c in column], dtype=np.float32)
    y = np.array([HEIGHT / 2 + 30 + ROW * r for r in rank], dtype=np.float32)
    corners = [_corners(x, y, src, dst) for src, dst in edges]
    points = np.array([point for line in corners for point in line], dtype=np.float32).reshape(-1, 2)
    offsets = np.cumsum([0, *(len(line) for line in corners)]).astype(np.int32)
    blocks, boxes = _blocks(x, y, paths)
    extent = (float(x.max(initial=0) + WIDTH / 2 + 30), float(y.max(initial=0) + HEIGHT / 2 + 30))
    return Drawing(x, y, points, offsets, np.zeros(len(edges), dtype=np.bool_), blocks, boxes, *extent)


def _corners(x: np.ndarray, y: np.ndarray, src: int, dst: int) -> list[tuple[float, float]]:
    top, bottom = y[src] + HEIGHT / 2, y[dst] - HEIGHT / 2
    return [(x[src], top), (x[src], bottom - 14), (x[dst], bottom)] if bottom > top else []


def _blocks(x: np.ndarray, y: np.ndarray, paths: Sequence[str | None]) -> tuple[tuple[str, ...], np.ndarray]:
    members: dict[str, list[int]] = defaultdict(list)
    for node, path in enumerate(paths):
        parts = (path or "").split(".")
        for depth in range(1, len(parts) + 1):
            if path:
                members[".".join(parts[:depth])].append(node)
    boxes = []
    for path, nodes in members.items():
        pad = max(4, 20 - 5 * path.count("."))
        left, top = x[nodes].min() - WIDTH / 2 - pad, y[nodes].min() - HEIGHT / 2 - pad
        right, bottom = x[nodes].max() + WIDTH / 2 + pad, y[nodes].max() + HEIGHT / 2 + pad
        boxes.append((left, top, right - left, bottom - top))
    return tuple(members), np.array(boxes, dtype=np.float32).reshape(-1, 4)


def network(first_nid: int, blocks: int, stage: str) -> tuple[Sketch, list[int]]:
    """Returns a residual network of that many blocks, and the rows that a delegate would take."""
    sketch = Sketch(first_nid)
    last = sketch.add("x", "input", [], name="x", op="placeholder", role="input", target="x")
    inside = []
    for b in range(blocks):
        start = last
        for i, kind in enumerate(("conv2d", "batch_norm", "relu", "conv2d", "batch_norm")):
            if kind == "batch_norm" and stage not in ("float", "prepared"):
                continue
            path = f"features.{b}.{kind}{i}"
            inputs = [last, _weight(sketch, path)] if kind == "conv2d" else [last]
            last = _op(sketch, f"{path}.op", kind, inputs, path, stage)
            inside.append(last)
            if stage in ("prepared", "quantized") and kind == "relu":
                last = _observer(sketch, last, path, stage)
        last = _op(sketch, f"{b}.add", "add", [last, start], f"features.{b}", stage)
        inside.append(last)
    sketch.add(
        "output", "output", [last], name="output", op="output", role="output", target="output", dtype=None, shape=None
    )
    return sketch, inside


def _weight(sketch: Sketch, path: str) -> int:
    name = f"p_{path.replace('.', '_')}_weight"
    cells = {"name": name, "op": "placeholder", "role": "parameter", "target": name, "module_path": path}
    return sketch.add(f"{path}.weight", "weight", [], **cells, shape=["32", "32", "3", "3"])


def _op(sketch: Sketch, key: str, kind: str, inputs: Sequence[int], path: str, stage: str) -> int:
    dialect = {"edge": "executorch_exir_dialects_edge__ops_aten", "lowered": "edge"}.get(stage, "aten")
    name = {"edge": "convolution" if kind == "conv2d" else kind}.get(stage, kind)
    cells = {"target": f"{dialect}.{name}.default", "module_path": path, "source_file": "models/resnet.py"}
    line = {"conv2d": 41, "batch_norm": 42, "relu": 43, "add": 47}[kind]
    code = {"conv2d": "out = self.conv(x)", "batch_norm": "out = self.bn(out)", "relu": "out = F.relu(out)"}.get(
        kind, "out = out + x"
    )
    attrs = json.dumps({"args": [None, [1, 1], [0, 0]], "stage": stage})
    backend = "XnnpackBackend" if stage == "lowered" else None
    return sketch.add(key, name, inputs, **cells, source_line=line, source_code=code, attrs=attrs, backend=backend)


def _observer(sketch: Sketch, source: int, path: str, stage: str) -> int:
    if stage == "prepared":
        return sketch.add(f"observer.{source}", "activation_post_process", [source], op="call_module", module_path=path)
    key = sketch.keys[source]
    q = sketch.add(key, "quantize_per_tensor", [source], dtype="int8", module_path=path)
    return sketch.add(key, "dequantize_per_tensor", [q], module_path=path)


def page_model(blocks: int = 4, stages: Sequence[str] = STAGES[:4], seed: int = 1) -> PageModel:
    """Returns a page of one network in several stages, with two metrics, an answer and a delegate in ``lowered``."""
    rng = random.Random(seed)
    panes, sets = [], defaultdict(list)
    for number, stage in enumerate(stages):
        sketch, inside = network((number + 1) << 22, blocks, stage)
        if stage == "lowered":
            pane = _lowered(sketch, inside, (number + 1) << 22)
        else:
            pane = Pane(stage, (sketch.drawn(),), subtitle="exported · 1 method" if stage == "float" else "")
        panes.append(pane)
        for graph in pane.graphs:
            for key, nid in zip(_keys(sketch, graph), graph.nodes.column("nid").to_pylist(), strict=True):
                sets[key].append(nid)
    members = [
        [(nid, i == len(nids) - 1 or _last_of_pane(nids, i)) for i, nid in enumerate(nids)] for nids in sets.values()
    ]
    focus = {nid: index for index, nids in enumerate(sets.values()) for nid in nids}
    cosine, missing = _cosine(panes, rng)
    error = {nid: (1 - value) ** 2 * 10 + 1e-9 if math.isfinite(value) else value for nid, value in cosine.items()}
    colors = (
        ColorBy("float ↔ quantized", "cosine", cosine, missing, better="higher"),
        ColorBy("float ↔ quantized", "mse", error, missing, better="lower"),
    )
    answer = _answer(panes, cosine)
    facts = [("run", "resnet-nightly"), ("torch", "2.13.0"), ("created", "2026-01-31 04:12 UTC")]
    highlight = [nids[0] for nids in answer.nids]
    return PageModel("resnet-nightly: worst cosine", tuple(panes), members, focus, colors, answer, highlight, facts)


def _lowered(sketch: Sketch, inside: Sequence[int], first: int) -> Pane:
    top = Sketch(first + (1 << 20))
    x = top.add("x", "input", [], name="x", op="placeholder", role="input", target="x")
    call = top.add(
        "call",
        "executorch_call_delegate",
        [x],
        role="delegate",
        backend="XnnpackBackend",
        name="executorch_call_delegate",
    )
    item = top.add("getitem", "getitem", [call])
    top.add(
        "output", "output", [item], name="output", op="output", role="output", target="output", dtype=None, shape=None
    )
    inner = sketch.drawn("lowered_module_0 · XnnpackBackend", parent_nid=first + (1 << 20) + call)
    return Pane("lowered", (top.drawn(), inner), subtitle="forward · 1 delegate")


def _keys(sketch: Sketch, graph: DrawnGraph) -> list[str]:
    return sketch.keys if graph.nodes.num_rows == len(sketch.keys) else ["x", "call", "getitem", "output"]


def _last_of_pane(nids: Sequence[int], i: int) -> bool:
    return nids[i] >> 22 != nids[i + 1] >> 22


def _cosine(panes: Sequence[Pane], rng: random.Random) -> tuple[dict[int, float], dict[int, str]]:
    values: dict[int, float] = {}
    missing: dict[int, str] = {}
    for pane in panes[1:]:
        for graph in pane.graphs:
            for row, (nid, role) in enumerate(
                zip(*(graph.nodes.column(c).to_pylist() for c in ("nid", "role")), strict=True)
            ):
                if role == "parameter":
                    missing[nid] = "a parameter, no activation"
                elif role == "op":
                    values[nid] = {11: math.nan, 17: math.inf}.get(
                        row, 1 - abs(rng.gauss(0, 0.02)) ** 1.5 * (1 + row / 20)
                    )
    return values, missing


def _answer(panes: Sequence[Pane], cosine: dict[int, float]) -> Answer:
    rows = []
    for pane in panes[1:2]:
        for row in pane.graphs[-1].nodes.to_pylist():
            if row["nid"] in cosine:
                rows.append((row["name"], cosine[row["nid"]], pane.title, row["module_path"], row["nid"]))
    rows.sort(key=lambda row: (not math.isnan(row[1]), not math.isinf(row[1]), row[1]))
    query = "SELECT name, value, stage, module_path, nid\nFROM worst('cosine', n := 20)"
    columns = ["name", "value", "stage", "module_path", "nid"]
    note = "84 of 97 nodes measured; 13 without a number (parameters)"
    return Answer(query, columns, rows[:20], [[row[4]] for row in rows[:20]], note)
