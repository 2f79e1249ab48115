"""The names of the fx_viewer RFC, over the same ingest, links and page.

::

    sources ─▶ capture ─▶ GraphNode.info ─▶ labels, layers ─▶ drawing ─▶ payload ─▶ JSON, script, page
               (ingest and link in a                            exporter, compare
               store that leaves nothing)

>>> from fxstore.fx_viewer import FXGraphCompareExporter, FXGraphExporter
>>> FXGraphCompareExporter(  # doctest: +SKIP
...     {"Float": FXGraphExporter(float_gm), "Quantized": FXGraphExporter(quantized_gm)}
... ).export_html("compare.html")
"""

from __future__ import annotations

from fxstore.fx_viewer.color_rules import CategoricalColorRule, ColorRule, NumericColorRule, color_rule
from fxstore.fx_viewer.compare import FXGraphCompareExporter
from fxstore.fx_viewer.etrecord import (
    build_compare_from_etrecord,
    export_etrecord_to_html,
    export_fx_viewer_html_from_graphs,
    install_inspector_hook,
)
from fxstore.fx_viewer.exporter import FXGraphExporter
from fxstore.fx_viewer.extension import GraphExtension
from fxstore.fx_viewer.models import (
    BaseGraphPayload,
    GraphBlock,
    GraphEdge,
    GraphExtensionNodePayload,
    GraphExtensionPayload,
    GraphNode,
    GraphPart,
    GraphPayload,
)
from fxstore.render.embedded import runtime_js

__all__ = [
    "BaseGraphPayload",
    "CategoricalColorRule",
    "ColorRule",
    "FXGraphCompareExporter",
    "FXGraphExporter",
    "GraphBlock",
    "GraphEdge",
    "GraphExtension",
    "GraphExtensionNodePayload",
    "GraphExtensionPayload",
    "GraphNode",
    "GraphPart",
    "GraphPayload",
    "NumericColorRule",
    "build_compare_from_etrecord",
    "color_rule",
    "export_etrecord_to_html",
    "export_fx_viewer_html_from_graphs",
    "install_inspector_hook",
    "runtime_js",
]
