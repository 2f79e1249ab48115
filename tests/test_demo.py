"""`fxstore demo` as a user runs it: in a process of its own, without a network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fxstore
from tests.conftest import Demo, run_demo

pytest.importorskip("executorch")


@pytest.fixture
def store(demo: Demo) -> Iterator[Any]:
    with fxstore.connect(demo.folder / "work" / "fxstore-runs", read_only=True) as opened:
        yield opened


def test_it_is_quick_and_shows_progress(demo: Demo) -> None:
    assert demo.cpu_s < 90
    assert [
        name
        for name in ("float", "prepared", "quantized", "edge", "lowered", "runtime")
        if f"] {name}: " not in demo.err
    ] == []
    assert len(demo.err.splitlines()) < 20  # and nothing of what torch and executorch say


def test_it_leaves_nothing_but_the_store_and_the_page(demo: Demo) -> None:
    assert demo.left == ("work/fxstore-demo.html", "work/fxstore-runs")


def test_it_prints_the_worst_nodes_with_their_source_lines(demo: Demo) -> None:
    assert "Worst nodes of quantized by cosine against float" in demo.out
    assert "Worst nodes of runtime by cosine against quantized" in demo.out
    assert "network.py:" in demo.out


def test_all_stages_are_one_run(store: Any) -> None:
    assert store.sql("SELECT stage FROM stages ORDER BY stage_index").fetchall() == [
        (name,) for name in ("float", "prepared", "quantized", "edge", "lowered", "runtime")
    ]
    overlays = {row[0] for row in store.sql("SELECT name FROM overlays").fetchall()}
    measured = {"quantized vs float", "runtime vs quantized", "runtime latency", "runtime latency statistics"}
    assert overlays == {*measured, "static", "backend", "float statistics", "quantized statistics"}


def test_what_is_in_the_network_is_in_the_graphs(store: Any) -> None:
    kinds = {row[0] for row in store.sql("SELECT DISTINCT op_type FROM nodes WHERE stage = 'float'").fetchall()}
    assert {"conv2d", "batch_norm", "group_norm", "scaled_dot_product_attention", "linear"} <= kinds
    ports = store.sql(
        "SELECT max(n) FROM (SELECT count(DISTINCT src_port) AS n FROM edges JOIN nodes ON src_nid = nid "
        "WHERE role = 'delegate' AND stage = 'lowered' GROUP BY src_nid)"
    ).fetchall()
    assert ports[0][0] >= 2


def test_a_folded_batch_norm_is_what_the_quantised_convolution_is_measured_against(store: Any) -> None:
    rows = store.sql(
        "SELECT n.name, r.name, m.value FROM metrics m JOIN nodes n USING (nid) JOIN nodes r ON r.nid = m.ref_nid "
        "WHERE m.metric = 'cosine' AND n.stage = 'quantized' AND n.op_type = 'conv2d' ORDER BY n.name"
    ).fetchall()
    assert [row[:2] for row in rows] == [("conv2d", "batch_norm"), ("conv2d_1", "batch_norm_1")]
    assert all(value > 0.999 for *_, value in rows)


def test_the_device_agrees_with_the_quantised_graph_at_every_port(store: Any) -> None:
    rows = store.sql(
        "SELECT n.name, m.value FROM metrics m JOIN nodes n USING (nid) JOIN overlays o USING (overlay_id) "
        "WHERE o.name = 'runtime vs quantized' AND m.metric = 'cosine' AND m.value IS NOT NULL"
    ).fetchall()
    assert len(rows) >= 8
    assert min(value for _, value in rows) > 0.999


def test_a_getitem_shows_the_source_line_of_what_it_came_from(store: Any) -> None:
    rows = store.worst("cosine", n=20, overlay="runtime vs quantized").arrow().to_pylist(maps_as_pydicts="strict")
    reads = [row for row in rows if row["name"].startswith("getitem")]
    assert len(reads) >= 4
    assert all(row["source_file"].endswith("network.py") and row["source_line"] for row in reads)


def test_every_number_has_a_node_and_every_missing_one_a_reason(store: Any) -> None:
    assert store.sql(
        "SELECT count(*) FROM metrics WHERE text IS NULL AND ((status = 'not_measured') <> (value IS NULL) "
        "OR (value IS NULL AND reason IS NULL))"
    ).fetchall() == [(0,)]


def test_a_second_run_stands_beside_the_first_and_says_the_same(demo: Demo, tmp_path: Path) -> None:
    shutil.copytree(demo.folder, tmp_path, dirs_exist_ok=True)
    again = run_demo(tmp_path)
    assert again.out == demo.out
    with fxstore.connect(tmp_path / "work" / "fxstore-runs", read_only=True) as store:
        runs = [row[0] for row in store.sql("SELECT run_id FROM runs").fetchall()]
        assert len(runs) == 2
        one, two = (store.worst("cosine", n=20, run=run, overlay="quantized vs float").fetchall() for run in runs)
        assert [row[1:4] for row in one] == [row[1:4] for row in two]
        hashes = store.sql("SELECT count(DISTINCT fingerprint), count(*) FROM graphs").fetchall()[0]
        assert hashes[1] == 2 * 16


def test_clicking_a_float_convolution_highlights_its_counterparts(demo: Demo, browser: Any) -> None:
    noise: list[str] = []
    page_url = (demo.folder / "work" / "fxstore-demo.html").as_uri()
    page = browser.new_page(viewport={"width": 1600, "height": 900}, reduced_motion="reduce")
    page.on("console", lambda message: noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("request", lambda request: request.url == page_url or noise.append(request.url))
    page.goto(page_url)
    page.wait_for_function("() => window.fxstore !== undefined")
    stages = ["float", "prepared", "quantized", "edge", "lowered", "runtime"]
    assert [pane["title"] for pane in page.evaluate("fxstore.panes()")] == stages
    nid = page.evaluate(
        "() => { const { scene } = fxstore.compare;"
        "return fxstore.nids(0).find((nid) => scene.text('name', scene.nodeOf(nid)) === 'conv2d'); }"
    )
    page.evaluate("(nid) => fxstore.compare.viewers[0].reveal(fxstore.compare.scene.nodeOf(nid), 1, false)", nid)
    point = page.evaluate("(nid) => fxstore.pointOf(nid)", nid)
    page.mouse.click(point["x"], point["y"])
    assert page.evaluate("fxstore.selected()") == nid
    found = {(c["pane"], c["name"], c["primary"]) for c in page.evaluate("fxstore.counterparts()")}
    page.close()
    assert found >= {
        (1, "conv2d", True),
        (2, "conv2d", True),
        (3, "aten_convolution_default", True),
        (4, "aten_convolution_default", True),
        (4, "executorch_call_delegate", False),
        (5, "aten_convolution_default", True),
    }
    assert not any(name == "conv2d_1" for _, name, _ in found)
    assert noise == []
