from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fxstore.render.boxes import box_size


@given(st.text(), st.text())
def test_boxes_are_of_a_size_that_layout_and_page_can_use(title: str, name: str) -> None:
    width, height = box_size(title, name)
    assert 72 <= width <= 220
    assert width % 2 == 0
    assert height == (24 if title == name else 36)


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_longer_label_never_gets_a_narrower_box(title: str, name: str) -> None:
    assert box_size(title + "x", name)[0] >= box_size(title, name)[0]
    assert box_size(title, name + "x")[0] >= box_size(title, name)[0]
