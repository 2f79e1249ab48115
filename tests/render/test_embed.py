"""Viewers in pages that are not ours, driven through the JavaScript API alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.render.browsing import Open, settle
from tests.render.embedding import DEEP_DOM, HOST_STYLE, compare, graph, host

from fxstore.render import embedded

TWO = (
    '<div id="a" class="mine" style="height:400px;width:900px"></div>'
    '<div id="b" style="height:400px;width:900px"></div><div id="c" style="height:600px;width:1200px"></div>'
)


@pytest.fixture
def open_host(open_url: Open, tmp_path: Path) -> Open:
    """Opens a host page; its payloads are ``given`` there."""

    def opened(body: str = TWO, payloads: dict[str, Any] | None = None, **options: Any) -> Any:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.html"
        page = open_url(host(path, body, **options), viewport={"width": 1300, "height": 900})
        page.evaluate("(text) => { window.given = JSON.parse(text); }", json.dumps(payloads or {"g": graph()}))
        settle(page)
        return page

    return opened


def create(page: Any, name: str, config: str = "") -> None:
    page.evaluate(
        f"() => {{ window.{name} = FXGraphViewer.create({{ payload: given.g, mount: {{ root: '#{name}' }},"
        f"{config} }}); {name}.init(); }}"
    )
    settle(page)


def state(page: Any, name: str) -> dict[str, Any]:
    return page.evaluate(f"() => {name}.getState()")


def pixel(page: Any, name: str, node: str) -> list[int]:
    """Returns the colour that is painted near a node's right edge."""
    return page.evaluate(
        "([name, node]) => { const viewer = window[name]; const place = viewer.model.place(node);"
        "const { pane } = viewer.shell; const [left, top, width, height] = pane.boxOf(place);"
        "return [...pane.context.getImageData(left + width - 6, top + height / 2, 1, 1).data].slice(0, 3); }",
        [name, node],
    )


def click(page: Any, name: str, node: str) -> None:
    point = page.evaluate(f"() => {name}.shell.pane.pointOf({name}.model.place('{node}'))")
    page.mouse.click(point["x"], point["y"])
    settle(page)


def test_two_viewers_on_one_page_do_not_disturb_each_other(open_host: Open) -> None:
    page = open_host(head=f"<style>{HOST_STYLE}</style>")
    before = page.evaluate("() => Object.keys(window)")
    empty = page.evaluate(DEEP_DOM, page.query_selector("#a"))
    create(page, "a")
    create(page, "b", "state: { theme: 'dark', selectedNodeId: 'n4' }")
    added = set(page.evaluate("() => Object.keys(window)")) - set(before)
    assert added == {"a", "b"}
    page.evaluate("() => { a.selectNode('n2'); a.search('op1'); a.setLayers(['lat']); a.setColorBy('lat'); }")
    settle(page)
    assert state(page, "a")["selectedNodeId"] == "n2"
    other = state(page, "b")
    assert (other["selectedNodeId"], other["searchQuery"], other["theme"]) == ("n4", "", "dark")
    assert (other["activeExtensions"], other["colorBy"]) == ([], "base")
    page.keyboard.press("f")
    page.evaluate("() => a.destroy()")
    assert page.evaluate(DEEP_DOM, page.query_selector("#a")) == empty
    page.evaluate("() => b.selectNode('n5')")
    assert state(page, "b")["selectedNodeId"] == "n5"


def test_neither_page_spoils_the_style_of_the_other(open_host: Open) -> None:
    page = open_host(TWO + "<button id=own>own</button>", head=f"<style>{HOST_STYLE}</style>")
    look = (
        "() => { const s = getComputedStyle(document.querySelector('#own')); return [s.color, s.fontSize, s.padding]; }"
    )
    own = page.evaluate(look)
    create(page, "a")
    assert page.evaluate(look) == own
    button = page.locator("#a").get_by_role("button", name="Fit")
    assert button.evaluate("(e) => parseFloat(getComputedStyle(e).fontSize)") < 13
    assert button.evaluate("(e) => getComputedStyle(e).letterSpacing") == "normal"
    page.evaluate("() => a.selectNode('n1')")
    assert page.locator("#a table").first.evaluate("(e) => getComputedStyle(e).display") == "table"
    assert page.evaluate("() => a.shell.pane.canvas.getBoundingClientRect().height") > 200


def test_each_method_does_what_it_says(open_host: Open) -> None:
    page = open_host()
    create(page, "a")
    view = "() => a.getState().camera"
    page.evaluate("() => a.selectNode('n11', { k: 2 })")
    assert page.evaluate(view)["k"] == 2
    centre = page.evaluate(
        "() => { const p = a.shell.pane; return p.boxOf(11)[0] + p.boxOf(11)[2] / 2 - p.size.width / 2; }"
    )
    assert abs(centre) < 1
    page.evaluate("() => a.selectNode('n0', { center: false })")
    assert page.evaluate("() => a.shell.pane.inView(0)") is False
    page.evaluate("() => a.panToNode('n0')")
    assert page.evaluate("() => a.shell.pane.inView(0)") is True
    page.evaluate("() => a.animateToNode('n6', { k: 1.5 })")
    settle(page)
    assert page.evaluate(view)["k"] == 1.5
    page.evaluate("() => a.zoomToFit()")
    assert page.evaluate("() => [0, 11].every((node) => a.shell.pane.inView(node))")
    assert page.evaluate("() => a.search('op3')") == ["n3", "n8"]
    page.evaluate("() => a.clearSelection()")
    assert state(page, "a")["selectedNodeId"] is None
    page.evaluate("() => a.replaceState({ selectedNodeId: 'n3', activeExtensions: ['lat'] })")
    now = state(page, "a")
    assert (now["selectedNodeId"], now["activeExtensions"], now["searchQuery"]) == ("n3", ["lat"], "")
    page.evaluate("() => a.setState({ camera: { x: 5, y: 6, k: 0.5 }, highlightAncestors: false })")
    now = state(page, "a")
    assert now["camera"] == {"x": 5, "y": 6, "k": 0.5}
    assert now["highlightAncestors"] is False
    page.evaluate("() => a.renderAll()")
    page.evaluate("() => { a.addHighlightGroup('g', ['n1', 'nope'], 'orange'); }")
    assert state(page, "a")["highlightGroups"] == {"g": {"nodeIds": ["n1"], "color": "#ffa500"}}
    page.evaluate(
        "() => { a.removeHighlightGroup('g'); a.destroy(); a.destroy(); a.selectNode('n1'); a.setLayout({}); }"
    )


def test_events_tell_what_changed_and_who_did_it(open_host: Open) -> None:
    page = open_host()
    create(page, "a")
    page.evaluate(
        "() => { window.log = []; const names = ['selectionchange', 'statechange', 'layoutchange', 'hover',"
        "'themechange', 'error'];"
        "const keep = (e) => log.push([e.type, e.source, e.nodeId ?? null, e.prevNodeId ?? null]);"
        "window.offs = names.map((name) => a.on(name, keep)); }"
    )
    take = "() => log.splice(0).filter(([type, , id]) => type !== 'hover' || id)"
    page.evaluate("() => a.selectNode('n1')")
    assert page.evaluate(take) == [["statechange", "api", None, None], ["selectionchange", "api", "n1", None]]
    click(page, "a", "n2")
    told = page.evaluate(take)
    assert ["selectionchange", "ui", "n2", "n1"] in told
    assert ["hover", "ui", "n2", None] in told
    page.evaluate("() => a.setTheme('dark')")
    assert [entry[0] for entry in page.evaluate(take)] == ["statechange", "themechange"]
    page.evaluate("() => a.setLayout({ panels: { sidebar: { width: 300 } } })")
    assert page.evaluate(take) == [["layoutchange", "api", None, None]]
    assert state(page, "a")["layoutState"]["sidebarWidth"] == 300
    page.evaluate(
        "() => a.batch(() => { a.selectNode('n3'); a.selectNode('n4'); a.setColorBy('lat'); a.selectNode('n5'); })"
    )
    assert page.evaluate(take) == [["statechange", "api", None, None], ["selectionchange", "api", "n5", "n2"]]
    page.evaluate("() => a.selectNode('nowhere')")
    assert [entry[0] for entry in page.evaluate(take)] == ["error"]
    assert state(page, "a")["selectedNodeId"] == "n5"
    with pytest.raises(Exception, match="no theme sepia"):
        page.evaluate("() => a.setTheme('sepia')")
    page.evaluate(take)
    page.evaluate("() => { offs[0](); a.off('statechange', () => {}); a.selectNode('n6'); }")
    assert page.evaluate(take) == [["statechange", "api", None, None]]


def test_layers_colour_label_and_explain_and_change_at_run_time(open_host: Open) -> None:
    page = open_host()
    create(page, "a", "state: { highlightAncestors: false }")
    plain = pixel(page, "a", "n2")
    page.evaluate("() => { a.setLayers(['lat']); a.setColorBy('lat'); a.selectNode('n2', { center: false }); }")
    settle(page)
    assert pixel(page, "a", "n2") == [0, 170, 0]
    table = page.locator("#a .fx-details table").inner_text()
    assert all(text in table for text in ("Latency.ms", "0.5", "args"))
    assert page.locator("#a .fx-legend").inner_text().startswith("slow")
    assert page.evaluate("() => a.layers.lines(2)") == ["0.5 ms"]
    page.evaluate(
        "() => a.patchLayerNodes('lat', { n2: { fill_color: '#aa0000', label_append: ['new'], info: { ms: 9 } } })"
    )
    settle(page)
    assert pixel(page, "a", "n2") == [170, 0, 0]
    assert "9" in page.locator("#a .fx-details table").inner_text()
    page.evaluate("() => { a.setLayers([]); a.setColorBy('base'); }")
    settle(page)
    assert pixel(page, "a", "n2") == plain
    assert "Latency.ms" not in page.locator("#a .fx-details table").inner_text()
    page.evaluate("() => { a.setLayers(['lat']); a.setColorBy('lat'); }")
    settle(page)
    assert pixel(page, "a", "n2") == [170, 0, 0]
    page.evaluate(
        "() => { const nodes = { n2: { fill_color: 'teal', info: { v: 1 } } };"
        "a.upsertLayer('mine', { name: 'Mine', legend: [], nodes });"
        "a.setLayerLabel('mine', 'Yours'); a.setColorBy('mine'); }"
    )
    settle(page)
    assert pixel(page, "a", "n2") == [0, 128, 128]
    page.evaluate("() => a.setColorRule('mine', (said) => said.info.v > 0 ? '#010203' : null)")
    settle(page)
    assert pixel(page, "a", "n2") == [1, 2, 3]
    assert page.locator("#a select[aria-label='Colour by'] option").all_inner_texts() == [
        "base",
        "Latency",
        "Part",
        "Yours",
    ]
    page.evaluate("() => a.removeLayer('mine')")
    settle(page)
    assert state(page, "a")["colorBy"] == "base"
    assert pixel(page, "a", "n2") == plain


def test_controls_show_what_the_api_does_and_the_other_way_round(open_host: Open) -> None:
    page = open_host()
    create(page, "a")
    part = page.locator("#a")
    page.evaluate("() => { a.setLayers(['lat']); a.setColorBy('part'); a.setTheme('dark'); a.search('op2'); }")
    assert part.locator("select[aria-label='Colour by']").input_value() == "part"
    assert part.locator("select[aria-label=Theme]").input_value() == "dark"
    assert part.locator("input[type=search]").input_value() == "op2"
    part.get_by_text("Layers").click()
    assert part.get_by_label("Latency").is_checked()
    part.get_by_label("Part").check()
    part.get_by_label("Latency").uncheck()
    assert state(page, "a")["activeExtensions"] == ["part"]
    part.locator("select[aria-label='Colour by']").select_option("lat")
    part.locator("select[aria-label=Theme]").select_option("light")
    part.locator("input[type=search]").fill("op3")
    part.get_by_role("button", name="⇅").click()
    now = state(page, "a")
    assert (now["colorBy"], now["theme"], now["searchQuery"], now["highlightAncestors"]) == (
        "lat",
        "light",
        "op3",
        False,
    )
    page.evaluate("() => a.setUIVisibility({ search: false, theme: false, legend: false })")
    assert not part.locator("input[type=search]").is_visible()
    assert not part.locator(".fx-legend").is_visible()
    assert state(page, "a")["uiVisibility"]["search"] is False
    page.evaluate("() => a.setUIVisibility({ toolbar: false })")
    assert not part.get_by_text("Layers").is_visible()


def test_a_viewer_fills_the_screen_and_leaves_it(open_host: Open) -> None:
    page = open_host()
    create(page, "a", "layout: { fullscreen: { button: true } }")
    page.locator("#a").get_by_role("button", name="Full screen").click()
    page.wait_for_function("() => document.fullscreenElement?.parentElement?.id === 'a'")
    page.evaluate("() => a.exitFullscreen()")
    page.wait_for_function("() => document.fullscreenElement === null")
    page.locator("#a canvas").first.click()
    page.evaluate("() => a.enterFullscreen()")
    page.wait_for_function("() => document.fullscreenElement !== null")
    page.evaluate("async () => { await a.exitFullscreen(); await a.exitFullscreen(); }")
    page.evaluate("() => { a.setLayout({ fullscreen: { enabled: false } }); return a.enterFullscreen(); }")
    assert page.evaluate("() => document.fullscreenElement") is None


def test_a_registered_theme_can_be_used(open_host: Open) -> None:
    page = open_host()
    page.evaluate(
        "() => FXGraphViewer.registerTheme('sepia',"
        "{ bg: '#f4ecd8', chrome: { panel: '#eee0c0' }, nodeFill: '#102030' })"
    )
    create(page, "a", "state: { theme: 'sepia' }")
    panel = page.locator("#a .fx-embed-bar").evaluate("(e) => getComputedStyle(e).backgroundColor")
    assert panel == "rgb(238, 224, 192)"
    assert pixel(page, "a", "n1") == [16, 32, 48]
    assert "sepia" in page.locator("#a select[aria-label=Theme] option").all_inner_texts()
    with pytest.raises(Exception, match="registerTheme"):
        page.evaluate("() => FXGraphViewer.registerTheme('', {})")


@pytest.mark.parametrize(
    ("preset", "shown"),
    [
        ("split", {"toolbar": True, "info": True, "minimap": True, "legend": True}),
        ("compact", {"toolbar": True, "info": False, "minimap": False, "legend": True}),
        ("headless", {"toolbar": False, "info": False, "minimap": False, "legend": False}),
        ("custom", {"toolbar": True, "info": False, "minimap": False, "legend": True}),
    ],
)
def test_presets(open_host: Open, preset: str, shown: dict[str, bool]) -> None:
    page = open_host()
    create(page, "a", f"layout: {{ preset: '{preset}' }}")
    parts = {"toolbar": ".fx-embed-bar", "info": ".fx-details", "minimap": ".fx-map", "legend": ".fx-embed-legend"}
    assert {name: page.locator(f"#a {selector}").is_visible() for name, selector in parts.items()} == shown
    page.evaluate("() => a.setLayout({ panels: { info: { visible: true }, minimap: { visible: true, height: 111 } } })")
    assert page.locator("#a .fx-details").is_visible()
    assert page.locator("#a .fx-map").bounding_box()["height"] == pytest.approx(110, abs=2)
    page.evaluate("() => a.setLayout({ panels: { sidebar: { visible: false } } })")
    assert not page.locator("#a .fx-details").is_visible()


def test_the_side_bar_is_resized_and_folded_by_hand(open_host: Open) -> None:
    page = open_host()
    create(page, "a", "layout: { panels: { sidebar: { width: 300 } } }")
    page.evaluate("() => { window.log = []; a.on('layoutchange', ({ source }) => log.push(source)); }")
    edge = page.get_by_role("separator", name="Width of the details")
    edge.press("ArrowLeft")
    assert state(page, "a")["layoutState"]["sidebarWidth"] == 324
    edge.dblclick()
    assert not page.locator("#a .fx-details").is_visible()
    assert state(page, "a")["layoutState"]["sidebarCollapsed"] is True
    edge.dblclick()
    assert page.locator("#a .fx-details").is_visible()
    assert set(page.evaluate("() => log")) == {"ui"}


def test_slots_hold_the_parts_and_stay_the_hosts_own(open_host: Open) -> None:
    names = ["canvas", "toolbar", "info", "minimap", "legend"]
    body = "".join(
        f'<div id="s-{name}" class="x" style="height:150px;width:500px" data-q="1"><i>mine</i></div>' for name in names
    )
    page = open_host(f'<div id="a"></div>{body}')
    tags = (
        "() => [...document.querySelectorAll('.x')]"
        ".map((e) => e.cloneNode(false).outerHTML + e.firstElementChild.outerHTML)"
    )
    before = page.evaluate(tags)
    slots = ", ".join(f"{name}: '#s-{name}'" for name in names)
    page.evaluate(
        f"() => {{ window.a = FXGraphViewer.create({{ payload: given.g, mount: {{ root: '#a', slots: {{{slots}}} }},"
        "layout: { preset: 'headless' } }); a.init(); a.selectNode('n1'); }"
    )
    settle(page)
    for name, part in zip(
        names, [".fx-mount canvas", ".fx-embed-bar", ".fx-details", ".fx-map", ".fx-legend"], strict=True
    ):
        assert page.locator(f"#s-{name} {part}").is_visible(), name
    assert "n1" in page.locator("#s-info table").inner_text()
    assert page.evaluate(tags) == before
    page.evaluate("() => a.destroy()")
    assert page.evaluate(tags) == before
    assert page.evaluate("() => document.querySelectorAll('fxstore-view').length") == 0


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
