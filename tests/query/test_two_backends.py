"""One float model lowered for two backends and for none, for real: their operators meet in the float graph."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from fxstore import Store, connect
from fxstore.render.page.build import page_model

torch = pytest.importorskip("torch")
exir = pytest.importorskip("executorch.exir")


class Net(torch.nn.Module):
    """A product and a sum that both backends take, and a running sum that none does."""

    def __init__(self) -> None:
        super().__init__()
        self.l = torch.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return torch.cumsum(self.l(x) * x + x, 0)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo

    with warnings.catch_warnings(), torch.no_grad(), connect(":memory:") as opened:
        warnings.simplefilter("ignore")
        for name, partitioner in (
            ("xnn", [XnnpackPartitioner()]),
            ("demo", [AddMulPartitionerDemo()]),
            ("portable", []),
        ):
            program = torch.export.export(Net().eval(), (torch.ones(2, 4),))
            with opened.record(name, strict=True) as rec:
                rec.stage("float", program)
                lowered = exir.to_edge_transform_and_lower(program, partitioner=partitioner, generate_etrecord=True)
                rec.stage("lowered", lowered)
        yield opened


def clicked(store: Store, runs: list[str], run: str, stage: str, node: str) -> dict[str, set[str]]:
    """Returns the names that a click shows, by run and stage."""
    model = page_model(store, runs)
    places = {
        nid: (pane.subtitle.split(" ")[0], pane.title, graph.title, name)
        for pane in model.panes
        for graph in pane.graphs
        for nid, name in zip(graph.nodes["nid"].to_pylist(), graph.nodes["name"].to_pylist(), strict=True)
    }
    (at,) = [nid for nid, place in places.items() if (place[0], place[1], place[3]) == (run, stage, node)]
    shown: dict[str, set[str]] = {}
    for nid, _ in model.sync_sets[model.focus[at]]:
        shown.setdefault(f"{places[nid][0]}:{places[nid][1]}", set()).add(places[nid][3])
    return shown


def test_an_operator_of_one_backend_leads_to_that_of_another(store: Store) -> None:
    runs = ["xnn", "demo", "portable"]
    shown = clicked(store, runs, "xnn", "lowered", "aten_mul_tensor")
    assert shown["xnn:float"] == shown["demo:float"] == shown["portable:float"] == {"mul"}
    assert shown["portable:lowered"] == {"aten_mul_tensor"}
    assert "aten_mul_tensor" in shown["demo:lowered"]
    assert not [names for names in shown.values() if "aten_cumsum_default" in names]
    back = clicked(store, runs, "portable", "lowered", "aten_cumsum_default")
    assert back["xnn:lowered"] == back["demo:lowered"] == {"aten_cumsum_default"}


def test_one_operator_that_a_backend_keeps_leads_to_its_decomposition_elsewhere(store: Store) -> None:
    shown = clicked(store, ["xnn", "portable"], "xnn", "lowered", "aten_linear_default")
    assert shown["portable:lowered"] == {"aten_permute_copy_default", "aten_addmm_default"}
    assert shown["xnn:float"] == {"linear"}


def test_the_page_says_through_what_the_runs_are_compared(store: Store) -> None:
    model = page_model(store, ["xnn", "demo"])
    assert ("xnn and demo", "through the stage float, equal in both") in model.facts
