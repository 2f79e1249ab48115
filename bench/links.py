"""Scores the links on live pipelines: ``python -m bench.links [--show] [NETWORK[:qxes] …]``.

The truth comes from the live graphs alone: the first hop of a node's chain that is a node of the earlier graph (its
identity and name), else, for graphs that were copied or partitioned, the node of the same name and nearest ancestor;
what reads an output of that by the output's number; parameters by FQN from the graph signatures; a delegate call by the
module that it runs: in a stage before, all that its operators came from, and the call of a module with the same
operators. An observer without a chain has the origin of what it observes, and the check of inputs that export adds has
none. Nodes for which the compiler records nothing are left out and counted. What is scored is what a click shows: for
each node of a stage, its set in the next stage, and in the stage before. The baseline is the rule of the fx_viewer RFC:
equal root name, else common debug handle, else equal name.
"""

from __future__ import annotations

import itertools
import logging
import operator
import re
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import torch  # noqa: E402
from torch import fx  # noqa: E402
from torch._ops import OpOverload  # noqa: E402

from bench.arguments import options  # noqa: E402
from bench.compiling import add_networks, asked, compile_variant  # noqa: E402
from fxstore.ingest import adapters  # noqa: E402
from fxstore.link import structure_of  # noqa: E402
from fxstore.link.contradictions import contradictions  # noqa: E402
from fxstore.link.run import Run  # noqa: E402
from fxstore.records import Stage, Structure  # noqa: E402

UNRECORDED: Counter[str] = Counter()
"""Nodes that the truth leaves out, by stage and name without its number."""
Name = tuple[str, str]
"""Path of a graph and name of a node."""


@dataclass
class Facts:
    """What the live nodes of one stage say about themselves, taken when the stage appears."""

    identity: int
    chain: dict[Name, list[tuple[int, str]]] = field(default_factory=dict)
    target: dict[Name, str] = field(default_factory=dict)
    handles: dict[Name, frozenset[int]] = field(default_factory=dict)
    key: dict[Name, str] = field(default_factory=dict)
    operators: set[Name] = field(default_factory=set)
    observed: dict[Name, Name] = field(default_factory=dict)
    port: dict[Name, tuple[Name, int]] = field(default_factory=dict)
    """For what reads one of several outputs: the node that has them, and the output's number."""
    outputs: dict[Name, int] = field(default_factory=dict)
    runs: dict[Name, str] = field(default_factory=dict)
    """Path of the graph that a delegate call runs."""
    returns: dict[str, list[Name]] = field(default_factory=dict)
    """What the graph at a path returns."""


@dataclass
class Score:
    """Counts over clicks."""

    clicks: int = 0
    exact: int = 0
    shown: int = 0
    wanted: int = 0
    right: int = 0

    def add(self, shown: set[Name], wanted: set[Name]) -> None:
        """Takes one click in."""
        self.clicks += 1
        self.exact += shown == wanted
        self.shown += len(shown)
        self.wanted += len(wanted)
        self.right += len(shown & wanted)

    def __iadd__(self, other: Score) -> Score:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    def __str__(self) -> str:
        precision, recall = self.right / max(self.shown, 1), self.right / max(self.wanted, 1)
        return f"{precision:7.4f} {recall:7.4f} {self.exact / max(self.clicks, 1):7.4f}"


def facts_of(source: Any) -> Facts:
    """Reads a stage's live graphs: the top one, and those inside delegates."""
    program = source.exported_program() if hasattr(source, "to_executorch") or hasattr(source, "buffer") else source
    module = getattr(program, "graph_module", program)
    facts = Facts(id(module.graph))
    for path, graph, signature in _graphs(module, program, ""):
        for node in graph.nodes:
            _note(facts, (path, node.name), node, signature)
    return facts


def _graphs(module: Any, program: Any, path: str) -> Iterator[tuple[str, fx.Graph, Any]]:
    yield path, module.graph, getattr(program, "graph_signature", None)
    for node in module.graph.nodes:
        inner = getattr(module, str(node.target), None) if node.op == "get_attr" else None
        if hasattr(inner, "original_module"):
            yield from _graphs(inner.original_module.graph_module, inner.original_module, str(node.target))


def _note(facts: Facts, name: Name, node: fx.Node, signature: Any) -> None:
    hops, source = [], (node.meta.get("from_node") or [None])[-1]
    while source is not None:
        hops.append((source.graph_id, source.name))
        source = source.from_node[-1] if source.from_node else None
    facts.chain[name] = hops
    overload = node.target if isinstance(node.target, OpOverload) else getattr(node.target, "_op", node.target)
    facts.target[name] = str(overload)
    if node.op == "call_module" and node.all_input_nodes:
        facts.observed[name] = (name[0], node.all_input_nodes[0].name)
    if node.target is operator.getitem and isinstance(node.args[1], int):
        facts.port[name] = (name[0], node.args[0].name), node.args[1]
    if isinstance(node.meta.get("val"), (tuple, list)):
        facts.outputs[name] = len(node.meta["val"])
    if node.name.startswith("executorch_call_delegate"):
        facts.runs[name] = str(node.args[0].target)
    if node.op == "output" and isinstance(node.args[0], (tuple, list)):
        facts.returns[name[0]] = [(name[0], value.name) for value in node.args[0] if isinstance(value, fx.Node)]
    handle = node.meta.get("debug_handle") or ()
    facts.handles[name] = frozenset(handle if isinstance(handle, (list, tuple)) else (handle,))
    if node.op in ("call_function", "call_module") and "alloc" not in node.name:
        facts.operators.add(name)
    if node.op == "get_attr" and isinstance(node.target, str):
        facts.key[name] = f"state:{node.target}"
    for spec in signature.input_specs if signature is not None and node.op == "placeholder" else ():
        if getattr(spec.arg, "name", None) == node.name and spec.target is not None:
            facts.key[name] = f"state:{spec.target}"


def truth(earlier: Facts, later: Facts) -> dict[Name, set[Name]]:
    """Returns, for each node of the later stage whose origin is recorded, its nodes in the earlier one."""
    here = {name for path, name in earlier.chain if not path}
    by_hop: dict[tuple[int, str], list[Name]] = defaultdict(list)
    for name, hops in earlier.chain.items():
        if name in earlier.operators and hops:
            by_hop[hops[0]].append(name)
    by_key = {key: name for name, key in earlier.key.items()}
    found: dict[Name, set[Name]] = {}
    for name, hops in later.chain.items():
        if name in later.key:
            if later.key[name] in by_key:
                found[name] = {by_key[later.key[name]]}
        elif name[1] == "_guards_fn" and name not in earlier.chain:
            found[name] = set()
        elif name in later.operators and name not in later.runs:
            origin = _of_port(earlier, later, name, _origin(earlier, later, name, hops, here, by_hop), found)
            if origin:
                found[name] = origin
    for name, source in later.observed.items():
        if name not in found and source in found:
            found[name] = found[source]
    for name, (source, port) in later.port.items():
        if source in later.runs and not earlier.runs:
            found[name] = found[later.returns[later.runs[source]][port]]
    return {**found, **_contents(earlier, later, found)}


def in_program_order(earlier: Facts, later: Facts) -> dict[Name, set[Name]]:
    """Returns who is who for two stages with equal operators in one order: emitting keeps it, and not the names."""
    before, after = (
        [name for name in facts.chain if not name[0] and name in facts.operators and name not in facts.runs]
        for facts in (earlier, later)
    )
    kinds = ([_operator(facts, name)[-1].removesuffix("_copy") for name in names]
             for facts, names in ((earlier, before), (later, after)))  # fmt: skip
    return {b: {a} for a, b in zip(before, after, strict=True)} if next(kinds) == next(kinds) else {}


def _of_port(earlier: Facts, later: Facts, name: Name, origin: set[Name], known: dict[Name, set[Name]]) -> set[Name]:
    """Returns the nodes that read the same output as a ``getitem``, where its chain names what has the outputs."""
    if name not in later.port:
        return origin
    giver, port = later.port[name]
    sources = {a for a in known.get(giver, ()) if earlier.outputs.get(a) == later.outputs[giver]}
    if readers := {reader for reader, read in earlier.port.items() if read[0] in sources and read[1] == port}:
        return readers
    same = {a for a in origin if earlier.port.get(a, (a, -1))[1] == port}
    givers = {a for a in origin if _operator(earlier, a) == _operator(later, giver)}
    for source in origin:
        made = [one for one in later.outputs if (earlier.identity, source[1]) in later.chain[one]]
        if made == [giver] and earlier.outputs.get(source) == later.outputs[giver]:
            givers.add(source)
    readers = {reader for reader, (source, number) in earlier.port.items() if source in givers and number == port}
    return same or readers or origin


def _operator(facts: Facts, name: Name) -> list[str]:
    return facts.target[name].split(".")[:2]


def _contents(earlier: Facts, later: Facts, found: dict[Name, set[Name]]) -> dict[Name, set[Name]]:
    """Returns what each delegate call came from: what is in it, and an earlier call of the same."""
    calls = {}
    for call, path in later.runs.items():
        inside = {name: origin for name, origin in found.items() if name[0] == path and name in later.operators}
        origins = set().union(*inside.values())
        same = {a for a, own in earlier.runs.items() if origins and {path for path, _ in origins} == {own}}
        calls[call] = origins | same
    return calls


def _origin(
    earlier: Facts,
    later: Facts,
    name: Name,
    hops: list[tuple[int, str]],
    here: set[str],
    by_hop: dict[tuple[int, str], list[Name]],
) -> set[Name]:
    if earlier.identity == later.identity and name in earlier.chain and hops == earlier.chain[name]:
        return {name}
    for hop in hops:
        if hop[0] == earlier.identity and hop[1] in here:
            return {("", hop[1])}
        candidates = by_hop.get(hop, [])
        same = [c for c in candidates if c[1] == name[1] and earlier.target[c] == later.target[name]]
        if same or candidates:
            if name in later.port:
                return set(candidates)
            alike = [c for c in candidates if _operator(earlier, c) == _operator(later, name)]
            return set(same or (alike if len(alike) == 1 else candidates))
    return set()


def clicks(pairs: dict[Name, set[Name]]) -> tuple[dict[Name, set[Name]], dict[Name, set[Name]]]:
    """Returns the sets of clicks in the later stage, and in the earlier one; what a call runs shows the call, too."""
    forward: dict[Name, set[Name]] = defaultdict(set)
    for later, origins in pairs.items():
        for origin in origins:
            forward[origin].add(later)
    return pairs, forward


def baseline(earlier: Facts, later: Facts) -> dict[Name, set[Name]]:
    """Returns what the RFC's rule shows: equal root, else a common handle, else an equal name."""

    def root(facts: Facts, name: Name) -> str | None:
        return facts.chain[name][-1][1] if facts.chain[name] else None

    roots: dict[str | None, set[Name]] = defaultdict(set)
    handles: dict[int, set[Name]] = defaultdict(set)
    names: dict[str, set[Name]] = defaultdict(set)
    for name in earlier.chain:
        roots[root(earlier, name)].add(name)
        names[name[1]].add(name)
        for handle in earlier.handles[name]:
            handles[handle].add(name)
    found = {}
    for name in later.chain:
        own = root(later, name)
        shown = roots.get(own, set()) if own is not None else set()
        shown = shown or set().union(*(handles.get(handle, set()) for handle in later.handles[name]), set())
        found[name] = shown or names.get(name[1], set())
    return found


def ours(stages: list[Stage], structure: Structure) -> dict[tuple[str, Name], dict[str, set[Name]]]:
    """Returns, for each node, the set that a click on it shows, by stage, but for what is marked as inferred."""
    where: list[tuple[str, Name]] = []
    for row, graph in zip(structure.tables["graphs"].to_pylist(), structure.graphs, strict=True):
        where += [(row["stage"], (row["path"], name)) for name in graph.nodes["name"].to_pylist()]
    members: dict[int, dict[str, set[Name]]] = defaultdict(lambda: defaultdict(set))
    focus: dict[int, list[int]] = defaultdict(list)
    for row in structure.tables["sync_sets"].to_pylist():
        stage, name = where[row["ordinal"]]
        members[row["sync_set"]][stage].add(name)
        if row["focus"]:
            focus[row["sync_set"]].append(row["ordinal"])
    guessed: dict[tuple[str, Name], dict[str, set[Name]]] = defaultdict(lambda: defaultdict(set))
    for link in structure.tables["links"].to_pylist():
        if link["inferred"]:
            for one, (stage, other) in itertools.permutations((where[link["src"]], where[link["dst"]])):
                guessed[one][stage].add(other)
    return {
        where[node]: {stage: found - guessed[where[node]][stage] for stage, found in members[number].items()}
        for number, nodes in focus.items()
        for node in nodes
    }


def run(name: str, variant: str, show: bool) -> dict[tuple[str, str], tuple[Score, Score, int]]:
    """Compiles a model and scores each pair of neighbouring stages: ours, the baseline, nodes without a record."""
    stages: list[Stage] = []
    facts: dict[str, Facts] = {}

    def stage(label: str, source: Any, _: object) -> None:
        (snapshot,) = adapters.read(source).stages
        stages.append(Stage(label, snapshot.graphs, snapshot.kind))
        facts[label] = facts_of(source)

    keep = compile_variant(name, variant, stage)
    start = time.process_time()
    structure = structure_of(stages)
    sets = ours(stages, structure)
    seconds = time.process_time() - start
    against = Counter(one.what for one in contradictions(Run.of(stages), structure))
    del keep
    table = {}
    for earlier, later in zip(facts, list(facts)[1:], strict=False):
        recorded = truth(facts[earlier], facts[later])
        back, forth = clicks(
            recorded | in_program_order(facts[earlier], facts[later]) if later == "runtime" else recorded
        )
        base_back, base_forth = clicks(baseline(facts[earlier], facts[later]))
        mine, theirs = Score(), Score()
        for here, there, wanted, shown in ((later, earlier, back, base_back), (earlier, later, forth, base_forth)):
            universe = facts[there].operators | facts[there].key.keys()
            for node, expected in wanted.items():
                if node not in facts[here].operators:
                    continue
                shown_here = sets[here, node].get(there, set()) & universe
                if show and shown_here != expected:
                    print(f"{here} {node} in {there}: {shown_here}, but {expected}", file=sys.stderr)
                mine.add(shown_here, expected)
                theirs.add(shown.get(node, set()) & universe, expected)
        left_out = facts[later].operators - back.keys()
        silent = len(left_out)
        UNRECORDED.update(f"{later}: {re.sub(r'_[0-9]+$', '', node)}" for _, node in left_out)
        table[earlier, later] = (mine, theirs, silent)
    nodes = sum(len(graph.nodes) for one in stages for graph in one.graphs)
    print(
        f"{name}:{variant}  {nodes} nodes linked in {seconds:.3f} s CPU, {against.total()} contradictions",
        file=sys.stderr,
    )
    for what, count in against.items():
        print(f"  {what}: {count}", file=sys.stderr)
    return table


def main(wanted: Iterable[str], show: bool = False) -> None:
    """Prints precision, recall and share of exact sets, per stage pair over all models."""
    totals: dict[tuple[str, str], tuple[Score, Score, list[int]]] = {}
    for name, variant in asked(wanted, "qxs"):
        for pair, (mine, theirs, silent) in run(name, variant, show).items():
            total = totals.setdefault(pair, (Score(), Score(), [0]))
            for whole, part in ((total[0], mine), (total[1], theirs)):
                whole += part
            total[2][0] += silent
    print(f"{'':24}{'fxstore':^24} {'fx_viewer rule':^24}")
    columns = f"{'precision':>7} {'recall':>6} {'exact':>7}"
    print(f"{'stages':24}{columns}  {columns}  clicks  no record")
    for (earlier, later), (mine, theirs, silent) in totals.items():
        print(f"{earlier + ' - ' + later:24}{mine}  {theirs}  {mine.clicks:6} {silent[0]:6}")

    print("no record:", ", ".join(f"{name} {count}" for name, count in sorted(UNRECORDED.items())))


if __name__ == "__main__":
    torch.manual_seed(0)
    parser = options(__file__, __doc__)
    add_networks(parser)
    parser.add_argument("--show", action="store_true", help="each set that is not as the truth has it")
    given = parser.parse_args()
    main(given.networks, given.show)
