"""Sync sets are what the documented rule makes of ``links`` and ``value_pairs``, and nothing else (docs/links.md)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore import Store, connect
from fxstore.link import structure_of
from fxstore.records import Graph, RunRecord, Stage
from tests.conftest import Compiled
from tests.link.graphs import Linked, N, graph

MEMBERS = """
WITH RECURSIVE forward(focus, nid) AS (
    SELECT nid, nid FROM nodes UNION SELECT f.focus, l.dst_nid FROM forward AS f JOIN links AS l ON l.src_nid = f.nid
), backward(focus, nid) AS (
    SELECT nid, nid FROM nodes UNION SELECT b.focus, l.src_nid FROM backward AS b JOIN links AS l ON l.dst_nid = b.nid
)
SELECT focus, nid FROM forward UNION SELECT focus, nid FROM backward
"""
VIEWS = re.compile(
    "(view|permute|transpose|t|unsqueeze|squeeze|expand|alias)(_copy)?|reshape|flatten|clone|_clone_dim_order|"
    "_to_dim_order_copy|contiguous|detach|getitem"
)


class Rule:
    """The documented choice of primary members, over rows of public relations alone."""

    def __init__(self, store: Store) -> None:
        rows = store.sql("SELECT nid, stage, role, op_type FROM nodes ORDER BY nid").fetchall()
        self.stage = {nid: stage for nid, stage, _, _ in rows}
        self.kind = {nid: kind for nid, _, _, kind in rows}
        self.hands_on = {nid: role not in ("op", "symint") or kind == "getitem" for nid, _, role, kind in rows}
        self.equal: dict[int, set[int]] = defaultdict(set)
        equal = "ref_port = 0 AND port = 0 AND evidence IS DISTINCT FROM 'observer'"
        query = f"SELECT ref_nid, nid FROM value_pairs WHERE {equal}"
        for a, b in store.sql(query).fetchall():
            self.equal[a].add(b)
            self.equal[b].add(a)
        first = "SELECT dst_nid, arg_min(src_nid, position) FROM edges GROUP BY dst_nid"
        self.first_input = dict(store.sql(first).fetchall())

    def quantises(self, nid: int) -> bool:
        kind = self.kind[nid]
        return kind.startswith(("quantize_", "dequantize_", "choose_qparams")) or kind.endswith(
            ("Observer", "FakeQuantize")
        )

    def primary(self, focus: int, members: list[int]) -> int:
        if len(members) == 1:
            return members[0]
        holding = [m for m in members if m in self.equal[focus]]
        if holding:
            best = min(holding, key=lambda m: (self.hands_on[m], m))
        else:
            best = min(members, key=lambda m: (self.quantises(m), self.hands_on[m], -m))
        while VIEWS.fullmatch(self.kind[best]) and self.first_input.get(best) in members:
            best = self.first_input[best]
        return best

    def set_of(self, focus: int, members: set[int]) -> frozenset[tuple[int, bool]]:
        stages: dict[str, list[int]] = defaultdict(list)
        for member in sorted(members):
            stages[self.stage[member]].append(member)
        primary = {
            focus if stage == self.stage[focus] else self.primary(focus, found) for stage, found in stages.items()
        }
        return frozenset((member, member in primary) for member in members)


def check(store: Store) -> int:
    """Compares the view with the rule; returns the number of sets."""
    members: dict[int, set[int]] = defaultdict(set)
    for focus, nid in store.sql(MEMBERS).fetchall():
        members[focus].add(nid)
    rule = Rule(store)
    wanted = {focus: rule.set_of(focus, found) for focus, found in members.items()}
    stored: dict[int, set[tuple[int, bool]]] = defaultdict(set)
    focused: dict[int, list[int]] = defaultdict(list)
    for number, nid, primary, focus in store.sql("SELECT sync_id, nid, is_primary, focus FROM sync_sets").fetchall():
        stored[number].add((nid, primary))
        if focus:
            focused[nid].append(number)
    assert all(len(numbers) == 1 for numbers in focused.values())
    assert {nid: frozenset(stored[number]) for nid, (number,) in focused.items()} == wanted
    assert len({frozenset(found) for found in stored.values()}) == len(stored)
    return len(stored)


def stored(stages: list[Stage]) -> Iterator[Store]:
    with connect(":memory:") as store:
        store.commit(RunRecord("law", tuple(stages), structure_of(stages)))
        yield store


def test_on_the_demo(demo_compile: Compiled) -> None:
    for store in stored(demo_compile.stages):
        assert check(store) > 300


KINDS = ("relu", "view", "add", "dequantize_per_tensor", "getitem", "MinMaxObserver", "softmax")


@st.composite
def pipelines(draw: st.DrawFn) -> list[Stage]:
    """Stages whose nodes came from one or several nodes of the stage before, or from nothing."""
    stages: list[Stage] = []
    names: list[str] = []
    for index in range(draw(st.integers(2, 4))):
        nodes = [N("x", "placeholder", key="input:0")]
        for i in range(draw(st.integers(1, 6))):
            kind = draw(st.sampled_from(KINDS))
            origin = draw(st.sampled_from(["", *names]))
            came_from = [(index, origin, target_of(stages[-1], origin))] if origin else []
            source = draw(st.sampled_from([n.name for n in nodes]))
            nodes.append(N(f"n{index}_{i}", kind, source, came_from, shape=draw(st.sampled_from([("2",), ("3",)]))))
        stages.append(Stage(f"s{index}", (graph(index + 1, nodes),)))
        names = [n.name for n in nodes if n.kind != "placeholder"]
    return stages


def target_of(stage: Stage, name: str) -> str:
    nodes = stage.graphs[0].nodes.to_pylist()
    return str(next(row["target"] for row in nodes if row["name"] == name))


@settings(max_examples=10, deadline=None)
@given(pipelines())
def test_on_generated_graphs(stages: list[Stage]) -> None:
    for store in stored(stages):
        check(store)


def test_a_delegates_input_is_no_primary_where_an_operator_outside_holds_the_value() -> None:
    edge = graph(3, [
        N("x", "placeholder", key="input:0"),
        N("sin", "sin", "x", [(1, "sin")]),
        N("relu", "relu", "sin", [(1, "relu")]),
        N("output", "output", "relu"),
    ])  # fmt: skip
    top = graph(20, [
        N("x", "placeholder", key="input:0"),
        N("sin", "sin", "x", [(1, "sin")]),
        N("lowered_module_0", "subgraph"),
        N("call", "executorch_call_delegate", "lowered_module_0 sin"),
        N("getitem", "getitem", "call.0", [(1, "relu")]),
        N("output", "output", "getitem"),
    ])  # fmt: skip
    inner: Graph = graph(21, [
        N("sin", "placeholder"), N("relu", "relu", "sin", [(1, "relu")]), N("output", "output", "relu"),
    ], path="lowered_module_0", parent=("", 3))  # fmt: skip
    linked = Linked(edge, [top, inner])
    assert linked.set_of("s0:sin") == {"s0:sin": True, "s1:sin": True, "s1:lowered_module_0/sin": False}
    assert linked.set_of("s0:relu") == {
        "s0:relu": True, "s1:lowered_module_0/relu": True, "s1:getitem": False, "s1:call": False,
    }  # fmt: skip
    assert linked.set_of("s1:lowered_module_0/sin") == {"s0:sin": True, "s1:lowered_module_0/sin": True}
