"""What the pages in docs/ show is what happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import docs, readme

BLOCKS = [(page.name, *block) for page in docs.PAGES for block in readme.blocks(page)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("docs")
    docs.make(made)
    return made


@pytest.mark.parametrize(
    ("page", "command", "shown"), BLOCKS, ids=[f"{page}: {command[:50]}" for page, command, _ in BLOCKS]
)
def test_a_command_shows_what_the_page_says(folder: Path, page: str, command: str, shown: str) -> None:
    assert readme.comparable(readme.run(command, folder)) == readme.comparable(shown)


def test_every_page_has_commands() -> None:
    assert {page for page, *_ in BLOCKS} == {page.name for page in docs.PAGES}


def test_every_page_that_shows_a_command_is_run() -> None:
    elsewhere = {"tutorial.md", "fx_viewer.md"}  # test_tutorial.py, ingest/test_docs_python.py
    shown = {page.name for page in (readme.README.parent / "docs").glob("*.md") if readme.blocks(page)}
    assert shown == {page.name for page in docs.PAGES} | elsewhere
