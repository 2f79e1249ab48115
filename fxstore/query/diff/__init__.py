"""Which node of one run is which node of another: by structure, under renaming, renumbering and reordering."""

from __future__ import annotations
