"""What docs/spark.md shows is what happens."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import docs

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"


def test_the_page_shows_what_happens(tmp_path: Path) -> None:
    for package in ("datafusion", "pysail", "pyspark"):
        pytest.importorskip(package, reason="needs the extras spark and datafusion")
    docs.make(tmp_path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "doctest", str(PAGE)],
        cwd=tmp_path,
        env=os.environ | {"SAIL_MODE": "local-cluster", "RUST_LOG": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ">>>" in PAGE.read_text("utf-8")
