"""What the README and the pages of docs/ show is what happens: each command, each block of Python, each doctest."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests import nights, page_scopes, pages
from tests.conftest import Demo

SHOWN = {path.name: pages.blocks(path) for path in (pages.page("README.md"), *sorted(pages.DOCS.glob("*.md")))}
COMMANDS = [(name, place) for name, blocks in SHOWN.items() for place in range(len(blocks))]
CODE = {name: code for name in SHOWN if (code := pages.python_blocks(pages.page(name)))}
DEMO = "fxstore demo"
# tests/ingest/test_adapters_docs.py runs its adapters; spark.md is a doctest.
ELSEWHERE = {"adapters.md", "spark.md"}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Returns what the commands of a page show, run in order in the page's folder."""

    @cache
    def shown(name: str, demo: Demo | None) -> list[str]:
        folder = demo.folder / "work" if demo else tmp_path_factory.mktemp("page")
        if demo is None:
            pages.FOLDERS[name](folder)
        said = demo.err + demo.out if demo else ""
        return [said if demo and command == DEMO else pages.run(command, folder) for command, _ in SHOWN[name]]

    return shown


@pytest.mark.parametrize(("name", "place"), COMMANDS, ids=[f"{n}: {SHOWN[n][i][0][:50]}" for n, i in COMMANDS])
def test_a_command_shows_what_the_page_says(real: Any, name: str, place: int, request: pytest.FixtureRequest) -> None:
    if name in pages.TORCH:
        pytest.importorskip("executorch", reason="the page compiles a network")
    demo = request.getfixturevalue("demo") if name in pages.OF_DEMO else None
    command, said = SHOWN[name][place]
    found = real(name, demo)[place]
    if command == DEMO:  # its progress may stand anywhere among what it prints
        said, found = (_steps_first(text) for text in (said, found))
    assert pages.differing(said, found) == [], command


def _steps_first(text: str) -> str:
    return "\n".join(sorted(text.splitlines(), key=lambda line: not line.startswith("[")))


def test_a_cut_cell_is_compared_as_far_as_it_shows() -> None:
    assert not pages.differing("│ conv2d_5 │ aten_conv… │", "│ conv2d_5 │ aten_convolution_default_… │")
    assert not pages.differing("│ x │ dequantize_per_tensor_18 │", "│ x │ … │")
    assert pages.differing("│ x │ aten_conv… │", "│ x │ aten_relu… │")
    assert pages.differing("│ x │ 0.91 │", "│ x │ 0.92 │")
    assert pages.differing("one", "one\ntwo") == [(["(no line)"], ["two"])]


def test_every_page_with_commands_has_a_folder() -> None:
    assert {name for name, blocks in SHOWN.items() if blocks} == set(pages.FOLDERS)


def test_every_page_with_python_is_run() -> None:
    assert set(CODE) == set(page_scopes.SCOPES) | ELSEWHERE


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A network of delegates and portable kernels, lowered and run."""
    pytest.importorskip("executorch")
    from tests.ingest.traced import traced

    return traced(tmp_path_factory.mktemp("traced"))


@pytest.mark.parametrize("name", page_scopes.SCOPES)
def test_the_python_of_a_page_runs(
    name: str, compiled: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("net.etdp", "net.bin"):
        (tmp_path / file).write_bytes((compiled["folder"] / file).read_bytes())
    scope = page_scopes.SCOPES[name](compiled)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for code in CODE[name]:
            exec(compile(code, name, "exec"), scope)
    if name == "README.md":
        assert (tmp_path / "worst.html").stat().st_size > 10_000


@pytest.mark.skipif(
    any(importlib.util.find_spec(package) is None for package in ("datafusion", "pysail", "pyspark")),
    reason="needs the extras spark and datafusion",
)
def test_the_page_on_other_engines_shows_what_happens(tmp_path: Path) -> None:
    nights.make(tmp_path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "doctest", str(pages.DOCS / "spark.md")],
        cwd=tmp_path,
        env=os.environ | {"SAIL_MODE": "local-cluster", "RUST_LOG": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ">>>" in (pages.DOCS / "spark.md").read_text("utf-8")


def test_the_first_screen_has_the_two_commands() -> None:
    first = pages.page("README.md").read_text("utf-8").splitlines()[:26]
    commands = [line for line in first if line.startswith("python3 -m venv")]
    assert [command.rpartition("&& .venv/bin/")[2] for command in commands] == ["fxstore demo", "pytest"]


def test_the_tutorial_names_the_guilty_node(real: Any) -> None:
    pytest.importorskip("executorch")
    place = next(i for i, (command, _) in enumerate(SHOWN["tutorial.md"]) if command.startswith("fxstore first-bad"))
    lines = real("tutorial.md", None)[place].splitlines()
    assert sum(" conv2d_5 " in line and "blocks.2.depthwise" in line for line in lines) == 1
