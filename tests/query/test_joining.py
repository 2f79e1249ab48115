"""Two runs on one page: counterparts through a common stage, and the honest word where there is none."""

from __future__ import annotations

from typing import Any

import pytest

from fxstore import Store, connect
from fxstore.records import Graph, RunRecord
from fxstore.render.page.build import page_model
from tests.query.conftest import nid
from tests.query.test_compare import drawn
from tests.store.records import chain, graph, node, run

__all__ = ["drawn"]
NAMES = ("x", "conv", "relu", "output")


def line(*operators: str, **renamed: str) -> Graph:
    names = [renamed.get(op, op) for op in operators]
    rows = [node(n, {"x": "placeholder", "output": "output"}.get(op, "call_function"), op_type=op)
            for n, op in zip(names, operators, strict=True)]  # fmt: skip
    return graph(rows, chain(*names))


def build(name: str, backend: str, float_: Graph | None = None, relu: str = "relu") -> RunRecord:
    """float to a backend's own graph, where two nodes come from the convolution; the second holds its value."""
    last = line("x", f"{backend}_pad", f"{backend}_conv", f"{backend}_act", "output")
    return run(
        {"float": float_ or line(*NAMES), backend: last},
        name=name,
        sync=[["float:conv*", f"{backend}:{backend}_pad", f"{backend}:{backend}_conv*"],
              [f"float:{relu}*", f"{backend}:{backend}_act*"]],
    )  # fmt: skip


def clicked(store: Store, model: Any, place: str, run_name: str) -> dict[str, bool]:
    """The members that a click shows, as stage:name@run, and whether they hold the value."""
    names = {
        n: f"{pane.title}:{name}@{pane.subtitle.split(' ')[0]}"
        for pane in model.panes for g in pane.graphs
        for n, name in zip(g.nodes["nid"].to_pylist(), g.nodes["name"].to_pylist(), strict=True)
    }  # fmt: skip
    at = nid(store, place, run_name)
    return {names[n]: primary for n, primary in model.sync_sets[model.focus[at]]}


@pytest.mark.usefixtures("drawn")
def test_two_backends_meet_in_the_float_graph() -> None:
    with connect(":memory:") as store:
        store.commit(build("a", "xnn"))
        store.commit(build("b", "qnn"))
        model = page_model(store, ["a", "b"])
        whole = {
            "float:conv@a": True, "xnn:xnn_pad@a": False, "xnn:xnn_conv@a": True,
            "float:conv@b": True, "qnn:qnn_pad@b": False, "qnn:qnn_conv@b": True,
        }  # fmt: skip
        for place, name in (("xnn:xnn_conv", "a"), ("xnn:xnn_pad", "a"), ("float:conv", "b"), ("qnn:qnn_conv", "b")):
            assert clicked(store, model, place, name) == whole
        assert clicked(store, model, "float:x", "a") == {"float:x@a": True, "float:x@b": True}
        assert ("a and b", "through the stage float, equal in both") in model.facts
        assert [pane.subtitle.endswith("common stage") for pane in model.panes] == [True, False, True, False]


@pytest.mark.usefixtures("drawn")
def test_a_common_stage_may_be_renumbered_and_hidden() -> None:
    with connect(":memory:") as store:
        store.commit(build("a", "xnn"))
        store.commit(build("b", "qnn", line(*NAMES, relu="relu_7"), "relu_7"))
        model = page_model(store, ["a", "b"], stages=["xnn", "qnn"])
        assert clicked(store, model, "xnn:xnn_act", "a") == {"xnn:xnn_act@a": True, "qnn:qnn_act@b": True}
        assert ("a and b", "through the stage float, alike in structure in both") in model.facts


@pytest.mark.usefixtures("drawn")
def test_without_a_common_stage_stages_of_one_name_are_matched_and_the_page_says_so() -> None:
    with connect(":memory:") as store:
        store.commit(build("a", "xnn"))
        store.commit(build("b", "qnn", line("x", "gelu", "conv", "relu", "output")))
        model = page_model(store, ["a", "b"])
        assert clicked(store, model, "xnn:xnn_act", "a") == {
            "float:relu@a": True, "xnn:xnn_act@a": True, "float:relu@b": True,
        }  # fmt: skip
        assert "float:gelu@b" not in clicked(store, model, "float:x", "a")
        assert all("no common stage with" in pane.subtitle for pane in model.panes)
        assert any(said.startswith("no common stage") for _, said in model.facts)


@pytest.mark.usefixtures("drawn")
def test_the_latest_common_stage_counts_whatever_its_name() -> None:
    with connect(":memory:") as store:
        edge = line("x", "aten_conv", "aten_relu", "output")
        sync = [["float:conv*", "e1:aten_conv*"]]
        store.commit(run({"float": line(*NAMES), "e1": edge}, name="a", sync=sync))
        store.commit(run({"other": line("x", "gelu"), "e2": edge, "last": line("x", "z_conv")}, name="b",
                         sync=[["e2:aten_conv*", "last:z_conv*"]]))  # fmt: skip
        model = page_model(store, ["a", "b"])
        assert clicked(store, model, "float:conv", "a") == {
            "float:conv@a": True, "e1:aten_conv@a": True, "e2:aten_conv@b": True, "last:z_conv@b": True,
        }  # fmt: skip
        assert ("a and b", "through the stage e1 = e2, equal in both") in model.facts


@pytest.mark.usefixtures("drawn")
def test_three_runs_lead_to_each_other() -> None:
    with connect(":memory:") as store:
        for name, backend in (("a", "xnn"), ("b", "qnn"), ("c", "vk")):
            store.commit(build(name, backend))
        model = page_model(store, ["a", "b", "c"])
        assert set(clicked(store, model, "qnn:qnn_act", "b")) == {
            "float:relu@a", "xnn:xnn_act@a", "float:relu@b", "qnn:qnn_act@b", "float:relu@c", "vk:vk_act@c",
        }  # fmt: skip
