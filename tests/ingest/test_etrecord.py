from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")

from fxstore.ingest.executorch.etrecord import Delegate, read_etrecord  # noqa: E402
from fxstore.ingest.export.keyword_only import is_keyword  # noqa: E402
from tests.ingest.record_samples import (  # noqa: E402
    MODELS,
    Saved,
    Sine,
    rows,
    save,
    without_unused,
    without_what_files_lose,
)


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Saved]:
    return {name: save(name, tmp_path_factory.mktemp(name)) for name in MODELS}


@pytest.mark.parametrize("name", MODELS)
def test_rows_equal_the_live_capture(saved: dict[str, Saved], name: str) -> None:
    record = read_etrecord(saved[name].extras)
    compared = set()
    for stage in record.stages:
        for graph in stage.graphs:
            live = next(g for g in saved[name].live[stage.name, graph.method] if g.path == graph.path)
            expected = without_what_files_lose(rows(live))
            found = without_unused(rows(graph))
            for part, value in expected.items():
                assert found[part] == value, (stage.name, graph.path, part)
            compared.add((stage.name, graph.method, graph.path))
    wanted = {(s, m, g.path) for (s, m), graphs in saved[name].live.items() for g in graphs}
    lost = {key for key in wanted if key[0] == "exported" and (name in ("methods", "renamed"))}
    assert compared == wanted - lost


def test_stages_come_in_the_pipelines_order_with_their_kinds(saved: dict[str, Saved]) -> None:
    record = read_etrecord(saved["ports"].extras)
    kinds = [("exported", "exported"), ("lowered", "lowered"), ("edge", "edge")]
    assert [(stage.name, stage.kind) for stage in record.stages] == kinds
    assert record.status == "complete"
    assert record.note is None


def test_unused_outputs_come_back_as_nodes(saved: dict[str, Saved]) -> None:
    graph = read_etrecord(saved["ports"].path).stages[-1].graphs[0]
    live = saved["ports"].live["edge", "forward"][0]
    added = set(graph.nodes["name"].to_pylist()) - set(live.nodes["name"].to_pylist())
    assert added == {
        "aten_max_dim_unused_0",
        "aten_native_layer_norm_default_unused_1",
        "aten_native_layer_norm_default_unused_2",
        "aten_split_with_sizes_copy_default_unused_2",
    }


def test_maps_have_numbers_for_keys_and_equal_those_in_memory(saved: dict[str, Saved]) -> None:
    memory = saved["ports"].record
    record = read_etrecord(saved["ports"].path)
    assert record.debug_handle_map == {
        method: {i: tuple(h) if isinstance(h, (list, tuple)) else (h,) for i, h in handles.items()}
        for method, handles in memory._debug_handle_map.items()
    }
    assert record.num_outs == memory._instruction_id_to_num_outs_map
    delegates = record.delegate_map["forward"]
    assert set(delegates) == set(memory._delegate_map["forward"])
    assert all(delegate == Delegate("XnnpackBackend") for delegate in delegates.values())


def test_the_exported_graph_is_the_one_that_chains_cite(saved: dict[str, Saved]) -> None:
    record = read_etrecord(saved["ports"].path)
    exported, edge = record.stages[0].graphs[0], record.stages[-1].graphs[0]
    assert exported.identities == {record.export_graph_id} == {saved["ports"].record.export_graph_id}
    number = edge.source_graphs.index(record.export_graph_id)
    cited = {row["name"] for row in edge.tables["sources"].to_pylist() if row["graph"] == number}
    assert cited
    assert cited <= set(exported.nodes["name"].to_pylist())


def test_methods_are_kept_apart_even_if_one_ends_like_a_companion(saved: dict[str, Saved]) -> None:
    record = read_etrecord(saved["methods"].path)
    (stage,) = record.stages
    assert sorted(graph.method for graph in stage.graphs) == ["decode", "encode_constants"]
    first = {
        graph.method: graph.nodes["name"][row["position"]].as_py()
        for graph in stage.graphs
        for row in graph.tables["handles"].to_pylist()
        if row["handle"] == 1
    }
    assert first == {"decode": "aten_cos_default", "encode_constants": "aten_sin_default"}
    assert (record.status, record.note) == ("complete", "no exported program")


def test_a_lost_method_name_comes_back_from_the_maps(saved: dict[str, Saved]) -> None:
    with zipfile.ZipFile(saved["renamed"].path) as archive:
        assert "edge_dialect_exported_program/forward" in archive.namelist()
    record = read_etrecord(saved["renamed"].path)
    assert [graph.method for stage in record.stages for graph in stage.graphs] == ["prefill"]
    assert list(record.debug_handle_map) == ["prefill"]


def test_a_save_that_failed_leaves_a_partial_record(tmp_path: Path) -> None:
    class Branch(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, lambda t: t.sin().relu(), lambda t: t.cos().relu(), (x,))

    from executorch.devtools.etrecord import ETRecord

    program = torch.export.export(Branch(), (torch.randn(3),))
    ETRecord(program, 7, program, _debug_handle_map={"forward": {0: 1}}).save(tmp_path / "whole.etrecord")
    _without(tmp_path / "whole.etrecord", tmp_path / "cut.etrecord", ("edge", "debug_handle_map"))
    record = read_etrecord(tmp_path / "cut.etrecord")
    assert (record.status, record.note) == ("partial", "no edge program; no runtime maps")
    (stage,) = record.stages
    assert [(g.path, g.parent_path, g.nodes.num_rows) for g in stage.graphs] == [
        ("", None, 8),
        ("true_graph_0", "", 4),
        ("false_graph_0", "", 4),
    ]
    parents = {stage.graphs[0].nodes["name"][g.parent_position].as_py() for g in stage.graphs[1:]}
    assert parents == {"cond"}


def test_operators_that_nobody_registered_keep_their_text(tmp_path: Path) -> None:
    from executorch.devtools.etrecord import ETRecord

    library = torch.library.Library("fxstore_lab", "DEF")
    library.define("scale2(Tensor x, float by) -> Tensor")
    library.impl("scale2", lambda x, by: x * by, "CompositeExplicitAutograd")
    library.impl("scale2", lambda x, by: torch.empty_like(x), "Meta")

    class Scaled(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.fxstore_lab.scale2(x.sin(), 2.0).relu()

    program = torch.export.export(Scaled(), (torch.randn(2),))
    ETRecord(program, 7, program, _debug_handle_map={"forward": {0: 1}}).save(tmp_path / "custom.etrecord")
    graph = read_etrecord(tmp_path / "custom.etrecord").stages[0].graphs[0]
    assert rows(graph)["nodes"]["scale2"]["target"] == "fxstore_lab.scale2.default"
    assert rows(graph)["nodes"]["scale2"]["attrs"] == {"args": {"1": 2.0}}
    assert [edge[:3] for edge in rows(graph)["edges"]][1:] == [
        ("scale2", 0, "relu"),
        ("sin", 0, "scale2"),
        ("x", 0, "sin"),
    ]


def test_an_emitted_program_has_instructions_for_handles(tmp_path: Path) -> None:
    from executorch.devtools.etrecord import ETRecord
    from executorch.exir import to_edge

    from fxstore.ingest.export.capture import capture_program

    exported = torch.export.export(Sine(), (torch.randn(2),))
    emitted = to_edge(exported).to_executorch().exported_program()
    live = capture_program(emitted, emitted=True)[0]
    graph_map = {"device/forward": emitted}
    ETRecord(exported, 7, exported, graph_map, {"forward": {0: 1}}).save(tmp_path / "device.etrecord")
    stage = read_etrecord(tmp_path / "device.etrecord").stages[1]
    assert (stage.name, stage.kind) == ("device", "runtime")
    found, expected = rows(stage.graphs[0]), without_what_files_lose(rows(live))
    assert {h[1] for h in found["handles"]} == {"instruction"}
    assert found["handles"] == expected["handles"]
    unnamed = [edge for edge in found["edges"] if edge[2] != "output"]
    assert unnamed == [edge for edge in expected["edges"] if not edge[2].startswith("output")]
    assert found["nodes"]["alloc"] == expected["nodes"]["alloc"]


def test_a_stage_of_a_reserved_name_keeps_its_own(saved: dict[str, Saved], tmp_path: Path) -> None:
    with zipfile.ZipFile(saved["renamed"].path) as source, zipfile.ZipFile(tmp_path / "r.etrecord", "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
            if name.startswith("edge_dialect_exported_program/forward"):
                target.writestr(name.replace("edge_dialect_exported_program/forward", "edge/first"), source.read(name))
                target.writestr(name.replace("edge_dialect_exported_program/forward", "a/b/first"), source.read(name))
        target.writestr("notes.txt", "mine")
    record = read_etrecord(tmp_path / "r.etrecord")
    stages = [(stage.name, stage.kind, stage.graphs[0].method) for stage in record.stages]
    assert stages == [("graph_map/edge", "edge", "first"), ("a/b", "edge", "first"), ("edge", "edge", "prefill")]
    assert record.status == "partial"
    assert (
        record.stages[0].note
        == record.note
        == "entry 'notes.txt' belongs to no program and was not read; no exported program"
    )


def test_the_oldest_maps_have_no_methods(saved: dict[str, Saved], tmp_path: Path) -> None:
    changed = {
        "debug_handle_map": {"0": 3, "1": [4, 5]},
        "delegate_map": {"1": {"name": "B", "delegate_map": {"7": [1]}}},
    }
    _with(saved["shared"].path, tmp_path / "old.etrecord", changed)
    record = read_etrecord(tmp_path / "old.etrecord")
    assert record.debug_handle_map == {"forward": {0: (3,), 1: (4, 5)}}
    assert record.delegate_map == {"forward": {1: Delegate("B", {7: (1,)})}}


def test_newer_files_say_which_arguments_are_keywords(saved: dict[str, Saved], tmp_path: Path) -> None:
    document = _document(saved["ports"].path, "exported_program")
    node = next(n for n in document["graph_module"]["graph"]["nodes"] if n["target"].endswith("split.Tensor"))
    for item, kind in zip(node["inputs"], (1, 2, 2), strict=True):
        item["kind"] = kind
    _with(saved["ports"].path, tmp_path / "new.etrecord", {"exported_program": document})
    graph = read_etrecord(tmp_path / "new.etrecord").stages[0].graphs[0]
    assert rows(graph)["nodes"]["split"]["attrs"]["args"] == {"split_size": 4, "dim": 1}


def test_reading_needs_no_torch(saved: dict[str, Saved]) -> None:
    code = (
        "import sys\n"
        "for name in ('torch', 'executorch', 'torchao', 'sympy', 'pickle5'): sys.modules[name] = None\n"
        "from fxstore.ingest.executorch.etrecord import read_etrecord\n"
        f"print(*(g.fingerprint() for s in read_etrecord({str(saved['mapped'].path)!r}).stages for g in s.graphs))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = [g.fingerprint() for stage in read_etrecord(saved["mapped"].path).stages for g in stage.graphs]
    assert done.stdout.split() == here


def test_keyword_arguments_are_those_of_the_schemas() -> None:
    import torch.ao.quantization.fx._decomposed
    from executorch.exir.passes import dim_order_ops_registry  # noqa: F401

    wrong, checked = set(), 0
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        if namespace not in ("aten", "dim_order_ops", "quantized_decomposed") or name.startswith(_NEVER_EXPORTED):
            continue
        for argument in schema.arguments:
            target = f"{namespace}.{name}.{schema.overload_name or 'default'}"
            checked += 1
            if (name, argument.name) == ("_assert_tensor_metadata", "dtype"):
                continue  # positional in the schema, but export writes it as a keyword
            if not argument.is_out and is_keyword(target, argument.name) != argument.kwarg_only:
                wrong.add((target, argument.name))
    assert checked > 5000
    assert wrong == set()


_NEVER_EXPORTED = (
    "_fused_ad", "_fused_sgd", "segment_", "_segment_", "_sparse_semi", "_histogramdd", "_validate_sparse", "_empty_",
    "_efficient_attention", "_flash_attention", "_cslt", "_lu_with", "_resize", "_spdiags", "_mixed", "_nested_tensor",
    "_convert_indices", "_dirichlet", "_test", "_pin_memory", "_foobar", "_new_zeros_with_same",
)  # fmt: skip


def _document(path: Path, entry: str) -> dict:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(entry))


def _with(path: Path, target: Path, changed: dict[str, object]) -> None:
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as written:
        for name in source.namelist():
            written.writestr(name, json.dumps(changed[name]) if name in changed else source.read(name))


def _without(path: Path, target: Path, prefixes: tuple[str, ...]) -> None:
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as written:
        for name in source.namelist():
            if not name.startswith(prefixes):
                written.writestr(name, source.read(name))
