"""What several of these tests look at: made once."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A network of delegates and portable kernels, lowered and run; nothing in it may be edited."""
    pytest.importorskip("executorch")
    from tests.ingest.traced import traced

    return traced(tmp_path_factory.mktemp("traced"))
