"""An ETRecord as panes side by side, and the methods that ExecuTorch's Inspector gets when asked to."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from fxstore.errors import MissingExtraError, SourceError
from fxstore.fx_viewer.capture import capture
from fxstore.fx_viewer.color_rules import CategoricalColorRule
from fxstore.fx_viewer.compare import FXGraphCompareExporter
from fxstore.fx_viewer.exporter import FXGraphExporter
from fxstore.fx_viewer.extension import GraphExtension
from fxstore.ingest import adapters
from fxstore.ingest.adapters import Ingested
from fxstore.records import Stage

_TITLES: Final = {"exported": "Aten", "edge": "Edge dialect"}
_BACKEND: Final = "backend"


def build_compare_from_etrecord(
    etrecord: object,
    *,
    title: str = "ETRecord Compare",
    enrich_missing_meta: bool = True,
    include_backend_overlay: bool = True,
) -> FXGraphCompareExporter:
    """Returns the programs of an ETRecord side by side: ``Aten``, each ``graph_map`` entry, ``Edge dialect``.

    Args:
        etrecord: An ``ETRecord``, or the path of an ``.etrecord`` file, which is read without executing anything in it.
        title: The page's title.
        enrich_missing_meta: For live programs: show for nodes without a recorded origin their own name as
            ``from_node_root``, and for those without a handle the handles of their counterparts. The programs
            themselves are left as they are. A file is read as it is.
        include_backend_overlay: Add to ``Edge dialect`` the layer ``backend``, where anything is delegated.

    Raises:
        SourceError: It cannot be read, or holds no program.
    """
    ingested = adapters.read(etrecord)
    if any(not stage.name for stage in ingested.stages):
        what = adapters.describe(adapters.path_of(etrecord))
        raise SourceError(
            f"{what} is no ETRecord", hint="show graphs with FXGraphCompareExporter({name: FXGraphExporter(graph)})"
        )
    live = not isinstance(etrecord, (str, os.PathLike))
    viewers: dict[str, FXGraphExporter] = {}
    for stage in ingested.stages:
        source = Ingested((replace(stage, name=""),))
        for name, methods in _panes(stage):
            program = _only(ingested.live.get(stage.name), methods)
            exporter = FXGraphExporter.of_stage(source, methods, program, enrich_missing_meta and live)
            # An entry of the record may be called as another pane is.
            names = (name if i == 1 else f"{name} #{i}" for i in range(1, len(viewers) + 2))
            viewers[next(one for one in names if one not in viewers)] = exporter
    if not viewers:
        raise SourceError("this record holds no program", hint="write it with generate_etrecord=True")
    if include_backend_overlay:
        _add_backends(viewers)
    chosen = _BACKEND if include_backend_overlay else None
    return FXGraphCompareExporter(viewers, title=title, active_extensions=[chosen] if chosen else None, color_by=chosen)


def export_etrecord_to_html(
    etrecord: object,
    output_html: str | os.PathLike[str],
    *,
    title: str = "ETRecord Compare",
    enrich_missing_meta: bool = True,
    include_backend_overlay: bool = True,
) -> None:
    """Writes the page of :func:`build_compare_from_etrecord`, whose arguments these are."""
    build_compare_from_etrecord(
        etrecord,
        title=title,
        enrich_missing_meta=enrich_missing_meta,
        include_backend_overlay=include_backend_overlay,
    ).export_html(output_html)


def _panes(stage: Stage) -> list[tuple[str, frozenset[str] | None]]:
    """Returns name and methods of each pane of a stage: an entry of ``graph_map`` has one for each of its methods."""
    if stage.name in _TITLES:
        return [(_TITLES[stage.name], None)]
    title = stage.name.removeprefix("graph_map/").replace("_", " ").title()
    methods = list(dict.fromkeys(graph.method for graph in stage.graphs))
    if len(methods) < 2:
        return [(title, None)]
    return [(f"{title} ({method})", frozenset({method})) for method in methods]


def _only(programs: object, methods: frozenset[str] | None) -> Any:
    """Returns the one program that a pane shows; None where it shows several."""
    if not isinstance(programs, Mapping):
        return None
    shown = [program for method, program in programs.items() if methods is None or method in methods]
    return shown[0] if len(shown) == 1 else None


def _add_backends(viewers: Mapping[str, FXGraphExporter]) -> None:
    exporter = viewers.get(_TITLES["edge"])
    if exporter is None:
        return
    captured = capture([(name, one.source) for name, one in viewers.items()])
    pane = captured.panes[list(viewers).index(_TITLES["edge"])]
    owners = {pane.ids[nid]: backend for nid, backend in pane.backends.items()}
    if not Counter(owners.values()).keys() - {"portable"}:
        return
    extension = GraphExtension(id=_BACKEND, name="Backend Assignment")
    for node_id, backend in owners.items():
        extension.add_node_data(node_id, {"backend": backend})
    extension.set_color_rule(CategoricalColorRule(attribute="backend"))
    exporter.add_extension(extension)


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
