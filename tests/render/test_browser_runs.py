"""Two runs of one model on one page, in a real browser."""

from __future__ import annotations

from fxstore import connect
from fxstore.render.page.build import page_model
from tests.query.test_joining import build
from tests.render.browsing import Open, nid_of, settle


def test_a_click_in_one_run_shows_the_counterparts_in_the_other(open_page: Open) -> None:
    with connect(":memory:") as store:
        store.commit(build("a", "xnn"))
        store.commit(build("b", "qnn"))
        page = open_page(page_model(store, ["a", "b"]))
    conv = nid_of(page, 1, "xnn_conv")
    point = page.evaluate("(nid) => fxstore.pointOf(nid)", conv)
    page.mouse.click(point["x"], point["y"])
    settle(page)
    assert page.evaluate("fxstore.selected()") == conv
    found = {(c["pane"], c["name"], c["primary"]) for c in page.evaluate("fxstore.counterparts()")}
    assert found == {
        (0, "conv", True), (1, "xnn_pad", False), (2, "conv", True), (3, "qnn_pad", False), (3, "qnn_conv", True),
    }  # fmt: skip
    assert [text.strip("◉◆ +1") for text in page.locator(".fx-status").all_text_contents()] == [
        "conv", "xnn_conv", "conv", "qnn_conv",
    ]  # fmt: skip
    page.keyboard.press("Escape")
    settle(page)
    facts = page.locator(".fx-facts").text_content()
    assert "through the stage float, equal in both" in facts
    subtitles = page.locator(".fx-subtitle").all_text_contents()
    assert [text.endswith("common stage") for text in subtitles] == [True, False, True, False]
