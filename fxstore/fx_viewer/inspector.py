"""Methods that ExecuTorch's Inspector gets when asked to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from fxstore.errors import MissingExtraError
from fxstore.fx_viewer.compare import FXGraphCompareExporter
from fxstore.fx_viewer.etrecord import export_etrecord_to_html
from fxstore.fx_viewer.exporter import FXGraphExporter


def export_fx_viewer_html(self: Any, output_html: str | os.PathLike[str], **options: Any) -> None:
    """Writes the page of this Inspector's ETRecord.

    Args:
        output_html: Where to; an existing file is replaced.
        options: As :func:`fxstore.fx_viewer.export_etrecord_to_html` takes them.

    Raises:
        RuntimeError: The Inspector was made without an ETRecord.
    """
    record = getattr(self, "_etrecord", None)
    if record is None:
        raise RuntimeError(
            "export_fx_viewer_html requires an ETRecord: make the Inspector with etrecord=, or use "
            "export_fx_viewer_html_from_graphs"
        )
    export_etrecord_to_html(record, output_html, **options)


def export_fx_viewer_html_from_graphs(
    graphs: Mapping[str, object], output_html: str | os.PathLike[str] = "compare.html", **options: Any
) -> None:
    """Writes a page of graphs side by side; works without any Inspector.

    Args:
        graphs: Name and graph module of each pane, in order.
        output_html: Where to; an existing file is replaced.
        options: As :class:`fxstore.fx_viewer.FXGraphCompareExporter` takes them.
    """
    viewers = {name: FXGraphExporter(graph) for name, graph in graphs.items()}
    FXGraphCompareExporter(viewers, **options).export_html(output_html)


def install_inspector_hook() -> None:
    """Gives ``executorch.devtools.Inspector`` both functions above as methods; again is once.

    Raises:
        MissingExtraError: ExecuTorch is not installed.
    """
    try:
        from executorch.devtools import Inspector
    except ImportError as error:
        raise MissingExtraError("the Inspector", "executorch") from error
    Inspector.export_fx_viewer_html = export_fx_viewer_html
    Inspector.export_fx_viewer_html_from_graphs = staticmethod(export_fx_viewer_html_from_graphs)
