"""The page in Firefox: it opens and paints, as a headless screenshot shows."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fxstore.render import Page, embedded
from tests.render.embedding import graph
from tests.render.made_pages import STAGES, page_model

FIREFOX = os.environ.get("FXSTORE_FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")


WAIT_S = 8


@pytest.mark.skipif(FIREFOX is None, reason="needs Firefox (apt-get install firefox-esr, or FXSTORE_FIREFOX)")
def test_the_page_paints_in_firefox(tmp_path: Path) -> None:
    Page(page_model(4, STAGES[:3])).save(tmp_path / "page.html")
    with slow_picture() as address:
        frame = "position:fixed;inset:0;width:100%;height:100%;border:0"
        html = f'<!doctype html><iframe src="page.html" style="{frame}"></iframe><img src="{address}" alt="">'
        (tmp_path / "frame.html").write_text(html, encoding="utf-8")
        shot = screenshot(tmp_path, (tmp_path / "frame.html").as_uri())
    width, height, colors = pixels(shot)
    assert (width, height) == (1280, 720)
    assert len(colors) > 200, "more is painted than frames and text: nodes, edges, the colour scale"
    warm = [rgb for rgb in colors if rgb[0] > 200 and rgb[1] < 180 and rgb[2] < 120]
    assert warm, "the metric colours nodes"


@pytest.mark.skipif(FIREFOX is None, reason="needs Firefox (apt-get install firefox-esr, or FXSTORE_FIREFOX)")
def test_embedded_viewers_paint_and_obey_in_firefox(tmp_path: Path) -> None:
    """Two viewers and a compare of two more, driven through the JavaScript API; the page paints what it found green."""
    payload = json.dumps(graph(12))
    script = f"""
      const payload = {payload};
      const made = (root) => FXGraphViewer.create({{ payload, mount: {{ root }}, layout: {{ preset: "compact" }} }});
      const a = made("#a").init(), told = [];
      a.on("selectionchange", ({{ nodeId }}) => told.push(nodeId));
      a.setLayers(["lat"]); a.setColorBy("lat"); a.setTheme("dark"); a.selectNode("n4");
      const [c, d] = [0, 1].map(() => made(document.createElement("div")));
      FXGraphCompare.create({{ viewers: [c, d], layout: {{ container: "#c" }}, sync: {{ mode: "id" }} }});
      c.selectNode("n5");
      const state = [told.join(), a.getState().colorBy, a.search("n7").join(), d.getState().selectedNodeId].join(" ");
      const right = state === "n4 lat n7 n5" && !!document.querySelector("#c canvas, #c *");
      document.body.style.background = right ? "rgb(1, 222, 3)" : "rgb(222, 1, 3)";
      document.title = state;
    """
    host = '<div id="a" style="height:300px;width:800px"></div><div id="c" style="height:320px;width:1000px"></div>'
    with slow_picture() as address:
        (tmp_path / "host.html").write_text(
            f'<!doctype html><meta charset=utf-8><body>{host}<img src="{address}" alt="">'
            f"<script>{embedded.runtime_js()}</script><script>{script}</script></body>",
            encoding="utf-8",
        )
        width, height, colors = pixels(screenshot(tmp_path, (tmp_path / "host.html").as_uri()))
    assert (width, height) == (1280, 720)
    assert (1, 222, 3) in colors, "the script ran to its end, and found what it should"
    assert (0, 170, 0) in colors, "the layer colours nodes"
    assert len(colors) > 100


@contextmanager
def slow_picture() -> Iterator[str]:
    """Serves a picture after a while: Firefox takes its screenshot when all has loaded, which a page cannot put off."""

    class Late(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(WAIT_S)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Late)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/late.png"
    finally:
        server.shutdown()
        server.server_close()


def screenshot(tmp_path: Path, url: str) -> bytes:
    picture, profile = tmp_path / "page.png", tmp_path / "profile"
    profile.mkdir()
    (profile / "user.js").write_text('user_pref("browser.shell.checkDefaultBrowser", false);\n')
    command = [str(FIREFOX), "--headless", "--no-remote", "--profile", str(profile), "--window-size=1280,720"]
    environment = os.environ | {"HOME": str(tmp_path), "MOZ_HEADLESS": "1"}
    subprocess.run(
        [*command, "--screenshot", str(picture), url], env=environment, capture_output=True, check=True,
        timeout=150,
    )  # fmt: skip
    return picture.read_bytes()


def pixels(png: bytes) -> tuple[int, int, set[tuple[int, ...]]]:
    """Returns width, height and the colours of a PNG of eight bits a channel."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data, head = 8, b"", b""
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        head, data = (body if kind == b"IHDR" else head), data + (body if kind == b"IDAT" else b"")
        at += 12 + length
    width, height, _, colour_type = struct.unpack_from(">IIBB", head)
    depth = {2: 3, 6: 4}[colour_type]
    return width, height, _colours(zlib.decompress(data), width, height, depth)


def _colours(raw: bytes, width: int, height: int, depth: int) -> set[tuple[int, ...]]:
    stride, before, out = width * depth, bytearray(width * depth), set()
    for row in range(height):
        kind, line = raw[row * (stride + 1)], bytearray(raw[row * (stride + 1) + 1 : (row + 1) * (stride + 1)])
        for i in range(stride):
            left = line[i - depth] if i >= depth else 0
            corner = before[i - depth] if i >= depth else 0
            line[i] = (line[i] + _predicted(kind, left, before[i], corner)) & 255
        out |= {tuple(line[i : i + 3]) for i in range(0, stride, depth)}
        before = line
    return out


def _predicted(kind: int, left: int, up: int, corner: int) -> int:
    if kind == 4:
        guess = left + up - corner
        return min((left, up, corner), key=lambda value: abs(guess - value))
    return (0, left, up, (left + up) // 2)[kind]
