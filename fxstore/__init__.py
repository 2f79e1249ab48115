"""Every graph of a PyTorch or ExecuTorch compile in one store: SQL across stages, counterparts, numbers, one page.

>>> import fxstore
>>> with fxstore.connect("fxstore-runs") as store:  # doctest: +SKIP
...     store.ingest("model.etrecord", name="nightly")
...     store.worst("cosine", n=10).compare().save("worst.html")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fxstore.errors import FxstoreError, MissingExtraError, QueryError, SourceError, StoreError, UsageError

if TYPE_CHECKING:
    from fxstore import datafusion, metrics, spark
    from fxstore.api import Store, connect
    from fxstore.export.dump_diff import dump_diff
    from fxstore.query.result import Result
    from fxstore.record.recorder import Recorder, Run
    from fxstore.render.html import Page

__version__ = "0.1.0"
__all__ = [
    "FxstoreError",
    "MissingExtraError",
    "Page",
    "QueryError",
    "Recorder",
    "Result",
    "Run",
    "SourceError",
    "Store",
    "StoreError",
    "UsageError",
    "connect",
    "datafusion",
    "dump_diff",
    "metrics",
    "spark",
]

_MODULES = frozenset({"datafusion", "metrics", "spark"})
_HOMES = {
    "connect": "fxstore.api",
    "Store": "fxstore.api",
    "Recorder": "fxstore.record.recorder",
    "Run": "fxstore.record.recorder",
    "Result": "fxstore.query.result",
    "Page": "fxstore.render.html",
    "dump_diff": "fxstore.export.dump_diff",
}


def __getattr__(name: str) -> object:
    """Imports a public name when it is first used, so that importing fxstore stays light."""
    if name in _MODULES:
        return importlib.import_module(f"fxstore.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'fxstore' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
