"""The viewer's own tests (tests/viewer, for node) as one test of this suite."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

NODE = shutil.which("node")
SOURCES = Path(__file__).parents[2] / "fxstore" / "render" / "viewer"


@pytest.mark.skipif(NODE is None, reason="the viewer's module tests need node 20 or newer")
@pytest.mark.skipif(not SOURCES.exists(), reason="these tests import the viewer of a checkout")
def test_the_viewers_modules_pass_their_tests() -> None:
    assert NODE is not None
    files = sorted((Path(__file__).parents[1] / "viewer").glob("*.test.mjs"))
    run = subprocess.run([NODE, "--test", *map(str, files)], capture_output=True, text=True, check=False)
    assert files
    assert run.returncode == 0, run.stdout
