"""Makes the pictures of docs/layout.md: real models whole, in columns, and near, on the page, in Chromium.

Run from the repository's root: ``python -m bench.layout_pictures DIRECTORY``. Needs playwright and Chromium.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from bench.arguments import existing, options
from fxstore.render import Page
from tests.layout import real
from tests.layout.paged import page_model

MODELS = ("mobilenet", "llama-core", "unet")


def picture(browser: Browser, name: str, directory: Path) -> None:
    """Writes the two pictures of one model."""
    graph = real.load(name)
    drawing = graph.draw()
    with tempfile.TemporaryDirectory() as scratch:
        model = page_model(name, [(graph, drawing)], columns=True, labels=real.names(name))
        saved = Page(model).save(Path(scratch) / "page.html")
        view = browser.new_page(viewport={"width": 1100, "height": 760})
        view.goto(saved.as_uri())
        view.wait_for_function("() => window.fxstore && window.fxstore.compare")
        view.wait_for_timeout(300)
        view.keyboard.press("f")
        view.wait_for_timeout(900)
        view.screenshot(path=directory / f"layout-{name}-whole.png")
        view.keyboard.press("w")
        middle = int(np.argmin(np.abs(drawing.y - drawing.height * 0.6))) + 1
        view.evaluate("(nid) => fxstore.select(nid)", middle)
        view.wait_for_timeout(1200)
        view.evaluate("() => fxstore.select(null)")
        view.wait_for_timeout(600)
        view.screenshot(path=directory / f"layout-{name}-near.png")


def main(directory: Path) -> None:
    """Makes all pictures."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for name in MODELS:
            picture(browser, name, directory)
            print("Wrote", directory / f"layout-{name}-*.png")
        browser.close()


if __name__ == "__main__":
    parser = options(__file__, __doc__)
    parser.add_argument("directory", type=existing)
    main(parser.parse_args().directory)
