"""What changed from one run to the next, as colours of a page."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import pairwise

from fxstore.query.session import Store
from fxstore.render.model import ColorBy
from fxstore.store import CommittedRun


def change_colors(store: Store, runs: Sequence[CommittedRun], visible: Set[int]) -> list[ColorBy]:
    """Returns for each two runs what ``run_diff`` tells of their nodes, of those that are visible."""
    return [_changes(store, base, head, visible) for base, head in pairwise(runs)]


def _changes(store: Store, base: CommittedRun, head: CommittedRun, visible: Set[int]) -> ColorBy:
    table = store.rows_of("run_diff", base.run_id, head.run_id)
    rows = table.select(["change", "base_nid", "head_nid"]).to_pylist()
    sides = ("base_nid", "head_nid")
    texts = {row[side]: str(row["change"]) for row in rows for side in sides if row[side] in visible}
    return ColorBy(f"{_label(base, head)} → {_label(head, base)}", "change", {}, texts=texts)


def _label(run: CommittedRun, other: CommittedRun) -> str:
    return run.name if run.name != other.name else run.run_id
