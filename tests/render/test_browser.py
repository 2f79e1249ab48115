"""The page in a real browser."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from fxstore.render import Page
from fxstore.render.bundle import join
from fxstore.render.payload import compress, encode
from tests.render.browsing import Open, address, nid_of, pixel, settle
from tests.render.made_pages import STAGES, page_model
from tests.render.test_page import hostile_page


def test_a_click_lights_up_the_counterparts_in_every_pane(open_page: Open) -> None:
    page = open_page(page_model(4, STAGES[:4]))
    float_conv = nid_of(page, 0, "conv2d_2")
    page.evaluate("(nid) => fxstore.select(nid)", float_conv)
    page.keyboard.press("Escape")
    assert page.evaluate("fxstore.selected()") is None
    settle(page)
    point = page.evaluate("(nid) => fxstore.pointOf(nid)", float_conv)
    page.mouse.click(point["x"], point["y"])
    settle(page)
    assert page.evaluate("fxstore.selected()") == float_conv
    counterparts = page.evaluate("fxstore.counterparts()")
    assert {(c["pane"], c["name"]) for c in counterparts} == {(1, "conv2d_2"), (2, "conv2d_2"), (3, "convolution_2")}
    assert all(c["primary"] for c in counterparts)
    for counterpart in counterparts:
        ring = pixel(
            page, counterpart["nid"], dy=-page.evaluate("(n) => fxstore.sizeOf(n).height / 2 + 2", counterpart["nid"])
        )
        assert ring[2] > 180 > ring[0] + 80, "a blue ring is painted around the counterpart"
    statuses = page.locator(".fx-status").all_text_contents()
    assert statuses == ["◉ conv2d_2", "◆ conv2d_2", "◆ conv2d_2", "◆ convolution_2"]
    assert page.locator(".fx-details thead th").all_text_contents() == [
        "float◉ conv2d_2", "prepared◆ conv2d_2", "quantized◆ conv2d_2", "edge◆ convolution_2",
    ]  # fmt: skip


def test_panes_move_to_a_counterpart_that_is_out_of_view(open_page: Open) -> None:
    page = open_page(page_model(30, STAGES[:2]))
    last = page.evaluate("fxstore.nids(0).at(-2)")
    page.evaluate("(nid) => fxstore.select(nid)", last)
    settle(page)
    for counterpart in [{"pane": 0, "nid": last}, *page.evaluate("fxstore.counterparts()")]:
        box = page.locator(".fx-mount canvas").nth(counterpart["pane"]).bounding_box()
        point = page.evaluate("(nid) => fxstore.pointOf(nid)", counterpart["nid"])
        assert box["x"] < point["x"] < box["x"] + box["width"]
        assert box["y"] < point["y"] < box["y"] + box["height"]


def test_a_selection_made_while_panes_still_move_ends_in_view(open_page: Open) -> None:
    page = open_page(page_model(60, STAGES[:2]), reduced_motion="no-preference")
    first, last = page.evaluate("[fxstore.nids(0)[3], fxstore.nids(0).at(-2)]")
    page.evaluate("(nid) => fxstore.select(nid)", first)
    page.wait_for_timeout(500)
    page.evaluate("([a, b]) => { fxstore.select(b); fxstore.select(a); }", [first, last])
    page.wait_for_timeout(500)
    for nid in (first, page.evaluate("fxstore.counterparts()[0].nid")):
        box = page.locator(".fx-pane").nth(0).bounding_box()
        assert box["y"] < page.evaluate("(nid) => fxstore.pointOf(nid)", nid)["y"] < box["y"] + box["height"]


def test_a_pane_without_a_counterpart_says_so(open_page: Open) -> None:
    page = open_page(page_model(2, ("float", "quantized")))
    page.evaluate("(nid) => fxstore.select(nid)", nid_of(page, 0, "batch_norm_3"))
    assert page.locator(".fx-status").nth(1).text_content() == "○ no counterpart"


def test_rows_lead_to_their_nodes_and_keys_step_through_them(open_page: Open) -> None:
    model = page_model(4, STAGES[:3])
    page = open_page(model)
    assert model.answer is not None
    page.locator(".fx-rows tbody tr").nth(2).click()
    assert page.evaluate("fxstore.selected()") == model.answer.nids[2][0]
    page.keyboard.press("n")
    assert page.evaluate("fxstore.selected()") == model.answer.nids[3][0]
    assert page.locator(".fx-rows tr[aria-current]").count() == 1
    page.keyboard.press("p")
    page.keyboard.press("p")
    assert page.evaluate("fxstore.selected()") == model.answer.nids[1][0]
    page.locator(".fx-rows tbody tr").nth(5).focus()
    page.keyboard.press("Enter")
    assert page.evaluate("fxstore.selected()") == model.answer.nids[5][0]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.evaluate("fxstore.selected()") == model.answer.nids[6][0]
    assert page.locator(".fx-rows tr[tabindex='0']").count() == 1, "the table is one stop of the Tab key"
    page.keyboard.press("Escape")
    assert page.evaluate("fxstore.selected()") is None
    assert page.locator(".fx-rows tr[aria-current]").count() == 0


def test_the_answer_shows_the_query_and_broken_numbers_as_they_are(open_page: Open) -> None:
    page = open_page(page_model(4, STAGES[:3]))
    assert (
        page.locator(".fx-query").inner_text()
        == "SELECT name, value, stage, module_path, nid\nFROM worst('cosine', n := 20)"
    )
    assert page.locator(".fx-rows tbody tr").nth(0).locator("td").nth(1).text_content() == "NaN"
    assert page.locator(".fx-legend").text_content().count("NaN") == 1


def test_search_counts_in_every_pane_and_enter_goes_through_the_hits(open_page: Open) -> None:
    page = open_page(page_model(3, STAGES[:3]))
    page.keyboard.press("/")
    page.keyboard.type("batch_norm")
    assert page.locator(".fx-found").all_text_contents() == ["6 found", "6 found", "0 found"]
    assert page.locator(".fx-search output").text_content() == "12 found"
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.locator(".fx-search output").text_content() == "2 of 12"
    assert page.evaluate("fxstore.selected()") == page.evaluate("fxstore.search('batch_norm').nids[1]")
    page.keyboard.press("Escape")
    assert page.locator(".fx-search input").input_value() == ""


def test_drag_and_wheel_move_and_zoom_around_the_pointer(open_page: Open) -> None:
    page = open_page(page_model(4, STAGES[:2]))
    box = page.locator(".fx-mount canvas").nth(0).bounding_box()
    x, y = box["x"] + box["width"] / 3, box["y"] + box["height"] / 3
    before = page.evaluate("fxstore.viewOf(0)")
    page.mouse.move(x, y)
    page.mouse.wheel(0, -200)
    settle(page)
    zoomed = page.evaluate("fxstore.viewOf(0)")
    assert zoomed["scale"] > before["scale"]
    px, py = box["width"] / 3, box["height"] / 3
    assert zoomed["x"] + px / zoomed["scale"] == pytest.approx(before["x"] + px / before["scale"], abs=1)
    assert zoomed["y"] + py / zoomed["scale"] == pytest.approx(before["y"] + py / before["scale"], abs=1)
    page.mouse.down()
    page.mouse.move(x + 50, y + 20, steps=3)
    page.mouse.up()
    moved = page.evaluate("fxstore.viewOf(0)")
    assert moved["x"] == pytest.approx(zoomed["x"] - 50 / zoomed["scale"])
    assert page.evaluate("fxstore.selected()") is None


def test_a_link_opens_with_its_node_selected_and_keeps_up(open_page: Open) -> None:
    model = page_model(3, STAGES[:2])
    nid = model.panes[1].graphs[0].nodes.column("nid")[4].as_py()
    page = open_page(model, hash_=f"#node={nid}")
    assert page.evaluate("fxstore.selected()") == nid
    page.evaluate("fxstore.select(fxstore.nids(0)[2])")
    assert f"node={page.evaluate('fxstore.nids(0)[2]')}" in address(page)


def test_themes_follow_the_system_and_the_button(open_page: Open) -> None:
    page = open_page(page_model(2, STAGES[:2]), color_scheme="dark")
    corner = "() => [...document.querySelector('.fx-mount canvas').getContext('2d').getImageData(2, 2, 1, 1).data]"
    assert max(page.evaluate(corner)[:3]) < 60
    page.keyboard.press("t")
    settle(page)
    assert page.locator(".fx").get_attribute("data-theme") == "light"
    assert min(page.evaluate(corner)[:3]) > 220
    page.evaluate("fxstore.setTheme('system')")
    assert page.locator(".fx").get_attribute("data-theme") == "dark"


def test_panes_hide_and_come_back(open_page: Open) -> None:
    page = open_page(page_model(1, STAGES))
    assert page.locator(".fx-pane:visible").count() == 6
    page.keyboard.press("2")
    assert page.locator(".fx-pane:visible").count() == 5
    switches = page.get_by_role("group", name="Panes").get_by_role("button")
    assert [button.get_attribute("aria-pressed") for button in switches.all()] == ["true", "false", *["true"] * 4]
    switches.nth(1).click()
    assert page.locator(".fx-pane:visible").count() == 6
    for pane in range(6):
        page.evaluate("(pane) => fxstore.showPane(pane, false)", pane)
    assert page.locator(".fx-pane:visible").count() == 1


def test_a_delegate_stands_in_its_own_frame_beside_its_caller(open_page: Open) -> None:
    page = open_page(page_model(2, ("float", "lowered")))
    caller = nid_of(page, 1, "executorch_call_delegate")
    inner = nid_of(page, 1, "conv2d_2")
    page.evaluate("fxstore.fit()")
    settle(page)
    x = {nid: page.evaluate("(nid) => fxstore.pointOf(nid)", nid)["x"] for nid in (caller, inner)}
    assert x[inner] > x[caller]


def test_colours_change_with_the_metric(open_page: Open) -> None:
    page = open_page(page_model(3, STAGES[:2]))
    options = page.locator(".fx-by option").all_text_contents()
    assert options == ["cosine · float ↔ quantized", "mse · float ↔ quantized", "role"]
    page.locator(".fx-by select").select_option(index=2)
    assert "parameter 12" in page.locator(".fx-legend").text_content()
    page.evaluate("fxstore.setColor(1)")
    assert "log" in page.locator(".fx-legend").text_content()


def test_keys_are_listed(open_page: Open) -> None:
    page = open_page(page_model(1, STAGES[:2]))
    page.keyboard.press("?")
    assert page.locator("dialog.fx-help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog.fx-help").is_visible()


def test_splitters_move_by_mouse_and_key(open_page: Open) -> None:
    page = open_page(page_model(2, STAGES[:2]))
    bar = page.get_by_role("separator", name="Width of the answer")
    before = page.locator(".fx-answer").bounding_box()["width"]
    bar.focus()
    page.keyboard.press("ArrowLeft")
    assert page.locator(".fx-answer").bounding_box()["width"] == before - 24
    box = page.get_by_role("separator", name="Width of float and prepared").bounding_box()
    page.mouse.move(box["x"], box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 100, box["y"] + 50, steps=2)
    page.mouse.up()
    widths = [page.locator(".fx-pane").nth(i).bounding_box()["width"] for i in range(2)]
    assert widths[0] - widths[1] == pytest.approx(200, abs=4)


def test_hostile_strings_are_shown_and_never_run(open_page: Open) -> None:
    page = open_page(hostile_page())
    page.evaluate("fxstore.select(5)")
    point = page.evaluate("(nid) => fxstore.pointOf(nid)", 5)
    page.mouse.move(point["x"], point["y"])
    settle(page)
    page.evaluate("fxstore.search('script')")
    assert page.evaluate("window.hacked") is None
    assert page.locator(".fx img, .fx script, .fx a").count() == 0
    shown = page.locator(".fx-details").text_content()
    assert "</script><script>window.hacked = 1</script>" in shown
    assert "\\u202egnp.exe" in shown
    assert "\u202e" not in page.locator(".fx").text_content()
    page.evaluate("fxstore.compare.foldTo(0); fxstore.compare.selectEdge(0)")
    values = page.evaluate(
        "() => [...document.querySelectorAll('.fx *')].flatMap((e) => "
        "[...e.attributes].map(({ name, value }) => `${e.className} ${name}=${value}`))"
    )
    assert [value for value in values if "\u202e" in value] == []
    assert page.evaluate("window.hacked") is None
    assert "\\ud800" in page.title()


@pytest.mark.parametrize("panes", [1, 2, 3, 4, 6])
def test_any_number_of_panes_paints_its_graphs(open_page: Open, panes: int) -> None:
    page = open_page(page_model(2, STAGES[:panes]), viewport={"width": 800, "height": 600})
    painted = page.evaluate(
        "() => [...document.querySelectorAll('.fx-mount canvas')].map((canvas) => {"
        "const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);"
        "return new Set(new Uint32Array(data.buffer)).size; })"
    )
    assert len(painted) == panes
    assert min(painted) > 5, "more than the background is painted in each pane"


def test_the_page_works_in_a_notebooks_frame(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "notebook.html").write_text(Page(page_model(1, STAGES[:2]))._repr_html_(), encoding="utf-8")
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((tmp_path / "notebook.html").as_uri())
    frame = page.frames[1]
    frame.wait_for_function("() => window.fxstore !== undefined")
    frame.evaluate("fxstore.select(fxstore.nids(0)[1])")
    assert frame.evaluate("fxstore.counterparts().length") > 0
    assert errors == []
    page.close()


TWO_INSTANCES = """
import { PageApp } from "./page/app.js";
import { decode, inflate } from "./scene/payload.js";
import { Scene } from "./scene/scene.js";

async function open() {
  const text = document.querySelector("[data-fxstore-payload]").textContent;
  const apps = [];
  for (const id of ["one", "two"]) {
    const root = document.getElementById(id);
    root.classList.add("fx");
    apps.push(new PageApp(root, new Scene(decode(await inflate(text)))));
  }
  window.apps = apps;
}

open();
"""


def test_two_instances_on_one_page_leave_each_other_alone(browser: Any, tmp_path: Path) -> None:
    viewer = resources.files("fxstore.render") / "viewer"
    read = {"two.js": TWO_INSTANCES}
    script = join("two.js", lambda name: read.get(name) or (viewer / name).read_text(encoding="utf-8"))
    data = compress(encode(page_model(2, STAGES[:2])))
    style = (viewer / "style.css").read_text(encoding="utf-8")
    html = (
        f"<!doctype html><style>{style} #one, #two {{ height: 300px }}</style><div id=one></div><div id=two></div>"
        f"<script type=text/plain data-fxstore-payload>{data}</script><script type=module>{script}</script>"
    )
    (tmp_path / "two.html").write_text(html, encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "two.html").as_uri())
    page.wait_for_function("() => window.apps !== undefined")
    page.locator("#one canvas").first.focus()
    page.keyboard.press("n")
    page.keyboard.press("t")
    state = "apps.map((app) => [app.compare.selection !== null, app.themes.choice])"
    assert page.evaluate(state) == [[True, "light"], [False, "system"]]
    page.evaluate("apps[0].destroy()")
    assert page.locator("#one").inner_html() == ""
    assert page.locator("#two .fx-mount canvas").count() == 2
    page.close()


def test_a_sharp_screen_gets_sharp_pictures(open_page: Open) -> None:
    page = open_page(page_model(1, STAGES[:1]), device_scale_factor=2)
    sizes = page.evaluate("() => { const c = document.querySelector('canvas'); return [c.width, c.clientWidth]; }")
    assert sizes[0] == 2 * sizes[1]


def test_a_damaged_page_says_so(browser: Any, tmp_path: Path) -> None:
    html = Page(page_model(1, STAGES[:1])).html()
    at = html.index("data-fxstore-payload>") + 400
    (tmp_path / "damaged.html").write_text(html[:at] + html[at + 40 :], encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "damaged.html").as_uri())
    page.get_by_text("This page cannot be shown").wait_for()
    page.close()
