"""Drawings of stored graphs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from fxstore.query.drawings import Drawings
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
