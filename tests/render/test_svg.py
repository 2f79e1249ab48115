"""Still pictures: whatever labels hold, an SVG is well-formed, and nothing in it runs or loads."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore.layout import draw
from fxstore.render.svg import Box, svg

NS = "{http://www.w3.org/2000/svg}"
SAFE = {f"{NS}{tag}" for tag in ("svg", "g", "rect", "text", "title", "polyline", "path")}
HOSTILE = ["<script>alert(1)</script>", '" onload="x', "]]>", "&amp;&#0;", "\x00\x1b\ud800\uffff", "a\nb", "ä" * 300]


def picture(labels: list[str], edges: list[tuple[int, int]]) -> ElementTree.Element:
    drawing = draw([(100, 36)] * len(labels), edges, labels)
    boxes = [Box(label, f"{label} 2", 100, 36, "#abcdef", label) for label in labels]
    text = svg(drawing, boxes, edges, [(label, "red") for label in labels], labels[0] if labels else "")
    return ElementTree.fromstring(text.encode("utf-8"))


@pytest.mark.parametrize("label", HOSTILE)
def test_labels_are_text_only(label: str) -> None:
    root = picture([label, "relu"], [(0, 1), (1, 1)])
    assert {element.tag for element in root.iter()} <= SAFE
    assert not [key for element in root.iter() for key in element.attrib if key.startswith("on") or "href" in key]
    assert root.findall(f".//{NS}text")[0].text


@given(st.lists(st.text(max_size=20), max_size=6), st.data())
@settings(max_examples=30, deadline=None)
def test_every_box_and_every_edge_is_drawn(labels: list[str], data: st.DataObject) -> None:
    node = st.integers(0, max(0, len(labels) - 1))
    edges = data.draw(st.lists(st.tuples(node, node), max_size=8)) if labels else []
    root = picture(labels, edges)
    boxes = [rect for rect in root.iter(f"{NS}rect") if rect.get("rx")]
    assert len(boxes) == len(labels)
    assert len(root.findall(f".//{NS}polyline")) == sum(a != b for a, b in edges)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for box in boxes:
        assert 0 <= float(box.get("x", -1)) <= width
        assert 0 <= float(box.get("y", -1)) <= height
