"""Still pictures: labels are text only, whatever they hold; every box and edge is drawn; colours are the page's."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore import render
from fxstore.colors.palettes import palette
from fxstore.errors import UsageError
from fxstore.layout import draw
from fxstore.render.model import Answer, ColorBy, DrawnGraph, PageModel, Pane
from fxstore.render.still import raster
from fxstore.render.still.coloring import coloring
from fxstore.render.still.dot import dot
from fxstore.render.still.scene import Scene, scene
from fxstore.render.still.svg import svg
from fxstore.render.still.wording import cut, printable, width_of
from tests.render.made_pages import EDGES, NODES

NS = "{http://www.w3.org/2000/svg}"
SAFE = {f"{NS}{tag}" for tag in ["svg", "g", "rect", "text", "title", "polyline", "path", "defs", "pattern", "circle"]}
HOSTILE = [
    "<script>alert(1)</script>", '" onload="x', "]]>", "&amp;&#0;&lt;", "\x00\x1b\ud800\uffff", "a\nb\r\nc\td",
    "ä" * 300, "\\", "\\n\\N\\G\\", 'x" ]; y [label="', "<b>bold</b>", "{a|<p>b}", "漢字" * 90, "\u2028\u2029\x85",
]  # fmt: skip
VIEWER = Path(render.__file__).parent / "viewer"
LABELS = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30), st.text('"\\<>&\n{}|', max_size=12))


def drawn(labels: list[str], edges: list[tuple[int, int]], title: str = "", first: int = 1, **cells: Any) -> DrawnGraph:
    rows = [
        {**dict.fromkeys(NODES.names), "nid": first + i, "name": f"{label} 2", "op_type": label, "target": label,
         "role": "op", "module_path": label, "width": 100.0, "height": 36.0, **cells}
        for i, label in enumerate(labels)
    ]  # fmt: skip
    columns = {name: [_storable(row[name]) for row in rows] for name in NODES.names}
    uses = [{"src": a, "dst": b, "src_port": i % 2, "dst_arg": str(i)} for i, (a, b) in enumerate(edges)]
    places = draw([(100.0, 36.0)] * len(labels), edges, [_storable(label) for label in labels])
    return DrawnGraph(title, pa.table(columns, NODES), pa.Table.from_pylist(uses, EDGES), places)


def _storable(value: Any) -> Any:
    """Arrow holds no lone surrogates."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def model(labels: list[str], edges: list[tuple[int, int]], **rest: Any) -> PageModel:
    told = (labels or ["t"])[0]
    texts = dict(enumerate(labels, 1))
    pane = Pane(told, (drawn(labels, edges, told),), told)
    colors = (ColorBy(told, told, {}, texts=texts),) if labels else ()
    return PageModel(told, (pane,), (), {}, colors, **rest)


def picture(labels: list[str], edges: list[tuple[int, int]]) -> ElementTree.Element:
    return ElementTree.fromstring(svg(scene(model(labels, edges))).encode("utf-8"))


@pytest.mark.parametrize("label", HOSTILE)
def test_labels_are_text_only(label: str) -> None:
    root = picture([label, "relu"], [(0, 1), (1, 1)])
    assert {element.tag for element in root.iter()} <= SAFE
    assert not [key for element in root.iter() for key in element.attrib if key.startswith("on") or "href" in key]
    urls = {value for one in root.iter() for value in one.attrib.values() if "url(" in value or ":" in value}
    assert urls <= {f"url(#fxstore-light-{hatch})" for hatch in ("stripe", "cross", "dot")}
    assert root.findall(f".//{NS}text")[0].text


@given(st.lists(LABELS, max_size=6), st.data())
@settings(max_examples=40, deadline=None)
def test_every_box_and_every_edge_is_drawn(labels: list[str], data: st.DataObject) -> None:
    node = st.integers(0, max(0, len(labels) - 1))
    edges = data.draw(st.lists(st.tuples(node, node), max_size=8)) if labels else []
    root = picture(labels, edges)
    assert len(root.findall(f".//{NS}g[{NS}title]")) == len(labels)
    assert len(root.findall(f".//{NS}polyline")) == sum(a != b for a, b in edges)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for group, (x, y) in _placed(root):
        for box in group.findall(f"{NS}rect"):
            left, top = x + float(box.get("x", 0)), y + float(box.get("y", 0))
            assert 0 <= left <= left + float(box.get("width", 0)) <= width
            assert 0 <= top <= top + float(box.get("height", 0)) <= height


def _placed(root: ElementTree.Element) -> list[tuple[ElementTree.Element, tuple[float, float]]]:
    """Every group of a picture with its offset."""
    found: list[tuple[ElementTree.Element, tuple[float, float]]] = []
    waiting = [(root, (0.0, 0.0))]
    while waiting:
        group, (x, y) = waiting.pop()
        for one in group.findall(f"{NS}g"):
            moved = re.match(r"translate\(([-\d.]+) ([-\d.]+)\)$", one.get("transform", ""))
            waiting.append((one, (x + float(moved[1]), y + float(moved[2])) if moved else (x, y)))
            found.append(waiting[-1])
    return found


@given(st.lists(LABELS, min_size=1, max_size=5), st.sampled_from(["module", "side", "none", None]))
@settings(max_examples=40, deadline=None)
@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz is not installed")
def test_graphviz_shows_the_labels_as_they_are(labels: list[str], cluster: str | None) -> None:
    edges = [(i, i + 1) for i in range(len(labels) - 1)] + [(0, 0), (0, len(labels) - 1)]
    text = dot(scene(model(labels, edges)), cluster)
    done = subprocess.run(["dot", "-Tsvg"], input=text.encode(), capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert b"rror" not in done.stderr, done.stderr
    root = ElementTree.fromstring(done.stdout)
    nodes = {one.findtext(f"{NS}title"): one for one in root.iter(f"{NS}g") if one.get("class") == "node"}
    assert set(nodes) == {"legend", *(f"n{i}" for i in range(len(labels)))}
    assert len([one for one in root.iter(f"{NS}g") if one.get("class") == "edge"]) == len(edges)
    for i, label in enumerate(labels):
        shown = [_plain(one.text or "") for one in nodes[f"n{i}"].iter(f"{NS}text")]
        assert shown == [told for told in (_short(_storable(label or "op")), _short(f"{_storable(label)} 2")) if told]


def _short(told: str) -> str:
    one = _plain(printable(told))
    return one if len(one) <= 120 else f"{one[:120]}…"


def _plain(told: str) -> str:
    return " ".join(told.split())


def numbers(values: dict[int, float], better: str | None, unit: str | None = None, metric: str = "cosine") -> PageModel:
    labels = [f"n{nid}" for nid in range(1, max(values) + 3)]
    by = ColorBy("acc", metric, values, {max(values) + 1: "no buffer"}, unit, better)
    panes = (Pane("a", (drawn(labels, []),)), Pane("b", (drawn(["q"], [], first=1000),)))
    return PageModel("t", panes, (), {}, (by,))


NUMBERS = st.dictionaries(st.integers(1, 12), st.floats(allow_subnormal=False), min_size=1, max_size=12)


@given(NUMBERS, st.sampled_from(["higher", "lower", None]))
@settings(max_examples=12, deadline=None)
def test_numbers_have_the_colours_of_the_page(values: dict[int, float], better: str | None) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    made = coloring(numbers(values, better), palette("light"))
    finite = {nid: value for nid, value in values.items() if math.isfinite(value)}
    script = f"""
        import {{ anchoredDomain, badness, domainOf }} from {json.dumps((VIEWER / "paint" / "scales.js").as_uri())};
        import {{ THEMES, mixed }} from {json.dumps((VIEWER / "paint" / "themes.js").as_uri())};
        const values = {json.dumps(list(finite.values()))}, better = {json.dumps(better)};
        const domain = anchoredDomain({{ metric: "cosine", unit: null, better }}) ?? domainOf(values, better);
        const theme = THEMES.light;
        const stops = domain?.diverging ? theme.diverging : better ? theme.scale : theme.neutral;
        const step = (value) => Math.min(31, Math.floor(badness(value, domain, better) * 32));
        console.log(JSON.stringify(values.map((value) => mixed(stops, (step(value) + 0.5) / 32))));
    """
    done = subprocess.run([node, "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    assert [made.fills[nid].color for nid in finite] == json.loads(done.stdout)


def test_what_is_no_number_looks_like_no_number() -> None:
    values = {1: 0.5, 2: math.nan, 3: math.inf, 4: -math.inf, 5: 0.75}
    made = coloring(numbers(values, "higher"), palette("dark"))
    colors = palette("dark").graph
    looks = [(made.fills[nid].color, made.fills[nid].hatch) for nid in (2, 3, 4, 6, 7, 1000)]
    assert looks == [
        (colors["nan"], "stripe"), (colors["inf"], "cross"), (colors["inf"], "cross"), (colors["missing"], "dot"),
        (colors["nodata"], ""), (colors["other"], ""),
    ]  # fmt: skip
    keys = [key.text for key in made.keys]
    assert keys == ["NaN 1", "±∞ 2", "not compared 1", "no data 1", "other stages"]
    assert made.scale is not None
    assert [text for _, text in made.scale.ticks] == ["≥0.999999", "0.9999", "0.99", "≤0"]
    assert (made.scale.ends, made.scale.note) == (("good", "bad"), "log of 1 − value")


@pytest.mark.parametrize(
    ("values", "better", "unit", "ticks", "note"),
    [
        ([0.99997, 1.0], "higher", None, ["1", "0.99999", "0.99997"], "range of these values"),
        ([1_000.0, 2_500_000.0], "lower", "ns", ["1 µs", "50 µs", "2.5 ms"], "log, range of these values"),
        ([-2.0, 1.0], None, "bytes", ["−2", "0", "1"], "bytes"),
        ([3.0, 3.0], None, "1", ["all 3"], ""),
        ([-1e308, 1e308], "lower", None, ["−1.000e308", "0", "1.000e308"], "range of these values"),
        ([1e-300, 1e300], "lower", None, ["1.000e-300", "1", "1.000e300"], "log, range of these values"),
        ([-0.5, -0.25], "lower", None, ["−0.5", "−0.375", "−0.25"], "range of these values"),
        ([0.0, 5e-324], "lower", None, ["0", "0", "4.941e-324"], "range of these values"),
    ],
)
def test_ends_of_scales(values: list[float], better: str | None, unit: str | None, ticks: list[str], note: str) -> None:
    made = coloring(numbers(dict(enumerate(values, 1)), better, unit, "hue"), palette("light"))
    assert made.scale is not None
    assert [text for _, text in made.scale.ticks] == ticks
    assert made.scale.note == note


def test_categories_keep_their_own_colours_and_the_rest_share_one() -> None:
    labels = [f"kind {i}" for i in range(30)]
    texts = dict(enumerate(labels, 1))
    fills = {"kind 3": ("#010203", "#040506")}
    page = PageModel(
        "t", (Pane("a", (drawn(labels, []),)),), (), {}, (ColorBy("o", "kind", {}, texts=texts, fills=fills),)
    )
    light, dark = (coloring(page, palette(theme)) for theme in ("light", "dark"))
    assert (light.fills[4].color, dark.fills[4].color) == ("#010203", "#040506")
    assert [key.text for key in light.keys][:2] == ["kind 3 1", "kind 0 1"]
    assert light.keys[-1].text == "6 others 6"
    assert len({light.fills[nid].color for nid in range(25, 31)}) == 1


def test_roles_where_nothing_was_measured_and_one_line_for_a_wrong_name() -> None:
    page = PageModel("t", (Pane("a", (drawn(["x"], [], role="input"),)),), (), {})
    assert coloring(page, palette("light")).fills[1].color == palette("light").roles["input"]
    elsewhere = replace(page, colors=(ColorBy("o", "ms", {99: 1.0}), ColorBy("o", "kind", {}, texts={1: "a"})))
    assert coloring(elsewhere, palette("light")).title == "kind · o"
    assert coloring(replace(page, colors=elsewhere.colors[:1]), palette("light")).title == "role"
    assert coloring(elsewhere, palette("light"), "ms").title == "ms · o"
    with pytest.raises(UsageError, match="no overlay or metric 'rol'") as error:
        coloring(page, palette("light"), "rol")
    assert error.value.hint == "did you mean 'role'?"
    with pytest.raises(UsageError, match="no theme 'blue'"):
        scene(page, "blue")


def nested(calls: list[int], sizes: list[int]) -> Scene:
    """A top graph of nodes in a row, and graphs of some sizes, each called by one of its nodes."""
    top = drawn([f"c{i}" for i in range(6)], [(i, i + 1) for i in range(5)])
    graphs = [top]
    for i, (call, size) in enumerate(zip(calls, sizes, strict=True)):
        inner = drawn([f"m{j}" for j in range(size)], [(j, j + 1) for j in range(size - 1)], f"g{i}", 100 * (i + 1))
        graphs.append(replace(inner, parent_nid=1 + call))
    return scene(PageModel("t", (Pane("a", tuple(graphs)), Pane("b", (top,))), (), {}))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), max_size=8))
@settings(max_examples=40, deadline=None)
def test_graphs_of_a_pane_stand_apart(inner: list[tuple[int, int]]) -> None:
    made = nested([call for call, _ in inner], [size for _, size in inner])
    assert made.panes[1].left >= made.panes[0].left + made.panes[0].width
    boxes = [
        (one.left, one.top - 20, one.left + one.graph.drawing.width, one.top + one.graph.drawing.height)
        for one in made.panes[0].graphs
    ]
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert left >= 0
        assert right <= made.panes[0].width
        assert bottom <= made.height
        for other in boxes[:i]:
            assert left >= other[2] or right <= other[0] or top >= other[3] or bottom <= other[1]


def test_the_answer_is_marked_and_what_is_left_out_is_counted() -> None:
    answer = Answer("FROM worst('cosine')", ["nid"], [(2,)], [[2]])
    page = replace(
        model(["a", "b", "c"], [(0, 1), (1, 2)]), highlight=[2, 3, 2], more={1: 1234}, answer=answer,
        left_out="3 of 9 nodes are drawn: the answer's; '+N' opens them",
    )  # fmt: skip
    texts = [one.text for one in ElementTree.fromstring(svg(scene(page))).iter(f"{NS}text")]
    assert {"FROM worst('cosine')", "3 of 9 nodes are drawn: the answer's", "1", "2", "+1,234", "in the answer"} <= {
        *texts
    }
    assert 'label="#1 b\\nb 2"' in dot(scene(page))
    assert "+1,234" in dot(scene(page))


def test_clusters_of_dot() -> None:
    rows = ["a.b", "a.b", "a", "c"]
    page = PageModel("t", (Pane("s", (drawn(rows, [(0, 1), (1, 2), (2, 3)]),)),), (), {})
    frames = re.findall(r'graph \[label="(.*?)\\l"', dot(scene(page), "module"))
    assert frames[2:] == ["a", "b"]  # one node is no frame of our layout's
    assert re.findall(r'graph \[label="(.*?)\\l"', dot(scene(page), "none"))[2:] == []
    sides = replace(page, panes=(Pane("s", (_with_roles(["forward", "saved", "tangent", "backward"]),)),))
    for cluster in (None, "side"):
        assert re.findall(r'graph \[label="(.*?)\\l"', dot(scene(sides), cluster))[2:] == ["forward", "backward"]


def _with_roles(roles: list[str]) -> DrawnGraph:
    graph = drawn([f"n{i}" for i in range(len(roles))], [(i, i + 1) for i in range(len(roles) - 1)])
    place = graph.nodes.schema.get_field_index("role")
    return replace(graph, nodes=graph.nodes.set_column(place, "role", pa.array(roles)))


def test_a_picture_is_the_same_bytes_again() -> None:
    page = model(["a", "b", "c"], [(0, 1), (1, 2), (0, 2)])
    assert svg(scene(page)) == svg(scene(page))
    assert dot(scene(page)) == dot(scene(page))


def test_stubs_and_loops_and_edges_against_the_flow_are_drawn() -> None:
    graph = drawn(["a", "b", "c"], [(0, 1), (1, 2), (2, 2), (2, 0)])
    drawing = graph.drawing
    first, last = drawing.offsets[0], drawing.offsets[1]
    points = np.concatenate([drawing.points[:first], drawing.points[last:]])
    offsets = drawing.offsets - np.array([0] + [last - first] * (len(drawing.offsets) - 1), np.int32)
    stubbed = replace(drawing, stub=np.array([True, False, False, False]), points=points, offsets=offsets)
    page = PageModel("t", (Pane("a", (replace(graph, drawing=stubbed),)),), (), {})
    root = ElementTree.fromstring(svg(scene(page)))
    dashes = [one.get("stroke-dasharray") for one in root.iter() if one.get("stroke-dasharray")]
    assert dashes.count("2 3") == 2
    assert dashes.count("3 3") >= 1
    texts = {one.text for one in root.iter(f"{NS}text")}
    assert {"an edge of which only the ends are drawn", "an edge against the flow"} <= texts


@given(st.text(max_size=60), st.floats(10, 300), st.booleans())
def test_cut_text_fits(told: str, width: float, bold: bool) -> None:
    shown = cut(told, width, 12, bold)
    assert width_of(shown, 12, bold) <= width or len(shown) <= 2
    assert "\n" not in shown


def test_png_and_pdf(tmp_path: Path) -> None:
    pytest.importorskip("typst", reason="the extra pictures is not installed")
    made = scene(model(["conv2d", "reluä<&"], [(0, 1)]))
    text = svg(made)
    image = raster.png(text, "t", 1.0)
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    size = tuple(int.from_bytes(image[at : at + 4]) for at in (16, 20))
    root = ElementTree.fromstring(text)
    assert size == pytest.approx([float(root.get(side, 0)) for side in ("width", "height")], abs=1)
    assert raster.png(text) == raster.png(text)
    page = raster.pdf(text, "a\n#title")
    assert page[:5] == b"%PDF-"
    assert page == raster.pdf(text, "a\n#title")
    if shutil.which("pdftotext"):
        (tmp_path / "p.pdf").write_bytes(page)
        shown = subprocess.run(["pdftotext", tmp_path / "p.pdf", "-"], capture_output=True, text=True, check=True)
        assert "reluä<&" in shown.stdout


@given(st.lists(LABELS, max_size=6))
@settings(max_examples=8, deadline=None)
def test_any_labels_become_png_and_pdf(labels: list[str]) -> None:
    pytest.importorskip("typst", reason="the extra pictures is not installed")
    text = svg(scene(model([*labels, *HOSTILE], [(0, 1), (1, 1)])))
    assert raster.png(text, (labels or [""])[0])[:4] == b"\x89PNG"
    assert raster.pdf(text, "".join(HOSTILE))[:4] == b"%PDF"


def test_sizes_of_png_and_pdf() -> None:
    pytest.importorskip("typst", reason="the extra pictures is not installed")
    empty = '<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}"/>'
    for scale in (0.0, -1.0, math.nan, math.inf, 100.0):
        with pytest.raises(UsageError, match="no PNG of"):
            raster.png(empty.format(1000, 1000), "", scale)
    with pytest.raises(UsageError, match="too many for a PNG"):
        raster.png(empty.format(40_000, 40_000))
    wide = raster.png(empty.format(20_000, 1_000))
    assert int.from_bytes(wide[16:20]) == pytest.approx(20_000 * math.sqrt(64 / 20), rel=0.01)
    assert re.search(rb"MediaBox\s*\[\s*0 0 14400 1440\s*\]", raster.pdf(empty.format(40_000, 4_000)))
