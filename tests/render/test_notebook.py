"""Pages in notebooks: a run notebook as HTML, opened offline, and the widget's two sides."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import fxstore
from fxstore import MissingExtraError
from fxstore.render import Page
from fxstore.store import open_directory, write_run
from tests.render.made_pages import page_model
from tests.runs import example_run

CELLS = (
    "import fxstore\nstore = fxstore.connect('runs')\nstore.worst('cosine')",
    "store.compare(title='In a notebook')",
)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook that was run, as HTML."""
    nbclient, nbconvert = pytest.importorskip("nbclient"), pytest.importorskip("nbconvert")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    folder = tmp_path_factory.mktemp("notebook")
    write_run(open_directory(folder / "runs"), example_run())
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jupyter warns of its own event loop
        nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
        text, _ = nbconvert.HTMLExporter(template_name="basic").from_notebook_node(notebook)
    path = folder / "notebook.html"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_run_notebook_shows_table_and_page_offline(exported: Path, browser: Any) -> None:
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    noise: list[str] = []
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("request", lambda request: request.url.startswith(exported.as_uri()) or noise.append(request.url))
    page.goto(exported.as_uri())
    assert "aten_addmm_default" in page.locator("table").first.inner_text()
    frame = page.frame_locator("iframe[title=fxstore]")
    frame.get_by_role("heading", name="In a notebook").wait_for()
    assert frame.locator("canvas").count() >= 2
    context.close()
    assert noise == []


HOST = """<!doctype html><meta charset="utf-8"><div id="cell"></div><script type="module">
const listeners = {};
const state = %s;
window.model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; },
  save_changes: () => { window.saved = { ...state, html: null }; },
  on: (event, listener) => { listeners[event] = listener; },
  off: (event) => { delete listeners[event]; },
  put: (name, value) => { state[name] = value; listeners[`change:${name}`](); },
};
%s
window.leave = render({ model: window.model, el: document.querySelector("#cell") });
window.listening = () => Object.keys(listeners);
</script>"""


def test_the_widgets_selection_goes_both_ways(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("anywidget")
    widget = Page(page_model(2)).widget(height=500)
    assert (widget.selected, widget.height) == (None, 500)
    state = json.dumps({"html": widget.html, "selected": None, "height": 500}).replace("</", "<\\/")
    host = tmp_path / "host.html"
    host.write_text(HOST % (state, widget._esm.replace("export default { render };", "")), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1200, "height": 700})
    page.goto(host.as_uri())
    frame = page.frames[-1] if len(page.frames) > 1 else page.wait_for_event("frameattached")
    frame.wait_for_function("() => window.fxstore !== undefined")
    first, second = frame.evaluate("fxstore.nids(0).slice(0, 2)")

    page.evaluate("(nid) => model.put('selected', nid)", first)
    frame.wait_for_function("(nid) => fxstore.selected() === nid", arg=first)
    frame.evaluate("(nid) => fxstore.select(nid)", second)
    page.wait_for_function("(nid) => window.saved?.selected === nid", arg=second)
    frame.evaluate("() => fxstore.select(null)")
    page.wait_for_function("() => window.saved.selected === null")

    page.evaluate("() => model.put('height', 300)")
    assert page.evaluate("document.querySelector('iframe').style.height") == "300px"
    page.evaluate("() => leave()")
    assert page.evaluate("() => listening()") == []
    page.close()


def test_a_selection_that_is_set_before_it_is_shown_is_shown(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("anywidget")
    page_ = Page(page_model(2))
    widget = page_.widget()
    nid = int(page_.model.panes[0].graphs[0].nodes["nid"][3].as_py())
    widget.selected = nid
    state = json.dumps({"html": widget.html, "selected": widget.selected, "height": 400}).replace("</", "<\\/")
    host = tmp_path / "host.html"
    host.write_text(HOST % (state, widget._esm.replace("export default { render };", "")), encoding="utf-8")
    page = browser.new_page()
    page.goto(host.as_uri())
    frame = page.frames[-1] if len(page.frames) > 1 else page.wait_for_event("frameattached")
    frame.wait_for_function("(nid) => window.fxstore?.selected() === nid", arg=nid)
    page.close()


def test_clicks_are_seen_in_python() -> None:
    traitlets = pytest.importorskip("traitlets")
    pytest.importorskip("anywidget")
    widget = Page(page_model(1)).widget()
    seen: list[Any] = []
    widget.observe(lambda change: seen.append(change["new"]), names="selected")
    widget.set_state({"selected": 12})  # what the front end sends
    assert (widget.selected, seen) == (12, [12])
    with pytest.raises(traitlets.TraitError):
        widget.selected = "conv"


def test_without_anywidget_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fxstore.render.widget", None)
    with pytest.raises(MissingExtraError) as error:
        Page(page_model(1)).widget()
    assert error.value.hint == 'pip install "fxstore[notebook]"'


def test_no_output_of_a_store_needs_the_widget(tmp_path: Path) -> None:
    write_run(open_directory(tmp_path), example_run())
    with fxstore.connect(tmp_path) as store:
        assert store.compare()._repr_html_().startswith("<iframe")
        assert "<table" in store.worst("cosine")._repr_html_()
