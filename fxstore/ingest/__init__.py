"""Sources in, plain tables out. Only this package (and ``fxstore.fx_viewer``) may import torch or executorch.

What an adapter of a third party needs stands here, too; ``docs/adapters.md`` says how it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from fxstore.ingest.adapters import Adapter, Ingested
    from fxstore.ingest.build import Place, Value
    from fxstore.ingest.compile.training import TrainingGraphs
    from fxstore.ingest.compile.training_stages import capture_joint
    from fxstore.ingest.node_table import Node, Use, graph_of
    from fxstore.ingest.overlays import NodeOverlay
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
    "Node": "fxstore.ingest.node_table",
    "NodeOverlay": "fxstore.ingest.overlays",
    "OverlayKind": "fxstore.kinds",
    "Place": "fxstore.ingest.build",
    "Stage": "fxstore.records",
    "TrainingGraphs": "fxstore.ingest.compile.training",
    "Use": "fxstore.ingest.node_table",
    "Value": "fxstore.ingest.build",
    "capture_joint": "fxstore.ingest.compile.training_stages",
    "graph_of": "fxstore.ingest.node_table",
}


def __getattr__(name: str) -> Any:
    """Imports a public name when it is asked for: most of them need no torch, and none should load it early."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
