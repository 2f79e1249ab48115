"""Overlay kinds, colour rules and pane types of an installed package outside of this tree; docs/adapters.md."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fxstore
from fxstore.errors import UsageError
from fxstore.fx_viewer import ColorRule, GraphExtension, NumericColorRule, color_rule, runtime_js
from fxstore.ingest import NodeOverlay, OverlayKind
from tests.runs import example_run

PACKAGE = '''
"""Energy per operator, a traffic light, and a list of nodes as a pane."""

from fxstore.fx_viewer import ColorRule
from fxstore.ingest import OverlayKind

ENERGY = OverlayKind("energy that an operator takes", unit="uJ", better="lower", public=True)
SECRET = OverlayKind("a guess")
NO_KIND = "energy"
ODD = OverlayKind(better="up")


class TrafficLight(ColorRule):
    def __init__(self, attribute, limit=1.0):
        super().__init__(attribute)
        self.limit = limit

    def apply(self, nodes_data):
        light = {True: "#cc0000", False: "#00aa00"}
        colors = {node: light[data[self.attribute] > self.limit] for node, data in nodes_data.items()}
        return colors, [{"label": "over", "color": light[True]}, {"label": "within", "color": light[False]}]


def no_rule(attribute):
    return attribute


def node_list():
    return """({ root, payload, select }) => {
      const items = payload.base.nodes.map(({ id }) => {
        const item = root.appendChild(document.createElement("button"));
        item.textContent = `item ${id}`;
        item.onclick = () => select(id);
        return [id, item];
      });
      return { show: (ids) => items.forEach(([id, item]) => (item.ariaPressed = String(ids.includes(id)))) };
    }"""


def unsafe():
    return "() => '</script>'"


def nothing():
    return None


def failing():
    raise OSError("no file")
'''
ENTRY_POINTS = """[fxstore.overlay_kinds]
energy = outside_energy:ENERGY
secret = outside_energy:SECRET
no-kind = outside_energy:NO_KIND
odd = outside_energy:ODD
accuracy = outside_energy:ENERGY
broken = outside_missing:KIND
[fxstore.color_rules]
traffic-light = outside_energy:TrafficLight
no-rule = outside_energy:no_rule
numeric = outside_energy:no_rule
[fxstore.pane_types]
node-list = outside_energy:node_list
unsafe = outside_energy:unsafe
nothing = outside_energy:nothing
failing = outside_energy:failing
"""


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package, as pip would lay it into a directory of the path."""
    about = tmp_path / "site" / "outside_energy-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: outside-energy\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "site" / "outside_energy.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield tmp_path / "site"
    sys.modules.pop("outside_energy", None)


def recorded(store: Any, **about: Any) -> Any:
    run = store.commit(example_run())
    nodes = [name for (name,) in store.sql("SELECT name FROM nodes WHERE stage = 'edge' AND role = 'op'").fetchall()]
    with store.record("energy", **about) as rec:
        rec.stage("edge", stage_of(nodes))
        rec.overlay("meter", {nodes[0]: 3.0, nodes[1]: 9.0}, kind="energy", metric="energy")
        rec.overlay("guess", {nodes[0]: 1.0}, kind="secret", metric="guess")
    return run, nodes


def stage_of(names: list[str]) -> Any:
    from fxstore.ingest import Ingested, Node, Stage, graph_of

    nodes = [Node(name, "relu", [names[i - 1]] if i else []) for i, name in enumerate(names)]
    return Ingested((Stage("", (graph_of(nodes)[0],)),))


def test_an_overlay_of_another_packages_kind(outside: Path) -> None:
    with fxstore.connect(":memory:") as store:
        _, nodes = recorded(store)
        about = store.sql("SELECT kind, unit, better FROM overlays WHERE name = 'meter'").fetchall()
        assert about == [("energy", "uJ", "lower")]
        worst = store.sql("SELECT name, value FROM worst('energy', run := 'energy')").fetchall()
        assert worst[0] == (nodes[1], 9.0)
        shown = store.compare(run="energy", color_by="energy").model.colors[0]
        assert (shown.unit, shown.better) == ("uJ", "lower")


def test_only_a_kind_that_says_so_is_public(outside: Path) -> None:
    with fxstore.connect(":memory:") as store:
        recorded(store)
        page = store.compare(run="energy", privacy="public")
        assert {"energy"} <= {one.metric for one in page.model.colors}
        assert "guess" not in {one.metric for one in page.model.colors}
    with fxstore.connect(":memory:") as store:
        recorded(store, privacy="public")
        kinds = store.sql("SELECT DISTINCT kind FROM overlays WHERE run_id = (SELECT run_id FROM runs LIMIT 1)")
        assert "energy" in {kind for (kind,) in kinds}
        assert "secret" not in {kind for (kind,) in kinds}


def test_kinds_that_are_none(outside: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [{"node": "a", "metric": "m", "value": 1.0}]
    for kind, told in (
        ("energie", "no overlay kind 'energie'"),
        ("no-kind", "is no fxstore.ingest.OverlayKind, but str"),
        ("odd", "better cannot be 'up'"),
        ("broken", "overlay kind 'broken' cannot be loaded: ModuleNotFoundError"),
    ):
        with pytest.raises(UsageError, match=told):
            NodeOverlay.of("o", kind, rows)
    with pytest.raises(UsageError) as error:
        NodeOverlay.of("o", "latencies", rows)
    assert error.value.hint == "did you mean 'latency'?"
    from fxstore.kinds import kind_of, public_kinds

    assert kind_of("accuracy").unit is None, "fxstore's own cannot be replaced"
    with caplog.at_level(logging.WARNING):
        assert public_kinds() == ("latency", "category", "static", "energy")
    assert "overlay kind broken cannot be loaded" in caplog.text


def test_a_color_rule_of_another_package(outside: Path) -> None:
    rule = color_rule("traffic-light", "uj", limit=5.0)
    assert isinstance(rule, ColorRule)
    layer = GraphExtension(id="energy", name="Energy")
    layer.add_node_data("a", {"uj": 3.0})
    layer.add_node_data("b", {"uj": 9.0})
    layer.set_color_rule(rule)
    built = layer.build()
    assert {node: said["fill_color"] for node, said in built["nodes"].items()} == {"a": "#00aa00", "b": "#cc0000"}
    assert isinstance(color_rule("numeric", "uj", cmap="reds"), NumericColorRule), "fxstore's own cannot be replaced"
    for name, options, told in (
        ("trafic-light", {}, "no color rule 'trafic-light'"),
        ("no-rule", {}, "is no ColorRule, but str"),
        ("traffic-light", {"limits": 1}, "cannot be made: TypeError"),
    ):
        with pytest.raises(UsageError, match=told):
            color_rule(name, "uj", **options)


def test_pane_types_whose_scripts_cannot_be_used(outside: Path) -> None:
    for name, told in (
        ("nod-list", "no pane type 'nod-list'"),
        ("unsafe", "not safe inside a page: '</script'"),
        ("nothing", "gives no script"),
        ("failing", "gives no script: OSError: no file"),
    ):
        with pytest.raises(UsageError, match=told):
            runtime_js([name])
    assert runtime_js(["node-list"]) == runtime_js(["node-list", "node-list"])
    assert runtime_js(["node-list"]).startswith(runtime_js())


def test_a_pane_type_of_another_package_takes_part(outside: Path, browser: Any, tmp_path: Path) -> None:
    nodes = [{"id": name, "x": 50, "y": 60 * i, "width": 80, "height": 30} for i, name in enumerate("ab")]
    payload = json.dumps({"base": {"nodes": nodes, "edges": [{"v": "a", "w": "b"}]}, "extensions": {}})
    page_file = tmp_path / "page.html"
    page_file.write_text(
        '<!doctype html><meta charset=utf-8><div id="c" style="height:500px;width:900px"></div>'
        f"<script>{runtime_js(['node-list'])}</script><script>const payload = {payload};"
        "const a = FXGraphViewer.create({ payload, mount: { root: document.createElement('div') } });"
        "FXGraphCompare.create({ viewers: [a, { type: 'node-list', name: 'L', payload }],"
        "layout: { container: '#c' } });"
        "</script>",
        encoding="utf-8",
    )
    page = browser.new_page()
    noise: list[str] = []
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.goto(page_file.as_uri())
    page.get_by_role("button", name="item b").click()
    assert page.evaluate("() => a.getState().selectedNodeId") == "b"
    page.evaluate("() => a.selectNode('a')")
    assert page.get_by_role("button", name="item a").get_attribute("aria-pressed") == "true"
    page.close()
    assert noise == []


def test_they_are_listed_without_being_imported(outside: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(outside)!r}); from fxstore.cli import run;"
        " [run(['adapters', what]) for what in ('overlay-kinds', 'color-rules', 'pane-types')];"
        " print([name for name in sys.modules if name.startswith('outside')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert {"energy\toutside_energy:ENERGY", "traffic-light\toutside_energy:TrafficLight"} <= {*lines}
    assert "node-list\toutside_energy:node_list" in lines
    assert lines[-1] == "[]"


def test_a_kind_is_plain_data() -> None:
    assert OverlayKind() == OverlayKind("", None, None, False)
