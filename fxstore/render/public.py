"""Makes a page that may be shown to anybody, whatever the store holds; see :mod:`fxstore.privacy`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from fxstore.privacy import NODE_COLUMNS, attributes, plain
from fxstore.render.model import ColorBy, DrawnGraph, Numbers, PageModel, Pane

_KEPT: Final = frozenset({*NODE_COLUMNS, "nid", "width", "height"})
_NAMES: Final = ("name", "target", "module_path", "backend", "unmatched")


def public_page(model: PageModel) -> PageModel:
    """Returns a page without sources, texts, values and the rows of its query; the nodes that these name stay lit.

    Its colours must be those of kinds that are public.
    """
    return PageModel(
        title=plain(model.title),
        panes=tuple(map(_pane, model.panes)),
        sync_sets=model.sync_sets,
        focus=model.focus,
        colors=tuple(map(_color, model.colors)),
        highlight=model.highlight,
        facts=[(plain(name), plain(value)) for name, value in model.facts],
        with_code=False,
        equal_values=model.equal_values,
        more=model.more,
        left_out=plain(model.left_out),
        columns=model.columns,
    )


def _pane(pane: Pane) -> Pane:
    subtitle = " · ".join(plain(part) for part in pane.subtitle.split(" · ") if part)
    return replace(pane, title=plain(pane.title), graphs=tuple(map(_graph, pane.graphs)), subtitle=subtitle)


def _graph(graph: DrawnGraph) -> DrawnGraph:
    nodes = graph.nodes
    columns: dict[str, Any] = {
        name: nodes[name] if name in _KEPT else pa.nulls(len(nodes), nodes.schema.field(name).type)
        for name in nodes.column_names
    }
    for name in _NAMES:
        if name in columns:
            texts = (None if text is None else plain(text) for text in nodes[name].to_pylist())
            columns[name] = pa.array(texts, nodes.schema.field(name).type)
    kinds = nodes["op_type"].to_pylist()
    columns["attrs"] = pa.array(map(attributes, nodes["attrs"].to_pylist(), kinds), pa.string())
    return replace(graph, title=plain(graph.title), nodes=pa.table(columns))


def _color(color: ColorBy) -> ColorBy:
    texts = {nid: plain(text) for nid, text in color.texts.items()}
    samples = [
        Numbers(f"sample {i}", one.values, dict.fromkeys(one.missing, "no value"))
        for i, one in enumerate(color.samples)
    ]
    missing = dict.fromkeys(color.missing, "no value")
    return replace(color, missing=missing, texts=texts, notes={}, samples=samples)
