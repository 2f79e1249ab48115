"""Runs as Arrow tables, for the engine to take in.

Built from buffers: ``pyarrow.array`` would import pandas where it is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from fxstore.store import CommittedRun
from fxstore.store.manifest import common
from fxstore.store.runs import STAGE_FIELDS


def tables_of(runs: Sequence[CommittedRun]) -> dict[str, pa.Table]:
    """Returns new_runs (one row per run), new_groups and new_stages (of runs that have their stages in common)."""
    places, groups = common(runs)
    stages = [(place, stage) for place, run in enumerate(groups) for stage in run.stages]
    texts = ("run_id", "name", "model", "created_at", "status")
    return {
        "new_runs": pa.table(
            {
                "run_key": _numbers([run.run_key for run in runs]),
                **{name: _texts([getattr(run, name) for run in runs]) for name in texts},
                "tags": _maps([run.tags for run in runs]),
                "place": _numbers(places),
            }
        ),
        "new_groups": pa.table(
            {
                "place": _numbers(list(range(len(groups)))),
                "versions": _maps([run.versions for run in groups]),
                "structure_hash": _texts([run.structure_hash for run in groups]),
                "nodes": _numbers([run.nodes for run in groups]),
            }
        ),
        "new_stages": pa.table(
            {
                "place": _numbers([place for place, _ in stages]),
                **{name: _column(name, [stage[name] for _, stage in stages]) for name in STAGE_FIELDS},
            }
        ),
    }


def _column(name: str, values: list[Any]) -> pa.Array:
    return _numbers(values) if name == "stage_index" else _texts(values)


def _numbers(values: list[int]) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(np.array(values, np.int64))])


def _offsets(lengths: list[int]) -> pa.Buffer:
    return pa.py_buffer(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))


def _texts(values: Sequence[str | None]) -> pa.Array:
    encoded = [b"" if value is None else value.encode("utf-8", "replace") for value in values]
    known = np.packbits(np.array([value is not None for value in values], bool), bitorder="little")
    buffers = [pa.py_buffer(known), _offsets([len(one) for one in encoded]), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def _maps(values: Sequence[dict[str, str]]) -> pa.Array:
    keys, items = (_texts(list(chain.from_iterable(parts))) for parts in (values, (one.values() for one in values)))
    offsets = pa.Array.from_buffers(pa.int32(), len(values) + 1, [None, _offsets([len(one) for one in values])])
    return pa.MapArray.from_arrays(offsets, keys, items)
