"""Values that a decomposition cuts, copies or promotes are measured against the value that they are, and no other."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest

import fxstore

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402


class Parts(nn.Module):
    def forward(self, x: Any) -> Any:
        q, k, v = x.unbind(0)
        left, right = (q + k).split([1, 3], 1)
        first, second = v.chunk(2, 1)
        return q @ k, left, right - 1, first, second


class Steps(nn.Module):
    """Of three outputs two are read, by an operator that is split up itself."""

    def forward(self, x: Any) -> Any:
        _, k, v = x.unbind(0)
        return k @ v


class Products(nn.Module):
    def forward(self, x: Any) -> Any:
        return (x.relu() @ x.sigmoid()).tanh()


class Positions(nn.Module):
    def forward(self, x: Any) -> Any:
        return x + (torch.arange(4) + 1)[None]


def measured(x: Any, **stages: Any) -> dict[str, tuple[str, float | None, str | None, str | None]]:
    """Operator, largest difference, reference and reason of each node of the last stage."""
    with fxstore.connect(":memory:") as store:
        with store.record("parts", strict=True) as rec:
            for name, source in stages.items():
                rec.stage(name, source)
            rec.measure((x,), reference=next(iter(stages)), metrics=["max_abs"], statistics=False)
        rows = store.sql(
            "SELECT n.name || '.' || m.port, n.op_type, m.value, r.name, m.reason FROM metrics AS m JOIN overlays AS o "
            "USING (overlay_id) JOIN nodes AS n USING (nid) LEFT JOIN nodes AS r ON r.nid = m.ref_nid "
            "WHERE o.kind = 'accuracy' ORDER BY n.position, m.port"
        ).fetchall()
        return {name: (op, value, ref, reason) for name, op, value, ref, reason in rows}


def decomposed(network: Any, x: Any) -> tuple[Any, Any]:
    program = torch.export.export(network.eval(), (x,))
    return program, program.run_decompositions()


def test_each_piece_is_the_output_that_begins_where_it_does() -> None:
    x = torch.randn(3, 4, 4)
    program, core = decomposed(Parts(), x)
    found = measured(x, float=program, core=core)
    pieces = [(op, value, ref) for op, value, ref, _ in found.values() if op in ("squeeze", "split_with_sizes")]
    expected = [("squeeze", 0.0, "unbind")] * 3
    assert pieces == expected + [("split_with_sizes", 0.0, ref) for ref in ("split_with_sizes", "chunk") for _ in "ab"]


def test_the_order_in_which_slices_stand_in_the_graph_says_nothing() -> None:
    x = torch.randn(3, 4, 4)
    program, core = decomposed(Parts(), x)
    slices = [node for node in core.graph.nodes if "slice" in node.name]
    squeezes = [node for node in core.graph.nodes if "squeeze" in node.name]
    for node in (*slices[1:], *squeezes[1:]):
        slices[0].prepend(node)
    core.graph_module.recompile()
    assert [node.name for node in core.graph.nodes if "squeeze" in node.name] != [node.name for node in squeezes]
    found = measured(x, float=program, core=core)
    assert [row[1:3] for row in found.values() if row[0] == "squeeze"] == [(0.0, "unbind")] * 3


def test_where_an_output_has_no_piece_none_is_guessed() -> None:
    x = torch.randn(3, 4, 4)
    program, core = decomposed(Steps(), x)
    found = measured(x, float=program, core=core)
    pieces = [(value, reason) for op, value, _, reason in found.values() if op == "squeeze"]
    assert pieces == [(None, "part of an operator whose value is nowhere in this stage: `unbind`")] * 2
    assert {value for op, value, *_ in found.values() if op == "mm"} == {0.0}


def test_a_step_that_only_copies_is_measured_as_what_it_copies() -> None:
    exir = pytest.importorskip("executorch.exir")
    x = torch.randn(1, 2, 3, 3)
    program = torch.export.export(Products().eval(), (x,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        edge = exir.to_edge(program)
    found = measured(x, float=program, edge=edge)
    assert {ref: value for op, value, ref, _ in found.values() if op == "expand_copy"} == {"relu": 0.0, "sigmoid": 0.0}


def test_positions_that_meet_a_float_are_measured_as_the_numbers_they_are() -> None:
    x = torch.randn(2, 4)
    module = torch.export.export(Positions().eval(), (x,)).module()
    edited = copy.deepcopy(module)
    add = next(node for node in edited.graph.nodes if node.args[1:] == (1,))
    edited.register_buffer("one", torch.tensor(1.0))
    with edited.graph.inserting_before(add):
        add.update_arg(1, edited.graph.get_attr("one"))
    edited.recompile()
    found = measured(x, float=module, edited=edited, again=torch.export.export(edited, (x,)))
    assert {op: value for op, value, *_ in found.values() if op in ("add", "unsqueeze")} == {
        "add": 0.0,
        "unsqueeze": 0.0,
    }
