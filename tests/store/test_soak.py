"""Eight writers, four readers and one process that compacts and collects, on one store."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import soak


@pytest.mark.parametrize("seconds", [8, pytest.param(180, marks=pytest.mark.slow)])
def test_nothing_is_torn_or_lost(tmp_path: Path, seconds: float) -> None:
    done = soak.main(tmp_path, seconds)
    assert (done["lost"], done["problems"], done["tags_lost"]) == (0, 0, 0)
    assert done["acknowledged"] == done["runs"] >= 8
    assert done["questions"] >= 4
    assert done["collections"] > 0
    assert done["run_directories_in_the_end"] == 0
