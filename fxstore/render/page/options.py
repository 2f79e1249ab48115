"""What a page or a still picture shows: one reading of the options that both take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fxstore.errors import UsageError
from fxstore.kinds import public_kinds
from fxstore.privacy import is_public
from fxstore.query.across import Store
from fxstore.query.result import Result
from fxstore.render.model import PageModel
from fxstore.render.page.build import page_model
from fxstore.render.public import public_page


def shown(
    store: Store,
    run: str | Sequence[str] | None = None,
    stages: str | Sequence[str] | None = None,
    color_by: str | None = None,
    highlight: Result | Sequence[int] | None = None,
    title: str | None = None,
    with_sources: bool = False,
    privacy: str | None = None,
    hops: int | None = None,
    whole: bool = False,
    columns: bool = False,
) -> PageModel:
    """Returns the stages of a run, or of several, side by side; arguments as ``Store.compare`` takes them.

    Raises:
        QueryError: A run, a stage or an overlay is not there, or the result names no node.
        UsageError: There is no such privacy.
    """
    public = is_public(privacy)
    if public and with_sources:
        raise UsageError("a public page shows no sources", hint="leave out with_sources, or privacy")
    result = highlight if isinstance(highlight, Result) else None
    nids = None if highlight is None or isinstance(highlight, Result) else list(highlight)
    runs = [run] if isinstance(run, str) else list(run or [])
    stages = [stages] if isinstance(stages, str) else stages
    kinds = public_kinds() if public else None
    model = page_model(store, runs or None, stages, color_by, result, nids, title, hops, whole, kinds)
    model = replace(model, columns=columns)
    return public_page(model) if public else replace(model, with_sources=with_sources)
