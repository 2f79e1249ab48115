"""Rests Python's search for cycles while many small objects are made that stay alive and form none."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_rest() -> Iterator[None]:
    """Stops the search for cycles in a block, or in a function that this decorates; it goes on afterwards.

    In a process that has loaded torch, it takes a third of the time that reading a graph takes.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
