"""Drawings of stored graphs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from fxstore.render.page.drawings import Drawings
from fxstore.store import Directory


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    return Directory(tmp_path)


def rows(roles: list[str]) -> pa.Table:
    n = len(roles)
    names = [f"n{i}" for i in range(n)]
    columns = {"op_type": names, "role": roles, "name": names, "module_path": pa.nulls(n, pa.string())}
    columns |= {"op": ["call_function"] * n, "target": names}
    return pa.table(columns)


@pytest.mark.parametrize(
    ("roles", "two_sides"),
    [
        (["input", "forward", "forward_output", "tangent", "backward", "backward_output"], True),
        (["input", "backward", "backward", "tangent", "backward", "backward_output"], False),
        (["input", "op", "op", "input", "op", "output"], False),
    ],
)
def test_a_joint_graph_has_backward_on_the_right(roles: list[str], two_sides: bool, directory: Directory) -> None:
    edges = pa.table({"src": [0, 1, 1, 3, 4], "dst": [1, 2, 4, 4, 5]})
    x = Drawings(directory).get("", rows(roles), edges).x
    assert (x[3:].min() > x[:3].max() + 60) == two_sides


def test_what_a_quantiser_put_in_stands_in_its_neighbours_box(directory: Directory) -> None:
    """A later export gives quantize and dequantize the module ``''``, which would cut the boxes around them in two."""
    kinds = ["conv2d", "quantize_per_tensor", "dequantize_per_tensor", "relu", "add", "conv2d", "relu"]
    paths = ["a.conv", "", "", "a.relu", "", "b.conv", "b.relu"]
    nodes = rows(["op"] * 7).set_column(0, "op_type", [kinds]).set_column(3, "module_path", [paths])
    edges = pa.table({"src": [0, 1, 2, 3, 4, 5], "dst": [1, 2, 3, 4, 5, 6]})
    drawing = Drawings(directory).get("", nodes, edges)
    boxes = dict(zip(drawing.blocks, drawing.block_boxes.tolist(), strict=True))
    inside = {name: [bool(lo <= y <= lo + height) for y in drawing.y] for name, (_, lo, _, height) in boxes.items()}
    assert inside == {"a": [True] * 4 + [False] * 3, "b": [False] * 5 + [True] * 2}
