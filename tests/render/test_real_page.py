"""Pages of real runs, from a fresh browser profile, offline: everything that a person does there, once through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Demo
from tests.render.browsing import address, settle

STAGES = ["float", "prepared", "quantized", "edge", "lowered", "runtime"]


def test_the_demos_page(browser: Any, demo: Demo) -> None:
    use(browser, demo.folder / "work" / "fxstore-demo.html")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch, torchao and executorch warn about themselves
def test_a_page_of_a_quantised_mobilenet_v2(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("executorch")
    import torch

    import fxstore
    from bench.models import ConvBn, InvertedResidual
    from fxstore.ingest.demo.pipeline import compile_network

    widths = [
        (32, 16, 1, 1),
        (16, 24, 2, 2),
        (24, 32, 2, 3),
        (32, 64, 2, 4),
        (64, 96, 1, 3),
        (96, 160, 2, 3),
        (160, 320, 1, 1),
    ]
    blocks = [
        InvertedResidual(cin if i == 0 else cout, cout, stride if i == 0 else 1)
        for cin, cout, stride, repeats in widths
        for i in range(repeats)
    ]
    head = [ConvBn(320, 1280, 1), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(1280, 100)]
    network = torch.nn.Sequential(ConvBn(3, 32, stride=2), torch.nn.Sequential(*blocks), *head).eval()
    inputs = (torch.randn(1, 3, 64, 64),)
    with fxstore.connect(tmp_path / "store") as store:
        with store.record("mobilenet", model="MobileNetV2", strict=True) as recorder:
            compile_network(network, inputs, recorder.stage)
            recorder.measure(inputs, reference="float", stages=["quantized"])
        page = store.worst("cosine", n=20).compare().save(tmp_path / "mobilenet.html")
    assert page.stat().st_size < 2e6
    use(browser, page)


def use(browser: Any, file: Path) -> None:
    """Does it all; nothing may be asked of a network, and nothing may fail on the way."""
    context = browser.new_context(viewport={"width": 1600, "height": 900}, reduced_motion="reduce", offline=True)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    noise: list[str] = []
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("request", lambda request: request.url.startswith("file:") or noise.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_function("() => window.fxstore !== undefined")
    for step in (clicks, reaches, edges, folds, colours, finds, answers, panes, outputs):
        step(page)
        settle(page)
    link = file.as_uri() + address(page)
    again = context.new_page()
    again.goto(link)
    again.wait_for_function("() => window.fxstore !== undefined")
    assert again.evaluate("fxstore.selected()") == page.evaluate("fxstore.selected()")
    assert noise == []
    context.close()


def clicks(page: Any) -> None:
    assert page.locator(".fx-pane h2").all_text_contents() == STAGES
    page.locator(".fx-rows tbody tr").first.click()
    settle(page)
    nid = page.evaluate("fxstore.selected()")
    point = page.evaluate("(nid) => fxstore.pointOf(nid)", nid)
    page.mouse.click(point["x"], point["y"])
    assert page.evaluate("fxstore.selected()") == nid
    assert page.locator(".fx-status").count() == len(STAGES)
    assert page.locator(".fx-status", has_text="◆").count() >= 1, "what holds the value is marked apart"
    labels = page.locator(".fx-details tbody th").all_text_contents()
    assert {"name", "op type", "dtype", "shape", "source", "code", "inputs"} <= set(labels)
    page.keyboard.press("]")
    page.keyboard.press("b")
    assert page.evaluate("fxstore.selected()") == nid


def reaches(page: Any) -> None:
    for key in "uud":
        page.keyboard.press(key)
    assert "↑" in page.locator(".fx-tools span").text_content()
    assert page.evaluate("fxstore.compare.reach.up.size") > 1


def edges(page: Any) -> None:
    told = page.evaluate(
        "() => { const { scene, selection } = fxstore.compare; const { inStart, inEdge } = scene.adjacency;"
        "fxstore.compare.selectEdge(inEdge[inStart[selection.node]]); return selection.node; }"
    )
    rows = page.locator(".fx-facts-table tr").all_text_contents()
    assert {"port0", "argument0"} <= set(rows), rows
    assert any(row.startswith("compared with") and "no value pair" not in row for row in rows), rows
    page.evaluate("(node) => fxstore.compare.selectNode(node)", told)


def folds(page: Any) -> None:
    height = "() => fxstore.compare.scene.panes[0].extent.bottom"
    before = page.evaluate(height)
    page.get_by_text("View", exact=True).click()
    page.get_by_label("Modules").select_option("0")
    assert page.evaluate(height) < before
    module = page.evaluate("[...fxstore.compare.scene.panes[0].closed][0]")
    page.evaluate("(block) => fxstore.compare.selectModule(0, block)", module)
    assert "nodes" in page.locator(".fx-facts-table").text_content()
    page.get_by_label("Modules").select_option("Infinity")
    assert page.evaluate(height) == before
    nested = page.evaluate("fxstore.compare.scene.panes[4].graphs.find((graph) => graph.title).number")
    for count in (1, 0):
        page.evaluate("(graph) => fxstore.compare.toggleFold(4, 'graph', graph)", nested)
        assert page.evaluate("fxstore.compare.scene.panes[4].closedGraphs.size") == count


def colours(page: Any) -> None:
    metrics = page.locator(".fx-by option").all_text_contents()
    assert any(name.startswith("cosine") for name in metrics)
    page.get_by_label("Border").select_option(index=2)
    page.get_by_label("Dot").select_option(label="role")
    page.get_by_label("Second line").select_option(index=1)
    page.get_by_role("button", name="Colour what changed").click()
    assert "changed" in page.locator(".fx-legend").first.text_content()
    assert page.locator(".fx-layer").count() == 3, "each further overlay has its legend"
    page.locator(".fx-by select").select_option(index=0)
    page.locator(".fx-range summary").click()
    page.get_by_label("Lower end of the scale").fill("0.9999")
    page.get_by_role("button", name="Apply").click()
    assert page.evaluate("fxstore.compare.coloring.domain.min") == 0.9999
    page.evaluate("fxstore.compare.setRange(null)")
    strip = page.locator(".fx-strip canvas").nth(2)
    strip.click(position={"x": 20, "y": 10})
    assert page.evaluate("fxstore.compare.scene.paneOf(fxstore.compare.selection.node).title") == "quantized"


def finds(page: Any) -> None:
    page.locator(".fx-bin:has(i:not([style*='height: 0']))").first.click()
    assert "cosine" in page.locator(".fx-search input").input_value()
    page.keyboard.press("/")
    page.keyboard.type("stage:quantized cosine<1")
    assert page.evaluate("fxstore.compare.found.counts[2]") > 0
    assert page.evaluate("fxstore.compare.found.counts[0]") == 0
    page.keyboard.press("Enter")
    assert " of " in page.locator(".fx-search output").text_content()
    page.keyboard.press("Escape")
    page.locator(".fx-search input").blur()


def answers(page: Any) -> None:
    page.locator(".fx-rows thead button", has_text="value").click()
    page.get_by_label("Filter the rows").fill("value<1")
    assert page.locator(".fx-rows tbody tr").count() > 0
    page.get_by_label("Filter the rows").blur()
    page.keyboard.press("n")
    page.keyboard.press("n")
    page.keyboard.press("p")
    assert page.locator(".fx-rows tr[aria-current]").count() == 1


def panes(page: Any) -> None:
    for key in ("4", "5", "2"):  # it opens with the reference, the stages of the answer and the device
        page.keyboard.press(key)
    assert page.locator(".fx-pane:visible").count() == 6
    page.keyboard.press("2")
    assert page.locator(".fx-pane:visible").count() == 5
    page.keyboard.press("2")
    page.evaluate("fxstore.compare.viewers && document.querySelector('[aria-label=\"Move right float\"]').click()")
    assert page.locator(".fx-pane h2").all_text_contents()[:2] == ["prepared", "float"]
    page.keyboard.press("l")
    page.evaluate("fxstore.viewers[2].panBy(0, -80)")
    assert page.evaluate("fxstore.viewOf(0).scale") == page.evaluate("fxstore.viewOf(2).scale")
    page.keyboard.press("l")
    page.keyboard.press("t")
    page.keyboard.press("?")
    assert page.locator("dialog.fx-help").is_visible()
    page.keyboard.press("Escape")
    page.get_by_text("View", exact=True).click()
    page.get_by_role("button", name="Scatter of two panes").click()
    page.get_by_role("button", name="Close").last.click()


def outputs(page: Any) -> None:
    for item in ("View as PNG", "View as SVG", "Selection as PNG", "Selection as SVG", "Rows as CSV"):
        page.get_by_text("Export", exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("button", name=item).click()
        assert download.value.path().stat().st_size > 100
    page.keyboard.press("c")
    page.wait_for_timeout(100)
    assert "op type\t" in page.evaluate("navigator.clipboard.readText()")
