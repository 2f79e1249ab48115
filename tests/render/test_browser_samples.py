"""The slider that chooses the sample whose numbers colour the nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fxstore.render.model import ColorBy, Numbers, PageModel
from tests.render.browsing import Open
from tests.render.made_pages import STAGES, page_model

NAMES = ("prefill", "step 1", "step 2", "step 3")


def sampled() -> PageModel:
    """The first metric is right in all steps but the last; the second has no samples."""
    model = page_model(4, STAGES[:3])
    cosine, other = model.colors[:2]
    good = dict.fromkeys(cosine.values, 1.0)
    samples = [
        *(Numbers(name, good) for name in NAMES[:3]),
        Numbers(NAMES[3], dict(cosine.values), dict(cosine.missing)),
    ]
    first = ColorBy(cosine.name, cosine.metric, cosine.values, cosine.missing, better="higher", samples=samples,
                    all_samples=9, notes=dict.fromkeys(cosine.values, "worst of 9: step 3"))  # fmt: skip
    return replace(model, colors=(first, other))


def fills(page: Any) -> list[int]:
    buckets: list[int] = page.evaluate("[...fxstore.compare.coloring.buckets]")
    return buckets


def test_the_arrow_keys_go_from_step_to_step(open_page: Open) -> None:
    page = open_page(sampled())
    slider = page.get_by_role("slider", name="Sample")
    assert slider.get_attribute("aria-valuetext") == "worst of 9"
    assert page.locator(".fx-sample output").text_content() == "worst of 9"
    assert "the first 4 of 9" in page.locator(".fx-sample").get_attribute("title")
    worst = fills(page)
    slider.focus()
    for name in NAMES:
        page.keyboard.press("ArrowRight")
        assert slider.get_attribute("aria-valuetext") == name
        assert (fills(page) == worst) == (name == "step 3")
    page.keyboard.press("Home")
    assert slider.get_attribute("aria-valuetext") == "worst of 9"
    assert page.evaluate("document.activeElement.type") == "range", "the slider keeps the focus"


def test_it_is_there_only_where_the_metric_has_samples(open_page: Open) -> None:
    page = open_page(sampled())
    page.evaluate("fxstore.setSample('step 1')")
    assert page.get_by_role("slider", name="Sample").get_attribute("aria-valuetext") == "step 1"
    page.evaluate("fxstore.setColor(1)")
    assert not page.locator(".fx-sample").is_visible()
    page.evaluate("fxstore.setColor(0)")
    assert page.locator(".fx-sample output").text_content() == "step 1", "the choice holds"
    plain = open_page(page_model(4, STAGES[:2]))
    assert not plain.locator(".fx-sample").is_visible()


def test_the_address_keeps_the_sample(open_page: Open) -> None:
    page = open_page(sampled())
    page.evaluate("fxstore.setSample('step 2')")
    page.wait_for_timeout(400)
    assert "sample=step+2" in page.evaluate("location.hash")
