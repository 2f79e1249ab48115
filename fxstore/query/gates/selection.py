"""Which runs a base or a head is: one by id or name, or the last ones with some tags."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from fxstore.errors import QueryError, UsageError
from fxstore.store import CommittedRun

if TYPE_CHECKING:
    from fxstore.query.session import Store

_TAGGED: Final = re.compile(r"tag:(?P<tags>[^~]+)(?:~(?P<count>\d+))?")


def select(store: Store, text: str, but: Collection[str] = ()) -> list[CommittedRun]:
    """Returns runs, oldest first.

    Args:
        store: Where they are.
        text: Id or name of one; or ``tag:KEY=VALUE[,KEY=VALUE…][~N]``: of the complete runs that carry all these tags,
            the last N, or the last one. ``tag:VALUE`` is any tag of that value.
        but: Ids of runs that are left out of a selection by tags.

    Raises:
        QueryError: There is none.
        UsageError: The text is no selection.
    """
    if not text.startswith("tag:"):
        return [store.existing_run(text)]
    found = _TAGGED.fullmatch(text)
    if found is None or found["count"] == "0":
        raise UsageError(f"{text!r} selects no runs", hint="tag:branch=main~20 is the last 20 complete runs tagged so")
    wanted = [part.strip() for part in found["tags"].split(",")]
    runs = [
        run
        for run in store.committed_runs()
        if run.status == "complete" and run.run_id not in but and all(_carries(run, tag) for tag in wanted)
    ]
    if not runs:
        raise QueryError(f"no complete run is tagged {found['tags']!r}", hint="SELECT name, status, tags FROM runs")
    return runs[-int(found["count"] or 1) :]


def _carries(run: CommittedRun, tag: str) -> bool:
    key, equals, value = tag.partition("=")
    return run.tags.get(key) == value if equals else key in run.tags.values()
