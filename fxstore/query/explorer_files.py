"""Writes what Model Explorer opens: a run, or two stages beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fxstore.model_explorer import export
from fxstore.model_explorer.views import BUDGET
from fxstore.query.explorer import Options, exported
from fxstore.query.explorer_compare import Place, compare

if TYPE_CHECKING:
    from fxstore.query.session import Store


def write(
    store: Store,
    run: str | None,
    path: Path,
    *,
    stages: Sequence[str] | None = None,
    overlays: Sequence[str] | None = None,
    steps: str | None = None,
    budget: int = BUDGET,
    privacy: str | None = None,
    compare_with: Sequence[Place] | None = None,
    metric: str | None = None,
) -> None:
    """Writes a run into a new folder, or two stages beside each other.

    Args:
        stages: As :class:`fxstore.query.explorer.Options` has it; so are ``overlays`` to ``privacy``.
        compare_with: Left and right, each a run (None for ``run``) and a stage.
        metric: What is compared, of a comparison.
    """
    options = Options(stages, overlays, steps, budget, privacy)
    if compare_with is None:
        found = exported(store, run, options)
        export.write(path, export.run_files(found.run, found.main, found.steps, found.overlays))
        return
    left, right = ((run if own is None else own, stage) for own, stage in compare_with)
    export.write(path, compare(store, left, right, options, metric))
