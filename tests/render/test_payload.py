from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fxstore.render import Answer, ColorBy, DrawnGraph, PageModel, Pane
from fxstore.render.container import Columns, Strings, short_path, short_paths
from fxstore.render.model import Numbers
from fxstore.render.payload import MISSING, NAN, NO_DATA, OK, PLUS_INF, TEXTS, encode
from tests.render.made_pages import STAGES, Sketch, page_model
from tests.render.unpacking import unpack


def small(nids: tuple[int, ...] = (8, 9), **cells: object) -> DrawnGraph:
    sketch = Sketch(nids[0])
    for i in range(len(nids)):
        sketch.add(str(i), "relu", [i - 1] if i else [], **cells)
    return sketch.drawn()


def page(*graphs: DrawnGraph, **parts: object) -> PageModel:
    panes = tuple(Pane(f"pane {i}", (graph,)) for i, graph in enumerate(graphs))
    return PageModel(**{"title": "t", "panes": panes, "sync_sets": [], "focus": {}} | parts)  # type: ignore[arg-type]


def test_every_node_text_and_number_comes_back() -> None:
    model = page_model(2, STAGES)
    out = unpack(encode(model))
    nodes = pa.concat_tables([graph.nodes for pane in model.panes for graph in pane.graphs])
    for name in TEXTS:
        assert out.text(f"node.{name}") == nodes.column(name).to_pylist()
    assert out.columns["node.nid"].tolist() == nodes.column("nid").to_pylist()
    lines = [-1 if line is None else line for line in nodes.column("source_line").to_pylist()]
    assert out.columns["node.source_line"].tolist() == lines
    assert out.text("node.shape")[0] == "[1, 32, s0, 14]"


def test_positions_and_corners_come_back_to_half_a_pixel() -> None:
    model = page_model(3, STAGES[:3])
    out = unpack(encode(model))
    drawings = [graph.drawing for pane in model.panes for graph in pane.graphs]
    np.testing.assert_allclose(out.columns["node.y"] / 2, np.concatenate([d.y for d in drawings]), atol=0.25)
    np.testing.assert_allclose(
        out.columns["corner.x"] / 2, np.concatenate([d.points[:, 0] for d in drawings]), atol=0.25
    )
    assert out.columns["edge.corners"].sum() == len(out.columns["corner.x"])


def test_edges_name_nodes_by_their_number_on_the_page() -> None:
    model = page(small((8, 9)), small((20, 21)))
    out = unpack(encode(model))
    assert list(zip(out.columns["edge.src"], out.columns["edge.dst"], strict=True)) == [(0, 1), (2, 3)]


def test_sync_sets_keep_only_members_on_the_page() -> None:
    sets = [[(99, True)], [(8, True), (77, False), (21, False)]]
    out = unpack(encode(page(small((8, 9)), small((20, 21)), sync_sets=sets, focus={8: 1, 21: 1, 9: 0, 20: 5})))
    assert out.columns["set.size"].tolist() == [2]
    assert out.columns["set.node"].tolist() == [0, 3]
    assert out.columns["set.primary"].tolist() == [1, 0]
    assert out.columns["node.focus"].tolist() == [0, -1, -1, 0]


def test_a_node_shown_in_two_panes_is_two_nodes_of_one_set() -> None:
    out = unpack(encode(page(small(), small(), sync_sets=[[(8, True)]], focus={8: 0}, highlight=[9])))
    assert out.columns["set.node"].tolist() == [0, 2]
    assert out.columns["node.focus"].tolist() == [0, -1, 0, -1]
    assert out.columns["highlight"].tolist() == [1, 3]


def test_colours_tell_numbers_broken_values_reasons_and_nothing_apart() -> None:
    color = ColorBy("run", "cosine", {1: 0.5, 2: math.nan, 3: math.inf}, {4: "too large"})
    out = unpack(encode(page(small((1, 2, 3, 4, 5)), colors=(color,))))
    assert out.columns["color0.status"].tolist() == [OK, NAN, PLUS_INF, MISSING, NO_DATA]
    assert out.columns["color0.value"].tolist() == [0.5]
    assert out.text("color0.reason") == ["too large"]


def test_each_sample_has_its_numbers_and_the_worst_its_note() -> None:
    samples = (Numbers("prefill", {1: 1.0, 2: math.nan}), Numbers("step 1", {1: 0.5}, {2: "not executed"}))
    color = ColorBy(
        "run", "cosine", {1: 0.5, 2: math.nan}, notes={1: "worst of 3: step 1"}, samples=samples, all_samples=3
    )
    out = unpack(encode(page(small((1, 2)), colors=(color,))))
    assert (out.header["colors"][0]["samples"], out.header["colors"][0]["allSamples"]) == (["prefill", "step 1"], 3)
    assert out.columns["color0.sample0.status"].tolist() == [OK, NAN]
    assert out.columns["color0.sample1.status"].tolist() == [OK, MISSING]
    assert out.columns["color0.sample1.value"].tolist() == [0.5]
    assert out.text("color0.sample1.reason") == ["not executed"]
    assert out.text("color0.note") == ["worst of 3: step 1", None]
    plain = unpack(encode(page(small((1, 2)), colors=(ColorBy("run", "cosine", {1: 0.5}),))))
    assert "samples" not in plain.header["colors"][0]


def test_cells_keep_what_json_has_no_number_for() -> None:
    row = (math.nan, -math.inf, 2**60, 1.5, True, None, "x", np.float32(0.5), np.int64(3), [1])
    answer = Answer("q", [str(i) for i in range(len(row))], [row], [[9, 1234]])
    out = unpack(encode(page(small(), answer=answer)))
    texts = [{"number": text} for text in ("NaN", "-Infinity", str(2**60))]
    assert out.header["answer"]["rows"] == [[*texts, 1.5, True, None, "x", 0.5, 3, "[1]"]]
    assert out.columns["answer.node"].tolist() == [1]


ABSOLUTE = "/srv/build/lib/python3.12/site-packages/pkg/models/deep/net.py"


def with_paths(**parts: object) -> PageModel:
    rows = [(ABSOLUTE, ABSOLUTE, "/srv/nightly/zoo/other.py"), (None, "text", "/srv/nightly/zoo/other.py")]
    answer = Answer("q", ["name", "file", "source_file"], rows, [[8], [9]])
    return page(small(source_file=ABSOLUTE), answer=answer, **parts)


def test_no_absolute_path_is_in_a_page_unless_sources_are_asked_for() -> None:
    out = unpack(encode(with_paths()))
    assert "/srv" not in json.dumps(out.header)
    assert out.text("node.source_file") == ["pkg/models/deep/net.py"] * 2
    assert out.header["answer"]["rows"] == [
        ["pkg/models/deep/net.py", "pkg/models/deep/net.py", "nightly/zoo/other.py"],
        [None, "text", "nightly/zoo/other.py"],
    ]
    full = unpack(encode(with_paths(with_sources=True)))
    assert full.text("node.source_file") == [ABSOLUTE] * 2
    assert full.header["answer"]["rows"][0] == [ABSOLUTE, ABSOLUTE, "/srv/nightly/zoo/other.py"]


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("/usr/lib/python3/dist-packages/torch/nn/modules/conv.py", "torch/nn/modules/conv.py"),
        ("/a/site-packages/b/site-packages/pkg/a.py", "pkg/a.py"),
        ("/home/alice/net.py", "net.py"),
        ("/home/alice/work/a/b/c/net.py", "b/c/net.py"),
        ("/Users/alice/a/net.py", "a/net.py"),
        ("/root/net.py", "net.py"),
        ("/srv/a/net.py", "a/net.py"),
        ("/a/b/c/d/net.py", "c/d/net.py"),
        ("C:\\Users\\alice\\a\\net.py", "a/net.py"),
        ("\\\\server\\share\\net.py", "share/net.py"),
        ("/net.py", "net.py"),
        ("models/vision/resnet/net.py", "models/vision/resnet/net.py"),
        ("<eval_with_key>.3", "<eval_with_key>.3"),
        ("", ""),
    ],
)
def test_source_paths_are_short_and_name_nobody(path: str, short: str) -> None:
    assert short_path(path) == short


@given(st.lists(st.text("abc.-", min_size=1, max_size=4), min_size=1, max_size=8), st.sampled_from(["/", "C:\\", "//"]))
def test_short_paths_are_never_absolute_and_stay_as_they_are(parts: list[str], root: str) -> None:
    short = short_path(root + "/".join(parts))
    assert not short.startswith(("/", "\\"))
    assert short.endswith(parts[-1])
    assert short_path(short) == short


def test_a_graph_hangs_on_its_caller_in_the_same_pane() -> None:
    callee = DrawnGraph("inner", small((30, 31)).nodes, small((30, 31)).edges, small((30, 31)).drawing, parent_nid=9)
    model = PageModel("t", (Pane("a", (small(),)), Pane("b", (small(), callee))), [], {})
    parents = [graph["parent"] for graph in unpack(encode(model)).header["graphs"]]
    assert parents == [-1, -1, 3]


@pytest.mark.parametrize("panes", [(), (Pane("empty", ()),), (Pane("none", (Sketch(0).drawn(),)),)])
def test_pages_without_nodes(panes: tuple[Pane, ...]) -> None:
    out = unpack(encode(PageModel("t", panes, [], {}, colors=(ColorBy("n", "m", {}),))))
    assert len(out.columns["node.nid"]) == 0
    assert len(out.header["panes"]) == len(panes)


def test_the_same_bytes_in_another_process_with_another_hash_seed() -> None:
    code = (
        "import hashlib; from tests.render.made_pages import page_model; from fxstore.render import Page;"
        "print(hashlib.sha256(Page(page_model(2)).html().encode()).hexdigest())"
    )
    root = Path(__file__).parents[2]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), *filter(None, sys.path)])}
    runs = [[sys.executable, "-c", code] for _ in range(2)]
    hashes = {
        subprocess.run(run, env=env | {"PYTHONHASHSEED": str(seed)}, capture_output=True, text=True, check=True).stdout
        for seed, run in enumerate(runs, start=1)
    }
    assert len(hashes) == 1


@given(st.lists(st.integers(-(2**31), 2**31 - 1)), st.booleans())
def test_integer_columns_come_back(values: list[int], delta: bool) -> None:
    columns = Columns()
    try:
        columns.ints("c", values, delta=delta)
    except ValueError:
        assert delta
        assert max(abs(b - a) for a, b in itertools.pairwise(values)) > 2**31 - 1
        return
    assert unpack(columns.pack({})).columns["c"].tolist() == values


@given(st.lists(st.integers(0, 2**53 - 1)))
def test_node_keys_come_back_exactly(values: list[int]) -> None:
    columns = Columns()
    columns.floats("c", np.asarray(values, dtype=np.float64), delta=True)
    stored = unpack(columns.pack({})).header["columns"][0]
    assert stored["delta"]
    assert np.cumsum(np.diff(np.asarray(values, dtype=np.float64), prepend=0.0)).tolist() == values


@given(st.lists(st.none() | st.text()))
def test_interned_texts_come_back(texts: list[str | None]) -> None:
    strings = Strings()
    numbers = strings.numbers(texts)
    assert [None if n < 0 else strings.all()[n] for n in numbers] == texts
    assert len(strings.all()) == len({text for text in texts if text is not None})


def test_no_code_is_in_a_page_without_it() -> None:
    answer = Answer("q", ["name", "source_code"], [("a", "secret = 1")], [[8]])
    model = page(small(source_code="secret = 1"), answer=answer)
    assert unpack(encode(model)).text("node.source_code") == ["secret = 1"] * 2
    public = encode(replace(model, with_code=False))
    assert b"secret" not in public
    assert unpack(public).header["answer"]["rows"] == [["a", None]]


def test_equal_values_categories_and_what_is_left_out_come_through() -> None:
    equal = [[(8, 0, "identity"), (20, 1, "name")], [(9, 0, "name"), (77, 0, "name")]]
    model = page(
        small((8, 9)), small((20, 21)), equal_values=equal,
        colors=(ColorBy("map", "backend", {}, texts={8: "xnnpack", 21: "portable"}),), more={9: 4951},
        left_out="4 of 100 nodes", statistics={8: {"mean": math.nan, "histogram": [1, 2]}},
    )  # fmt: skip
    out = unpack(encode(model))
    assert out.columns["value.size"].tolist() == [2]
    assert list(zip(out.columns["value.node"], out.columns["value.port"], out.text("value.evidence"), strict=True)) == [
        (0, 0, "identity"), (2, 1, "name"),
    ]  # fmt: skip
    assert out.text("color0.text") == ["xnnpack", None, None, "portable"]
    assert out.columns["node.more"].tolist() == [0, 4951, 0, 0]
    assert out.header["leftOut"] == "4 of 100 nodes"
    assert out.header["statistics"] == [[0, {"mean": {"number": "NaN"}, "histogram": [1, 2]}]]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"args": {"0": "/home/me/work/net/lib.so"}}', '{"args": {"0": "work/net/lib.so"}}'),
        ("open('/usr/lib/python3.11/site-packages/torch/x.py')", "open('torch/x.py')"),
        ('{"0": "C:\\\\Users\\\\me\\\\work\\\\a.py"}', '{"0": "work/a.py"}'),
        ("y = a / b / c", "y = a / b / c"),
        ("y = a/b", "y = a/b"),
        ("see https://example.org/a/b", "see https://example.org/a/b"),
    ],
)
def test_paths_inside_a_text_are_short(text: str, shown: str) -> None:
    assert short_paths(text) == shown
