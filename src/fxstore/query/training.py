"""What the nodes of training steps are, as categories that colour a page or a picture."""

from __future__ import annotations

from fxstore.query.session import Store
from fxstore.render.model import ColorBy
from fxstore.render.training import category, category_fills


def training_categories(store: Store, run_id: str) -> dict[int, str]:
    """Returns the category of each node of a run's joint, forward and backward graphs; nothing for other graphs."""
    rows = store.rows_of("_training_roles", run_id).to_pylist()
    return {row["nid"]: category(row["roles"]) for row in rows}


def training_colors(store: Store, run_ids: list[str]) -> list[ColorBy]:
    """Returns the colours of the training steps of some runs, as one; none where there is no training step."""
    texts = {nid: text for run_id in run_ids for nid, text in training_categories(store, run_id).items()}
    return [ColorBy("training step", "category", {}, texts=texts, fills=category_fills())] if texts else []
