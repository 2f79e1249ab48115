"""Finds the counterparts between the graphs of one run, and says what each claim rests on.

Pure: no torch, no DuckDB.
"""

from fxstore.link.engine import structure_of

__all__ = ["structure_of"]
