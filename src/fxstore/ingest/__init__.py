"""Sources in, plain tables out. Only this package (and ``fxstore.fx_viewer``) may import torch or executorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fxstore.ingest.joint import capture_joint
    from fxstore.ingest.training import TrainingGraphs

__all__ = ["TrainingGraphs", "capture_joint"]


def __getattr__(name: str) -> Any:
    if name == "capture_joint":
        from fxstore.ingest.joint import capture_joint

        return capture_joint
    if name == "TrainingGraphs":
        from fxstore.ingest.training import TrainingGraphs

        return TrainingGraphs
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
