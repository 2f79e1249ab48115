"""Compares, scripts and panes in pages that are not ours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fxstore.render import embedded
from tests.render.browsing import Open, settle
from tests.render.embedding import DEEP_DOM, TWO, click, compare, create, graph, state


def test_a_compare_selects_what_corresponds_and_gives_everything_back(open_host: Open) -> None:
    payload = graph()
    payload["base"]["nodes"][0]["info"]["unmatched"] = "folded"
    body = '<div id="c" style="height:600px;width:1200px"></div>' + TWO.partition('<div id="c"')[0]
    page = open_host(body, {"g": payload})
    create(page, "a")
    create(page, "b", "state: { theme: 'light' }")
    dom = page.evaluate(DEEP_DOM, page.query_selector("body"))
    page.evaluate(
        "() => { window.c = FXGraphCompare.create({ viewers: new Map([['left', a], ['right', b]]),"
        "layout: { container: '#c' }, sync: { mode: 'auto' }, sharedTaskbar: { enabled: true } }); }"
    )
    settle(page)
    assert page.locator("#c .fx-cmp-col canvas").count() == 4
    page.evaluate("() => a.selectNode('n5')")
    settle(page)
    assert state(page, "b")["selectedNodeId"] == "n5"
    assert page.locator("#c .fx-cmp-info table").inner_text().count("n5") >= 2
    page.evaluate("() => c.setSync({ mode: 'none' })")
    page.evaluate("() => { a.clearSelection(); b.clearSelection(); a.selectNode('n1'); }")
    assert state(page, "b")["selectedNodeId"] is None
    page.evaluate("() => c.setSync({ mode: 'layer', layer: 'lat', field: 'handles' })")
    page.evaluate("() => { b.patchLayerNodes('lat', { n10: { info: { handles: [4] } } }); a.selectNode('n4'); }")
    assert state(page, "b")["selectedNodeId"] == "n10"
    page.evaluate(
        "() => c.setSync({ mode: 'auto', sync_sets: [[[0, 'n4', true], [1, 'n7', true], [1, 'n8', false]]] })"
    )
    assert state(page, "b")["selectedNodeId"] == "n7"
    page.evaluate("() => a.selectNode('n0')")
    assert state(page, "b")["selectedNodeId"] is None
    assert "no counterpart: folded" in page.locator("#c .fx-cmp").inner_text()
    with pytest.raises(Exception, match="no sync mode"):
        page.evaluate("() => c.setSync({ mode: 'magic' })")
    page.evaluate("() => a.setTheme('dark')")
    assert state(page, "b")["theme"] == "dark"
    page.locator("#c .fx-cmp > .fx-embed-bar select[aria-label=Theme]").select_option("light")
    assert state(page, "a")["theme"] == "light"
    with pytest.raises(Exception, match="one compare at a time"):
        page.evaluate("() => FXGraphCompare.create({ viewers: [a], layout: { container: '#c' } })")
    columns = "() => getComputedStyle(c.grid).gridTemplateColumns.split(' ').length"
    assert page.evaluate(columns) == 2
    page.evaluate("() => c.setColumns(1)")
    assert page.evaluate(columns) == 1
    page.evaluate(
        "() => { a.replaceState({}); b.replaceState({}); b.patchLayerNodes('lat', {}); c.destroy(); c.destroy(); }"
    )
    settle(page)
    page.evaluate("() => { a.init(); b.init(); }")
    settle(page)
    assert page.evaluate(DEEP_DOM, page.query_selector("body")) == dom
    page.evaluate("() => a.selectNode('n2')")
    assert state(page, "b")["selectedNodeId"] is None


def test_viewers_that_are_nowhere_can_be_compared(open_host: Open) -> None:
    page = open_host('<div id="c" style="height:600px;width:1200px"></div>')
    page.evaluate(
        "() => { const made = () => FXGraphViewer.create({ payload: given.g,"
        "mount: { root: document.createElement('div') } }); window.v = [made(), made(), made()];"
        "window.c = FXGraphCompare.create({ viewers: v, layout: { container: '#c', columns: 3 } }); }"
    )
    settle(page)
    page.evaluate("() => { window.a = v[2]; }")
    click(page, "a", "n3")
    assert page.evaluate("() => v.map((one) => one.getState().selectedNodeId)") == ["n3"] * 3
    assert page.evaluate("() => v.every((one) => one.shell.pane.size.width > 300)")
    page.keyboard.press("]")
    assert page.evaluate("() => v.map((one) => one.getState().selectedNodeId)") == ["n4"] * 3
    page.keyboard.press("Escape")
    assert page.evaluate("() => v.map((one) => one.getState().selectedNodeId)") == [None] * 3


def test_scripts_mount_anywhere_and_often(open_host: Open) -> None:
    one = embedded.script(graph(), "s0")
    places = "".join(f'<div id="s{i}" style="height:120px"></div>' for i in range(9))
    body = (
        f'{places}<div id="hidden" style="display:none"></div><div id="shadow"></div>'
        f"<script>{one}</script>" + "".join(f"<script>{embedded.script(graph(4), f's{i}')}</script>" for i in range(9))
    )
    page = open_host(body, bundle=False)
    page.evaluate("async () => { for (let i = 0; i < 9; i++) await fxstore.mounted('s' + i); }")
    assert page.evaluate("() => document.querySelectorAll('fxstore-view').length") == 9
    assert page.evaluate("async () => (await fxstore.mounted('s0')).scene.nodeCount") == 4
    page.evaluate(
        "async () => { window.h = await fxstore.mount('hidden', given.g);"
        "document.querySelector('#hidden').style.display = 'block';"
        "const root = document.querySelector('#shadow').attachShadow({ mode: 'open' });"
        "const inner = document.createElement('div');"
        "root.append(inner); window.w = await fxstore.mount(inner, given.g); }"
    )
    settle(page)
    assert page.evaluate("() => [h, w].map((one) => one.shell.pane.size.height > 200)") == [True, True]
    page.evaluate("() => h.selectNode('n3')")
    assert page.evaluate("() => [h, w].map((one) => one.getState().selectedNodeId)") == ["n3", None]


def test_a_compare_payload_mounts_as_the_compare_page(open_host: Open) -> None:
    script = embedded.script(compare(graph(), graph(6)), 'odd "id" </script>')
    page = open_host(
        f"<div id='odd \"id\" &lt;/script>' style='height:500px'></div><script>{script}</script>", bundle=False
    )
    page.evaluate("async () => { window.p = await fxstore.mounted('odd \"id\" </script>'); p.selectNode(0, 'n3'); }")
    settle(page)
    assert page.evaluate("() => p.selected()") == [{"pane": 0, "id": "n3"}, {"pane": 1, "id": "n3"}]
    page.evaluate("() => p.destroy()")
    assert page.evaluate("() => document.querySelectorAll('fxstore-view').length") == 0


def test_hosts_with_a_strict_policy_get_a_styled_viewer(open_host: Open) -> None:
    policy = "default-src 'none'; script-src 'nonce-abc'; style-src 'none'; require-trusted-types-for 'script'"
    page = open_host(
        '<div id="a"></div><div id="b"></div>',
        head=f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        nonce="abc",
    )
    create(page, "a")
    assert page.locator("#a .fx-embed-bar").evaluate("(e) => getComputedStyle(e).display") == "flex"
    page.evaluate(
        "() => { const place = document.createElement('div'); document.body.append(place);"
        "const c = FXGraphCompare.create({ viewers: [a], layout: { container: place },"
        "sharedTaskbar: { enabled: true } });"
        "c.destroy(); a.setTheme('dark'); a.selectNode('n1'); }"
    )
    page.evaluate(
        "async () => { const p = await fxstore.mount('b', { viewers: [{ payload: given.g }] }); p.destroy(); }"
    )
    assert page.evaluate("() => a.shell.pane.size.height") > 200


def test_hostile_strings_stay_text(open_host: Open) -> None:
    bad = '"></script><img src=x onerror="alert(1)">\u202e\x00'
    payload = graph(3, layers=False, name=bad, note=bad, target=bad)
    payload["base"]["nodes"][0] |= {"id": bad, "label": bad, "tooltip": [bad], "fill_color": "url(http://x/y)"}
    payload["base"]["legend"] = [{"label": bad, "color": "url(http://x/z)"}]
    payload["extensions"] = {bad: {"name": bad, "nodes": {bad: {"info": {bad: bad}, "label_append": [bad]}}}}
    page = open_host(TWO, {"g": payload}, bundle=True)
    create(page, "a", "state: { activeExtensions: Object.keys(given.g.extensions) }")
    page.evaluate("(bad) => { a.selectNode(bad); a.setColorBy(bad); a.search(bad); }", bad)
    settle(page)
    assert page.locator("#a img").count() == 0
    assert "<img" in page.locator("#a .fx-details").inner_text()
    text = embedded.script(payload, bad) + embedded.html(payload, bad)
    assert "<img" not in text
    assert text.count("</script") == 2
    script = f"<script>{embedded.script(payload, 'b')}</script>"
    other = open_host(TWO + script, bundle=False)
    other.evaluate("async () => { await fxstore.mounted('b'); }")


def test_ten_thousand_nodes_open_quickly(open_host: Open) -> None:
    page = open_host(payloads={"g": graph(10_000, 40)})
    took = page.evaluate(
        "async () => { const began = performance.now();"
        "window.a = FXGraphViewer.create({ payload: given.g, mount: { root: '#a' },"
        "state: { activeExtensions: ['lat'], colorBy: 'lat' } }); a.init();"
        "await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));"
        "return performance.now() - began; }"
    )
    assert took < 8000
    page.evaluate("() => { a.selectNode('n9000'); a.search('op3'); a.setColorBy('part'); }")
    assert page.evaluate("() => a.getState().searchCandidates.length") == 2000


def test_a_compare_holds_panes_of_a_hosts_own_type(open_host: Open) -> None:
    page = open_host('<div id="c" style="height:600px;width:1200px"></div>')
    page.evaluate(
        "() => { FXGraphCompare.registerPaneType('list', ({ root, payload, select }) => {"
        "const buttons = payload.base.nodes.map(({ id }) => { const one = document.createElement('button');"
        "one.textContent = `item ${id}`; one.onclick = () => select(id); root.append(one); return [id, one]; });"
        "return { show: (ids, primary) => buttons.forEach(([id, one]) => {"
        "one.ariaPressed = String(ids.includes(id)); one.ariaCurrent = String(id === primary); }),"
        "destroy: () => (window.gone = true) }; });"
        "window.a = FXGraphViewer.create({ payload: given.g, mount: { root: document.createElement('div') } });"
        "window.c = FXGraphCompare.create({ viewers: [a, { type: 'list', name: 'List', payload: given.g }],"
        "layout: { container: '#c' }, sharedTaskbar: { enabled: true } }); }"
    )
    settle(page)
    page.get_by_role("button", name="item n4").click()
    assert state(page, "a")["selectedNodeId"] == "n4"
    page.evaluate("() => a.selectNode('n6')")
    item = page.get_by_role("button", name="item n6")
    assert item.get_attribute("aria-pressed") == "true"
    assert item.get_attribute("aria-current") == "true"
    assert page.locator("#c .fx-cmp-info table thead").inner_text().split() == ["Graph", "1", "List"]
    page.evaluate("() => { a.setTheme('dark'); a.clearSelection(); c.zoomToFit(); c.destroy(); }")
    assert page.evaluate("() => gone") is True
    with pytest.raises(Exception, match="no pane type chart; registered are: list"):
        page.evaluate("() => FXGraphCompare.create({ viewers: [{ type: 'chart' }], layout: { container: '#c' } })")


def test_every_documented_method_is_there(open_host: Open) -> None:
    text = (Path(__file__).parents[2] / "docs" / "embedding.md").read_text(encoding="utf-8")
    viewer, _, several = text.partition("## One graph")[2].partition("## Several graphs")
    tables = "\n".join(line for line in viewer.splitlines() if line.startswith("| `"))
    named = set(re.findall(r"`(?:FXGraphViewer\.)?([a-z]\w+)\(", tables)) | {"create"}
    asked = (
        "init renderAll getState setState setTheme setLayers setColorBy selectNode clearSelection search panToNode "
        "animateToNode zoomToFit setUIVisibility setLayout upsertLayer removeLayer patchLayerNodes enterFullscreen "
        "exitFullscreen destroy on off registerTheme"
    )
    assert set(asked.split()) <= named
    methods = re.findall(r"`([a-z]\w+)\(", several.partition("## Scripts")[0])
    page = open_host()
    for kind, names in (("FXGraphViewer", named), ("FXGraphCompare", {*methods, "setColumns", "setSync", "destroy"})):
        missing = page.evaluate(
            f"(names) => names.filter((name) => typeof ({kind}.prototype[name] ?? {kind}[name]) !== 'function')",
            sorted(names),
        )
        assert missing == [], kind
