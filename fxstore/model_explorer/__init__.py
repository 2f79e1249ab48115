"""Model Explorer's files: graphs, node data and sync files, built from plain data, checked and served.

::

    rows of the store ─▶ Source ─▶ graph_of ─▶ collection ─▶ export ─▶ files ─▶ serving ─▶ the app
                         source    graph       collection,            │
                                               views, overlays        └▶ validation: what would the app lose?

The query package reads the rows (``query/explorer.py``), ingest reads such files (``ingest/model_explorer.py``).
"""

from __future__ import annotations

from fxstore.model_explorer.validation import CHECKS, Check, Finding, validate

__all__ = ["CHECKS", "Check", "Finding", "validate"]
