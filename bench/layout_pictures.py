"""Makes the pictures of docs/layout.md: real models whole, in columns, and near, on the page, in Chromium.

Run from the repository's root: ``python -m bench.layout_pictures DIRECTORY``. Needs playwright and Chromium.
"""

from __future__ import annotations

import re
import sys
import tempfile
from html import escape
from pathlib import Path

import numpy as np
import pyarrow as pa
from playwright.sync_api import Browser, sync_playwright
from tests.layout import real
from tests.layout.graphs import Graph
from tests.render.made_pages import EDGES, NODES

from fxstore.layout import Drawing, columns
from fxstore.layout.model import GAP_PARTS
from fxstore.render import DrawnGraph, Page, PageModel, Pane

MODELS = ("mobilenet", "llama-core", "unet")
WHOLE_PX = 1100


def whole(graph: Graph, drawing: Drawing) -> tuple[str, int, int]:
    """Returns an SVG of the whole drawing in columns, and its size in pixels."""
    wrapped = columns(drawing, graph.sizes)
    count = len(wrapped.cuts) - 1
    width, height = count * (wrapped.width + GAP_PARTS), float(np.diff(wrapped.cuts).max())
    scale = WHOLE_PX / max(width, height)
    parts = [f'<symbol id="g" overflow="visible">{"".join(_shapes(graph, drawing))}</symbol>']
    for c, (top, bottom) in enumerate(zip(wrapped.cuts, wrapped.cuts[1:], strict=False)):
        x = c * (wrapped.width + GAP_PARTS)
        parts.append(
            f'<clipPath id="c{c}"><rect y="{top}" width="{wrapped.width}" height="{bottom - top}"/></clipPath>'
        )
        parts.append(f'<g transform="translate({x} {-top})"><g clip-path="url(#c{c})"><use href="#g"/></g></g>')
    size = int(width * scale) + 1, int(height * scale) + 1
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" viewBox="0 0 {width} {height}">'
    )
    return f"{head}{''.join(parts)}</svg>", *size


def _shapes(graph: Graph, drawing: Drawing) -> list[str]:
    out = []
    for depth, (left, top, width, height) in enumerate(drawing.block_boxes.tolist()):
        shade = "#eef2fb" if depth % 2 else "#f6f8fd"
        out.append(f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="{shade}" stroke="#aab6d3"/>')
    stubs = np.resize(drawing.stub, len(graph.edges))
    for e in np.flatnonzero(~stubs).tolist():
        line = drawing.points[drawing.offsets[e] : drawing.offsets[e + 1]]
        path = " ".join(f"{x},{y}" for x, y in line.tolist())
        out.append(f'<polyline points="{path}" fill="none" stroke="#55617d" stroke-width="3"/>')
    for (width, height), x, y in zip(graph.sizes, drawing.x.tolist(), drawing.y.tolist(), strict=True):
        box = f'x="{x - width / 2}" y="{y - height / 2}" width="{width}" height="{height}"'
        out.append(f'<rect {box} rx="4" fill="#3f6fd1"/>')
    return out


def page(name: str, graph: Graph, drawing: Drawing) -> Page:
    """Returns the page of one graph."""
    rows = []
    for i, (label, size) in enumerate(zip(real.names(name), graph.sizes, strict=True)):
        kind = re.sub(r"_\d+$", "", label)
        row: dict[str, object] = dict.fromkeys(NODES.names)
        row |= {"nid": i + 1, "name": label, "op": "call_function", "op_type": kind, "target": kind, "role": "op"}
        rows.append(row | {"module_path": graph.paths[i], "width": size[0], "height": size[1]})
    edges = [{"src": a, "dst": b, "src_port": 0, "dst_arg": "0"} for a, b in graph.edges]
    tables = pa.Table.from_pylist(rows, schema=NODES), pa.Table.from_pylist(edges, schema=EDGES)
    panes = (Pane(name, (DrawnGraph("", *tables, drawing),)),)
    return Page(PageModel(title=name, panes=panes, sync_sets=[], focus={}))


def picture(browser: Browser, name: str, directory: Path) -> None:
    """Writes the two pictures of one model."""
    graph = real.load(name)
    drawing = graph.draw()
    svg, width, height = whole(graph, drawing)
    view = browser.new_page(viewport={"width": width, "height": height})
    view.set_content(f'<title>{escape(name)}</title><body style="margin:0;background:white">{svg}')
    view.screenshot(path=directory / f"layout-{name}-whole.png")
    with tempfile.TemporaryDirectory() as scratch:
        saved = page(name, graph, drawing).save(Path(scratch) / "page.html")
        near = browser.new_page(viewport={"width": 1100, "height": 760})
        near.goto(saved.as_uri())
        near.wait_for_function("() => window.fxstore && window.fxstore.compare")
        middle = int(np.argmin(np.abs(drawing.y - drawing.height * 0.6))) + 1
        near.evaluate("(nid) => fxstore.select(nid)", middle)
        near.wait_for_timeout(1200)
        near.evaluate("() => fxstore.select(null)")
        near.wait_for_timeout(600)
        near.screenshot(path=directory / f"layout-{name}-near.png")


def main() -> None:
    """Makes all pictures."""
    directory = Path(sys.argv[1])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for name in MODELS:
            picture(browser, name, directory)
            print("Wrote", directory / f"layout-{name}-*.png")
        browser.close()


if __name__ == "__main__":
    main()
