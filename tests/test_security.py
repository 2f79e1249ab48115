"""Each line of the threat model has a test, and the test is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "security.md").read_text("utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| threat")]


@pytest.mark.parametrize("row", ROWS, ids=[row[2:50] for row in ROWS])
def test_a_threat_is_answered_by_a_test_that_is_there(row: str) -> None:
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert len(cells) == 3
    named = re.fullmatch(r"`([\w/]+\.py)(?:::(\w+))?`", cells[2])
    assert named, cells[2]
    text = (TESTS / named[1]).read_text("utf-8")
    assert named[2] is None or f"def {named[2]}(" in text


def test_the_table_is_no_stub() -> None:
    assert len(ROWS) >= 20
