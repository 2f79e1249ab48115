"""Panes beside each other in a real browser: counterparts level, at one scale, hidden panes without cost."""

from __future__ import annotations

from typing import Any

import pytest

from fxstore.render.model import PageModel
from tests.layout import graphs
from tests.layout.edits import quantised
from tests.layout.paged import level_model
from tests.render.browsing import Open, settle
from tests.render.made_pages import STAGES, page_model


def transformer() -> tuple[PageModel, list[int]]:
    """Returns a page of a transformer and of what quantising makes of it, and the row of each node there."""
    plain = graphs.transformer(3)
    more, place = quantised(plain)
    keys = [{k: k for k in range(len(place))}, dict(enumerate(place))]
    return level_model([(plain, plain.draw()), (more, more.draw())], keys), list(place)


def views(page: Any) -> list[dict[str, float]]:
    return page.evaluate("fxstore.panes().map((_, pane) => fxstore.viewOf(pane))")


def heights(page: Any, pane: int) -> list[float]:
    return page.evaluate(
        "(pane) => { const { scene } = fxstore.compare; const { first, end } = scene.panes[pane];"
        "return [...scene.y.slice(first, end)]; }",
        pane,
    )


def test_a_hidden_pane_takes_no_height_and_what_is_looked_at_stays(open_page: Open) -> None:
    model, _ = transformer()
    page = open_page(model)
    both = heights(page, 0)
    middle = page.evaluate("fxstore.nids(0)[Math.floor(fxstore.nids(0).length / 2)]")
    page.evaluate("(nid) => fxstore.select(nid)", middle)
    settle(page)
    before = page.evaluate("(nid) => fxstore.pointOf(nid).y", middle)
    page.keyboard.press("2")
    settle(page)
    alone = heights(page, 0)
    assert max(alone) < 0.8 * max(both)
    assert page.evaluate("(nid) => fxstore.pointOf(nid).y", middle) == pytest.approx(before, abs=1)
    page.keyboard.press("2")
    settle(page)
    assert heights(page, 0) == both


def test_counterparts_stay_level_when_panes_come_and_go(open_page: Open) -> None:
    model, place = transformer()
    page = open_page(model)
    for _ in range(2):
        page.keyboard.press("f")
        settle(page)
        one, two = heights(page, 0), heights(page, 1)
        level = [k for k, row in enumerate(place) if abs(one[k] - two[row]) < 1]
        assert len(level) > 0.9 * len(place)
        screen = page.evaluate(
            "(rows) => rows.map((row) => row.map((at, i) => fxstore.pointOf(fxstore.nids(i)[at]).y))",
            [[k, place[k]] for k in level],
        )
        assert all(a == pytest.approx(b, abs=1) for a, b in screen), "also on the screen"
        page.keyboard.press("1")
        page.keyboard.press("1")


def test_panes_open_and_fit_at_one_scale(open_page: Open) -> None:
    page = open_page(page_model(6, STAGES[:4]))
    assert len({view["scale"] for view in views(page)}) == 1, "as it opens, at the answer's first row"
    page.keyboard.press("f")
    settle(page)
    fitted = views(page)
    assert len({view["scale"] for view in fitted}) == 1
    assert len({view["y"] for view in fitted}) == 1


def test_a_modules_title_is_its_head(open_page: Open) -> None:
    page = open_page(transformer()[0])
    page.keyboard.press("2")
    page.keyboard.press("f")
    settle(page)
    lowest = page.evaluate(
        "() => { const [{ view, canvas, titles }] = fxstore.viewers; const box = canvas.getBoundingClientRect();"
        "const { left, right, top, bottom, block } = titles.at(-1);"
        "const at = (low, high, from) => ((low + high) / 2 - from) * view.scale;"
        "return { block, x: box.left + at(left, right, view.x), y: box.top + at(top, bottom, view.y) }; }"
    )
    page.mouse.dblclick(lowest["x"], lowest["y"])
    settle(page)
    assert page.evaluate("(block) => fxstore.compare.scene.panes[0].closed.has(block)", lowest["block"])


def test_a_pane_never_shows_nothing(open_page: Open) -> None:
    page = open_page(transformer()[0])
    page.evaluate("for (const viewer of fxstore.viewers) viewer.panBy(1e5, -1e5)")
    seen = page.evaluate(
        "fxstore.viewers.map(({ view, size, pane: { extent } }) => [(extent.right - view.x) * view.scale, "
        "size.width - (extent.left - view.x) * view.scale, (extent.bottom - view.y) * view.scale, "
        "size.height - (extent.top - view.y) * view.scale])"
    )
    assert all(px >= 39 for sides in seen for px in sides)


def test_ranks_stand_within_their_pane(open_page: Open) -> None:
    page = open_page(page_model(6, STAGES[:4]), viewport={"width": 800, "height": 600})
    first = page.evaluate(
        "fxstore.nids(1).find((nid) => fxstore.compare.viewers[1].marks.ranks.has(fxstore.compare.scene.nodeOf(nid)))"
    )
    page.evaluate(
        "(nid) => { const [, viewer] = fxstore.viewers; const { scene } = viewer; const node = scene.nodeOf(nid);"
        "viewer.setView({ x: scene.x[node] - scene.width[node] / 2, y: scene.y[node] - 40, scale: 1 }); }",
        first,
    )
    settle(page)
    dark = page.evaluate(
        "() => { const { canvas, context } = fxstore.viewers[1]; const { data } = context.getImageData(6, 13, 8, 7);"
        "return [...data].filter((value, i) => i % 4 === 0 && value < 60).length; }"
    )
    assert dark > 4, "all of the badge, not its right end alone"
