"""One judge for all tests of a session: the worker takes half a second to load."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.model_explorer.judge import Judge, judge


@pytest.fixture(scope="session")
def app() -> Iterator[Judge]:
    """Model Explorer's own worker; skips where the wheel or Node is missing."""
    with judge() as found:
        yield found
