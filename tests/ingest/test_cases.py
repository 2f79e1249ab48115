"""Situations that broke other tools, each with its right answer.

``tests/cases/README.md`` lists all of them with their tests.
"""

from __future__ import annotations

import io
import itertools
import subprocess
import sys
import time
import warnings
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import fxstore
from fxstore.ingest import adapters
from fxstore.ingest.export.exported_file import read_exported
from fxstore.records import Graph
from tests.ingest.etdump_writer import dump, profile, tensor, value

torch = pytest.importorskip("torch")


@pytest.fixture
def store() -> Iterable[fxstore.Store]:
    with fxstore.connect(":memory:") as opened:
        yield opened


class Sine(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.sin(x)


class Norm(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        return torch.nn.functional.gelu(self.linear(self.norm(x)))


class Deep(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(10)])

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def export(module: torch.nn.Module, *inputs: Any) -> Any:
    return torch.export.export(module.eval(), inputs)


def operators(graph: Graph) -> list[str]:
    return [row["name"] for row in graph.nodes.to_pylist() if row["op"] == "call_function"]


def test_05_each_broken_file_is_one_typed_error_and_the_good_one_is_stored(tmp_path: Path) -> None:
    torch.export.save(export(Sine(), torch.ones(2)), tmp_path / "good.pt2")
    good = (tmp_path / "good.pt2").read_bytes()
    for suffix in (".pt2", ".etrecord", ".pte", ".etdp"):
        for name, data in (("empty", b""), ("text", b"hello"), ("cut", good[: len(good) // 2])):
            (tmp_path / f"{name}{suffix}").write_bytes(data)
        (tmp_path / f"folder{suffix}").mkdir()
    with fxstore.connect(tmp_path / "store") as store:
        for path in sorted(tmp_path.glob("*.*")):
            if path.name == "good.pt2":
                continue
            with pytest.raises(fxstore.SourceError) as error:
                store.ingest(path)
            assert path.name in str(error.value)
            assert error.value.hint
        assert len(store.runs()) == 0
        assert store.ingest(tmp_path / "good.pt2").status == "complete"


def test_06_an_operator_that_is_not_registered_here_is_kept_and_flagged(tmp_path: Path, store: fxstore.Store) -> None:
    library = torch.library.Library("fxstore_case", "DEF")
    library.define("scale2(Tensor x) -> Tensor")
    library.impl("scale2", lambda x: x * 2, "CompositeExplicitAutograd")
    library.impl("scale2", lambda x: torch.empty_like(x), "Meta")

    class Scaled(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.ops.fxstore_case.scale2(x.sin()).relu()

    torch.export.save(export(Scaled(), torch.ones(2)), tmp_path / "custom.pt2")
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import fxstore\n"
        "with fxstore.connect(':memory:') as store:\n"
        f"    for _ in range(2): store.ingest({str(tmp_path / 'custom.pt2')!r})\n"
        "    q = \"SELECT name, target, attrs FROM nodes WHERE op = 'call_function' ORDER BY run_id, position\"\n"
        "    rows = store.sql(q).fetchall()\n"
        "    assert rows[:3] == rows[3:]\n"
        "    print(*rows[:3], sep='\\n')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "('sin', 'aten.sin.default', None)",
        "('scale2', 'fxstore_case.scale2.default', '{\"flag\": \"operator not registered\"}')",
        "('relu', 'aten.relu.default', None)",
    ]
    (here,) = read_exported(tmp_path / "custom.pt2")[0].graphs
    assert here.nodes["attrs"].to_pylist() == [None] * 5


def test_07_memory_and_file_give_the_same_handle_rows(tmp_path: Path) -> None:
    pytest.importorskip("executorch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from executorch.devtools.etrecord import ETRecord

    program = export(Norm(), torch.randn(2, 4, 8)).run_decompositions()
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    for number, node in enumerate(calls):
        own = number if node.name != "getitem" else calls.index(node.args[0])
        node.meta["debug_handle"] = own + 1
    maps: Any = {"forward": {0: [1, 2, 3], 1: 4, 2: (5, 6)}}
    delegates: Any = {"forward": {0: {"name": "XnnpackBackend", "delegate_map": {}}}}
    record = ETRecord(program, 7, program, _debug_handle_map=maps, _delegate_map=delegates)
    record.save(str(tmp_path / "net.etrecord"))
    found = []
    for source in (record, tmp_path / "net.etrecord"):
        (edge,) = [stage for stage in adapters.read(source).stages if stage.name == "edge"]
        names = edge.graphs[0].nodes["name"].to_pylist()
        rows = edge.graphs[0].tables["handles"].to_pylist()
        found.append(sorted((names[row["position"]], row["namespace"], row["handle"]) for row in rows))
    first = {node.name for node in calls if node.meta["debug_handle"] <= 3}
    assert {name for name, space, number in found[0] if (space, number) == ("instruction", 0)} == first
    known = {name for name, _, _ in found[0]}  # a file has a further node for each output that nothing uses [11]
    assert [row for row in found[1] if row[0] in known] == found[0]


def test_11_the_file_is_the_live_graph_but_for_unused_outputs(tmp_path: Path) -> None:
    program = export(Norm(), torch.randn(2, 4, 8)).run_decompositions()
    torch.export.save(program, tmp_path / "net.pt2")
    (live,) = adapters.read(program).stages[0].graphs
    (read,) = adapters.read(tmp_path / "net.pt2").stages[0].graphs
    added = set(operators(read)) - set(operators(live))
    assert len(added) == 2
    assert all("unused" in name for name in added)
    rows = [{row["name"]: row for row in graph.nodes.to_pylist()} for graph in (live, read)]
    for name in operators(live):
        same = ("target", "op_type", "dtype", "shape", "module_path", "source_file", "source_line", "attrs")
        assert [rows[0][name][key] for key in same] == [rows[1][name][key] for key in same], name


def test_16_custom_metadata_is_queryable_and_its_loss_is_found(store: fxstore.Store) -> None:
    program = export(Norm(), torch.randn(2, 4, 8))
    for node in program.graph.nodes:
        node.meta["custom"] = {"owner": node.name}
    after = program.run_decompositions()
    lost = next(node for node in after.graph.nodes if node.name == "p_linear_weight")
    lost.meta.pop("custom", None)
    store.ingest({"before": program, "after": after})
    rows = store.sql(
        "SELECT b.name FROM nodes b JOIN nodes a ON a.name = b.name AND a.stage = 'after' WHERE b.stage = 'before' "
        "AND json_extract(b.attrs, '$.custom') IS NOT NULL AND json_extract(a.attrs, '$.custom') IS NULL"
    ).fetchall()
    assert rows == [("p_linear_weight",)]


def test_18_provenance_grows_with_distinct_ancestors_only() -> None:
    program = export(Deep(), torch.randn(2, 4))
    sizes, spent = [], []
    for _ in range(4):
        program = program.run_decompositions({})
        begin = time.process_time()
        (graph,) = adapters.read(program).stages[0].graphs
        spent.append(time.process_time() - begin)
        sizes.append(graph.tables["sources"].num_rows)
    grown = [b - a for a, b in itertools.pairwise(sizes)]
    assert max(grown) <= 2 * len(graph.nodes)
    sources = graph.tables["sources"].to_pylist()
    position = graph.nodes["name"].to_pylist().index("relu_9")
    (at,) = (o["source"] for o in graph.tables["origins"].to_pylist() if o["position"] == position)
    depth = 1
    while sources[at]["parent"] is not None:
        at, depth = sources[at]["parent"], depth + 1
    assert (depth, sources[at]["name"]) == (8, "relu_9")


def test_22_one_handle_is_kept_on_every_node_that_has_it(store: fxstore.Store) -> None:
    pytest.importorskip("executorch")

    class Attention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.query = torch.nn.LayerNorm(8), torch.nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            value = self.norm(x)
            query = self.query(value)
            return torch.nn.functional.gelu(torch.nn.functional.scaled_dot_product_attention(query, query, value))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from executorch.exir import to_edge

        store.ingest(to_edge(export(Attention(), torch.randn(2, 4, 8))))
    rows = store.sql(
        "SELECT h.handle, count(*) FROM handles h JOIN nodes n USING (nid) WHERE n.op = 'call_function' GROUP BY ALL"
    ).fetchall()
    assert dict(rows) == {1: 2, 2: 4, 3: 22, 4: 1}


def test_29_without_the_buffer_there_are_times_but_no_numbers(store: fxstore.Store, tmp_path: Path) -> None:
    events = [
        value(0, tensor(6, [2], 0)), profile("native_call_sin.out", 0, 0, 9), profile("OPERATOR_CALL", 0, 0, 11),
    ]  # fmt: skip
    (tmp_path / "run.etdp").write_bytes(dump(events))
    program = export(Sine(), torch.ones(2))
    from fxstore.ingest.executorch.handles import Maps

    stage = Maps({"forward": {0: (1,)}}).on(_with_handle(adapters.read(program).stages[0]))
    found = adapters.read(tmp_path / "run.etdp")
    store.ingest(adapters.Ingested((stage,), found.overlays))
    rows = store.sql(
        "SELECT n.name, m.metric, m.value FROM metrics m JOIN nodes n USING (nid) JOIN overlays o USING (overlay_id) "
        "WHERE n.name = 'sin' AND o.name = 'latency'"
    ).fetchall()
    assert sorted(rows) == [("sin", "latency", 9.0), ("sin", "latency_dispatch", 11.0)]


def _with_handle(stage: Any) -> Any:
    from dataclasses import replace

    from fxstore.ingest.executorch.handles import _with_handles

    (graph,) = stage.graphs
    position = graph.nodes["name"].to_pylist().index("sin")
    return replace(stage, graphs=(_with_handles(graph, [(position, "debug_handle", 1)]),))


class Boom:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return (open, (str(self.marker), "w"))


def test_50_nothing_in_a_pt2_is_unpickled(tmp_path: Path, store: fxstore.Store) -> None:
    marker = tmp_path / "marker"
    torch.export.save(export(Sine(), torch.ones(2)), tmp_path / "good.pt2")
    buffer = io.BytesIO()
    torch.save((Boom(marker),), buffer)
    with zipfile.ZipFile(tmp_path / "good.pt2") as good, zipfile.ZipFile(tmp_path / "bad.pt2", "w") as bad:
        for name in good.namelist():
            bad.writestr(name, good.read(name) if name.endswith(".json") else buffer.getvalue())
    store.ingest(tmp_path / "bad.pt2")
    assert not marker.exists()
    assert store.sql("SELECT name FROM nodes WHERE op = 'call_function'").fetchall() == [("sin",)]


def deep(name: str) -> dict[str, bytes]:
    return {name: b"[" * 200_000}


@pytest.mark.parametrize(
    ("entries", "cause"),
    [
        ({"a/models/model.json": b"{}", "../../evil": b"x"}, "leaves the archive"),
        ({"/etc/evil": b"x", "a/models/model.json": b"{}"}, "leaves the archive"),
        ({"a/models/model.json": b" " * (64 << 20)}, "times its size"),
        (deep("a/models/model.json"), "nested too deeply|more memory"),
        ({"a/models/model.json": b"{}"}, "graph_module"),
        ({"a/models/model.json": b"\xff"}, "UTF-8"),
        ({"a/other.json": b"{}"}, "holds no exported program"),
    ],
)
def test_hostile_pt2_files_are_refused_in_time(tmp_path: Path, entries: dict[str, bytes], cause: str) -> None:
    path = tmp_path / "bad.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            how = zipfile.ZIP_DEFLATED if data[:1] == b" " else zipfile.ZIP_STORED
            archive.writestr(name, data, how)
    begin = time.process_time()
    with pytest.raises(fxstore.SourceError, match=cause):
        read_exported(path)
    assert time.process_time() - begin < 2
