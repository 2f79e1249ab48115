"""The README shows what really happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import readme
from tests.conftest import Demo

pytest.importorskip("executorch")
SLOW = "fxstore demo"


@pytest.mark.parametrize(("command", "shown"), readme.blocks(), ids=[command[:60] for command, _ in readme.blocks()])
def test_a_command_shows_what_the_readme_says(demo: Demo, command: str, shown: str) -> None:
    real = demo.err + demo.out if command == SLOW else readme.run(command, demo.folder / "work")
    if command != SLOW:
        assert readme.comparable(real) == readme.comparable(shown)
        return
    lines = readme.comparable(shown)
    steps = [line for line in lines if line.startswith("[T s]")]
    assert steps == readme.comparable(demo.err)
    assert [line for line in lines if line not in steps] == readme.comparable(demo.out)


@pytest.mark.parametrize("code", readme.python_blocks())
def test_the_python_code_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "worst.html").stat().st_size > 10_000


def test_the_first_screen_has_the_two_commands() -> None:
    first = readme.README.read_text("utf-8").splitlines()[:26]
    commands = [line for line in first if line.startswith("python3 -m venv")]
    assert [command.rpartition("&& .venv/bin/")[2] for command in commands] == ["fxstore demo", "pytest"]
