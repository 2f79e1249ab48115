"""Viewers in pages that are not ours, driven through the JavaScript API alone."""

from __future__ import annotations

import pytest

from tests.render.browsing import Open, settle
from tests.render.embedding import DEEP_DOM, HOST_STYLE, TWO, click, create, pixel, state


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
