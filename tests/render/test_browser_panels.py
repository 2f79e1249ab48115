"""What stands around the graphs, in a real browser: the answer, the details, the bars, in windows of several sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fxstore.render.model import Verdict
from tests.render.browsing import Open, nid_in, settle
from tests.render.made_pages import STAGES, page_model


def first_cells(page: Any, column: int) -> list[str]:
    return [row.locator("td").nth(column).text_content() for row in page.locator(".fx-rows tbody tr").all()]


def test_a_click_on_a_heading_sorts_and_the_keys_follow(open_page: Open) -> None:
    model = page_model(4, STAGES[:3])
    page = open_page(model)
    head = page.locator(".fx-rows thead th", has_text="value")
    assert head.get_attribute("aria-sort") == "none"
    given = first_cells(page, 1)
    page.evaluate("(nid) => fxstore.select(nid)", model.answer.nids[4][0])
    head.get_by_role("button").click()
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    shown = first_cells(page, 1)
    assert shown[:2] == ["NaN", "∞"], "what is broken stays first"
    assert shown[2:] == given[:1:-1]
    assert page.locator(".fx-rows tr[aria-current] th").text_content() == "5", "the mark stays with its row"
    page.evaluate("fxstore.select(null)")
    for _ in range(3):
        page.keyboard.press("n")
    assert page.evaluate("fxstore.selected()") == model.answer.nids[len(given) - 1][0]
    head.get_by_role("button").click()
    assert first_cells(page, 1) == given


def test_what_all_rows_share_is_said_once(open_page: Open) -> None:
    page = open_page(page_model(4, STAGES[:3]))
    assert page.locator(".fx-shared").text_content() == "stage: prepared"
    heads = page.locator(".fx-rows thead th").all_text_contents()
    assert heads == ["#", "name", "value", "module_path", "nid"]


@pytest.mark.parametrize("size", [(800, 600), (1280, 720)])
def test_names_and_values_of_the_answer_are_in_view(open_page: Open, size: tuple[int, int]) -> None:
    page = open_page(page_model(4, STAGES), viewport={"width": size[0], "height": size[1]})
    panel = page.locator(".fx-answer").bounding_box()
    for cell in page.locator(".fx-rows tbody tr td:nth-of-type(2)").all():
        box = cell.bounding_box()
        assert box["x"] + box["width"] <= panel["x"] + panel["width"]


def test_the_answer_folds_to_a_strip_and_opens_again(open_page: Open) -> None:
    page = open_page(page_model(2, STAGES), viewport={"width": 800, "height": 600})
    wide = page.locator(".fx-pane").nth(0).bounding_box()["width"]
    page.get_by_role("button", name="Fold the answer").click()
    assert not page.locator(".fx-rows").is_visible()
    assert page.locator(".fx-pane").nth(0).bounding_box()["width"] > wide
    panes = [page.locator(".fx-pane").nth(i).bounding_box() for i in range(6)]
    assert max(box["x"] + box["width"] for box in panes) <= 800, "all panes fit once it is folded"
    page.keyboard.press("a")
    assert page.locator(".fx-rows").is_visible()


def test_the_details_take_little_room_until_a_node_is_selected(open_page: Open) -> None:
    page = open_page(page_model(12, STAGES[:2]))
    idle = page.locator(".fx-dock").bounding_box()["height"]
    assert idle < 60
    assert "resnet-nightly" in page.locator(".fx-dock").text_content()
    box = page.locator(".fx-mount canvas").nth(0).bounding_box()
    shown = [nid for nid in page.evaluate("fxstore.nids(0)") if nid_in(page, nid, box)]
    lowest = max(shown, key=lambda nid: page.evaluate("(nid) => fxstore.pointOf(nid).y", nid))
    point = page.evaluate("(nid) => fxstore.pointOf(nid)", lowest)
    page.mouse.click(point["x"], point["y"])
    settle(page)
    assert page.evaluate("fxstore.selected()") == lowest
    assert page.locator(".fx-dock").bounding_box()["height"] > 2 * idle
    smaller = page.locator(".fx-mount canvas").nth(0).bounding_box()
    assert smaller["height"] < box["height"]
    assert nid_in(page, lowest, smaller), "the node that was clicked is not left under the details"
    page.keyboard.press("Escape")
    assert page.locator(".fx-dock").bounding_box()["height"] == idle


def test_the_page_opens_with_the_best_row_in_view_in_every_pane(open_page: Open) -> None:
    model = page_model(30, STAGES[:3])
    page = open_page(model)
    canvases = page.locator(".fx-mount canvas")
    assert nid_in(page, model.highlight[0], canvases.nth(1).bounding_box())
    boxes = [canvases.nth(pane).bounding_box() for pane in range(3)]
    before = [page.evaluate("(pane) => fxstore.viewOf(pane)", pane) for pane in range(3)]
    page.evaluate("(nid) => fxstore.select(nid)", model.highlight[0])
    page.evaluate("fxstore.select(null)")
    settle(page)
    assert [page.evaluate("(pane) => fxstore.viewOf(pane)", pane) for pane in range(3)] == before, "nothing had to move"
    assert canvases.nth(0).bounding_box() == boxes[0]


def test_titles_stay_whole_while_someone_searches_in_a_narrow_window(open_page: Open) -> None:
    page = open_page(page_model(1, STAGES), viewport={"width": 800, "height": 600})
    page.evaluate("fxstore.search('conv')")
    widths = page.evaluate(
        "() => [...document.querySelectorAll('.fx-pane h2')].map((title) => [title.scrollWidth, title.clientWidth])"
    )
    assert all(needed <= given for needed, given in widths)
    assert page.locator(".fx-by select").evaluate("(select) => select.scrollWidth <= select.clientWidth")


def test_panes_of_one_run_do_not_repeat_its_name(open_page: Open) -> None:
    model = page_model(1, STAGES[:2])
    first, second = model.panes
    panes = (replace(first, subtitle="demo"), replace(second, subtitle="demo · a note"))
    page = open_page(replace(model, panes=panes))
    assert page.locator(".fx-subtitle").all_text_contents() == ["10 nodes", "a note · 11 nodes"]


def test_a_pane_is_dragged_by_its_head_to_another_place(open_page: Open) -> None:
    page = open_page(page_model(2, STAGES[:3]))
    heads = page.locator(".fx-pane-head")
    titles = page.locator(".fx-pane h2")
    boxes = [heads.nth(i).bounding_box() for i in range(3)]
    page.mouse.move(boxes[0]["x"] + 30, boxes[0]["y"] + 10)
    page.mouse.down()
    page.mouse.move(boxes[1]["x"] + boxes[1]["width"] * 0.8, boxes[1]["y"] + 10, steps=4)
    assert page.locator(".fx-drop-before h2").all_text_contents() == ["quantized"]
    page.mouse.up()
    assert titles.all_text_contents() == ["prepared", "float", "quantized"]
    assert page.locator(".fx-drop-before, .fx-dragged").count() == 0
    page.mouse.move(boxes[0]["x"] + 30, boxes[0]["y"] + 10)
    page.mouse.down()
    page.mouse.move(boxes[2]["x"] + boxes[2]["width"] - 5, boxes[2]["y"] + 10, steps=4)
    page.mouse.up()
    assert titles.all_text_contents() == ["float", "quantized", "prepared"]
    page.mouse.click(boxes[0]["x"] + 30, boxes[0]["y"] + 10)
    assert titles.all_text_contents() == ["float", "quantized", "prepared"], "a click moves nothing"


def test_strips_of_stages_without_the_metric_take_a_line(open_page: Open) -> None:
    page = open_page(page_model(2, STAGES[:3]))
    strips = page.locator(".fx-strip")
    heights = [strips.nth(i).bounding_box()["height"] for i in range(3)]
    assert heights[0] < 20 < heights[1], heights
    assert strips.nth(0).text_content() == "no cosine in this stage"
    page.locator(".fx-by select").select_option(label="role")
    assert strips.nth(0).is_hidden()


def test_how_a_metric_differs_between_panes_is_coloured_around_zero(open_page: Open) -> None:
    page = open_page(page_model(2, STAGES[:4]))
    page.get_by_text("View", exact=True).click()
    page.locator(".fx-choice:has(span:text-is('From')) select").select_option(label="prepared")
    page.locator(".fx-choice:has(span:text-is('To')) select").select_option(label="quantized")
    page.get_by_role("button", name="Colour by how much the metric differs").click()
    coloring = page.evaluate("(({ metric, domain }) => ({ metric, domain }))(fxstore.compare.coloring)")
    assert coloring["metric"] == "Δcosine"
    assert coloring["domain"]["min"] == -coloring["domain"]["max"]
    assert page.locator(".fx-by select option:checked").text_content().startswith("Δcosine")


def test_strip_and_histogram_are_used_with_the_keyboard(open_page: Open) -> None:
    page = open_page(page_model(3, STAGES[:3]))
    strip = page.locator(".fx-strip canvas").nth(1)
    strip.focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    first = page.evaluate("fxstore.selected()")
    assert first in page.evaluate("fxstore.nids(1)")
    assert strip.get_attribute("aria-valuetext").startswith(page.locator(".fx-status").nth(1).text_content()[2:])
    page.keyboard.press("ArrowRight")
    assert page.evaluate("fxstore.selected()") > first
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("fxstore.selected()") == first
    page.locator(".fx-bin[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator(".fx-search input").input_value().startswith("cosine>")
    assert page.evaluate("fxstore.compare.found.nodes.length") > 0
    assert page.locator(".fx-bin[tabindex='0']").count() == 1


def test_what_the_legend_finds_is_listed_and_further_overlays_have_a_legend(open_page: Open) -> None:
    page = open_page(page_model(2, STAGES[:3]))
    page.evaluate("fxstore.compare.diffPanes(0, 2)")
    page.locator(".fx-legend button", has_text="removed").click()
    settle(page)
    rows = page.locator(".fx-facts-table tr")
    assert rows.count() == 1
    assert rows.nth(0).locator("th").text_content().startswith("float: ")
    chip = rows.nth(0).locator("button").first
    name = chip.text_content()
    assert chip.get_attribute("title") == "removed"
    chip.click()
    assert page.locator(".fx-status").nth(0).text_content().endswith(name)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert page.locator(".fx-about").is_visible()
    page.evaluate("fxstore.compare.setLayer('border', 1)")
    assert page.locator(".fx-layer").text_content().startswith("Border: mse")
    page.evaluate("fxstore.compare.setLayer('border', -1)")
    assert page.locator(".fx-layer").count() == 0


def test_paper_is_white_and_the_screen_stays_dark(open_page: Open) -> None:
    page = open_page(page_model(2, STAGES[:2]), color_scheme="dark")
    corner = "fxstore.viewers.map((viewer) => viewer.context.getImageData(2, 2, 1, 1).data[0])"
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert min(page.evaluate(corner)) > 200, "drawn at once"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    settle(page)
    assert max(page.evaluate(corner)) < 60


def test_on_a_phone_graphs_have_the_width_and_the_answer_stands_below(open_page: Open) -> None:
    page = open_page(page_model(6, STAGES), viewport={"width": 390, "height": 844}, has_touch=True)
    box = {part: page.locator(part).first.bounding_box() for part in (".fx-top", ".fx-panes", ".fx-answer")}
    assert box[".fx-panes"]["width"] == box[".fx-answer"]["width"] == 390
    assert box[".fx-panes"]["height"] > 250
    assert box[".fx-answer"]["y"] > box[".fx-panes"]["y"] + box[".fx-panes"]["height"]
    page.locator(".fx-rows tbody tr").nth(2).click()
    settle(page)
    top, panes = (page.locator(part).first.bounding_box() for part in (".fx-top", ".fx-panes"))
    assert top == box[".fx-top"]
    assert panes["y"] >= top["y"] + top["height"]
    assert panes["height"] > 200
    assert page.locator(".fx-rows tr[aria-current]").is_visible()
    for head in page.locator(".fx-pane-head").all():
        assert head.evaluate("(head) => getComputedStyle(head).touchAction") == "pan-x", "panes can be swiped"


def test_the_verdict_stands_on_top_and_its_names_lead_to_their_nodes(open_page: Open) -> None:
    model = page_model()
    node = model.panes[2].graphs[0].nodes["nid"][3].as_py()
    hostile = "<img src=x onerror=alert(1)>\u202e"
    sentences = [["quantized introduced the error at ", (hostile, node), "."], ["It reaches the output."]]
    page = open_page(
        replace(model, answer=None, highlight=(), verdict=Verdict("bad", "run r, sqnr >= 20 dB", sentences))
    )
    bar = page.get_by_role("region", name="Verdict")
    text = bar.inner_text()
    assert text.startswith("✖ error")
    assert "quantized introduced the error at <img src=x onerror=alert(1)>\\u202e." in text
    assert "It reaches the output." in text
    assert "run r, sqnr >= 20 dB" in text
    assert page.locator("img").count() == 0
    assert nid_in(page, node, page.locator(".fx-mount").nth(2).bounding_box())  # it opens there
    bar.get_by_role("button").click()
    assert page.evaluate("fxstore.selected()") == node


@pytest.mark.parametrize("level", ["good", "warn", "bad"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_words_of_the_verdict_have_contrast(open_page: Open, level: str, scheme: str) -> None:
    page = open_page(
        replace(page_model(), verdict=Verdict(level, "run r", [["all is said ", ("relu", 1)]])), color_scheme=scheme
    )
    ratios = page.evaluate(
        """() => {
          const channel = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
          const parts = (text) => text.match(/[\\d.]+/g).map(Number);
          const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
          const ground = (e) => { const [r, g, b, a = 1] = parts(getComputedStyle(e).backgroundColor);
            return a ? [r, g, b] : ground(e.parentElement); };
          return [...document.querySelectorAll(".fx-verdict, .fx-verdict *")].map((e) => {
            const [a, b] = [light(parts(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
            return (a + 0.05) / (b + 0.05); });
        }"""
    )
    assert min(ratios) >= 4.5


def test_a_narrow_page_opens_with_the_pane_of_the_error_and_no_letter_under_12_px(open_page: Open) -> None:
    model = page_model()
    node = model.panes[1].graphs[0].nodes["nid"][3].as_py()
    verdict = Verdict("bad", "run r", [["it starts at ", ("relu", node)]], [pane.title for pane in model.panes[:2]])
    page = open_page(replace(model, answer=None, highlight=(), verdict=verdict), viewport={"width": 390, "height": 800})
    assert page.locator(".fx-pane:visible h2").all_text_contents() == [model.panes[1].title]
    sizes = page.evaluate(
        "[...document.querySelectorAll('.fx-verdict *')].map((e) => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 12
    page.get_by_role("button", name=model.panes[0].title, exact=True).first.click()
    assert page.locator(".fx-pane:visible").count() == 2
