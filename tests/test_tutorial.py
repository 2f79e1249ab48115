"""What the tutorial shows is what happens: two nights of a real compile, and the way to the guilty node."""

from __future__ import annotations

import pytest

from tests import readme

pytest.importorskip("executorch")
PAGE = readme.README.parent / "docs" / "tutorial.md"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, str]]:
    """Command, output on the page and real output of each block, run in order."""
    folder = tmp_path_factory.mktemp("tutorial")
    return [(command, said, readme.run(command, folder)) for command, said in readme.blocks(PAGE)]


@pytest.mark.parametrize("place", range(len(readme.blocks(PAGE))))
def test_a_command_shows_what_the_tutorial_says(shown: list[tuple[str, str, str]], place: int) -> None:
    command, said, real = shown[place]
    assert readme.comparable(real) == readme.comparable(said), command


def test_the_guilty_node_is_the_one_that_was_made_so(shown: list[tuple[str, str, str]]) -> None:
    real = next(real for command, _, real in shown if command.startswith("fxstore first-bad"))
    assert sum(" conv2d_5 " in line and "blocks.2.depthwise" in line for line in real.splitlines()) == 1
