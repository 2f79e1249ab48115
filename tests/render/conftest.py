"""Opens pages in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.render.browsing import Open, settle

from fxstore.render import Page, PageModel

READ_BACK = "Multiple readback operations"  # what Chromium says about the tests' own looks at pixels


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens a model's page; afterwards there must have been no message, no error and no request but the file's own."""
    noise: list[str] = []
    contexts = []

    def opened(model: PageModel, hash_: str = "", **options: Any) -> Any:
        url = Page(model).save(tmp_path / f"{len(contexts)}.html").as_uri()
        context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 720}, "reduced_motion": "reduce"} | options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: READ_BACK in message.text or noise.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: noise.append(f"error: {error}"))
        page.on("request", lambda request: request.url.startswith(url) or noise.append(f"request: {request.url}"))
        page.goto(url + hash_)
        page.wait_for_function("() => window.fxstore !== undefined")
        settle(page)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert noise == []
