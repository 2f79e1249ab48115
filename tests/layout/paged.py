"""Drawings on a page, and where its script then puts everything: folded, and in columns."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fxstore.layout import Drawing, align, stretched
from fxstore.render import DrawnGraph, PageModel, Pane
from fxstore.render.payload import encode
from tests.layout.graphs import Graph
from tests.render.made_pages import EDGES, NODES

_PANE = 1 << 22
SCRIPT = Path(__file__).parents[1] / "viewer" / "columned.mjs"


def page_model(
    title: str, panes: Sequence[tuple[Graph, Drawing]], columns: bool, labels: Sequence[str] | None = None
) -> PageModel:
    """Returns a page of one graph per pane; nodes have the labels, if there are any."""
    shown = tuple(
        Pane(f"{title}{i or ''}", (_drawn(graph, drawing, labels),)) for i, (graph, drawing) in enumerate(panes)
    )
    return PageModel(title=title, panes=shown, sync_sets=[], focus={}, columns=columns)


def level_model(drawn: Sequence[tuple[Graph, Drawing]], keys: Sequence[Mapping[int, int]]) -> PageModel:
    """Returns a page of one graph per pane at equal heights; ``keys`` are the nodes of each pane's computations."""
    heights = [
        {key: float(drawing.y[node]) for key, node in own.items()}
        for (_, drawing), own in zip(drawn, keys, strict=True)
    ]
    panes = []
    for i, ((graph, drawing), stretch) in enumerate(zip(drawn, align(heights), strict=True)):
        moved = stretched(drawing, stretch, np.array(graph.edges, np.int64).reshape(-1, 2))
        panes.append(Pane(str(i), (replace(_drawn(graph, moved, None, i * _PANE), stretch=stretch),)))
    sets = [
        [(i * _PANE + own[key] + 1, True) for i, own in enumerate(keys) if key in own]
        for key in sorted({*chain(*keys)})
    ]
    return PageModel(title="level", panes=tuple(panes), sync_sets=sets, focus={})


def _drawn(graph: Graph, drawing: Drawing, labels: Sequence[str] | None, first: int = 0) -> DrawnGraph:
    rows = []
    for i, (path, (width, height)) in enumerate(zip(graph.paths, graph.sizes, strict=True)):
        label = labels[i] if labels else f"op_{i}"
        kind = re.sub(r"_\d+$", "", label)
        row: dict[str, object] = dict.fromkeys(NODES.names)
        row |= {
            "nid": first + i + 1,
            "name": label,
            "op": "call_function",
            "op_type": kind,
            "target": kind,
            "role": "op",
        }
        rows.append(row | {"module_path": path, "width": width, "height": height})
    edges = [{"src": a, "dst": b, "src_port": 0, "dst_arg": "0"} for a, b in graph.edges]
    tables = pa.Table.from_pylist(rows, schema=NODES), pa.Table.from_pylist(edges, schema=EDGES)
    return DrawnGraph("", *tables, drawing)


@dataclass
class PageScript:
    """The page's own script, in a process that answers with where everything stands."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, node: str) -> PageScript:
        return cls(subprocess.Popen([node, str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))

    def shown(
        self,
        panes: Sequence[tuple[Graph, Drawing]],
        columns: bool,
        closed: Sequence[Sequence[int]] = (),
        scale: float = 1,
    ) -> list[dict[str, Any]]:
        """Returns what each pane shows, with the modules of some numbers closed."""
        return self._asked(page_model("p", panes, columns), closed=list(closed), scale=scale)

    def in_view(self, model: PageModel, panes: Sequence[int]) -> list[dict[str, Any]]:
        """Returns what each pane of a page shows when only some are in view."""
        return self._asked(model, closed=[], panes=list(panes))

    def _asked(self, model: PageModel, **how: object) -> list[dict[str, Any]]:
        payload = base64.b64encode(encode(model)).decode("ascii")
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps({"payload": payload, **how}), file=self.process.stdin, flush=True)
        answer: list[dict[str, Any]] = json.loads(self.process.stdout.readline())
        return answer

    def stop(self) -> None:
        self.process.communicate()
