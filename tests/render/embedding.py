"""Graph payloads and host pages for the tests of embedded viewers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fxstore.render import embedded
from tests.render.browsing import settle

HOST_STYLE = (
    "* { margin: 2px; letter-spacing: 3px } button, select { color: red; font-size: 33px } canvas { border: 9px solid }"
    "div { padding: 1px } table { display: none }"
)


def graph(count: int = 12, columns: int = 3, layers: bool = True, **info: Any) -> dict[str, Any]:
    """Returns a grid of nodes ``n0``, ``n1``, … as the prototype would write it."""
    nodes = [
        {
            "id": f"n{i}",
            "label": f"op{i % 5}",
            "x": 100 + 170 * (i % columns),
            "y": 40 + 90 * (i // columns),
            "width": 140,
            "height": 52,
            "info": {
                "name": f"n{i}",
                "op": "call_function",
                "target": f"aten.op{i % 5}.default",
                "debug_handle": i + 1,
                "args": [f"a{i}"],
                **info,
            },
            "tooltip": [f"Name: n{i}"],
        }
        for i in range(count)
    ]
    edges = [{"v": f"n{i - columns}", "w": f"n{i}"} for i in range(columns, count)]
    return {"base": {"legend": [], "nodes": nodes, "edges": edges}, "extensions": _layers(count) if layers else {}}


def _layers(count: int) -> dict[str, Any]:
    slow = {
        f"n{i}": {
            "info": {"ms": i / 4, "handles": [i, i + 100]},
            "label_append": [f"{i / 4} ms"],
            "tooltip": [f"took {i / 4} ms"],
            "fill_color": "#00aa00",
        }
        for i in range(0, count, 2)
    }
    parts = {f"n{i}": {"info": {"part": "cpu"}, "fill_color": "rgb(0, 0, 255)"} for i in range(3)}
    return {
        "lat": {
            "name": "Latency",
            "legend": [{"label": "slow", "color": "#00aa00"}],
            "nodes": slow,
            "sync_keys": ["handles"],
        },
        "part": {"name": "Part", "legend": [{"label": "cpu", "color": "blue"}], "nodes": parts},
    }


def compare(*viewers: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Returns a compare payload of graphs, as the prototype would write it."""
    return {
        "title": "Side by side",
        "viewers": [{"name": f"graph {i}", "payload": payload} for i, payload in enumerate(viewers)],
        "sync": {"mode": "auto"},
        "state": {"activeExtensions": [], "colorBy": None},
        **more,
    }


def host(path: Path, body: str, *, head: str = "", bundle: bool = True, nonce: str = "") -> str:
    """Writes a page that is not ours around some elements, and returns its address."""
    attribute = f' nonce="{nonce}"' if nonce else ""
    script = f"<script{attribute}>{embedded.runtime_js()}</script>" if bundle else ""
    path.write_text(
        f"<!doctype html><meta charset=utf-8>{head}<body>{body}{script}</body>",
        encoding="utf-8",
    )
    return path.as_uri()


DEEP_DOM = """(root) => {
  const deep = (node) => {
    if (node.nodeType !== 1 && node.nodeType !== 11) return node.nodeValue ?? '';
    const name = node.nodeName;
    const attributes = [...(node.attributes ?? [])].map((one) => `${one.name}=${one.value}`).sort().join(' ');
    const shadow = node.shadowRoot ? deep(node.shadowRoot) : '';
    return `<${name} ${attributes}>${shadow}${[...node.childNodes].map(deep).join('')}</${name}>`;
  };
  return deep(root);
}"""


TWO = (
    '<div id="a" class="mine" style="height:400px;width:900px"></div>'
    '<div id="b" style="height:400px;width:900px"></div><div id="c" style="height:600px;width:1200px"></div>'
)


def create(page: Any, name: str, config: str = "") -> None:
    page.evaluate(
        f"() => {{ window.{name} = FXGraphViewer.create({{ payload: given.g, mount: {{ root: '#{name}' }},"
        f"{config} }}); {name}.init(); }}"
    )
    settle(page)


def state(page: Any, name: str) -> dict[str, Any]:
    return page.evaluate(f"() => {name}.getState()")


def pixel(page: Any, name: str, node: str) -> list[int]:
    """Returns the colour that is painted near a node's right edge."""
    return page.evaluate(
        "([name, node]) => { const viewer = window[name]; const place = viewer.model.place(node);"
        "const { pane } = viewer.shell; const [left, top, width, height] = pane.boxOf(place);"
        "return [...pane.context.getImageData(left + width - 6, top + height / 2, 1, 1).data].slice(0, 3); }",
        [name, node],
    )


def click(page: Any, name: str, node: str) -> None:
    point = page.evaluate(f"() => {name}.shell.pane.pointOf({name}.model.place('{node}'))")
    page.mouse.click(point["x"], point["y"])
    settle(page)
