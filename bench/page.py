"""Measures pages of 500 to 100,000 nodes a pane in Chromium, beside a plain page that draws everything on every frame.

Run from the repository's root: ``python -m bench.page [NODES ...]``. The graphs are layers of a real export, chained.
Times are medians in milliseconds; painted means that the frame was shown. CPU is that of all threads of all
of Chromium's processes, less what opening an empty page, or waiting for the same frames without doing anything, costs.
Each page is opened several times, each time by a new process, and the least CPU counts, since other work on the machine
only ever adds.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.arguments import options, positive
from bench.figures import Figure, paired, size
from fxstore.render import Page, PageModel

SIZES = (500, 2_000, 10_000, 50_000, 100_000)
PLAIN_LIMIT = 50_000
CHROMIUM = os.environ.get("FXSTORE_CHROMIUM", "/usr/bin/chromium")
OPENED = 5
REPEATS = {"pan": 30, "click": 9, "search": 9}
PAUSE_MS = {"pan": 0, "click": 120, "search": 120}

OURS = {
    "ready": "window.fxstore !== undefined",
    "fit": "fxstore.fit(); window.nids = fxstore.nids(0)",
    "pan": "fxstore.viewers.forEach((viewer) => viewer.panBy(i % 2 ? 9 : -9, 5))",
    "click": "fxstore.select(nids[(i * 7919) % nids.length])",
    "search": "fxstore.compare.search(['c', 'co', 'con', 'view', 'addmm', 'layers.7', 'zzz', 'perm', 'q'][i % 9])",
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
    """Returns the CPU time of all living threads of all descendants of a process, in milliseconds."""
    parents = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit():
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
    return sum(_threads_ms(pid) for pid in parents if _descends(pid, root, parents) and _is_browser(pid))


def _is_browser(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").startswith("chrom")
    return False


def _threads_ms(pid: int) -> float:
    total = 0
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e6


def _descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid and pid != root:
        pid = parents.get(pid, 0)
    return pid == root


class Driver:
    """One page, each time in a fresh profile and process."""

    def __init__(self, browser: Any, url: str, calls: dict[str, str]) -> None:
        self._browser, self._url, self._calls = browser, url, calls
        self._empty = Path(url.removeprefix("file://")).parent / "empty.html"
        self._empty.write_text("<!doctype html><title>empty</title>", encoding="utf-8")

    def measure(self, times: int) -> dict[str, float]:
        """Opens the page so many times, uses it and returns what that took."""
        opened = [self._open() for _ in range(times)]
        walls, cpus, nothings = zip(*opened, strict=True)
        out = {"open": statistics.median(walls), "open cpu": min(cpus) - min(nothings)}
        self._page.evaluate(f"() => {{ {self._calls['fit']} }}")
        self._page.wait_for_timeout(2000)
        for what in REPEATS:
            nothing = self._steps("", what)[1]
            wall, cpu = self._steps(self._calls[what], what)
            out[what], out[f"{what} cpu"] = wall, max(0.0, cpu - nothing)
        devtools = self._page.context.new_cdp_session(self._page)
        devtools.send("HeapProfiler.collectGarbage")
        used = devtools.send("Runtime.getHeapUsage")
        out["heap MB"] = (used["usedSize"] + used.get("backingStorageSize", 0)) / 1e6
        return out

    def _open(self) -> tuple[float, float, float]:
        """Returns milliseconds until it was painted, its CPU, and that of an empty page."""
        for context in self._browser.contexts:
            context.close()
        context = self._browser.new_context(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
        self._page = context.new_page()
        self._page.set_default_timeout(120_000)
        self._timed(self._empty.as_uri(), "true")
        self._page.wait_for_timeout(1500)
        nothing = self._timed(f"{self._empty.as_uri()}?again", "true")[1]
        self._page.wait_for_timeout(300)
        wall, cpu = self._timed(self._url, self._calls["ready"])
        return wall, cpu, nothing

    def _timed(self, url: str, ready: str) -> tuple[float, float]:
        before = cpu_ms(os.getpid())
        self._page.goto(url, wait_until="commit")
        self._page.wait_for_function(f"() => {ready}")
        wall = self._page.evaluate(PAINTED)
        return wall, cpu_ms(os.getpid()) - before

    def _steps(self, call: str, what: str) -> tuple[float, float]:
        count = REPEATS[what]
        before = cpu_ms(os.getpid())
        times = self._page.evaluate(STEPS % (call, PAUSE_MS[what]), count)
        return statistics.median(times), (cpu_ms(os.getpid()) - before) / count


COLUMNS = ("open", "open cpu", "pan", "pan cpu", "click", "click cpu", "search", "search cpu", "heap MB")


def show(name: str, row: dict[str, float]) -> None:
    """Prints one row."""
    print(f"{name:18} {row['size'] / 1e6:8.2f} " + " ".join(f"{row[column]:10.1f}" for column in COLUMNS), flush=True)


def figures(quick: bool) -> Iterator[Figure]:
    """Yields what the suite shows of the page: sizes, and CPU of Chromium's processes."""
    rounds = 1 if quick else 3
    for nodes in (2_000,) if quick else (2_000, 10_000):
        took = [row for _, row in driven([nodes] * rounds, 3 if quick else OPENED)]
        both = list(zip(took[::2], took[1::2], strict=True))
        mine, theirs = both[0]
        yield size("page", f"{nodes:,} nodes a pane, file", mine["size"], "a plain page", theirs["size"])
        for what in ("open", "pan", "click", "search"):
            sides = [[one[i][f"{what} cpu"] for one in both] for i in (0, 1)]
            yield paired("page", f"{nodes:,} nodes a pane, {what}", "ms", "lower", "a plain page", (sides[0], sides[1]))


def driven(sizes: Sequence[int], opened: int = OPENED) -> Iterator[tuple[str, dict[str, float]]]:
    """Builds, opens and drives every page; yields each one's name and what it took.

    Args:
        opened: How often each page is opened.
    """
    from playwright.sync_api import sync_playwright

    from bench import chained

    warnings.simplefilter("ignore")
    template = chained.record()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        for nodes in sizes:
            model = chained.page(template, nodes)
            rows = [("fxstore", Page(model).html(), OURS), ("plain", plain(model), PLAIN)]
            for name, html, calls in rows[: 1 + (nodes <= PLAIN_LIMIT)]:
                file = Path(folder) / f"{name}{nodes}.html"
                file.write_text(html, encoding="utf-8")
                browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                yield f"{name} {nodes}", {"size": len(html), **Driver(browser, file.as_uri(), calls).measure(opened)}
                browser.close()


def main(sizes: Sequence[int]) -> None:
    """Prints a row per page."""
    print(f"{'page, nodes a pane':18} {'MB':>8} " + " ".join(f"{column:>10}" for column in COLUMNS))
    for name, row in driven(sizes):
        show(name, row)


if __name__ == "__main__":
    parser = options(__file__, __doc__)
    parser.add_argument("sizes", metavar="NODES", nargs="*", type=positive, default=SIZES)
    main(parser.parse_args().sizes)
