"""Joint, forward and backward graphs of AOTAutograd: roles by membership and signature; cases 42 and 43."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fxstore
from fxstore.errors import UsageError
from fxstore.ingest.compile.training import FORWARD_OUTPUT, SAVED, Part, byte_size, roles, saved_values

Store = Any


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.fixture
def store() -> Iterator[Store]:
    with fxstore.connect(":memory:") as opened:
        yield opened


def partitioned(torch: Any, function: Callable[..., Any], *inputs: Any) -> dict[str, Any]:
    """The graphs that aot_function makes of a training step, as others capture them."""
    from functorch.compile import aot_function, make_boxed_func, min_cut_rematerialization_partition

    found: dict[str, Any] = {}

    def cut(joint: Any, given: Any, **rest: Any) -> Any:
        found["joint"] = copy.deepcopy(joint)
        found["forward"], found["backward"] = min_cut_rematerialization_partition(joint, given, **rest)
        return found["forward"], found["backward"]

    def keep(graph: Any, _: Any) -> Any:
        return make_boxed_func(graph.forward)

    aot_function(function, fw_compiler=keep, bw_compiler=keep, partition_fn=cut)(*inputs).backward()
    return found


def by_role(store: Store, stage: str) -> dict[str, set[str]]:
    rows = store.sql(
        "SELECT r.role, n.name FROM node_roles r JOIN nodes n USING (nid) WHERE n.stage = ?", [stage]
    ).fetchall()
    found: dict[str, set[str]] = {}
    for role, name in rows:
        found.setdefault(role, set()).add(name)
    return found


def test_case_42_recomputed_and_saved(torch: Any, store: Store) -> None:
    a, b = (torch.randn(4, requires_grad=True) for _ in range(2))
    graphs = partitioned(torch, lambda a, b: (a.sin().cos().tanh() * b).sum(), a, b)
    run = store.ingest(graphs)
    assert (run.status, run.stages) == ("complete", ("joint", "forward", "backward"))
    joint, forward, backward = (by_role(store, stage) for stage in run.stages)
    assert joint["recomputed"] == forward["recomputed"] == backward["recomputed"] == {"sin"}
    assert forward["saved"] == joint["saved"] == {"primals_1", "primals_2", "tanh"}
    assert forward["forward"] - forward["recomputed"] == {"cos", "tanh", "mul", "sum_1"}
    assert len(backward["backward"] - backward["recomputed"]) == 11
    assert "detach" in joint["backward"]
    assert "detach" not in joint["forward"]
    assert "sin_1" in joint["backward"]
    assert "sin_1" not in joint["recomputed"]
    assert joint["tangent"] == {"tangents_1"}
    assert joint["input"] == {"primals_1", "primals_2"}
    assert joint["forward_output"] == {"sum_1", "output"}
    assert joint["backward_output"] == {"mul_1", "mul_4", "output"}
    main = dict(store.sql("SELECT name, role FROM nodes WHERE stage = 'joint'").fetchall())
    assert (main["sin"], main["tanh"], main["primals_1"], main["sum_1"]) == (
        "recomputed",
        "saved",
        "input",
        "forward_output",
    )


def test_case_42_the_joint_node_is_linked_to_both_of_its_copies(torch: Any, store: Store) -> None:
    a, b = (torch.randn(4, requires_grad=True) for _ in range(2))
    store.ingest(partitioned(torch, lambda a, b: (a.sin().cos().tanh() * b).sum(), a, b))
    members = store.sql("SELECT stage, name FROM sync('joint', 'sin') ORDER BY ALL").fetchall()
    assert members == [("backward", "sin"), ("forward", "sin"), ("joint", "sin")]
    lost = store.sql(
        "SELECT n.name FROM nodes n WHERE n.stage <> 'joint' AND n.op = 'call_function'"
        " AND n.nid NOT IN (SELECT dst_nid FROM links WHERE NOT inferred)"
    ).fetchall()
    assert lost == []


def test_roles_do_not_come_from_names(torch: Any, store: Store) -> None:
    a, b = (torch.randn(4, requires_grad=True) for _ in range(2))
    graphs = partitioned(torch, lambda a, b: (a.sin().cos().tanh() * b).sum(), a, b)
    for graph in graphs.values():
        for node in graph.graph.nodes:
            node.meta.pop("desc", None)
            if node.op == "placeholder":
                swapped = {"tangents_1": "primals_9", "primals_1": "tangents_7"}
                node._rename(swapped.get(node.name, node.name))
    store.ingest(graphs)
    joint, backward = by_role(store, "joint"), by_role(store, "backward")
    assert joint["tangent"] == backward["tangent"] == {"primals_9"}
    assert joint["input"] == {"tangents_7", "primals_2"}
    assert backward["saved"] == {"tangents_7", "primals_2", "tanh"}


def test_case_43_saved_bytes_and_views(torch: Any, store: Store) -> None:
    w1, w2 = (torch.randn(32, 32, requires_grad=True) for _ in range(2))
    graphs = partitioned(torch, lambda x, w1, w2: (torch.relu(x @ w1) @ w2).pow(2).mean(), torch.randn(64, 32), w1, w2)
    store.ingest(graphs)
    rows = store.sql(
        "SELECT n.name, max(m.value) FILTER (m.metric = 'saved_bytes'), max(m.value) FILTER (m.metric = 'new_bytes'),"
        " max(m.text) FROM metrics m JOIN nodes n USING (nid) JOIN overlays o USING (overlay_id)"
        " WHERE o.name = 'saved for backward' AND n.stage = 'forward' GROUP BY n.name ORDER BY n.name"
    ).fetchall()
    assert rows == [
        ("mm_1", 8192, 8192, None),
        ("relu", 8192, 8192, None),
        ("t_1", 4096, 0, "view of input primals_3"),
        ("t_2", 8192, 0, "view of input primals_1"),
    ]
    readers = store.sql(
        "SELECT s.name, d.name FROM edges e JOIN nodes s ON s.nid = e.src_nid JOIN nodes d ON d.nid = e.dst_nid"
        " WHERE s.stage = 'backward' AND s.role = 'saved' AND s.name = 'mm_1'"
    ).fetchall()
    assert readers == [("mm_1", "pow_2")]


def test_forward_and_backward_share_sequence_numbers(torch: Any, store: Store) -> None:
    a, b = (torch.randn(4, requires_grad=True) for _ in range(2))
    store.ingest(partitioned(torch, lambda a, b: (a.sin().cos().tanh() * b).sum(), a, b))
    pairs = store.sql(
        "SELECT f.name, b.name, l.evidence, l.inferred FROM links l JOIN nodes f ON f.nid = l.src_nid"
        " JOIN nodes b ON b.nid = l.dst_nid WHERE l.note LIKE 'seq_nr%' AND f.name IN ('tanh', 'sum_1') ORDER BY ALL"
    ).fetchall()
    backward = [("sum_1", "expand"), ("tanh", "detach"), ("tanh", "detach_1"), ("tanh", "tanh_backward")]
    assert pairs == [(*pair, "handle", False) for pair in backward]
    assert store.sql("SELECT stage, name FROM sync('forward', 'sum_1') ORDER BY ALL").fetchall() == [
        ("forward", "sum_1"),
        ("joint", "sum_1"),
    ]
    assert store.sql("SELECT count(*) FROM links WHERE inferred").fetchall() == [(0,)]


@pytest.fixture(scope="module")
def network() -> Any:
    torch = pytest.importorskip("torch")

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.LayerNorm(8)
            self.query = torch.nn.Linear(8, 8)
            self.register_buffer("shift", torch.ones(8))

        def forward(self, x: Any) -> Any:
            y = self.norm(x)
            return torch.softmax(self.query(y) + self.shift, -1) @ x.mT + y.sum()

    return Block().train(), (torch.randn(2, 4, 8),)


@pytest.mark.parametrize("partition", ["min_cut", "default"])
def test_capture_joint_of_a_module(partition: str, network: Any, store: Store) -> None:
    from fxstore.ingest import capture_joint

    graphs = capture_joint(*network, partition=partition)
    store.ingest(graphs)
    joint = by_role(store, "joint")
    assert len(joint["parameter"]) == 4
    assert len(joint["buffer"]) == 1
    assert len(joint["input"]) == 1
    saved = by_role(store, "forward")["saved"]
    taken = {n.name for n in graphs.backward.graph.nodes if n.op == "placeholder"}
    assert saved == taken - by_role(store, "backward")["tangent"]
    assert ("recomputed" in joint) == (partition == "min_cut")
    layers = dict(
        store.sql("SELECT name, module_path FROM nodes WHERE stage = 'joint' AND op_type = 'addmm'").fetchall()
    )
    assert set(layers.values()) == {"query"}
    (code,) = store.sql("SELECT DISTINCT source_code FROM nodes WHERE module_path = 'norm'").fetchall()
    assert code == ("y = self.norm(x)",)


def test_what_is_saved_can_be_chosen(network: Any, store: Store) -> None:
    from fxstore.ingest import capture_joint

    inputs = [f"primals_{i}" for i in range(1, 7)]
    graphs = capture_joint(*network, saved=inputs)
    store.ingest(graphs)
    assert by_role(store, "forward")["saved"] == set(inputs)
    assert store.sql("SELECT sum(value) FROM metrics WHERE metric = 'new_bytes'").fetchall() == [(0,)]
    with pytest.raises(UsageError, match="has no node 'primal_1'") as caught:
        capture_joint(*network, saved=["primal_1"])
    assert "primals_1" in str(caught.value.hint)
    with pytest.raises(UsageError, match="backward cannot be computed from primals_1"):
        capture_joint(*network, saved=["primals_1"])


def test_a_partition_of_ones_own_and_a_function(torch: Any, store: Store) -> None:
    from torch._functorch.partitioners import default_partition

    from fxstore.ingest import capture_joint

    seen = []

    def own(joint: Any, inputs: Any, *, num_fwd_outputs: int, **rest: Any) -> Any:
        seen.append(num_fwd_outputs)
        return default_partition(joint, inputs, num_fwd_outputs=num_fwd_outputs, **rest)

    graphs = capture_joint(lambda x: (x.sin(), x.cos()), (torch.randn(3, requires_grad=True),), partition=own)
    assert seen == [2]
    store.ingest(graphs)
    assert by_role(store, "forward")["forward_output"] == {"sin", "cos", "output"}
    with pytest.raises(UsageError, match="no partition 'minimal'"):
        capture_joint(torch.nn.Linear(2, 2), (torch.randn(1, 2),), partition="minimal")
    with pytest.raises(UsageError, match="the input is a Tensor"):
        capture_joint(torch.nn.Linear(2, 2), torch.randn(1, 2))


def test_capturing_leaves_the_model_as_it_was(torch: Any) -> None:
    from fxstore.ingest import capture_joint

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).train()
    before = copy.deepcopy(model.state_dict())
    graphs = capture_joint(model, (torch.randn(4, 2),))
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert graphs.joint is not None


def test_shared_memory_is_counted_once() -> None:
    forward = Part(
        inputs={"x": "input"},
        ops={"mm": "aten.mm", "t": "aten.t", "v": "aten.view", "n": "aten.t", "x_t": "aten.t"},
        outputs=[("mm", FORWARD_OUTPUT), *((name, SAVED) for name in ("t", "v", "n", "x_t", "x", "s"))],
        views={"t": "mm", "v": "t", "n": "n", "x_t": "x"},
        sizes={"mm": 64, "t": 32, "v": 32, "n": 8, "x": 16, "x_t": 16, "s": None},
    )
    found = {one.name: (one.bytes, one.new_bytes, one.note) for one in saved_values(forward)}
    assert found == {
        "t": (32, 64, "view of mm"),
        "v": (32, 0, "view of mm"),
        "n": (8, 8, None),
        "x_t": (16, 0, "view of input x"),
        "x": (16, 0, "input"),
        "s": (None, None, None),
    }


def test_sizes_and_roles_of_plain_graphs() -> None:
    assert byte_size("float16", ("2", "3")) == 12
    assert byte_size("float32", ("s0", "3")) is None
    assert byte_size(None, None) is None
    backward = Part(
        inputs={"a": SAVED, "g": "tangent"},
        ops={"f": ("f", "sin"), "b": ("b", "cos")},
        outputs=[("b", "backward_output")],
    )
    told = roles(
        Part(inputs={"x": "input"}, ops={"f": ("f", "cos"), "a": ("a", "tan")}, outputs=[("a", SAVED)]), backward
    )
    assert told["forward"]["f"] == ["forward"]  # another operator of that name is no recomputation
    assert told["backward"]["f"] == ["backward"]
    assert told["forward"]["a"] == ["saved", "forward"]


@pytest.fixture(scope="module")
def checkpointed() -> Any:
    """A block with dropout, checkpointed, so that its random operators run again in backward."""
    torch = pytest.importorskip("torch")
    from torch.utils.checkpoint import checkpoint

    from fxstore.ingest import capture_joint

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList(
                torch.nn.Sequential(
                    torch.nn.Linear(8, 8), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Dropout(0.1)
                )
                for _ in range(2)
            )

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = checkpoint(layer, x, use_reentrant=False)
            return x.sum()

    return capture_joint(Block().train(), (torch.randn(4, 8),))


@pytest.mark.parametrize("marked", [True, False])
def test_random_operators_that_run_again_are_recomputed_and_their_states_saved(
    marked: bool, checkpointed: Any, store: Store
) -> None:
    graphs = copy.deepcopy(checkpointed)
    for graph in (graphs.joint, graphs.forward, graphs.backward):
        for node in graph.graph.nodes if not marked else ():
            node.meta.pop("fxstore_joint_node", None)  # as graphs are that others captured
    store.ingest(graphs)
    joint, forward, backward = (by_role(store, stage) for stage in ("joint", "forward", "backward"))
    assert len(backward["tangent"]) == len(joint["tangent"]) == 1
    states = {n.name for n in graphs.backward.graph.nodes if n.name.startswith("rng_state_output")}
    assert len(states) == 4
    assert states < backward["saved"]
    random = {name for name in joint["recomputed"] if name.startswith("native_dropout")}
    assert len(random) == 4
    assert {name for name in forward["recomputed"] if name.startswith("run_and_save")} == {
        "run_and_save_rng_state", *(f"run_and_save_rng_state_{i}" for i in (1, 2, 3))
    }  # fmt: skip
    pairs = store.sql(
        "SELECT f.name, b.name FROM links l JOIN nodes f ON f.nid = l.src_nid JOIN nodes b ON b.nid = l.dst_nid"
        " WHERE f.stage = 'forward' AND b.name LIKE 'rng_state_output%' ORDER BY b.name"
    ).fetchall()
    saving = [
        next(user.name for user in node.users if user.args[1] == 0)
        for node in graphs.forward.graph.nodes
        if node.name.startswith("run_and_save")
    ]
    assert pairs == list(zip(saving, sorted(states), strict=True))
    assert "op" not in joint


def test_inputs_and_gradients_say_what_they_stand_for(network: Any, store: Store) -> None:
    from fxstore.ingest import capture_joint

    store.ingest(capture_joint(*network))
    said = "json_extract_string(attrs, '$.stands_for')"
    rows = store.sql(
        f"SELECT role, target, {said} FROM nodes WHERE stage = 'joint' AND op = 'placeholder' ORDER BY position"
    ).fetchall()
    names = ["norm.weight", "norm.bias", "query.weight", "query.bias", "shift"]
    assert [(role, target) for role, target, _ in rows] == [
        *(("parameter", name) for name in names[:4]),
        ("buffer", "shift"),
        ("input", "input 0"),
        ("tangent", "gradient of output 0"),
    ]
    assert all(target == spoken for _, target, spoken in rows)
    gradients = store.sql(
        f"SELECT {said} FROM nodes WHERE stage = 'backward' AND {said} LIKE 'gradient of %.%'"
    ).fetchall()
    assert sorted(gradients) == sorted((f"gradient of {name}",) for name in names[:4])


def test_a_gradient_is_no_counterpart_of_what_it_is_a_gradient_of(network: Any, store: Store) -> None:
    from fxstore.ingest import capture_joint

    store.ingest(capture_joint(*network))
    wrong = store.sql(
        "SELECT f.name, b.name FROM links l JOIN nodes f ON f.nid = l.src_nid JOIN nodes b ON b.nid = l.dst_nid"
        " WHERE f.stage = 'forward' AND b.stage = 'backward' AND b.role NOT IN ('saved', 'recomputed')"
        " AND (l.note IS NULL OR l.note NOT LIKE 'seq_nr%')"
    ).fetchall()
    assert wrong == []
