"""Pages made from JSON payloads: ours, the prototype's, and those that cannot be shown."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from fxstore.cli import run
from fxstore.render import embedded
from tests.render.browsing import Open, settle
from tests.render.embedding import compare, graph
from tests.render.made_pages import STAGES, page_model


def saved(path: Path, payload: Any) -> Path:
    path.write_text(payload if isinstance(payload, str) else json.dumps(payload), encoding="utf-8")
    return path


def show(open_url: Open, tmp_path: Path, payload: dict[str, Any]) -> Any:
    """Opens the page that the command line makes of a payload."""
    out = tmp_path / "out.html"
    assert run(["compare", "--payload", str(saved(tmp_path / "saved.json", payload)), "-o", str(out)]) == 0
    page = open_url(out.as_uri())
    page.wait_for_function("() => window.fxstore !== undefined")
    settle(page)
    return page


def ours() -> dict[str, Any]:
    """Returns a compare payload with every optional part."""
    first, second = graph(6, 2), graph(6, 2, layers=False)
    first["base"]["nodes"][5]["id"] = "true/add"
    first["base"]["edges"] = [{"v": "n0", "w": "n2", "src_port": 1, "dst_arg": "weight", "feedback": False}]
    first["base"]["graphs"] = [
        {"title": "", "parent": None, "nodes": 5, "edges": 1, "left": 0, "top": 0, "width": 400, "height": 300},
        {"title": "true", "parent": "n4", "nodes": 1, "edges": 0, "left": 150, "top": 150, "width": 200, "height": 120},
    ]
    first["base"]["blocks"] = [{"path": "m", "graph": 0, "left": 10, "top": 0, "width": 190, "height": 180}]
    sets = [[[0, "n0", True], [1, "n1", True], [1, "n2", False]], [[0, "true/add", True], [1, "n5", True]]]
    payload = compare(first, second, sync_sets=sets, focus=[{"n0": 0}, {"n1": 0}])
    for part in (payload, *(viewer["payload"] for viewer in payload["viewers"])):
        part |= {"schema": "fxstore.compare" if "viewers" in part else "fxstore.graph", "version": 1}
    return payload


def test_a_saved_compare_payload_becomes_the_compare_page(open_url: Open, tmp_path: Path) -> None:
    page = show(open_url, tmp_path, ours())
    assert page.title() == "Side by side"
    assert page.evaluate("() => fxstore.panes().map((pane) => pane.nodes)") == [6, 6]
    page.evaluate("() => fxstore.page.selectNode(0, 'n0')")
    assert page.evaluate("() => fxstore.counterparts().map((one) => [one.name, one.primary])") == [
        ["n1", True],
        ["n2", False],
    ]
    settle(page)
    assert "debug_handle" in page.locator(".fx-details table").inner_text()
    page.evaluate("() => fxstore.page.selectNode(0, 'n3')")
    assert page.evaluate("() => fxstore.counterparts()") == []
    assert "stage=graph+0" in page.evaluate(
        "async () => { await new Promise((d) => setTimeout(d, 400)); return location.hash; }"
    )
    page.evaluate("() => fxstore.page.setSync({ mode: 'id' })")
    assert page.evaluate("() => fxstore.counterparts().map((one) => one.name)") == ["n3"]
    page.evaluate("() => fxstore.compare.foldTo(0)")
    assert page.evaluate("() => [...fxstore.compare.scene.holder].filter((by) => by >= 0).length") > 0


def test_layers_are_chosen_in_the_page(open_url: Open, tmp_path: Path) -> None:
    page = show(open_url, tmp_path, compare(graph(), graph(), state={"activeExtensions": ["lat"], "colorBy": "lat"}))
    assert page.locator(".fx-legend").inner_text().startswith("slow")
    assert page.evaluate("() => fxstore.page.layers.lines(2)") == ["0.5 ms"]
    page.locator("summary", has_text="Layers").click()
    assert page.get_by_role("checkbox", name="Latency").is_checked()
    page.get_by_role("checkbox", name="Latency").uncheck()
    assert page.evaluate("() => fxstore.page.layers.lines(2)") == []
    page.get_by_label("Synchronise by").select_option(label="lat.handles")
    page.evaluate("() => fxstore.page.selectNode(0, 'n4')")
    assert page.evaluate("() => fxstore.page.selected().map((one) => one.id)") == ["n4", "n4"]
    page.get_by_label("Synchronise by").select_option(label="not at all")
    assert page.evaluate("() => fxstore.page.selected().map((one) => one.id)") == ["n4"]


def test_a_graph_of_the_prototype_becomes_a_page(open_url: Open, tmp_path: Path) -> None:
    payload = graph()
    payload["viewer"] = {"unknown": 1}
    page = show(open_url, tmp_path, payload)
    assert page.title() == "saved"
    assert page.evaluate("() => fxstore.model().nodes") == 12
    assert page.evaluate("() => fxstore.page.layers.lines(2)") == ["0.5 ms"]
    assert page.locator("select[aria-label='Synchronise by']").is_hidden()
    page.evaluate(
        "() => { window.a = FXGraphViewer.create({ payload: {base: {nodes: []}}, mount: { root: document.body } }); }"
    )
    assert page.evaluate("() => a.getState().selectedNodeId") is None


def test_our_own_pages_carry_the_api_too(open_page: Open) -> None:
    page = open_page(page_model(4, STAGES[:2]))
    page.evaluate(
        "() => { const place = document.createElement('div'); document.body.append(place); const payload ="
        "{ base: { nodes: [{ id: 'n', x: 0, y: 0, width: 90, height: 30 }], edges: [] }, extensions: {} };"
        "window.v = fxstore.FXGraphViewer.create({ payload, mount: { root: place } }); v.selectNode('n'); }"
    )
    assert page.evaluate("() => v.getState().selectedNodeId") == "n"
    assert page.evaluate("() => fxstore.selected()") is None
    assert page.evaluate("() => FXGraphCompare === fxstore.FXGraphCompare")


def with_scripts(path: Path, *parts: str) -> str:
    """Writes a page with two places and scripts between them, and returns its address."""
    scripts = "".join(f"<script>{part}</script>" for part in parts)
    places = '<div id="one" style="height:300px"></div><div id="two" style="height:300px"></div>'
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{places}{scripts}</body>", encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (1, 2, 0)])
def test_exports_on_one_page_share_a_viewer(open_url: Open, tmp_path: Path, order: tuple[int, ...]) -> None:
    one, two = (embedded.script(graph(6), place, runtime=False) for place in ("one", "two"))
    assert one == embedded.script(graph(6), "one", runtime=False)
    assert len(one) < 4_000 < 100_000 < len(embedded.runtime_js())
    assert embedded.script(graph(6), "one") == embedded.runtime_js() + one
    parts = (embedded.runtime_js(), one, two)
    page = open_url(with_scripts(tmp_path / "page.html", *(parts[i] for i in order)))
    settle(page)
    for place in ("one", "two"):
        chosen = (
            f"async () => {{ const v = await fxstore.mounted('{place}'); v.selectNode('n3'); return v.getState(); }}"
        )
        assert page.evaluate(chosen)["selectedNodeId"] == "n3"


def test_an_export_without_a_viewer_says_so(open_url: Open, tmp_path: Path) -> None:
    page = open_url(with_scripts(tmp_path / "page.html", embedded.script(graph(2), "one", runtime=False)))
    assert page.locator("#one").inner_text() == "This graph needs the fxstore viewer: load its script on this page."
    page.add_script_tag(content=embedded.runtime_js())
    page.wait_for_function("() => fxstore.mounted('one')")
    settle(page)
    assert page.evaluate("async () => (await fxstore.mounted('one')).getState().selectedNodeId") is None
    assert "needs the fxstore viewer" not in page.locator("#one").inner_text()


def test_a_page_is_the_same_every_time_and_holds_no_text_of_the_payload() -> None:
    payload = compare(graph(2, name="</script><script>alert(1)</script>"))
    payload["title"] = '<img src="http://example.org">'
    page = embedded.html(payload)
    assert page == embedded.html(json.loads(json.dumps(payload)))
    assert "alert(1)" not in page
    assert "example.org" not in page
    assert re.search(r"default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'", page)


def test_numbers_that_json_has_not_are_kept_as_texts() -> None:
    page = embedded.PayloadPage(graph(1, layers=False, a=float("nan"), b=[float("inf")], c=-float("inf")))
    assert page.html() == embedded.html(graph(1, layers=False, a="NaN", b=["Infinity"], c="-Infinity"))


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "it is no object"),
        ({}, "it has no object base"),
        ({"base": {"nodes": 3}}, "base.nodes is no list"),
        ({"base": {"nodes": [{"x": 1}], "edges": []}}, r"base.nodes\[0\] has no id"),
        ({"base": {"nodes": [], "edges": [{"v": "a"}]}}, r"base.edges\[0\] has no w"),
        (graph(1) | {"version": 2}, "its version is 2"),
        (graph(1) | {"schema": "other"}, "its schema is 'other'"),
        (graph(1) | {"extensions": []}, "extensions is no object"),
        ({"viewers": []}, "viewers is no list"),
        ({"viewers": [{"name": "a"}]}, r"in viewers\[0\]: it has no payload"),
        (compare(graph(1) | {"version": 3}), r"in viewers\[0\]: its version is 3"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], payload: Any, said: str
) -> None:
    out = tmp_path / "out.html"
    assert run(["compare", "--payload", str(saved(tmp_path / "bad.json", payload)), "-o", str(out)]) == 1
    message, hint = capsys.readouterr().err.splitlines()
    assert re.search(said, message)
    assert hint.startswith("  ")
    assert not out.exists()


def test_a_payload_takes_no_options_of_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(tmp_path / "a.json", graph(1))
    out = tmp_path / "o.html"

    def verb(*arguments: str) -> int:
        return run(["compare", "--payload", str(file), "-o", str(out), *arguments])

    assert verb("--stage", "edge") == 2
    assert verb("--payload", str(tmp_path / "none.json")) == 1
    assert "cannot read" in capsys.readouterr().err
    assert verb("--title", "Mine") == 0
    assert "Wrote" in capsys.readouterr().err
    assert verb() == 2
    assert verb("-f") == 0


@pytest.mark.parametrize(
    ("name", "selected"),
    [
        ("viewer", "viewer"),
        ("slots", "viewer"),
        ("compare", "right"),
        ("script", "(await fxstore.mounted('place'))"),
        ("shared", "(await fxstore.mounted('quantized'))"),
    ],
)
def test_the_examples_run(browser: Any, tmp_path: Path, name: str, selected: str) -> None:
    examples = Path(__file__).parents[2] / "examples" / "embed"
    runpy.run_path(str(examples / "write.py"))["write"](tmp_path)
    (tmp_path / f"{name}.html").write_text((examples / f"{name}.html").read_text(encoding="utf-8"), encoding="utf-8")
    page = browser.new_page()
    noise: list[str] = []
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("request", lambda request: request.url.startswith(tmp_path.as_uri()) or noise.append(request.url))
    page.goto((tmp_path / f"{name}.html").as_uri())
    if name == "viewer":
        page.locator("#limit").fill("2")
        page.locator("#worst").click()
    settle(page)
    node = {"viewer": "conv", "slots": "conv_relu", "compare": "conv_relu", "script": "linear", "shared": "conv_relu"}[
        name
    ]
    assert page.evaluate(f"async () => {selected}.getState().selectedNodeId") == node
    if name == "compare":
        page.locator("#end").click()
        assert page.locator("#left canvas").first.is_visible()
    page.close()
    assert noise == []
