from __future__ import annotations

import base64
import hashlib
import html
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fxstore.errors import FxstoreError
from fxstore.render import Answer, Page, PageModel, Pane
from tests.render.made_pages import Sketch, page_model
from tests.render.unpacking import Elements, payload_of

HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<!--<script>",
    "<img src=x onerror=window.hacked=1>",
    "\" onmouseover='window.hacked=1'",
    "\u2028\u2029\0\x1b[31m",
    "\u202egnp.exe",
    "${policy} $payload {{x}} %s",
    "\ud800",
    "]]>&lt;&amp;",
)


def hostile_page() -> PageModel:
    """A page each of whose strings is hostile."""
    text = " ".join(HOSTILE[:7]) + HOSTILE[8]
    sketch = Sketch(5)
    for i in range(3):
        cells = dict.fromkeys(("name", "target", "role", "dtype", "module_path", "backend"), text)
        more = dict.fromkeys(("source_file", "source_code", "attrs", "unmatched"), text)
        sketch.add(str(i), text, [i - 1] if i else [], **cells, **more, shape=[text])
    graph = replace(sketch.drawn(), title=text)
    answer = Answer(text, [text], [(text,), (HOSTILE[7],)], [[5], []], text)
    model = page_model(1, ("float",))
    colors = tuple(replace(by, name=text, metric=text, unit=text, missing={5: text}) for by in model.colors)
    title = text + HOSTILE[7]
    return PageModel(
        title, (Pane(title, (graph,), title),), [[(5, True)]], {5: 0}, colors, answer, [5], [(title, title)]
    )


def test_no_string_of_a_model_becomes_part_of_the_page() -> None:
    plain, hostile = (Elements(Page(model).html()) for model in (page_model(1), hostile_page()))
    assert hostile.seen == plain.seen
    assert hostile.text == plain.text
    assert hostile.scripts[1:] == plain.scripts[1:]
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", hostile.scripts[0])


def test_hostile_strings_arrive_unchanged() -> None:
    model = hostile_page()
    header = payload_of(Page(model).html()).header
    assert header["title"] == model.title
    assert header["answer"]["rows"][1] == [HOSTILE[7]]


def test_the_policy_forbids_everything_but_the_page_itself() -> None:
    elements = Elements(Page(page_model(1)).html())
    (policy,) = [
        a["content"] for tag, a in elements.seen if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    ]
    digest = base64.b64encode(hashlib.sha256(elements.scripts[1].encode()).digest()).decode()
    assert policy is not None
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert not [a for tag, a in elements.seen if tag == "link" or "src" in a or "href" in a]


def test_saving_tells_where_and_never_overwrites_unasked(tmp_path: Path) -> None:
    page, target = Page(page_model(1)), tmp_path / "out.html"
    assert page.save(target) == target
    assert target.read_text(encoding="utf-8") == page.html()
    target.write_text("mine", encoding="utf-8")
    with pytest.raises(FxstoreError, match="exists") as caught:
        page.save(str(target))
    assert caught.value.hint
    assert caught.value.exit_code == 2
    assert target.read_text(encoding="utf-8") == "mine"
    page.save(target, overwrite=True)
    assert target.read_text(encoding="utf-8") == page.html()
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", ["missing/out.html", "."])
def test_saving_where_nothing_can_be_saved(tmp_path: Path, name: str) -> None:
    with pytest.raises(FxstoreError) as caught:
        Page(page_model(1)).save(tmp_path / name, overwrite=True)
    assert caught.value.hint


def test_a_failed_save_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        Page(page_model(1)).save(tmp_path / "out.html")
    assert not list(tmp_path.iterdir())


def test_a_notebook_gets_the_page_in_a_sandboxed_frame() -> None:
    page = Page(page_model(1))
    ((tag, attributes),) = Elements(page._repr_html_()).seen
    assert tag == "iframe"
    assert attributes["sandbox"] == "allow-scripts"
    assert attributes["srcdoc"] == page.html()
    assert html.escape(page.html()) in page._repr_html_()


def test_show_opens_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url))
    page = Page(page_model(1))
    page.show()
    (file,) = tmp_path.iterdir()
    assert opened == [file.as_uri()]
    assert file.read_text(encoding="utf-8") == page.html()


def test_rendering_needs_neither_torch_nor_a_database() -> None:
    code = "import sys, fxstore.render; print({'torch', 'executorch', 'duckdb', 'pandas'} & set(sys.modules))"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    assert (
        subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
        == "set()\n"
    )
