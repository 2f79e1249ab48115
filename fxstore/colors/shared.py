"""The file of palettes and scales that the page's script reads, too."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def shared() -> dict[str, Any]:
    """Returns ``colors.json``: ``scales``, ``metrics`` and ``units`` (which scale is whose), ``themes``."""
    found: dict[str, Any] = json.loads((resources.files(__package__) / "colors.json").read_text("utf-8"))
    return found
