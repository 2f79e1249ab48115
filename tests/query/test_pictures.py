"""Stages, selections and answers of a store as still pictures."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from fxstore import Store, connect
from fxstore.cli import run as command
from fxstore.errors import MissingExtraError, QueryError, UsageError
from tests.query.test_debugger import partitioned

_TITLE = "{http://www.w3.org/2000/svg}title"


def names(path: Path) -> set[str]:
    """The names of the nodes of a picture: the first lines of what their boxes tell."""
    told = [one.text or "" for one in ElementTree.parse(path).iter(_TITLE)]
    return {text.split("\n")[0] for text in told if "\n" in text}


def nid(store: Store, name: str, stage: str) -> int:
    (found,) = store.sql("SELECT nid FROM nodes WHERE name = ? AND stage = ?", [name, stage]).fetchall()[0]
    return int(found)


def test_a_stage_a_selection_and_an_answer(store: Store, tmp_path: Path) -> None:
    whole = store.export("svg", tmp_path / "all.svg")
    assert {"conv2d", "aten_convolution_default"} <= names(whole)
    stage = names(store.export("svg", tmp_path / "edge.svg", stages="edge"))
    assert stage == {row[0] for row in store.sql("SELECT name FROM nodes WHERE stage = 'edge'")}
    one = nid(store, "aten_convolution_default", "edge")
    assert names(store.export("svg", tmp_path / "near.svg", nids=[one], hops=0)) == {"aten_convolution_default"}
    assert len(names(store.export("svg", tmp_path / "one.svg", nids=[one]))) > 1
    query = "SELECT nid FROM nodes WHERE name = 'aten_convolution_default'"
    for number, asked in enumerate((query, store.sql(query))):
        path = store.export("svg", tmp_path / f"{number}.svg", query=asked, hops=0)
        assert names(path) == {"aten_convolution_default"}
        assert query in path.read_text()
    marked = store.export("svg", tmp_path / "whole.svg", query=query, whole=True)
    assert names(marked) == stage
    assert "in the answer" in marked.read_text() or "the answer" in marked.read_text()
    both = names(store.export("svg", tmp_path / "both.svg", nids=[one], hops=0, stages=["float", "edge"]))
    assert "conv2d" in both


def test_verdicts_colour_pictures_and_pages(tmp_path: Path) -> None:
    with connect(":memory:") as store:
        store.commit(partitioned())
        text = store.export("svg", tmp_path / "v.svg", color_by="verdict").read_text()
        assert "fail 1" in text
        assert "#f08a80" in text
        dark = store.export("dot", tmp_path / "v.dot", color_by="verdict", theme="dark").read_text()
        assert 'fillcolor="#a8362c"' in dark
        assert store.compare(color_by="verdict").model.colors[0].name == "verdict"
        with pytest.raises(QueryError, match="verdict"):
            store.export("svg", tmp_path / "p.svg", color_by="verdict", privacy="public")
        assert not (tmp_path / "p.svg").exists()


@pytest.mark.parametrize(
    ("form", "options", "told"),
    [
        ("svg", {"colour": "cosine"}, "takes no 'colour'"),
        ("csv", {"stages": ["edge"]}, "takes no 'stages'"),
        ("csv", {"run": ["a"]}, "one run or of all"),
        ("svg", {"stages": ["egde"]}, "no stage 'egde'"),
        ("svg", {"color_by": "cosin"}, "no overlay or metric 'cosin'"),
        ("svg", {"theme": "blue"}, "no theme 'blue'"),
        ("svg", {"cluster": "module"}, "cluster is for dot"),
        ("dot", {"cluster": "modul"}, "no cluster 'modul'"),
        ("pdf", {"scale": 2.0}, "scale is for png"),
        ("png", {"scale": -1.0}, "no PNG of"),
        ("svg", {"query": "SELECT 1"}, "names no node"),
        ("svg", {"query": "SELECT nid FROM nodes", "nids": [1]}, "two selections"),
        ("svg", {"nids": [3]}, "no run"),
        ("svg", {"privacy": "secret"}, "privacy"),
        ("jpg", {}, "no export format 'jpg'"),
    ],
)
def test_one_line_for_what_cannot_be(store: Store, tmp_path: Path, form: str, options: Any, told: str) -> None:
    if form == "png":
        pytest.importorskip("typst")
    run = options.pop("run", None) and ["a"]
    with pytest.raises((UsageError, QueryError), match="no run 'a'" if run else told):
        store.export(form, tmp_path / "out", run=run, **options)
    assert list(tmp_path.iterdir()) == [tmp_path / "store"] or not list(tmp_path.iterdir())


def test_without_the_extra_it_says_what_to_install(store: Store, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(__import__("sys").modules, "typst", None)
    with pytest.raises(MissingExtraError) as error:
        store.export("pdf", tmp_path / "out.pdf")
    assert error.value.hint == 'pip install "fxstore[pictures]"'
    assert not (tmp_path / "out.pdf").exists()
    assert store.export("svg", tmp_path / "out.svg").exists()


def test_a_public_picture_tells_nothing_private(store: Store, tmp_path: Path) -> None:
    for form in ("svg", "dot"):
        text = store.export(form, tmp_path / f"p.{form}", privacy="public", query="FROM worst('cosine')").read_text()
        assert "cosine" not in text
        assert "aten_convolution_default" in text


def test_the_command(store: Store, tmp_path: Path, capsys: Any) -> None:
    at = ["export", "--store", str(store.path)]
    out = tmp_path / "a.svg"
    assert (
        command([*at, "svg", "-o", str(out), "--query", "FROM worst('cosine')", "--stage", "edge", "--hops", "0"]) == 0
    )
    assert "Wrote" in capsys.readouterr().err
    assert "aten_convolution_default" in names(out)
    assert command([*at, "svg", "-o", str(out)]) == 2
    assert command([*at, "csv", "-o", str(tmp_path / "c"), "--theme", "dark"]) == 2
    assert "takes no 'theme'" in capsys.readouterr().err
    assert command([*at, "dot", "-o", str(out), "-f", "--cluster", "none", "--color-by", "role", "--title", "T"]) == 0
    assert out.read_text().startswith("digraph")


def test_a_training_step_has_two_clusters_and_its_own_colours(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from fxstore.ingest import capture_joint

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU(), torch.nn.Linear(4, 2))
    with connect(":memory:") as store:
        store.ingest(capture_joint(model, (torch.randn(3, 4),)))
        dot = store.export("dot", tmp_path / "j.dot", stages="joint").read_text()
        assert set(re.findall(r'label="(forward|backward)\\l"', dot)) == {"forward", "backward"}
        assert "category · training step" in dot
        assert 'BGCOLOR="#ffcf2e"' in dot
        svg = store.export("svg", tmp_path / "j.svg", stages="joint").read_text()
        assert "saved" in svg
        if shutil.which("dot"):
            subprocess.run(["dot", "-Tsvg", "-o", "/dev/null", tmp_path / "j.dot"], check=True, timeout=60)
