"""A run as Model Explorer's files: what is written, what is left out, and that the app loses none of it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from fxstore import Store, connect
from fxstore.cli import run as command
from fxstore.colors.palettes import palette
from fxstore.errors import QueryError, UsageError
from fxstore.model_explorer import validate
from fxstore.model_explorer.collection import Collection
from fxstore.model_explorer.overlays import IDENTICAL, Values, node_data
from tests.conftest import Demo
from tests.model_explorer.judge import Judge
from tests.model_explorer.sources import NASTY
from tests.query.conftest import tiny
from tests.store.records import chain, graph, metric, node, overlay, run


@pytest.fixture
def store() -> Any:
    with connect(":memory:") as opened:
        opened.commit(tiny())
        yield opened


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text("utf-8"))


def written(store: Store, folder: Path, **options: Any) -> Path:
    return store.export("model-explorer", folder / "out", **options)


def test_each_stage_method_and_nested_graph_is_a_graph_that_its_caller_leads_to(app: Judge) -> None:
    top = graph(["a", node("call", role="delegate")], chain("a", "call"))
    inner = graph(["b"], path="lowered_module_0/x y", parent=("", "call"))
    step = graph(["c"], method="step")
    with connect(":memory:") as store:
        store.commit(run({"edge": [top, inner, step], "a/b": graph(["d"])}))
        payload = store.model_explorer()
    assert [one["id"] for one in payload["graphs"]] == [
        "edge/forward", "edge/step", "edge/forward/lowered_module_0/x y", "a%2Fb"
    ]  # fmt: skip
    nodes = {one["id"]: one for one in payload["graphs"][0]["nodes"]}
    assert nodes["call|1"]["subgraphIds"] == ["edge/forward/lowered_module_0/x y"]
    assert app.losses(payload) == []


def test_equal_graphs_read_alike_in_two_runs() -> None:
    with connect(":memory:") as store:
        store.commit(tiny("one"))
        store.commit(tiny("two"))
        one, two = (store.model_explorer(name) for name in ("one", "two"))
    for left, right in zip(one["graphs"], two["graphs"], strict=True):
        assert [row["id"] for row in left["nodes"]] == [row["id"] for row in right["nodes"]]


def test_the_row_of_the_graph_says_where_it_comes_from(store: Store) -> None:
    edge = store.model_explorer(stages=["edge"])["graphs"][0]
    facts = edge["groupNodeAttributes"][""]
    found = store.existing_run()
    assert facts["run"] == f"tiny ({found.run_id})"
    assert facts["stage"] == "edge (graph)"
    assert facts["tags"] == "soc=s1"
    assert facts["exported by"].startswith("fxstore ")
    assert "module and operator" in facts["node ids"]


def test_numbers_become_node_data_and_what_has_none_is_counted_by_reason(store: Store, tmp_path: Path) -> None:
    folder = written(store, tmp_path)
    (entry,) = read(folder, "manifest.json")["node_data"]
    assert (entry["overlay"], entry["metric"], entry["better"]) == ("acc", "cosine", "higher")
    assert entry["coverage"]["edge"] == {
        "nodes": 5, "measured": 2, "left_out": {"no buffer": 1, "no data": 1, "not finite": 1}
    }  # fmt: skip
    assert entry["coverage"]["float"]["measured"] == 0
    data = read(folder, entry["file"])
    assert data.keys() == {"edge"}
    results = data["edge"]["results"]
    assert {node: result["value"] for node, result in results.items()} == {"c/convolution|1": 0.9, "mean|1": 0.2}
    assert "gradient" not in data["edge"], "the app would spread the colours over these two numbers alone"
    assert len({result["bgColor"] for result in results.values()}) == 2
    assert {len(result["textColor"]) for result in results.values()} == {7}


def test_equal_numbers_and_categories_have_a_colour_of_their_own(tmp_path: Path) -> None:
    equal = overlay("equal", [metric("s:a", "m", 2.0), metric("s:b", "m", 2.0)])
    huge = overlay("huge", [metric("s:a", "m", -1e308), metric("s:b", "m", 1e308)])
    texts = [metric("s:a", "kind", None, text='x"y'), metric("s:b", "kind", None, text="z")]
    with connect(":memory:") as store:
        kinds = overlay("kinds", texts, kind="category")
        store.commit(run({"s": graph(["a", "b"], chain("a", "b"))}, overlays=[equal, huge, kinds]))
        folder = written(store, tmp_path)
    data = {one["overlay"]: read(folder, one["file"])["s"] for one in read(folder, "manifest.json")["node_data"]}
    for name in ("equal", "huge"):
        assert "gradient" not in data[name]
        assert all(result["bgColor"].startswith("#") for result in data[name]["results"].values())
    colours = {result["value"]: result["bgColor"] for result in data["kinds"]["results"].values()}
    assert colours.keys() == {'x"y', "z"}
    assert len(set(colours.values())) == 2


def test_a_refused_overlay_leaves_no_file_behind(store: Store, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="no overlay or metric 'speed'"):
        written(store, tmp_path, overlays=["speed"])
    with pytest.raises(QueryError, match="no stage 'flat'"):
        written(store, tmp_path, stages=["flat"])
    with pytest.raises(QueryError, match="no module 'm'"):
        written(store, tmp_path, steps="m")
    with pytest.raises(UsageError, match="takes no 'metrics'"):
        written(store, tmp_path, metrics=["cosine"])
    with pytest.raises(UsageError, match="takes no 'stages'"):
        store.export("csv", tmp_path / "csv", stages=["edge"])
    assert list(tmp_path.iterdir()) == []
    first = written(store, tmp_path)
    kept = (first / "graphs.json").read_bytes()
    with pytest.raises(UsageError, match="exists"):
        written(store, tmp_path)
    with pytest.raises(QueryError):
        written(store, tmp_path, overwrite=True, overlays=["speed"])
    assert (first / "graphs.json").read_bytes() == kept
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_run_without_graphs_is_refused_and_a_graph_without_nodes_is_shown(app: Judge, tmp_path: Path) -> None:
    with connect(":memory:") as store:
        store.commit(run({}, name="nothing"))
        store.commit(run({"s": graph([])}, name="empty"))
        for form in ("model-explorer", "debugger", "svg"):
            with pytest.raises(QueryError, match="run 'nothing' holds no graph"):
                store.export(form, tmp_path / "out", run="nothing")
        with pytest.raises(QueryError, match="run 'nothing' holds no graph"):
            store.compare(run="nothing")
        assert list(tmp_path.iterdir()) == []
        folder = written(store, tmp_path, run="empty")
    assert app.losses(read(folder, "graphs.json")) == []


def test_a_public_export_holds_no_source_no_text_and_no_value(tmp_path: Path) -> None:
    hidden = node("a", source_file="/home/me/net.py", source_line=3, source_code="secret = 1", module_path="net",
                  attrs=json.dumps({"args": {"0": 2, "1": "word", "2": 0.5}, "custom": "secret"}))  # fmt: skip
    noted = [metric("s:a", "flops", 3.0), metric("s:b", "flops", None, reason="because of /home/me")]
    overlays = [overlay("acc", [metric("s:a", "cosine", 0.25)]), overlay("static", noted, kind="static")]
    record = run({"s": graph([hidden, node("b c/d")])}, overlays=[overlays[0]], tags={"user": "me"})
    with connect(":memory:") as store:
        store.commit(run({"s": graph([hidden, "b"])}, overlays=overlays, tags={"user": "me"}))
        store.commit(record)
        first, second = store.committed_runs()
        folder = written(store, tmp_path, run=first.run_id, privacy="public")
        texts = "".join(file.read_text("utf-8") for file in folder.iterdir())
        other = json.dumps(store.model_explorer(second.run_id, privacy="public"))
        with pytest.raises(QueryError, match="no public overlay or metric 'cosine'"):
            store.export("model-explorer", tmp_path / "no", run=first.run_id, privacy="public", overlays=["cosine"])
        with pytest.raises(UsageError, match="there is no privacy"):
            store.model_explorer(privacy="secret")
    for hidden_text in ("/home", "secret", "word", "0.25", "0.5", "user=", "because", "cosine"):
        assert hidden_text not in texts
    assert '"argument 0","value":"2"' in texts
    assert "b c/d" not in other
    assert [one["metric"] for one in read(folder, "manifest.json")["node_data"]] == ["flops"]


def test_source_files_are_named_from_their_package_on(store: Store) -> None:
    path = "/home/me/site-packages/net/layers.py"
    attrs = json.dumps({"args": {"1": path}})
    store.commit(
        run({"s": graph([node("a", source_file=path, source_line=3, source_code=f"open('{path}')", attrs=attrs)])})
    )
    text = json.dumps(store.model_explorer())
    assert "net/layers.py:3" in text
    assert "/home/me" not in text


def test_the_readme_names_each_file_and_what_is_left_out(store: Store, tmp_path: Path) -> None:
    folder = written(store, tmp_path)
    text = (folder / "README.md").read_text("utf-8")
    for file in folder.iterdir():
        assert file.name == "README.md" or f"`{file.name}`" in text
    assert "acc: cosine: on 2 of 10 nodes" in text


def test_every_graph_of_a_real_compile_passes(app: Judge, demo: Demo, tmp_path: Path) -> None:
    with connect(demo.folder / "work" / "fxstore-runs", read_only=True) as store:
        folder = written(store, tmp_path)
        nodes = store.sql("SELECT count(*) FROM nodes").fetchall()[0][0]
        edges = store.sql("SELECT count(*) FROM edges").fetchall()[0][0]
        public = store.model_explorer(privacy="public")
    payload = read(folder, "graphs.json")
    assert app.losses(payload) == []
    assert app.losses(public) == []
    assert sum(len(one["nodes"]) for one in payload["graphs"]) == nodes
    assert sum(len(row.get("incomingEdges", [])) for one in payload["graphs"] for row in one["nodes"]) == edges
    delegates = [row for one in payload["graphs"] for row in one["nodes"] if row["label"] == "executorch_call_delegate"]
    ids = {one["id"] for one in payload["graphs"]}
    assert delegates
    assert all(set(row["subgraphIds"]) <= ids for row in delegates)
    for entry in read(folder, "manifest.json")["node_data"]:
        assert validate(read(folder, entry["file"]), strict=True) == []
        for name, data in read(folder, entry["file"]).items():
            known = {row["id"] for one in payload["graphs"] if one["id"] == name for row in one["nodes"]}
            assert data["results"].keys() <= known
            values = [one["value"] for one in data["results"].values() if entry["kind"] != "category"]
            assert all(value == IDENTICAL or math.isfinite(value) for value in values)


def test_the_verbs_write_and_say_so(demo: Demo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(demo.folder / "work" / "fxstore-runs")
    assert command(["export", "model-explorer", "demo", "--store", path, "-o", str(tmp_path / "a")]) == 0
    assert command(["model-explorer", "demo", "--store", path, "-o", str(tmp_path / "b"), "--stage", "edge"]) == 0
    assert "Wrote" in capsys.readouterr().err
    assert [one["id"] for one in read(tmp_path / "b", "graphs.json")["graphs"]] == ["edge"]
    assert command(["model-explorer", "demo", "--store", path, "-o", str(tmp_path / "b")]) == 2
    assert command(["model-explorer", "none", "--store", path, "-o", str(tmp_path / "c")]) == 1
    assert command(["model-explorer", "--store", path, "--metric", "cosine", "-o", str(tmp_path / "c")]) == 2
    assert (
        command(["export", "model-explorer", "demo", "--run", "demo", "--store", path, "-o", str(tmp_path / "c")]) == 2
    )
    assert not (tmp_path / "c").exists()


def test_stages_methods_paths_and_overlays_may_be_called_anything(app: Judge, tmp_path: Path) -> None:
    names = [name for name in NASTY if name]
    stages: dict[str, Any] = {name: graph([node("a"), "b"], chain("a", "b")) for name in names}
    several = [graph(["a"], method=name) for name in names]
    stages["methods"] = [*several, graph(["c"], method=names[0], path="/".join(names[:9]), parent=("", "a"))]
    numbers = [overlay(f"../{name}", [metric("methods:a", name, 1.0)], kind="static") for name in names[:12]]
    with connect(":memory:") as store:
        store.commit(run(stages, name='../<b>"run|1', overlays=numbers))
        folder = written(store, tmp_path)
    payload = read(folder, "graphs.json")
    assert app.losses(payload) == []
    assert len(payload["graphs"]) == 2 * len(names) + 1
    documents = [path for path in folder.glob("*.json") if path.name != "manifest.json"]
    assert len(documents) == 1 + len(numbers)
    assert {path.name: validate(read(folder, path.name), strict=True) for path in documents} == {
        path.name: [] for path in documents
    }
    text = (folder / "README.md").read_text("utf-8")
    assert "<b>" not in text.replace("\\<b\\>", "")
    assert all(line.startswith("|") == line.endswith("|") for line in text.splitlines())


@pytest.mark.parametrize(
    ("given", "same"),
    [
        (Values("acc", "cosine", "accuracy", {1: 1.0, 2: 1.0}, better="higher"), 0),
        (Values("acc", "sqnr", "accuracy", {1: math.inf, 2: math.inf}, unit="dB", better="higher"), 0),
        (Values("acc", "cosine", "accuracy", {1: 0.0, 2: 0.0}, better="higher"), -1),
    ],
)
def test_equal_numbers_have_the_colour_of_what_they_mean(given: Values, same: int) -> None:
    shown = Collection("s", [], {"g": [("a", (1,)), ("b", (2,))]})
    document, _ = node_data(given, [shown])
    fills = {result["bgColor"] for result in document["g"]["results"].values()}
    assert fills == {palette("light").scale[same]}
