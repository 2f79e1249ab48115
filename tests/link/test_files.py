"""Links between a saved record and a saved program, by debug handle alone, against the same compile's live links."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fxstore.record.recorder import Recorder
from fxstore.records import Stage
from tests.conftest import Compiled
from tests.link.graphs import Linked

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")


def stages_of(record: Any, buffer: bytes, folder: Path) -> list[Stage]:
    """Saves a record and a program and reads them as one run: the stages ``edge`` and ``program``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record.save(folder / "net.etrecord")
    (folder / "net.pte").write_bytes(buffer)
    runs: list[Any] = []
    with Recorder(lambda run: runs.append(run) or "id", "files", strict=True) as recorder:
        recorder.stage("record", folder / "net.etrecord")
        recorder.stage("program", folder / "net.pte")
    return [
        Stage("edge" if stage.name.startswith("record") else stage.name, stage.graphs, stage.kind)
        for stage in runs[0].stages
        if stage.name in ("record", "record/edge", "program")
    ]


@pytest.fixture(scope="module")
def files(demo_compile: Compiled, tmp_path_factory: pytest.TempPathFactory) -> Linked:
    folder = tmp_path_factory.mktemp("files")
    return Linked.of(stages_of(demo_compile.record, demo_compile.program.buffer, folder))


def nodes(linked: Linked, stage: str) -> Iterator[int]:
    for node in range(len(linked.run)):
        if linked.label(node).startswith(f"{stage}:") and linked.run.role[node] in ("op", "delegate"):
            yield node


def handles(linked: Linked, node: int, space: str) -> set[int]:
    graph = linked.run.graphs[linked.run.graph[node]]
    rows = graph.tables["handles"].to_pylist()
    position = node - linked.run.base[linked.run.graph[node]]
    return {row["handle"] for row in rows if row["position"] == position and row["namespace"] == space}


def instruction(linked: Linked, node: int) -> int | None:
    """Returns the instruction that runs a node: its own, or that of the call that it is in; a getitem has none."""
    call = linked.run.parents.get(linked.run.graph[node], node)
    return next(iter(handles(linked, call, "instruction")), None)


def live_nodes(files: Linked, live: Linked) -> dict[int, int]:
    """Returns the live runtime's node for each of the program's, where instruction, handle and order leave one only."""
    found: dict[int, int] = {}
    groups: dict[object, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, linked, stage in ((0, files, "program"), (1, live, "runtime")):
        for node in nodes(linked, stage):
            inside = linked.run.graphs[linked.run.graph[node]].path
            if handles(linked, node, "debug_handle" if inside else "instruction"):
                own = frozenset(handles(linked, node, "debug_handle")) if inside else None
                groups[instruction(linked, node), own][side].append(node)
    for mine, theirs in groups.values():
        for node in mine:
            run = files.run
            alike = [other for other in theirs if _alike(files, node, live, other)]
            rivals = [other for other in mine if run.op_type[other] == run.op_type[node]]
            if len(alike) == len(rivals):
                found[node] = alike[rivals.index(node)]
    return found


MEANING = {"fully_connected": "linear", "conv2d": "convolution", "static_reshape": "view_copy", "multiply": "mul"}


def _alike(files: Linked, node: int, live: Linked, other: int) -> bool:
    kind = files.run.op_type[node]
    return live.run.op_type[other] == MEANING.get(kind, kind)


def ends(linked: Linked, stage: str) -> dict[str, set[int]]:
    """Returns, for each operator of the edge stage, what the set of a click on it has in a later stage."""
    found: dict[str, set[int]] = {}
    following: dict[int, set[int]] = defaultdict(set)
    for row in linked.tables["links"].to_pylist():
        if not row["inferred"]:
            following[row["src"]].add(row["dst"])
    for node in nodes(linked, "edge"):
        seen, stack = {node}, [node]
        while stack:
            for other in following[stack.pop()] - seen:
                seen.add(other)
                stack.append(other)
        found[linked.run.name[node]] = seen & set(nodes(linked, stage))
    return found


def is_plain(name: str) -> bool:
    """Tells what a program keeps as it is: nothing that quantises, reads a port or copies."""
    return not name.startswith(("quantized_decomposed", "getitem", "dim_order_ops__clone")) and "_unused_" not in name


def test_files_alone_show_what_the_live_compile_shows(files: Linked, demo_compile: Compiled) -> None:
    live = Linked.of(demo_compile.stages)
    same = live_nodes(files, live)
    truth, found = ends(live, "runtime"), ends(files, "program")
    inside = 0
    for name, members in found.items():
        if is_plain(name):
            operators = {node for node in members if node in same}
            assert operators, name
            assert {same[node] for node in operators} <= truth[name], name
            assert {instruction(files, node) for node in operators} == {
                instruction(live, node) for node in truth[name] if instruction(live, node) is not None
            }, name
            inside += any("/" in files.label(node) for node in operators)
    assert inside > 20


def test_each_operator_of_the_program_stands_for_one_of_the_record(files: Linked) -> None:
    """But for what only quantises, and for a norm, whose outputs the record reads by nodes of their own."""
    sources: dict[str, set[str]] = defaultdict(set)
    for (src, dst), evidence in files.links().items():
        if evidence == "handle" and is_plain(src.partition(":")[2]):
            sources[dst].add(src)
    assert len(sources) > 40
    assert {dst: found for dst, found in sources.items() if len(found) > 1} == {}
    alone = {dst for (src, dst), evidence in files.links().items() if evidence == "handle"} - sources.keys()
    assert all("/convert_" in dst for dst in alone), alone


def test_values_of_a_program_file_are_the_live_ones(files: Linked, demo_compile: Compiled) -> None:
    live = Linked.of(demo_compile.stages)
    same = live_nodes(files, live)
    where = {live.label(node): node for node in range(len(live.run))}
    numbers: dict[tuple[int, int], int] = {
        (row["ordinal"], row["port"]): row["value_class"] for row in live.tables["value_classes"].to_pylist()
    }
    classes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row in files.tables["value_classes"].to_pylist():
        classes[row["value_class"]].append((row["ordinal"], row["port"]))
    compared = 0
    for members in classes.values():
        labels = [(files.label(node), port) for node, port in members]
        edges = [(where[label], port) for label, port in labels if label in where and label.startswith("edge:aten_")]
        for node, port in members:
            for edge in edges if node in same else ():
                assert numbers[edge] == numbers[same[node], port], (files.label(node), live.label(edge[0]))
                compared += 1
    assert compared > 25


def test_whatever_only_one_side_has_is_explained(files: Linked) -> None:
    reasons = {ends: reason for ends, reason in files.unmatched().items() if "program" in (ends[1], ends[0][:7])}
    assert len(reasons) > 50
    assert "no provenance recorded" not in reasons.values()
    packed = {reason for (label, _), reason in reasons.items() if label.startswith("program:") and "/constant" in label}
    assert packed
    assert all("packed by XnnpackBackend" in reason or "in its place (inferred)" in reason for reason in packed)


def test_a_call_passes_values_in_the_order_of_the_inner_graphs_inputs(files: Linked) -> None:
    run = files.run
    checked = 0
    for call, graph in run.calls.items():
        if files.label(call).startswith("program:"):
            for inner, (source, port) in run.passed(call, graph):
                given = run.shape[source] if not port else None
                assert given is None or run.shape[inner] == given, files.label(inner)
                checked += 1
    assert checked > 5


class Steps(torch.nn.Module):
    """Two methods that share a weight; their operators have the same names and the same handles."""

    def __init__(self) -> None:
        super().__init__()
        self.shared, self.own = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def encode(self, x: Any) -> Any:
        a, b, c = torch.split(self.shared(x), [1, 1, 2], 1)
        return torch.tanh(torch.cat([c, b, a, a], 1))

    def decode(self, x: Any) -> Any:
        return torch.cumsum(self.shared(x) * self.own(x), 0)


@pytest.fixture(scope="module")
def methods(tmp_path_factory: pytest.TempPathFactory) -> tuple[Linked, Linked]:
    """Returns two methods' live links and those of their files."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

        model = Steps().eval()
        programs = {}
        for name in ("encode", "decode"):
            model.forward = getattr(model, name)  # type: ignore[method-assign]
            programs[name] = torch.export.export(model, (torch.ones(2, 4),))
        stages = [stage_of("float", programs)]
        edge = to_edge_transform_and_lower(
            programs,
            partitioner=[XnnpackPartitioner()],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
            generate_etrecord=True,
        )
        stages.append(stage_of("edge", edge._etrecord.edge_dialect_program))
        stages.append(stage_of("lowered", edge))
        program = edge.to_executorch()
        stages.append(stage_of("runtime", program))
    record = program.get_etrecord()
    saved = stages_of(record, bytes(program.buffer), tmp_path_factory.mktemp("methods"))
    return Linked.of(stages), Linked.of(saved)


def stage_of(name: str, source: Any) -> Stage:
    runs: list[Any] = []
    with Recorder(lambda run: runs.append(run) or "id", "one", strict=True) as recorder:
        recorder.stage(name, source)
    return Stage(name, runs[0].stages[0].graphs, runs[0].stages[0].kind)


def test_methods_of_one_program_never_mix(methods: tuple[Linked, Linked]) -> None:
    for linked in methods:
        rows = linked.tables["links"].to_pylist()
        method = [linked.run.graphs[linked.run.graph[node]].method for node in range(len(linked.run))]
        assert len(rows) > 20
        assert [row for row in rows if method[row["src"]] != method[row["dst"]]] == []
        assert {method[row["dst"]] for row in rows} == {"encode", "decode"}
        classes: dict[int, set[str]] = defaultdict(set)
        for row in linked.tables["value_classes"].to_pylist():
            classes[row["value_class"]].add(method[row["ordinal"]])
        assert {len(found) for found in classes.values()} == {1}
        operators = [n for n in range(len(linked.run)) if linked.run.role[n] == "op" and linked.stage(n) == "edge"]
        unlinked = {linked.run.name[n] for n in operators} - {linked.run.name[row["src"]] for row in rows}
        assert unlinked == set()


def test_each_output_of_an_operator_is_its_own_port_in_a_program_file(methods: tuple[Linked, Linked]) -> None:
    linked = methods[1]
    for port, name in enumerate(("getitem", "getitem_1", "getitem_2")):
        found = {label for label in linked.values(f"edge:{name}") if label.startswith("program:aten_split")}
        assert found == {f"program:aten_split_with_sizes_copy.{port}"}
