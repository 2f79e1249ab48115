"""What the browser tests ask a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Open = Callable[..., Any]


def settle(page: Any) -> None:
    """Waits until what was asked for has been painted."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def address(page: Any) -> str:
    """Returns the part of the address after ``#`` once it has followed."""
    page.wait_for_timeout(400)
    return str(page.evaluate("location.hash"))


def nid_of(page: Any, pane: int, name: str) -> int:
    return page.evaluate(
        "([pane, name]) => { const { scene } = fxstore.compare;"
        "const node = fxstore.nids(pane).find((nid) => scene.text('name', scene.nodeOf(nid)) === name); return node; }",
        [pane, name],
    )


def pixel(page: Any, nid: int, dx: float = 0, dy: float = 0) -> list[int]:
    """Returns the colour that is painted beside a node's middle."""
    return page.evaluate(
        "([nid, dx, dy]) => { const { x, y } = fxstore.pointOf(nid); const canvas = document.elementFromPoint(x, y);"
        "const box = canvas.getBoundingClientRect(); const at = [x - box.left + dx, y - box.top + dy];"
        "return [...canvas.getContext('2d').getImageData(...at, 1, 1).data]; }",
        [nid, dx, dy],
    )


def nid_in(page: Any, nid: int, box: dict[str, float]) -> bool:
    point = page.evaluate("(nid) => fxstore.pointOf(nid)", nid)
    inside = box["x"] + 8 < point["x"] < box["x"] + box["width"] - 8
    return inside and box["y"] + 8 < point["y"] < box["y"] + box["height"] - 8
