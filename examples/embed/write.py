"""Writes what the pages beside this file load: the viewer, and a graph and its quantised form as payloads.

    python examples/embed/write.py        # then open examples/embed/viewer.html, slots.html, compare.html, script.html,
                                          # shared.html

A page that embeds graphs needs nothing else. Payloads usually come from ``generate_json_payload`` of
``FXGraphExporter``; these are written by hand, so that the examples run without torch.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from fxstore.render import embedded

FLOAT = ["x", "conv", "relu", "linear", "softmax", "output"]
QUANTIZED = ["x", "quantize", "conv_relu", "dequantize", "linear", "softmax", "output"]
ORIGIN = {"conv_relu": ["conv", "relu"], "quantize": [], "dequantize": []}
LATENCY_MS = {"conv": 2.4, "relu": 0.3, "linear": 1.1, "softmax": 0.2}


def payload(names: list[str]) -> dict[str, Any]:
    """Returns a chain of nodes as a payload of one graph."""
    nodes = [
        {
            "id": name,
            "label": name,
            "x": 100,
            "y": 40 + 90 * place,
            "width": 150,
            "height": 52,
            "info": {"name": name, "op": "call_function", "target": f"aten.{name}.default"},
            "tooltip": [f"step {place}"],
        }
        for place, name in enumerate(names)
    ]
    edges = [{"v": before, "w": after} for before, after in pairwise(names)]
    return {
        "base": {"legend": [], "nodes": nodes, "edges": edges},
        "extensions": {"origin": _origin(names), **_latency(names)},
    }


def _origin(names: list[str]) -> dict[str, Any]:
    nodes = {name: {"info": {"float_names": ORIGIN.get(name, [name])}} for name in names}
    return {"name": "Origin", "legend": [], "nodes": nodes, "sync_keys": ["float_names"]}


def _latency(names: list[str]) -> dict[str, Any]:
    nodes = {
        name: {
            "info": {"ms": LATENCY_MS[name]},
            "label_append": [f"{LATENCY_MS[name]} ms"],
            "fill_color": "#e2602b" if LATENCY_MS[name] > 1 else "#fde3a0",
        }
        for name in names
        if name in LATENCY_MS
    }
    legend = [{"label": "over 1 ms", "color": "#e2602b"}, {"label": "less", "color": "#fde3a0"}]
    return {"latency": {"name": "Latency", "legend": legend, "nodes": nodes}} if nodes else {}


def write(folder: Path) -> None:
    """Writes ``fxstore-embed.js``, ``payloads.js``, ``mounted.js``, ``float.js`` and ``quantized.js`` into a folder."""
    texts = {name: json.dumps(payload(names)) for name, names in (("float", FLOAT), ("quantized", QUANTIZED))}
    payloads = "".join(f"window.payloads = {{ ...window.payloads, {name}: {text} }};\n" for name, text in texts.items())
    (folder / "fxstore-embed.js").write_text(embedded.runtime_js(), encoding="utf-8")
    (folder / "payloads.js").write_text(payloads, encoding="utf-8")
    (folder / "mounted.js").write_text(embedded.script(payload(FLOAT), "place"), encoding="utf-8")
    for name, names in (("float", FLOAT), ("quantized", QUANTIZED)):
        (folder / f"{name}.js").write_text(embedded.script(payload(names), name, runtime=False), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
