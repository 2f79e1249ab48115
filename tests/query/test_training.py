"""Views and pages of training steps: an MLP and a small transformer, by both partitioners and others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import fxstore
from fxstore.render.page.build import page_model
from fxstore.render.page.drawings import SIDES

Store = Any
NAMES = ["mlp", "mlp-default", "transformer", "transformer-default", "transformer-checkpointed", "several"]


def _mlp(torch: Any) -> tuple[Any, tuple[Any, ...]]:
    class MLP(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)
            self.drop = torch.nn.Dropout(0.2)

        def forward(self, x: Any, target: Any) -> Any:
            return (self.second(self.drop(torch.nn.functional.gelu(self.first(x)))) - target).pow(2).mean()

    return MLP().train(), (torch.randn(4, 8), torch.randn(4, 4))


def _transformer(torch: Any, checkpointed: bool = False) -> tuple[Any, tuple[Any, ...]]:
    from torch.utils.checkpoint import checkpoint

    class Transformer(torch.nn.Module):
        """Its embedding and its head share one weight."""

        def __init__(self) -> None:
            super().__init__()
            self.embed = torch.nn.Embedding(20, 8)
            self.layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
            self.head = torch.nn.Linear(8, 20, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, ids: Any) -> Any:
            x = self.embed(ids)
            x = checkpoint(self.layer, x, use_reentrant=False) if checkpointed else self.layer(x)
            return torch.nn.functional.cross_entropy(self.head(x).flatten(0, 1), ids.flatten())

    return Transformer().train(), (torch.randint(0, 20, (2, 5)),)


def _several(torch: Any) -> tuple[Any, tuple[Any, ...]]:
    """Several outputs, a view, one without gradient; changes in place; an input that needs a gradient."""

    class Several(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(4)
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x: Any, y: Any) -> Any:
            self.count.add_(1)
            z = self.norm(x) + 1
            z.mul_(2)
            z = z.exp()
            noise = torch.rand_like(z)
            return {"out": z, "view": z.view(-1), "mixed": (z * noise * y.sigmoid()).sum(), "detached": x.detach() + 1}

    return Several().train(), (torch.randn(3, 4, requires_grad=True), torch.randn(3, 4))


@pytest.fixture(scope="module")
def captured() -> dict[str, Any]:
    torch = pytest.importorskip("torch")
    from fxstore.ingest import capture_joint

    torch.manual_seed(0)
    return {
        "mlp": capture_joint(*_mlp(torch)),
        "mlp-default": capture_joint(*_mlp(torch), partition="default"),
        "transformer": capture_joint(*_transformer(torch)),
        "transformer-default": capture_joint(*_transformer(torch), partition="default"),
        "transformer-checkpointed": capture_joint(*_transformer(torch, checkpointed=True)),
        "several": capture_joint(*_several(torch)),
    }


@pytest.fixture(scope="module")
def store(captured: dict[str, Any]) -> Iterator[Store]:
    with fxstore.connect(":memory:") as opened:
        for name, graphs in captured.items():
            assert opened.ingest(graphs, name=name).status == "complete"
        yield opened


def rows(store: Store, query: str, name: str) -> list[Any]:
    return store.sql(query.replace("$RUN", "(SELECT run_id FROM runs WHERE name = ?)"), [name]).fetchall()


def placeholders(graph: Any) -> dict[str, Any]:
    return {n.name: n for n in graph.graph.nodes if n.op == "placeholder"}


@pytest.mark.parametrize("name", NAMES)
def test_every_input_of_backward_but_its_tangents_is_a_saved_tensor(
    name: str, store: Store, captured: dict[str, Any]
) -> None:
    graphs = captured[name]
    taken = {n for n, node in placeholders(graphs.backward).items() if not n.startswith("tangents")}
    found = rows(
        store,
        "SELECT s.name, b.name, s.bytes, s.new_bytes, s.kind, s.view_of, s.readers, s.role FROM saved_tensors s"
        " JOIN nodes b ON b.nid = s.backward_nid WHERE s.run_id = $RUN",
        name,
    )
    assert {row[1] for row in found} == taken
    assert len(found) == len(taken)
    values = {n.name: n for n in graphs.forward.graph.nodes}
    for own, other, size, new, kind, view_of, readers, role in found:
        value = values[own].meta["val"]
        count = value.numel()
        assert size == (count * value.element_size() if isinstance(count, int) else None)
        assert readers == len(placeholders(graphs.backward)[other].users)
        assert (kind == "input") == (values[own].op == "placeholder")
        assert (role == "saved") == (values[own].op != "placeholder")
        assert (view_of is not None) == kind.startswith("view")
        if "input" in kind:
            assert new == 0
        if view_of is not None:
            assert values[view_of].meta["val"].untyped_storage().nbytes() >= size


@pytest.mark.parametrize("name", NAMES)
def test_new_bytes_are_those_of_distinct_memory(name: str, store: Store, captured: dict[str, Any]) -> None:
    """Fake tensors know their storage: saved values that share one are views of each other."""
    graphs = captured[name]
    values = {n.name: n.meta.get("val") for n in graphs.forward.graph.nodes}
    kept = {values[n].untyped_storage()._cdata for n in placeholders(graphs.forward)}
    found = rows(store, "SELECT name, new_bytes FROM saved_tensors WHERE run_id = $RUN", name)
    known = [(values[one].untyped_storage(), new) for one, new in found if new is not None]
    distinct = {storage._cdata: storage.nbytes() for storage, _ in known}
    assert sum(new for _, new in known) == sum(size for key, size in distinct.items() if key not in kept)
    assert len(found) - len(known) == sum(n.startswith("rng_state") for n in placeholders(graphs.backward))


@pytest.mark.parametrize("name", NAMES)
def test_recomputed_is_what_stands_in_both_graphs(name: str, store: Store, captured: dict[str, Any]) -> None:
    first, second = (_copies(graph) for graph in (captured[name].forward, captured[name].backward))
    found = rows(
        store,
        "SELECT r.name, b.name FROM recomputed r JOIN nodes b ON b.nid = r.backward_nid WHERE r.run_id = $RUN",
        name,
    )
    expected = {(first[one], second[one]) for one in first.keys() & second.keys()}
    assert {pair for pair in found if not pair[0].startswith("run_and_save")} == expected
    states = {node for node in placeholders(captured[name].backward) if node.startswith("rng_state")}
    assert len(found) - len(expected) == len(states)
    assert bool(found) == (name in ("mlp", "transformer", "transformer-checkpointed", "several"))


def _copies(graph: Any) -> dict[Any, str]:
    """Names of a graph's operators by what each is a copy of."""
    ops = (n for n in graph.graph.nodes if n.op == "call_function" and "fxstore_joint_node" in n.meta)
    return {(n.meta["fxstore_joint_node"], n.target): n.name for n in ops}


def test_what_a_second_run_costs_is_told(store: Store) -> None:
    (flops,) = rows(store, "SELECT sum(flops) FROM recomputed WHERE run_id = $RUN", "transformer-checkpointed")[0]
    (again,) = rows(
        store,
        "SELECT sum(m.value) FROM metrics m JOIN recomputed r ON r.backward_nid = m.nid"
        " WHERE m.metric = 'flops' AND r.run_id = $RUN",
        "transformer-checkpointed",
    )[0]
    assert flops == again > 0


def test_tied_weights_say_so(store: Store) -> None:
    found = rows(
        store,
        "SELECT target, json_extract_string(attrs, '$.stands_for'), nid IN (SELECT src_nid FROM edges)"
        " FROM nodes WHERE stage = 'joint' AND role = 'parameter' AND run_id = $RUN"
        " AND regexp_matches(target, '^(embed|head)') ORDER BY target",
        "transformer",
    )
    assert found == [
        ("embed.weight", "embed.weight, tied with head.weight", True),
        ("head.weight", "head.weight, tied with embed.weight", False),
    ]


def test_in_place_changes_outputs_and_inputs_without_gradients(store: Store) -> None:
    roles = {
        (target, role)
        for target, role in rows(
            store,
            "SELECT n.target, r.role FROM node_roles r JOIN nodes n USING (nid)"
            " WHERE n.stage = 'joint' AND n.op = 'placeholder' AND n.run_id = $RUN",
            "several",
        )
    }
    assert {("input 0", "input"), ("input 1", "input"), ("count", "buffer"), ("norm.weight", "parameter")} <= roles
    said = {
        text
        for (text,) in rows(
            store,
            "SELECT json_extract_string(attrs, '$.stands_for') FROM nodes WHERE stage = 'joint' AND op <> 'placeholder'"
            " AND run_id = $RUN",
            "several",
        )
        if text
    }
    told = {one for text in said for one in text.split(", ")}
    assert {
        "new value of count",
        "new value of norm.running_mean",
        "gradient of input 0",
        "gradient of norm.weight",
    } <= told
    assert "gradient of input 1" not in told


@pytest.mark.parametrize("name", NAMES)
def test_the_page_draws_forward_and_backward_as_clusters_with_what_is_saved_between(name: str, store: Store) -> None:
    model = page_model(store, name)
    assert [pane.title for pane in model.panes] == ["joint", "forward + backward"]
    (graph,) = model.panes[1].graphs
    nodes = graph.nodes.to_pylist()
    saved = [node for node in nodes if node["op"] == "placeholder" and node["role"] == "saved"]
    sides = {side: [i for i, node in enumerate(nodes) if node["side"] == side] for side in range(3)}
    assert [nodes[i]["nid"] for i in sides[1]] == [node["nid"] for node in saved]
    x, y = graph.drawing.x, graph.drawing.y
    used = {end for edge in graph.edges.to_pylist() for end in (edge["src"], edge["dst"])}
    sides = {side: [i for i in own if i in used] for side, own in sides.items()}
    for earlier, later in ((0, 1), (1, 2)):
        assert x[sides[earlier]].max() < x[sides[later]].min()
        assert y[sides[earlier]].max() < y[sides[later]].min()
    assert [box for box in graph.drawing.blocks if box in SIDES] == list(SIDES)
    edges = graph.edges.to_pylist()
    between = {(edge["src"], edge["dst"]) for edge in edges if nodes[edge["src"]]["side"] != nodes[edge["dst"]]["side"]}
    assert {nodes[dst]["side"] for src, dst in between if nodes[src]["side"] == 0} == {1}
    assert {dst for _, dst in between if nodes[dst]["side"] == 1} == set(sides[1])
    assert [edge["dst"] for edge in edges] == sorted(edge["dst"] for edge in edges)


def test_the_page_is_coloured_by_category_with_a_legend_of_its_own(store: Store) -> None:
    model = page_model(store, "mlp")
    first = model.colors[0]
    assert (first.name, first.metric) == ("training step", "category")
    names = {nid: node["name"] for nid, node in _nodes(model)}
    told = {names[nid]: text for nid, text in first.texts.items()}
    assert {told[name] for name in ("primals_1", "primals_3", "primals_5")} == {
        "parameter",
        "parameter, saved",
        "input, saved",
    }
    assert told["tangents_1"] == "tangent"
    assert set(first.texts.values()) <= set(first.fills)
    visible = {nid for nid, _ in _nodes(model)}
    assert visible == set(first.texts)


def _nodes(model: Any) -> list[tuple[int, dict[str, Any]]]:
    return [(n["nid"], n) for pane in model.panes for graph in pane.graphs for n in graph.nodes.to_pylist()]


def test_one_stage_alone_is_drawn_as_it_is(store: Store) -> None:
    for stages in (["forward"], ["backward"], ["backward", "forward"]):
        assert [pane.title for pane in page_model(store, "mlp", stages=stages).panes] == stages


def test_other_runs_have_no_training_colours() -> None:
    torch = pytest.importorskip("torch")
    with fxstore.connect(":memory:") as opened:
        opened.ingest(torch.export.export(torch.nn.Linear(2, 2), (torch.randn(1, 2),)))
        assert [color.name for color in page_model(opened).colors if color.fills] == []
        assert opened.sql("FROM saved_tensors").fetchall() == opened.sql("FROM recomputed").fetchall() == []
