"""Opens pages in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fxstore.render import Page, PageModel
from tests.render.browsing import Open, settle
from tests.render.embedding import TWO, graph, host

READ_BACK = "Multiple readback operations"  # what Chromium says about the tests' own looks at pixels


@pytest.fixture
def open_url(browser: Any) -> Iterator[Open]:
    """Opens pages; afterwards there must have been no message, no error and no request but the files' own."""
    noise: list[str] = []
    contexts = []

    def opened(url: str, **options: Any) -> Any:
        context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 720}, "reduced_motion": "reduce"} | options
        )
        contexts.append(context)
        page = context.new_page()
        own = url.partition("#")[0]
        page.on("console", lambda message: READ_BACK in message.text or noise.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: noise.append(f"error: {error}"))
        page.on("request", lambda request: request.url.startswith(own) or noise.append(f"request: {request.url}"))
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert noise == []


@pytest.fixture
def open_page(open_url: Open, tmp_path: Path) -> Open:
    """Opens a model's page."""

    def opened(model: PageModel, hash_: str = "", **options: Any) -> Any:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.html"
        page = open_url(Page(model).save(path).as_uri() + hash_, **options)
        page.wait_for_function("() => window.fxstore !== undefined")
        settle(page)
        return page

    return opened


@pytest.fixture
def open_host(open_url: Open, tmp_path: Path) -> Open:
    """Opens a host page; its payloads are ``given`` there."""

    def opened(body: str = TWO, payloads: dict[str, Any] | None = None, **options: Any) -> Any:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.html"
        page = open_url(host(path, body, **options), viewport={"width": 1300, "height": 900})
        page.evaluate("(text) => { window.given = JSON.parse(text); }", json.dumps(payloads or {"g": graph()}))
        settle(page)
        return page

    return opened
