"""The page's own script, which says where it puts a drawing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.layout.paged import PageScript


@pytest.fixture(scope="session")
def script() -> Iterator[PageScript]:
    """The script, running in node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("the page's script needs node 20 or newer")
    running = PageScript.start(node)
    yield running
    running.stop()
