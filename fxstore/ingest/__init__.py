"""Sources in, plain tables out. Only this package (and ``fxstore.fx_viewer``) may import torch or executorch.

What an adapter of a third party needs stands here, too; ``docs/adapters.md`` says how it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from fxstore.ingest.adapters import Adapter, Ingested
    from fxstore.ingest.build import Place, Value
    from fxstore.ingest.described import Node, Use, graph_of
    from fxstore.ingest.joint import capture_joint
    from fxstore.ingest.overlays import NodeOverlay
    from fxstore.ingest.training import TrainingGraphs
    from fxstore.kinds import OverlayKind
    from fxstore.records import Stage

__all__ = [
    "Adapter",
    "Ingested",
    "Node",
    "NodeOverlay",
    "OverlayKind",
    "Place",
    "Stage",
    "TrainingGraphs",
    "Use",
    "Value",
    "capture_joint",
    "graph_of",
]

_HOMES: Final = {
    "Adapter": "fxstore.ingest.adapters",
    "Ingested": "fxstore.ingest.adapters",
    "Node": "fxstore.ingest.described",
    "NodeOverlay": "fxstore.ingest.overlays",
    "OverlayKind": "fxstore.kinds",
    "Place": "fxstore.ingest.build",
    "Stage": "fxstore.records",
    "TrainingGraphs": "fxstore.ingest.training",
    "Use": "fxstore.ingest.described",
    "Value": "fxstore.ingest.build",
    "capture_joint": "fxstore.ingest.joint",
    "graph_of": "fxstore.ingest.described",
}


def __getattr__(name: str) -> Any:
    """Imports a public name when it is asked for: most of them need no torch, and none should load it early."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
