"""The table of the situations names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_each_situation_has_the_test_that_the_table_names() -> None:
    rows = re.findall(r"^\| (\d\d) \| [^|]+ \| `(.+?)::(\w+)` \|$", (HERE / "README.md").read_text(), re.MULTILINE)
    assert len({number for number, _, _ in rows}) == len(rows) == 53
    for number, path, name in rows:
        assert re.search(rf"def {name}\(", (HERE.parent / path).read_text()), number
