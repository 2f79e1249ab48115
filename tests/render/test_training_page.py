"""The page of a training step in a browser: its legend, in light and dark, and what a click finds."""

from __future__ import annotations

from typing import Any

import pytest

import fxstore
from fxstore.render import PageModel
from fxstore.render.page.build import page_model
from fxstore.render.training import category_fills
from tests.render.browsing import Open, nid_of, pixel, settle


@pytest.fixture(scope="module")
def step() -> PageModel:
    torch = pytest.importorskip("torch")
    from fxstore.ingest import capture_joint

    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2)).train()
    with fxstore.connect(":memory:") as store:
        store.ingest(capture_joint(model, (torch.randn(3, 4),)), name="step")
        return page_model(store)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_legend_names_the_categories_and_boxes_have_their_colours(
    scheme: str, open_page: Open, step: PageModel
) -> None:
    page: Any = open_page(step, color_scheme=scheme)
    legend = page.get_by_role("group", name="Legend").inner_text()
    shown = set(step.colors[0].texts.values())
    assert {"input, saved", "parameter", "parameter, saved", "tangent", "forward", "saved", "recomputed"} <= shown
    assert all(f"{name} " in legend for name in shown)
    assert page.get_by_text("forward + backward").first.is_visible()
    nid = nid_of(page, 0, "addmm")
    page.evaluate("(nid) => fxstore.panToNode?.(nid)", nid)
    settle(page)
    fill = category_fills()[step.colors[0].texts[nid]][scheme == "dark"]
    wanted = [int(fill[i : i + 2], 16) for i in (1, 3, 5)]
    found = [pixel(page, nid, dx, dy)[:3] for dx in (-12, -8, 0, 8, 12) for dy in (-4, 0, 4)]
    assert any(all(abs(a - b) <= 6 for a, b in zip(one, wanted, strict=True)) for one in found), (found, wanted)
