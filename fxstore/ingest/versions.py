"""The versions of the tools that made a run."""

from __future__ import annotations

import sys
from importlib import metadata

_TOOLS = ("torch", "torchao", "executorch")


def loaded_versions() -> dict[str, str]:
    """Returns the versions of fxstore and of the tools that this process has loaded."""
    loaded = [name for name in _TOOLS if name in sys.modules]
    found = {}
    for name in ("fxstore", *loaded):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
