"""Every script of bench says what it takes, and what is wrong with what it is given."""

from __future__ import annotations

import logging
import runpy
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
SCRIPTS = sorted(path.stem for path in BENCH.glob("*.py") if '\nif __name__ == "__main__":' in path.read_text("utf-8"))
OPTIONAL = {"page": "playwright", "layout_pictures": "playwright"}
PLAIN = {"__main__", "compare", "diff", "engines", "link_speed", "query", "soak", "store"}
"""What needs neither torch nor executorch."""
WRONG = {
    "__main__": ("pages", "there is no area 'pages'"),
    "compare": ("no-such.json no-other.json", "there is no no-such.json"),
    "diff": ("more", "unrecognized arguments: more"),
    "engines": (". oracle", "there is no 'oracle'"),
    "faults": ("bert --every 0", "'0' is no whole number above 0"),
    "gaps": ("alexnet", "there is no 'alexnet'; there are mobilenet"),
    "ingest": ("--large", "unrecognized arguments: --large"),
    "layout": ("no-such.json", "there is no no-such.json"),
    "layout_pictures": ("no-such-directory", "there is no no-such-directory"),
    "link_speed": ("5", "unrecognized arguments: 5"),
    "links": ("bert:z", "there is no 'z'"),
    "measure": ("space", "there is no 'space'; there are time, memory"),
    "numbers": ("alexnet", "there is no 'alexnet'; there are mobilenet"),
    "page": ("few", "'few' is no whole number above 0"),
    "query": ("stores 1.5", "'1.5' is no whole number above 0"),
    "soak": ("no-such-directory", "there is no no-such-directory"),
    "store": ("more", "unrecognized arguments: more"),
    "values": ("alexnet:q", "there is no 'alexnet'"),
}


@pytest.fixture(autouse=True)
def _others_are_not_silenced() -> Iterator[None]:
    """Some scripts turn warnings and logging off."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what the scripts import, whoever imports it first
        yield
    logging.disable(logging.NOTSET)


def told(script: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int | str | None:
    """Returns the code that a script exits with."""
    for needed in filter(None, [OPTIONAL.get(script), *(["torch", "executorch"] if script not in PLAIN else [])]):
        pytest.importorskip(needed)
    monkeypatch.setattr(sys, "argv", [script, *arguments])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(BENCH / f"{script}.py"), run_name="__main__")
    return stopped.value.code


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_shows_what_the_script_is_for(
    script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(script, ["--help"], monkeypatch) == 0
    shown = capsys.readouterr().out
    module = "bench" if script == "__main__" else f"bench.{script}"
    assert shown.startswith(f"usage: python -m {module} [-h]")
    doc = (BENCH / f"{script}.py").read_text("utf-8").removeprefix('"""').partition("\n")[0]
    assert doc.removesuffix('"""') in shown


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_wrong_argument_costs_one_line(
    script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given, expected = WRONG[script]
    assert told(script, given.split(), monkeypatch) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "error: " in last
    assert expected in last
