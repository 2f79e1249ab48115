"""The page model of a store: panes, counterparts, colours, the answer; drawings are made once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fxstore import Store, connect
from fxstore.errors import QueryError, UsageError
from fxstore.layout import Drawing
from fxstore.render.page import drawings
from fxstore.render.page.build import page_model
from fxstore.render.page.colors import ALL_STAGES
from fxstore.render.page.options import shown
from tests.query.conftest import nid, tiny
from tests.store.records import chain, graph, metric, node, overlay, run


class Drawn:
    """Stands in for the layout; counts its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, list[tuple[int, int]], list[str | None]]] = []

    def __call__(
        self,
        sizes: Sequence[tuple[float, float]],
        edges: Sequence[tuple[int, int]],
        paths: Sequence[str | None],
        backward: Sequence[bool] | None = None,
        beside: Sequence[float | None] | None = None,
    ) -> Drawing:
        self.calls.append((len(sizes), list(edges), list(paths)))
        n, e = len(sizes), len(edges)
        return Drawing(
            x=np.arange(n, dtype=np.float32), y=np.arange(n, dtype=np.float32) * 50,
            points=np.zeros((2 * e, 2), np.float32), offsets=np.arange(0, 2 * e + 1, 2, dtype=np.int32),
            feedback=np.zeros(e, np.bool_), blocks=("m", "m.é"), block_boxes=np.ones((2, 4), np.float32),
            width=300.0, height=50.0 * n,
        )  # fmt: skip


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    stand_in = Drawn()
    monkeypatch.setattr(drawings, "draw", stand_in)
    return stand_in


def test_panes_are_the_stages_with_all_their_nodes(store: Store, drawn: Drawn) -> None:
    model = page_model(store)
    assert model.title == "tiny"
    assert [pane.title for pane in model.panes] == ["float", "edge"]
    edge = model.panes[1].graphs[0]
    assert edge.title == ""
    assert edge.nodes["nid"].to_pylist() == [nid(store, "edge:x") + i for i in range(5)]
    assert edge.nodes["unmatched"].to_pylist() == [None, None, None, "float: no ancestor", None]
    assert edge.edges["src"].to_pylist() == [0, 1, 2, 3]
    assert edge.edges["dst"].to_pylist() == [1, 2, 3, 4]
    assert all(60 <= width <= 220 for width in edge.nodes["width"].to_pylist())
    assert drawn.calls[1] == (5, [(0, 1), (1, 2), (2, 3), (3, 4)], [None, "c", None, None, None])
    assert ("soc", "s1") in model.facts
    assert ("torch", "2.13") in model.facts


def test_counterparts_light_up_by_the_sets_of_the_run(store: Store, drawn: Drawn) -> None:
    model = page_model(store)
    conv, there = nid(store, "float:conv2d"), nid(store, "edge:aten_convolution_default")
    assert model.focus[conv] == model.focus[there]
    assert sorted(model.sync_sets[model.focus[conv]]) == sorted([(conv, True), (there, True)])
    assert nid(store, "float:mean") not in model.focus


def test_colours_are_the_newest_accuracy_with_reasons(store: Store, drawn: Drawn) -> None:
    (color,) = page_model(store).colors
    assert (color.name, color.metric, color.better) == ("acc", "cosine", "higher")
    assert math.isnan(color.values[nid(store, "edge:relu_1")])
    assert color.values[nid(store, "edge:mean_1")] == 0.2
    assert color.missing == {nid(store, "edge:x"): "no buffer"}


def test_colours_are_offered_in_order_and_chosen(drawn: Drawn) -> None:
    overlays = [
        overlay("one", [metric("a:x", "cosine", 0.1), metric("a:x", "mse", 0.2)], better=None),
        overlay("time", [metric("a:x", "ns", 5.0)], kind="latency", better="lower"),
        overlay("two", [metric("b:y", "cosine", 0.3)], better=None),
    ]
    with connect(":memory:") as store:
        store.commit(run({"a": graph(["x"]), "b": graph(["y"])}, overlays=overlays))

        def names(color_by: str | None) -> list[tuple[str, str]]:
            return [(color.name, color.metric) for color in page_model(store, color_by=color_by).colors]

        everything = [("two", "cosine"), ("one", "cosine"), ("one", "mse"), ("time", "ns")]
        united = (ALL_STAGES, "cosine")
        assert names(None) == [united, *everything]
        assert names("time") == [everything[3], *everything[:3], united]
        assert names("mse")[0] == ("one", "mse")
        assert [color.better for color in page_model(store).colors] == ["higher"] * 3 + ["lower"] * 2
        older = page_model(store, result=store.worst("cosine", overlay="one"))
        assert (older.colors[0].name, older.colors[0].metric) == ("one", "cosine")
        assert page_model(store, result=store.worst("cosine", overlay="one"), color_by="two").colors[0].name == "two"
        of_one_stage = [color.name for color in page_model(store, stages=["a"]).colors]
        assert of_one_stage == ["one", "one", "time", "two"]  # what tells nothing of what is on the page comes last
        with pytest.raises(QueryError, match="no overlay or metric 'tim'") as error:
            names("tim")
        assert error.value.hint == "did you mean 'time'?"
        with pytest.raises(QueryError, match="no overlay or metric 'zzz'") as error:
            names("zzz")
        assert error.value.hint == "there are 'one', 'cosine', 'mse', 'time', 'ns' and 1 more"


def test_stages_that_were_measured_apart_are_coloured_together(drawn: Drawn) -> None:
    overlays = [
        overlay("b vs a", [metric("b:x", "cosine", 0.5), metric("b:y", "cosine", 0.1)]),
        overlay("c vs b", [metric("c:x", "cosine", 0.25), metric("c:y", "cosine", None, reason="no buffer")]),
        overlay("b again", [metric("b:x", "cosine", 0.75)]),
    ]
    with connect(":memory:") as store:
        store.commit(run({stage: graph(["x", "y"]) for stage in "abc"}, overlays=overlays))
        color, *others = page_model(store).colors
        assert (color.name, color.metric) == (ALL_STAGES, "cosine")
        assert [others[part - 1].name for part in color.parts] == ["b again", "c vs b"]
        bx, cx, cy = (nid(store, place) for place in ("b:x", "c:x", "c:y"))
        # Of two overlays of one stage the newest counts, also for nodes of which it has no number.
        assert color.values == {bx: 0.75, cx: 0.25}
        assert color.missing == {cy: "no buffer"}
        # An answer about several overlays is coloured by all of them, one about a single overlay by that one.
        assert page_model(store, result=store.worst("cosine")).colors[0].name == ALL_STAGES
        assert page_model(store, result=store.worst("cosine", overlay="c vs b")).colors[0].name == "c vs b"


def test_the_verdict_stands_on_a_page_of_one_run(store: Store, drawn: Drawn) -> None:
    said = page_model(store).verdict
    assert said is not None
    assert said.level == "bad"
    assert ("aten_convolution_default", nid(store, "edge:aten_convolution_default")) in said.sentences[0]
    assert said.stages == ["float", "edge"]
    store.commit(tiny("other"))
    assert page_model(store, runs=["tiny", "other"]).verdict is None
    assert shown(store, run="tiny", privacy="public").verdict is None


def test_the_answer_is_listed_and_highlighted(store: Store, drawn: Drawn) -> None:
    result = store.worst("cosine")
    model = page_model(store, result=result)
    assert model.answer is not None
    assert model.answer.query == "FROM worst('cosine', n := 20)"
    assert model.answer.nids == [[nid] for nid in result.nids()]
    assert model.answer.note == "3 of 4 nodes measured; not measured: 1 no buffer"
    assert model.highlight == result.nids()
    counterparts = model.answer.columns.index("counterparts")
    assert model.answer.rows[0][counterparts] == "float: relu"
    assert all(cell is None or isinstance(cell, bool | int | float | str) for row in model.answer.rows for cell in row)


def test_an_answer_that_names_no_node_is_completed_and_highlighted(store: Store, drawn: Drawn) -> None:
    asked = "SELECT upper(name) AS name, value FROM worst('cosine', n := 2)"
    result = store.sql(asked)
    model = page_model(store, result=result)
    assert model.answer is not None
    assert model.answer.query == asked
    assert model.answer.columns == ["name", "value"]
    assert [row[0] for row in model.answer.rows] == ["RELU_1", "MEAN_1"]
    assert model.answer.nids == [[nid(store, "edge:relu_1")], [nid(store, "edge:mean_1")]]
    assert model.highlight == result.nids()
    assert len(result.compare().html()) > 10_000
    with pytest.raises(QueryError, match="names no node"):
        store.sql("SELECT count(*) FROM nodes").compare()


def test_a_result_chooses_its_runs(store: Store, drawn: Drawn) -> None:
    store.commit(tiny("other"))
    model = page_model(store, result=store.worst("cosine", run="tiny"))
    assert model.title == "tiny"
    both = page_model(store, result=store.run_diff("tiny", "other"))
    assert [(pane.title, pane.subtitle.split(" ")[0]) for pane in both.panes] == [
        ("float", "tiny"), ("edge", "tiny"), ("float", "other"), ("edge", "other"),
    ]  # fmt: skip
    assert len({nid for pane in both.panes for nid in pane.graphs[0].nodes["nid"].to_pylist()}) == 20


def test_a_result_without_nodes_says_what_to_add(store: Store, drawn: Drawn) -> None:
    with pytest.raises(QueryError, match="names no node"):
        page_model(store, result=store.sql("SELECT DISTINCT name FROM nodes"))


def test_stages_are_chosen_and_wrong_ones_told(store: Store, drawn: Drawn) -> None:
    model = page_model(store, stages=["edge"], highlight=[nid(store, "float:relu"), nid(store, "edge:relu_1")])
    assert [pane.title for pane in model.panes] == ["edge"]
    assert model.highlight == [nid(store, "edge:relu_1")]
    assert all(member >= nid(store, "edge:x") for members in model.sync_sets for member, _ in members)
    for stages in (["egde"], ["edge", "egde"]):
        with pytest.raises(QueryError, match="no stage 'egde'") as error:
            page_model(store, stages=stages)
        assert error.value.hint == "did you mean 'edge'?"


def test_nested_graphs_follow_with_their_backend(drawn: Drawn) -> None:
    inner = graph([node("p", "placeholder"), "mul"], chain("p", "mul"), path="lowered_module_0", parent=("", "call"))
    outer = graph(
        [node("x", "placeholder"), node("call", role="delegate", backend="XnnpackBackend")], chain("x", "call")
    )
    other = graph(["relu"], method="prefill")
    with connect(":memory:") as store:
        store.commit(run({"lowered": [outer, inner, other]}))
        graphs = page_model(store).panes[0].graphs
        assert [g.title for g in graphs] == ["forward", "prefill", "forward/lowered_module_0 · XnnpackBackend"]
        assert [g.parent_nid for g in graphs] == [None, None, nid(store, "lowered:call", "tiny")]


def test_a_drawing_is_made_once_and_kept_in_the_store(store: Store, drawn: Drawn) -> None:
    first = page_model(store)
    assert len(drawn.calls) == 2
    assert len(list(store.path.glob("layouts/v*/??/*.npz"))) == 2
    assert not [path for path in store.path.glob("graphs/**/*.*") if path.suffix != ".parquet"]
    assert not list((store.path / ".staging").iterdir())
    store.commit(tiny("other"))
    with connect(store.path, read_only=True) as again:
        second = page_model(again)
    assert len(drawn.calls) == 2
    for pane, other in zip(first.panes, second.panes, strict=True):
        a, b = pane.graphs[0].drawing, other.graphs[0].drawing
        assert (a.blocks, a.width, a.height) == (b.blocks, b.width, b.height)
        for name in ("x", "y", "points", "offsets", "feedback", "block_boxes"):
            assert np.array_equal(getattr(a, name), getattr(b, name))
            assert getattr(a, name).dtype == getattr(b, name).dtype


def test_a_damaged_drawing_is_made_again(store: Store, drawn: Drawn) -> None:
    page_model(store)
    for path in store.path.glob("layouts/v*/*/*.npz"):
        path.write_bytes(b"PK\x03\x04 not a drawing")
    with connect(store.path, read_only=True) as again:
        page_model(again)
        page_model(again)
    assert len(drawn.calls) == 4


def test_a_drawing_that_cannot_be_kept_is_no_error(store: Store, drawn: Drawn) -> None:
    (store.path / "layouts").write_text("in the way")
    for _ in range(2):
        page_model(store)
    assert len(drawn.calls) == 2
    assert not list((store.path / ".staging").iterdir())


def test_a_read_only_store_is_not_written(store: Store, drawn: Drawn) -> None:
    before = {str(path) for path in store.path.rglob("*")}
    with connect(store.path, read_only=True) as reader:
        page_model(reader)
    assert {str(path) for path in store.path.rglob("*")} == before


def test_an_empty_store_says_so(drawn: Drawn) -> None:
    with connect(":memory:") as store:
        for runs in (None, "some run"):
            with pytest.raises(QueryError, match="holds no run yet"):
                page_model(store, runs)


def test_a_stage_without_graphs_is_an_empty_pane(drawn: Drawn) -> None:
    stages: Any = {"float": graph(["relu"]), "edge": []}
    with connect(":memory:") as store:
        store.commit(run(stages))
        assert [len(pane.graphs) for pane in page_model(store).panes] == [1, 0]


def test_equal_values_and_runs_are_on_the_page(store: Store, drawn: Drawn) -> None:
    model = page_model(store)
    (values,) = model.equal_values
    assert [(n, port) for n, port, _ in values] == [(nid(store, "float:relu"), 0), (nid(store, "edge:relu_1"), 0)]
    assert {pane.run for pane in model.panes} == {store.run("tiny").run_id}  # type: ignore[union-attr]


def test_categories_colour_and_statistics_describe(drawn: Drawn) -> None:
    overlays = [
        overlay("partition", [metric("float:a", "backend", None, text="xnnpack")], kind="category"),
        overlay(
            "values",
            [
                metric("float:a", "mean", 0.5),
                metric("float:a", "histogram", None, text='{"low": 0, "high": 1, "counts": [1, 0, 7]}'),
            ],
            kind="statistics",
        ),
        overlay("payload", [metric("float:b", "score", 2.0, text="an event")], kind="statistics"),
    ]
    with connect(":memory:") as opened:
        opened.commit(run({"float": graph(["a", "b"], chain("a", "b"))}, overlays=overlays))
        model = page_model(opened)
        score, backend = model.colors
        assert (score.metric, list(score.values.values())) == ("score", [2.0])
        assert (backend.metric, list(backend.texts.values())) == ("backend", ["xnnpack"])
        assert list(model.statistics.values()) == [{"mean": 0.5, "histogram": [1, 0, 7]}]


def test_a_public_page_holds_no_code(store: Store) -> None:
    html_model = store.compare(privacy="public").model
    assert not html_model.with_code
    with pytest.raises(UsageError, match="privacy"):
        store.compare(privacy="secret")
    with pytest.raises(UsageError, match="sources"):
        store.compare(privacy="public", with_sources=True)


def test_what_changed_between_two_runs_is_coloured(store: Store, drawn: Drawn) -> None:
    store.commit(tiny("other"))
    model = page_model(store, runs=["tiny", "other"])
    here, there = nid(store, "float:conv2d", "tiny"), nid(store, "edge:aten_convolution_default", "other")
    assert there in dict(model.sync_sets[model.focus[here]])
    (change,) = [color for color in model.colors if color.metric == "change"]
    assert change.name == "tiny → other"
    assert set(change.texts.values()) == {"same"}
    assert model.colors[0].metric == "cosine"
    diff = store.sql("FROM run_diff('tiny', 'other')")
    assert page_model(store, ["tiny", "other"], result=diff).colors[0].metric == "change"
