"""Measures pages of 500 to 100,000 nodes a pane in Chromium, beside a plain page that draws everything on every frame.

Run from the repository's root: ``python -m bench.page [NODES ...]``. The graphs are layers of a real export, chained.
Times are medians in milliseconds. CPU is that of all of Chromium's processes; painted means that the frame was shown.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from fxstore.render import Page, PageModel

SIZES = (500, 2_000, 10_000, 50_000, 100_000)
PLAIN_LIMIT = 50_000
CHROMIUM = os.environ.get("FXSTORE_CHROMIUM", "/usr/bin/chromium")
TICKS = os.sysconf("SC_CLK_TCK")
REPEATS = {"pan": 20, "click": 9, "search": 9}

OURS = {
    "ready": "window.fxstore !== undefined",
    "fit": "fxstore.fit()",
    "pan": "fxstore.viewers.forEach((viewer) => viewer.panBy(i % 2 ? 9 : -9, 5))",
    "click": "fxstore.select(fxstore.nids(0)[(i * 7919) % fxstore.nids(0).length])",
    "search": "fxstore.search(['c', 'co', 'con', 'view', 'addmm', 'layers.7', 'zzz', 'perm', 'q'][i % 9])",
}
PLAIN = {
    "ready": "window.plain !== undefined",
    "fit": "plain.fit()",
    "pan": "plain.pan(i % 2 ? 9 : -9, 5)",
    "click": "plain.select((i * 7919) % graphs[0].nodes.length)",
    "search": "plain.search(['c', 'co', 'con', 'view', 'addmm', 'layers.7', 'zzz', 'perm', 'q'][i % 9])",
}
STEPS = """async (count) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const times = [];
  for (let i = 0; i < count; i++) {
    await frame();
    const began = performance.now();
    %s;
    await frame();
    times.push(performance.now() - began);
    await new Promise((done) => setTimeout(done, %d));
  }
  return times;
}"""
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"


def plain(model: PageModel) -> str:
    """Returns the reference page: JSON, a canvas for each pane, no culling."""
    graphs = []
    for pane in model.panes:
        (graph,) = pane.graphs
        d = graph.drawing
        rows = graph.nodes.select(["nid", "name", "op_type", "module_path", "width", "height"]).to_pylist()
        nodes = [
            {"id": row["nid"], "name": row["name"], "label": row["op_type"] or "", "module": row["module_path"],
             "x": float(d.x[i]), "y": float(d.y[i]), "width": row["width"], "height": row["height"],
             "set": model.focus.get(row["nid"])}
            for i, row in enumerate(rows)
        ]  # fmt: skip
        edges = [{"points": d.points[a:b].tolist()} for a, b in zip(d.offsets[:-1], d.offsets[1:], strict=True)]
        graphs.append({"nodes": nodes, "edges": edges, "width": d.width, "height": d.height})
    text = json.dumps(graphs).replace("<", "\\u003c")
    return (Path(__file__).parent / "plain.html").read_text(encoding="utf-8").replace("$graphs", text, 1)


def cpu_ms(root: int) -> float:
    """Returns the CPU time of all descendants of a process, in milliseconds."""
    parents, times = {}, {}
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split() if entry.name.isdigit() else []
        except OSError:
            continue
        if fields:
            parents[int(entry.name)], times[int(entry.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
    return sum(ticks for pid, ticks in times.items() if pid != root and _descends(pid, root, parents)) * 1000 / TICKS


def _descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid and pid != root:
        pid = parents.get(pid, 0)
    return pid == root


def drive(browser: Any, url: str, calls: dict[str, str]) -> dict[str, float]:
    """Opens a page and returns what was measured; what an empty page costs is not counted."""

    def cpu() -> float:
        return cpu_ms(os.getpid())

    context = browser.new_context(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(120_000)
    empty = Path(url.removeprefix("file://")).parent / "empty.html"
    empty.write_text("<!doctype html><title>empty</title>", encoding="utf-8")
    page.goto(empty.as_uri())
    page.wait_for_timeout(1500)
    before = cpu()
    page.goto(f"{empty.as_uri()}?again", wait_until="commit")
    page.evaluate(PAINTED)
    nothing, before = cpu() - before, cpu()
    out: dict[str, float] = {}
    page.goto(url, wait_until="commit")
    page.wait_for_function(f"() => {calls['ready']}")
    out["open"] = page.evaluate(PAINTED)
    out["open cpu"] = cpu() - before - nothing
    page.evaluate(f"() => {{ {calls['fit']} }}")
    page.wait_for_timeout(1000)
    for what, count in REPEATS.items():
        before = cpu()
        times = page.evaluate(STEPS % (calls[what], 0 if what == "pan" else 120), count)
        out[what], out[f"{what} cpu"] = statistics.median(times), (cpu() - before) / count
    devtools = context.new_cdp_session(page)
    devtools.send("HeapProfiler.collectGarbage")
    used = devtools.send("Runtime.getHeapUsage")
    out["heap MB"] = (used["usedSize"] + used.get("backingStorageSize", 0)) / 1e6
    context.close()
    return out


COLUMNS = ("open", "open cpu", "pan", "pan cpu", "click", "click cpu", "search", "search cpu", "heap MB")


def show(name: str, size: int, row: dict[str, float]) -> None:
    """Prints one row."""
    print(f"{name:18} {size / 1e6:8.2f} " + " ".join(f"{row[column]:10.1f}" for column in COLUMNS), flush=True)


def main() -> None:
    """Builds, opens and drives every page."""
    from bench import chained
    from playwright.sync_api import sync_playwright

    warnings.simplefilter("ignore")
    sizes = [int(text) for text in sys.argv[1:]] or SIZES
    template = chained.record()
    print(f"{'page, nodes a pane':18} {'MB':>8} " + " ".join(f"{column:>10}" for column in COLUMNS))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        for nodes in sizes:
            model = chained.page(template, nodes)
            rows = [("fxstore", Page(model).html(), OURS), ("plain", plain(model), PLAIN)]
            for name, html, calls in rows[: 1 + (nodes <= PLAIN_LIMIT)]:
                file = Path(folder) / f"{name}{nodes}.html"
                file.write_text(html, encoding="utf-8")
                browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                show(f"{name} {nodes}", len(html), drive(browser, file.as_uri(), calls))
                browser.close()


if __name__ == "__main__":
    main()
