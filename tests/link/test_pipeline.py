"""Links on a real compile, against truth that is derived here from the live graphs alone."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

pytest.importorskip("executorch")
from fxstore.metrics import compare
from tests.conftest import Compiled
from tests.link.graphs import Linked


@pytest.fixture(scope="module")
def linked(demo_compile: Compiled) -> Linked:
    return Linked.of(demo_compile.stages)


def chain(node: Any) -> list[tuple[int, str]]:
    hops, source = [], (node.meta.get("from_node") or [None])[-1]
    while source is not None:
        hops.append((source.graph_id, source.name))
        source = source.from_node[-1] if source.from_node else None
    return hops


def operators(graph: Any) -> list[Any]:
    return [node for node in graph.nodes if node.op == "call_function"]


def counterparts(linked: Linked, earlier: str, later: str) -> dict[str, set[str]]:
    """Returns, for each node of the later stage, the names of its firm counterparts in the earlier one."""
    found: dict[str, set[str]] = {}
    for (src, dst), evidence in linked.links().items():
        if src.startswith(f"{earlier}:") and dst.startswith(f"{later}:") and evidence not in ("structure", "name"):
            found.setdefault(dst.partition(":")[2], set()).add(src.partition(":")[2])
    return found


def test_every_operator_has_the_counterpart_that_its_chain_names(linked: Linked, demo_compile: Compiled) -> None:
    for earlier, later in (("quantized", "edge"),):
        home = demo_compile.sources[earlier]
        home = getattr(home, "graph_module", home).graph
        names = {node.name for node in home.nodes}
        graph = demo_compile.sources[later].graph_module.graph
        found = counterparts(linked, earlier, later)
        checked = 0
        for node in operators(graph):
            truth = next((name for number, name in chain(node) if number == id(home) and name in names), None)
            if truth is not None:
                assert found[node.name] == {truth}
                checked += 1
        assert checked > 100


def test_float_operators_are_found_in_prepared_but_for_folded_batch_norms(
    linked: Linked, demo_compile: Compiled
) -> None:
    floats = operators(demo_compile.sources["float"].graph_module.graph)
    links = linked.links()
    for node in floats:
        ends = {
            dst: e for (src, dst), e in links.items() if src == f"float:{node.name}" and dst.startswith("prepared:")
        }
        if "batch_norm" in node.name:
            assert set(ends.values()) == {"structure"}
            assert linked.values(f"float:{node.name}") >= {f"prepared:{node.name.replace('batch_norm', 'conv2d')}.0"}
        else:
            assert ends[f"prepared:{node.name}"] == "from_node"


def test_lowered_operators_are_the_edge_operators_inside_and_outside_of_delegates(
    linked: Linked, demo_compile: Compiled
) -> None:
    edge = {node.name for node in operators(demo_compile.sources["edge"].graph_module.graph)}
    found = counterparts(linked, "edge", "lowered")
    inside = {name: sources for name, sources in found.items() if "/" in name}
    for name, sources in inside.items():
        own = name.rpartition("/")[2]
        if own in edge:
            assert sources == {own}
    reached = set().union(*found.values())
    assert edge <= reached


def test_each_delegate_call_is_linked_to_exactly_the_operators_inside_it(
    linked: Linked, demo_compile: Compiled
) -> None:
    lowered = demo_compile.program.exported_program().graph_module  # to_executorch edited the edge manager's graph
    links = linked.links()
    calls = [node for node in operators(lowered.graph) if node.name.startswith("executorch_call_delegate")]
    assert len(calls) >= 2
    for call in calls:
        target = call.args[0].target
        inner = getattr(lowered, target).original_module.graph_module.graph
        truth = {f"runtime:{target}/{node.name}" for node in operators(inner)}
        assert {src for (src, dst), e in links.items() if dst == f"runtime:{call.name}" and e == "delegate"} == truth


def test_a_port_of_a_delegate_holds_the_inner_value_that_its_graph_returns(
    linked: Linked, demo_compile: Compiled
) -> None:
    lowered = demo_compile.program.exported_program().graph_module  # to_executorch edited the edge manager's graph
    several = 0
    for call in operators(lowered.graph):
        if not call.name.startswith("executorch_call_delegate"):
            continue
        target = call.args[0].target
        returned = next(iter(reversed(getattr(lowered, target).original_module.graph_module.graph.nodes))).args[0]
        several += len(returned) > 1
        for user in call.users:
            assert f"runtime:{target}/{returned[user.args[1]].name}.0" in linked.values(f"runtime:{user.name}")
    assert several >= 1


def test_parameters_are_linked_across_renames_by_what_they_are(linked: Linked) -> None:
    links = linked.links()
    assert ("float:p_norm_weight", "prepared:norm_weight") in links
    assert links["quantized:norm_weight", "edge:p_norm_weight"] == "signature"
    assert links["edge:p_norm_weight", "lowered:p_norm_weight"] == "signature"


def test_what_quantises_a_weight_belongs_to_the_weight(linked: Linked) -> None:
    members = linked.set_of("quantized:dequantize_per_channel_default")
    assert any(label in members for label in ("float:p_stem_conv_weight", "prepared:stem_conv_weight"))


def test_nothing_is_unmatched_without_a_reason_a_person_understands(linked: Linked) -> None:
    for (label, towards), reason in linked.unmatched().items():
        assert reason, (label, towards)
    assert linked.unmatched()["float:p_stem_bn_weight", "prepared"] == "folded into conv2d"
    assert linked.unmatched()["runtime:alloc", "lowered"] == "memory planned by to_executorch"


def test_every_value_pair_holds_equal_values_where_a_stage_keeps_floats(linked: Linked, demo_compile: Compiled) -> None:
    """The pairs are compared by running both stages; only quantisation itself may change a value."""
    classes: dict[int, list[tuple[str, tuple[str, str, int]]]] = {}
    for row in linked.tables["value_classes"].to_pylist():
        stage, _, rest = linked.label(row["ordinal"]).partition(":")
        path, _, name = rest.rpartition("/")
        classes.setdefault(row["value_class"], []).append((stage, (path, name, row["port"])))
    compared = dict.fromkeys(itertools.pairwise(demo_compile.values), 0)
    for earlier, later in compared:
        for members in classes.values():
            arrays = {
                (stage, *key): demo_compile.values[stage][key]
                for stage, key in members
                if stage in (earlier, later) and key in demo_compile.values[stage]
            }
            first = next(iter(arrays.values()), None)
            for key, value in arrays.items():
                assert value.shape == first.shape, (earlier, later, key)
                if (earlier, later) == ("float", "prepared"):
                    np.testing.assert_allclose(value, first, rtol=1e-3, atol=1e-4, err_msg=str(key))
                else:  # one rounding that falls the other way moves what comes after by a step of the scale
                    assert compare(first, value, ["cosine"])["cosine"].value > 0.999, key
                compared[earlier, later] += len(arrays) > 1
    assert all(count > 30 for count in compared.values()), compared
