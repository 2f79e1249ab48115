"""What a person does on the page beyond a click on a node, in a real browser."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fxstore.render import PageModel
from tests.layout import graphs
from tests.layout.paged import page_model as deep_page
from tests.render.browsing import Open, address, nid_of, settle
from tests.render.made_pages import STAGES, Sketch, page_model

WIDE = {"width": 1500, "height": 800}


def value_sets(model: PageModel) -> list[list[tuple[int, int, str]]]:
    return [[(nid, 0, "from_node") for nid, primary in members if primary] for members in model.sync_sets]


def click_at(page: Any, pane: int, x: float, y: float, times: int = 1) -> None:
    """Clicks on a point of a pane's drawing."""
    point = page.evaluate(
        "([pane, x, y]) => { const view = fxstore.viewOf(pane); const viewer = fxstore.viewers[pane];"
        "const half = (extent) => extent / 2 / view.scale;"
        "viewer.setView({ ...view, x: x - half(viewer.size.width), y: y - half(viewer.size.height) });"
        "const box = viewer.canvas.getBoundingClientRect();"
        "return [box.left + viewer.size.width / 2, box.top + viewer.size.height / 2]; }",
        [pane, x, y],
    )
    settle(page)
    page.mouse.click(*point, click_count=times)
    settle(page)


def test_an_edge_tells_its_value_and_what_it_is_compared_with(open_page: Open) -> None:
    model = page_model(3, STAGES[:2])
    page = open_page(replace(model, equal_values=value_sets(model)), viewport=WIDE)
    x, y = page.evaluate(
        "() => { const { scene } = fxstore.compare; const at = scene.cornerStart[0];"
        "return [scene.cornerX[at], (scene.cornerY[at] + scene.cornerY[at + 1]) / 2]; }"
    )
    click_at(page, 0, x, y)
    rows = dict(row.split("\t") for row in page.evaluate(
        "() => [...document.querySelectorAll('.fx-facts-table tr')].map((row) => "
        "[...row.cells].map((cell) => cell.innerText).join('\\t'))"
    ))  # fmt: skip
    assert rows["from"] == "x"
    assert rows["port"] == "0"
    assert rows["dtype"] == "float32"
    assert rows["shape"] == "[1, 32, s0, 14]"
    assert rows["compared with"].startswith("prepared: x from_node")
    page.locator(".fx-pair button").first.click()
    assert page.evaluate("fxstore.compare.scene.paneOf(fxstore.compare.selection.node).title") == "prepared"


def test_modules_close_and_open_one_by_one_and_by_level(open_page: Open) -> None:
    page = open_page(page_model(3, STAGES[:2]), viewport=WIDE)
    height = "() => fxstore.compare.scene.panes[0].extent.bottom"
    block = "() => { const { scene } = fxstore.compare; return scene.blocks.map((column) => column[0]); }"
    before, (left, top, _, _) = page.evaluate(height), page.evaluate(block)
    click_at(page, 0, left + 3, top + 3)
    assert "Module features" in page.locator(".fx-facts-table caption").text_content()
    click_at(page, 0, left + 3, top + 3, times=2)
    folded = page.evaluate(height)
    assert folded < before - 300
    assert page.evaluate("fxstore.compare.scene.panes[1].closed.size") == 0, "one pane only"
    page.get_by_role("button", name="Open (double click)").click()
    assert page.evaluate(height) == before
    page.keyboard.press("m")
    assert page.evaluate(height) < before
    assert page.evaluate("fxstore.compare.scene.panes[1].closed.size") > 0
    hidden = page.evaluate("fxstore.nids(0)[fxstore.compare.scene.holder.findIndex((block) => block >= 0)]")
    page.evaluate("(nid) => fxstore.select(nid)", hidden)
    settle(page)
    assert page.evaluate("fxstore.selected()") == hidden, "what a closed module holds can be selected"
    page.keyboard.press("Escape")
    page.keyboard.press("M")
    assert page.evaluate(height) == before


def test_a_nested_graph_closes_to_its_title_and_opens_in_place(open_page: Open) -> None:
    page = open_page(page_model(2, ("float", "lowered")), viewport=WIDE)
    frame = "() => { const { graphs } = fxstore.compare.scene.panes[1]; return [graphs[1].x, graphs[1].y]; }"
    before = page.evaluate("fxstore.compare.scene.panes[1].extent.bottom")
    x, y = page.evaluate(frame)
    click_at(page, 1, x + 20, y - 20, times=2)
    assert page.evaluate("fxstore.compare.scene.panes[1].extent.bottom") < before
    x, y = page.evaluate(frame)
    click_at(page, 1, x + 20, y - 20, times=2)
    assert page.evaluate("fxstore.compare.scene.panes[1].extent.bottom") == before


def test_selections_are_gone_through_back_and_forward(open_page: Open) -> None:
    page = open_page(page_model(2, STAGES[:2]))
    nids = page.evaluate("fxstore.nids(0)")
    back = page.get_by_role("button", name="Back to what was selected")
    assert back.is_disabled()
    for nid in nids[2:5]:
        page.evaluate("(nid) => fxstore.select(nid)", nid)
    back.click()
    page.keyboard.press("b")
    assert page.evaluate("fxstore.selected()") == nids[2]
    page.keyboard.press("B")
    assert page.evaluate("fxstore.selected()") == nids[3]


def test_inputs_and_users_light_up_by_hops(open_page: Open) -> None:
    page = open_page(page_model(2, STAGES[:2]), viewport=WIDE)
    page.evaluate("(nid) => fxstore.select(nid)", nid_of(page, 0, "relu_4"))
    page.keyboard.press("u")
    assert page.locator(".fx-tools span").text_content() == "↑ 2 in 1 hop"
    page.get_by_role("button", name="↓ users").click()
    page.get_by_role("button", name="↓ users").click()
    up, down = page.evaluate(
        "[[...fxstore.compare.reach.up], [...fxstore.compare.reach.down]].map((part) => part.length)"
    )
    assert up == 2
    assert down > 2
    page.keyboard.press("U")
    assert "all hops" in page.locator(".fx-tools span").text_content()
    page.keyboard.press("Escape")
    assert page.evaluate("fxstore.compare.reach") is None


def test_search_compares_metrics_and_the_histogram_asks_it(open_page: Open) -> None:
    page = open_page(page_model(3, STAGES[:3]), viewport=WIDE)
    page.keyboard.press("/")
    page.keyboard.type("op:conv2d cosine<0.99")
    below = page.evaluate(
        "() => { const { scene, coloring } = fxstore.compare; return [...coloring.values].filter((value, node) => "
        "value < 0.99 && scene.text('op_type', node) === 'conv2d').length; }"
    )
    assert page.locator(".fx-search output").text_content() == f"{below} found"
    worst = page.locator(".fx-bin:not([title^='0 nodes'])").last
    worst.click()
    assert page.locator(".fx-search input").input_value().startswith("cosine>0.968377")
    assert worst.get_attribute("title").startswith(page.locator(".fx-search output").text_content().split()[0])


def test_the_scale_is_narrowed_and_whole_again(open_page: Open) -> None:
    page = open_page(page_model(3, STAGES[:3]), viewport=WIDE)
    page.locator(".fx-range summary").click()
    page.get_by_label("Lower end of the scale").fill("0.99")
    page.get_by_role("button", name="Apply").click()
    assert page.evaluate("fxstore.compare.coloring.domain.min") == 0.99
    assert "0.99" in page.locator(".fx-ticks").text_content()
    page.locator(".fx-range summary").click()
    page.get_by_role("button", name="Whole range").click()
    assert page.evaluate("fxstore.compare.coloring.domain.min") < 0.99


def test_strip_and_minimap_lead_to_nodes(open_page: Open) -> None:
    page = open_page(page_model(12, STAGES[:2]), viewport=WIDE)
    assert page.locator(".fx-strip-note").all_text_contents() == ["no cosine in this stage", ""]
    strip = page.locator(".fx-strip canvas").nth(1)
    box = strip.bounding_box()
    strip.click(position={"x": box["width"] - 3, "y": 10})
    last = page.evaluate("fxstore.nids(1).slice(-3)")
    assert page.evaluate("fxstore.selected()") in last
    graph, map_ = page.locator(".fx-mount").nth(0).bounding_box(), page.locator(".fx-map").nth(0).bounding_box()
    assert map_["x"] >= graph["x"] + graph["width"] - 0.5, "the minimap stands beside the graph"
    page.keyboard.press("Escape")
    page.locator(".fx-map").nth(0).click(position={"x": 5, "y": 5})
    top = page.evaluate("fxstore.viewOf(0)")
    page.locator(".fx-map").nth(0).click(position={"x": 5, "y": map_["height"] - 5})
    assert page.evaluate("fxstore.viewOf(0).y") > top["y"] + 1000


def test_overlays_are_stacked(open_page: Open) -> None:
    page = open_page(page_model(2, STAGES[:2]), viewport=WIDE)
    nid = nid_of(page, 1, "conv2d_2")
    page.evaluate("(nid) => { fxstore.select(nid); fxstore.select(null); }", nid)
    page.get_by_text("View", exact=True).click()
    before = colours(page, 1)
    for label in ("Border", "Dot", "Second line"):
        page.get_by_label(label).select_option(index=2)
    settle(page)
    assert page.evaluate("Object.values(fxstore.compare.layers)") == [1, 1, 1]
    assert colours(page, 1) > before + 3, "borders and dots have colours of their own"


def colours(page: Any, pane: int) -> int:
    settle(page)
    return page.evaluate(
        "(pane) => { const canvas = document.querySelectorAll('.fx-mount canvas')[pane];"
        "const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);"
        "return new Set(new Uint32Array(data.buffer)).size; }",
        pane,
    )


def test_panes_follow_each_other(open_page: Open) -> None:
    page = open_page(page_model(20, STAGES[:2]), viewport=WIDE)
    page.keyboard.press("l")
    page.locator(".fx-mount canvas").nth(0).focus()
    page.evaluate("fxstore.viewers[0].zoomBy(1.2)")
    for _ in range(12):
        page.keyboard.press("ArrowDown")
    settle(page)
    middle = "(pane) => { const v = fxstore.viewers[pane]; return v.view.y + v.size.height / 2 / v.view.scale; }"
    nearest = (
        "([pane, y]) => { const { scene } = fxstore.compare; let best = scene.panes[pane].first;"
        "const away = (n) => Math.abs(scene.y[n] - y);"
        "for (let n = best; n < scene.panes[pane].end; n++) if (away(n) < away(best)) best = n;"
        "return scene.text('module_path', best); }"
    )
    modules = [page.evaluate(nearest, [pane, page.evaluate(middle, pane)]) for pane in range(2)]
    assert modules[0].split(".")[:2] == modules[1].split(".")[:2]
    assert page.evaluate("fxstore.viewOf(0).scale") == pytest.approx(page.evaluate("fxstore.viewOf(1).scale"))


def test_panes_change_places_and_a_link_keeps_it(open_page: Open) -> None:
    model = page_model(1, STAGES[:3])
    page = open_page(model)
    titles = page.locator(".fx-pane:visible h2")
    page.locator(".fx-pane").nth(0).hover()
    page.get_by_role("button", name="Move right float").click()
    assert titles.all_text_contents() == ["prepared", "float", "quantized"]
    page.get_by_role("group", name="Panes").get_by_role("button", name="quantized").focus()
    page.keyboard.press("Alt+ArrowLeft")
    assert titles.all_text_contents() == ["prepared", "quantized", "float"]
    page.get_by_role("button", name="Hide float").click()
    page.evaluate("fxstore.setColor(1)")
    page.evaluate("fxstore.search('conv')")
    nid = page.evaluate("fxstore.nids(1)[3]")
    page.evaluate("(nid) => fxstore.select(nid)", nid)
    again = open_page(model, hash_=address(page))
    assert again.locator(".fx-pane:visible h2").all_text_contents() == ["prepared", "quantized"]
    assert again.evaluate("[fxstore.selected(), fxstore.compare.color]") == [nid, 1]
    assert again.locator(".fx-search input").input_value() == "conv"


def test_rows_are_filtered_and_go_out_as_csv_and_pictures(open_page: Open) -> None:
    model = page_model(4, STAGES[:2])
    page = open_page(model, viewport=WIDE)
    page.get_by_label("Filter the rows").fill("name:conv value<0.999")
    shown = page.locator(".fx-rows tbody tr").count()
    assert 0 < shown < 20
    assert page.locator(".fx-answer .fx-count").text_content() == f"{shown} of 20 rows"
    assert "name,value,stage" in exported(page, "Rows as CSV").splitlines()[0]
    rows = list(csv.DictReader(io.StringIO(exported(page, "Rows as CSV"))))
    assert len(rows) == shown
    assert all("conv" in row["name"] for row in rows)
    page.evaluate("(nid) => fxstore.select(nid)", model.answer.nids[3][0])
    view = exported(page, "View as SVG")
    assert view.startswith("<svg xmlns")
    assert "conv2d" in view
    assert "<script" not in view
    selection = exported(page, "Selection as SVG")
    assert "batch_norm" in selection
    assert selection != view
    assert exported(page, "View as PNG", raw=True)[:4] == b"\x89PNG"
    assert exported(page, "Selection as PNG", raw=True)[:4] == b"\x89PNG"


def exported(page: Any, item: str, raw: bool = False) -> Any:
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name=item).click()
    content = download.value.path().read_bytes()
    return content if raw else content.decode("utf-8")


def test_the_details_are_copied_as_text(open_page: Open) -> None:
    page = open_page(page_model(2, STAGES[:2]), viewport=WIDE)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("(nid) => fxstore.select(nid)", nid_of(page, 0, "conv2d_2"))
    page.keyboard.press("c")
    page.wait_for_timeout(100)
    lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    cells = {line.split("\t")[0]: line.split("\t")[1:] for line in lines}
    assert cells["name"] == ["conv2d_2", "conv2d_2"]
    assert (
        cells["inputs"][0] == "0 ← x float32 [1, 32, s0, 14] | 1 ← p_features_0_conv2d0_weight float32 [32, 32, 3, 3]"
    )


def test_statistics_categories_and_what_is_left_out_are_shown(open_page: Open) -> None:
    from fxstore.render import ColorBy

    model = page_model(2, STAGES[:2])
    nid = model.panes[0].graphs[0].nodes["nid"][2].as_py()
    counts = [int(n) for n in np.random.default_rng(0).integers(0, 99, 64)]
    changes = ColorBy("diff", "change", {}, texts={nid: "changed", nid + 1: "same"})
    page = open_page(
        replace(
            model,
            colors=(changes, *model.colors),
            statistics={nid: {"mean": 0.25, "zeros": 3, "histogram": counts}},
            more={nid: 4951},
            left_out="22 of 100,000 nodes are drawn",
        ),
        viewport=WIDE,
    )
    assert "22 of 100,000 nodes are drawn" in page.locator(".fx-about").text_content()
    assert "changed 1" in page.locator(".fx-legend").text_content()
    page.evaluate("(nid) => fxstore.select(nid)", nid)
    row = page.locator(".fx-details tr", has_text="mean 0.25")
    assert row.locator(".fx-bars i").count() == 64
    assert "4,951 more neighbours" in page.locator(".fx-details").text_content()


def test_scatter_sets_two_panes_against_each_other(open_page: Open) -> None:
    page = open_page(page_model(6, STAGES[:4]), viewport=WIDE)
    page.get_by_text("View", exact=True).click()
    page.get_by_role("button", name="Scatter of two panes").click()
    assert page.get_by_label("Across").input_value() == "1"
    page.locator(".fx-dialog").get_by_label("Up").select_option("3")
    assert int(page.locator(".fx-dialog p").text_content().split()[0]) > 10
    page.locator(".fx-scatter").click(position={"x": 60, "y": 60})
    assert not page.locator(".fx-dialog").is_visible()
    assert page.evaluate("fxstore.compare.scene.paneOf(fxstore.compare.selection.node).number") == 3


def test_parts_have_roles_and_names_and_focus_is_seen(open_page: Open) -> None:
    page = open_page(page_model(2, STAGES[:2]))
    for role, name in [
        ("application", "float, "), ("search", ""), ("scrollbar", "Overview of float"), ("group", "Legend"),
        ("complementary", "Answer"), ("region", "Details"), ("separator", "Width of float and prepared"),
        ("status", ""),
    ]:  # fmt: skip
        assert page.get_by_role(role, name=name).count() >= 1, role
    unnamed = page.evaluate(
        "() => [...document.querySelectorAll('.fx button, .fx input, .fx select')].filter((part) => "
        "!(part.getAttribute('aria-label') || part.textContent.trim() || part.labels?.length || part.title)).length"
    )
    assert unnamed == 0
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_paper_has_graphs_and_rows_and_no_buttons(open_page: Open) -> None:
    page = open_page(page_model(2, STAGES[:2]))
    page.emulate_media(media="print")
    assert not page.locator(".fx-search").is_visible()
    assert page.locator(".fx-mount canvas").first.is_visible()
    assert page.locator(".fx-rows").is_visible()


def test_what_changed_between_two_panes_is_coloured_and_listed(open_page: Open) -> None:
    page = open_page(page_model(3, ("float", "quantized")), viewport=WIDE)
    page.get_by_text("View", exact=True).click()
    page.get_by_role("button", name="Colour what changed").click()
    keys = page.locator(".fx-legend .fx-key").all_text_contents()
    assert {key.split()[0] for key in keys} == {"removed", "same", "changed", "renamed"}
    page.locator(".fx-find", has_text="removed").click()
    assert page.locator(".fx-search input").input_value() == "change:removed"
    assert page.locator(".fx-found").all_text_contents() == ["6 found", "0 found"], "batch norms were folded"


def test_neighbours_that_are_not_drawn_are_opened_and_tucked_away_again(open_page: Open) -> None:
    model = page_model(2, STAGES[:2])
    hub = model.panes[0].graphs[0].nodes["nid"][3].as_py()
    sketch = Sketch(9 << 22)
    for i in range(7):
        sketch.add(f"left {i}", "mul", [], name=f"left_{i}")
    extra = replace(sketch.drawn("beside conv2d_2: 7 of 4,951 not drawn", hub), beside=True)
    first = replace(model.panes[0], graphs=(*model.panes[0].graphs, extra))
    page = open_page(replace(model, panes=(first, *model.panes[1:]), more={hub: 4951}))
    extent = page.evaluate("fxstore.compare.scene.panes[0].extent.right")
    assert "7 more to open" in page.locator(".fx-subtitle").nth(0).text_content()
    page.evaluate("(nid) => fxstore.select(nid)", hub)
    settle(page)
    assert "7 of them can be opened (e)" in page.locator(".fx-details").text_content()
    corner = page.evaluate(
        "(nid) => { const { x, y } = fxstore.pointOf(nid); const { width, height } = fxstore.sizeOf(nid);"
        "return [x + width / 2 - 4, y + height / 2 + 1]; }",
        hub,
    )
    page.mouse.click(*corner)
    settle(page)
    assert page.evaluate("fxstore.compare.scene.panes[0].closedGraphs.size") == 0
    assert page.evaluate("fxstore.compare.scene.panes[0].extent.right") > extent
    left = page.evaluate("fxstore.nids(0).at(-7)")
    point = page.evaluate("(nid) => fxstore.pointOf(nid)", left)
    page.mouse.click(point["x"], point["y"])
    assert page.evaluate("fxstore.selected()") == left
    page.evaluate("(nid) => fxstore.select(nid)", hub)
    page.keyboard.press("e")
    settle(page)
    assert page.evaluate("fxstore.compare.scene.panes[0].extent.right") == extent
    page.evaluate("(nid) => fxstore.select(nid)", left)
    settle(page)
    assert page.evaluate("fxstore.compare.scene.panes[0].closedGraphs.size") == 0, "what is selected is seen"


def extent(page: Any) -> tuple[float, float]:
    right, bottom = page.evaluate(
        "() => { const { right, bottom } = fxstore.compare.scene.panes[0].extent; return [right, bottom]; }"
    )
    return right, bottom


def test_deep_graphs_stand_in_columns_when_asked_for(open_page: Open) -> None:
    graph = graphs.transformer(12)
    page = open_page(deep_page("deep", [(graph, graph.draw())] * 2, columns=False), viewport=WIDE)
    width, height = extent(page)
    assert height > 10 * width
    page.keyboard.press("w")
    settle(page)
    wide = extent(page)
    assert 1 / 6 < wide[0] / wide[1] < 3  # two such panes beside each other
    assert page.locator(".fx-tick", has_text="Deep graphs").locator("input").is_checked()
    assert "columns=1" in address(page)
    page.keyboard.press("2")  # the other pane goes: there is more room
    settle(page)
    alone = extent(page)
    assert alone[1] < wide[1]
    page.keyboard.press("m")
    page.keyboard.press("m")
    settle(page)
    folded = extent(page)
    assert folded[0] * folded[1] < alone[0] * alone[1] / 2
    assert "panes=0" in address(page)
    page.reload()
    page.wait_for_function("() => window.fxstore && window.fxstore.compare")
    assert extent(page) == alone
    page.keyboard.press("w")
    assert extent(page) == (width, height)
    page.wait_for_function("() => !location.hash.includes('columns')")


def test_colours_spread_over_the_values_alone_when_asked_and_the_address_keeps_it(open_page: Open) -> None:
    page = open_page(page_model(3, STAGES[:3]), viewport=WIDE)
    ticks = page.locator(".fx-ticks").first
    assert "0.9999" in ticks.text_content()
    page.get_by_role("button", name="relative").click()
    assert page.evaluate("fxstore.compare.coloring.domain.anchored") is None
    assert "≥0.999999" not in ticks.text_content()
    page.wait_for_function("() => location.hash.includes('scale=relative')")
    page.evaluate("location.hash = ''")
    page.wait_for_function("() => fxstore.compare.coloring.domain.anchored === true")
    page.evaluate("location.hash = '#scale=relative'")
    page.wait_for_function("() => fxstore.compare.colorings.relative")
