"""A stage, a selection or a query's answer as a still picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from fxstore.errors import UsageError, nearest
from fxstore.query.across import Store
from fxstore.query.result import Result
from fxstore.render.page.align import in_columns
from fxstore.render.page.options import shown
from fxstore.render.still import raster
from fxstore.render.still.coloring import ROLE
from fxstore.render.still.dot import CLUSTERS, dot
from fxstore.render.still.scene import Scene, scene
from fxstore.render.still.svg import svg

NEAR: Final = 1
"""How many hops around a selection are drawn."""


def write(
    form: str,
    store: Store,
    run: str | Sequence[str] | None,
    path: Path,
    *,
    stages: str | Sequence[str] | None = None,
    query: str | Result | None = None,
    nids: Sequence[int] | None = None,
    color_by: str | None = None,
    cluster: str | None = None,
    title: str | None = None,
    theme: str = "light",
    hops: int | None = None,
    whole: bool = False,
    columns: bool = False,
    scale: float | None = None,
    privacy: str | None = None,
) -> None:
    """Writes a picture; arguments as ``Store.export`` takes them.

    Raises:
        QueryError: A run, a stage or an overlay is not there, or nothing is selected.
        UsageError: An argument has no such value, or is not for this format.
        MissingExtraError: What makes PNG and PDF is not installed.
    """
    _check(form, cluster, scale)
    if query is not None and nids is not None:
        raise UsageError("a query and nids are two selections", hint="give one of them")
    chosen: Result | Sequence[int] | None = store.sql(query) if isinstance(query, str) else query
    chosen = list(nids) if nids is not None else chosen
    if chosen is not None and hops is None and not whole:
        hops = NEAR
    if chosen is not None and stages is None:
        stages = _stages(store, chosen)
    asked = None if color_by == ROLE else color_by
    model = shown(store, run, stages, asked, chosen, title, False, privacy, hops, whole)
    if columns:
        model = replace(model, panes=in_columns(model.panes))
    path.write_bytes(_made(form, scene(model, theme, color_by), cluster, scale))


def _made(form: str, drawn: Scene, cluster: str | None, scale: float | None) -> bytes:
    if form == "dot":
        return dot(drawn, cluster).encode()
    if form == "png":
        return raster.png(svg(drawn), drawn.title, scale)
    return raster.pdf(svg(drawn), drawn.title) if form == "pdf" else svg(drawn).encode()


def _check(form: str, cluster: str | None, scale: float | None) -> None:
    if cluster is not None and cluster not in CLUSTERS:
        hint = nearest(cluster, CLUSTERS) or f"one of {', '.join(CLUSTERS)}"
        raise UsageError(f"there is no cluster {cluster!r}", hint=hint)
    if cluster is not None and form != "dot":
        raise UsageError("cluster is for dot", hint=f"{form} has the frames of our own layout")
    if scale is not None and form != "png":
        raise UsageError("scale is for png", hint=f"{form} is drawn at any size")


def _stages(store: Store, chosen: Result | Sequence[int]) -> list[str]:
    """Returns the stages of the selected nodes, in pipeline order."""
    found: Any = chosen.nids() if isinstance(chosen, Result) else chosen
    rows = store.sql(
        "SELECT stage FROM nodes WHERE nid IN (SELECT unnest(?)) GROUP BY stage ORDER BY min(stage_index)",
        [list(found)],
    )
    return [str(stage) for (stage,) in rows]
