"""The outputs of an operator that takes a value apart, among the slices that it was decomposed into."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from fxstore.link.pair import Link, Pair
from fxstore.link.run import Run

_TAKES_APART: Final = frozenset(
    {
        "unbind", "split", "split_with_sizes", "chunk", "tensor_split",
        "unsafe_split", "unsafe_chunk", "unsafe_split_with_sizes",
    }
)  # fmt: skip
_TAKES_ONE: Final = {"slice": "start", "slice_copy": "start", "select": "index", "select_copy": "index"}
_KEEPS_ORDER: Final = frozenset({"squeeze", "view", "reshape", "alias", "clone", "_clone_dim_order"})


def pieces(pair: Pair) -> Iterator[Link]:
    """What reads an output of an operator that was split up became the slice that is this output.

    Each output is one slice of the input, in order: the one that begins first is output 0. Only where each output has
    its slice, all of one value along one axis, from places that the graph says.
    """
    run = pair.run
    for a in pair.earlier:
        readers = [user for user in run.users[a] if run.selects_port(user) and user not in pair.to_later]
        if not readers or not takes_apart(run.op_type[a]):
            continue
        found = _slices(pair, a)
        for reader in readers if len(found) == run.ports[a] else ():
            port = run.inputs[reader][0][1]
            note = f"output {port} of {run.name[a]}, by where it begins"
            yield Link(reader, found[port], "structure", True, note, holds=True)


def takes_apart(kind: str) -> bool:
    """Tells whether an operator's outputs are parts of its input."""
    return kind.removesuffix("_copy") in _TAKES_APART


def _slices(pair: Pair, a: int) -> list[int]:
    """Returns the slices that an operator became, as they follow each other; none where that is not certain."""
    run = pair.run
    members = {link.dst for link in pair.to_later.get(a, ()) if not link.inferred}
    last = [b for b in members if not any(user in members for user in run.users[b])]
    places = {b: place for b in last if (place := _place(run, b, members)) is not None}
    cuts = {(value, axis) for value, axis, _ in places.values()}
    begins = {begin: b for b, (_, _, begin) in places.items()}
    return [begins[begin] for begin in sorted(begins)] if len(cuts) == 1 and len(begins) == len(last) else []


def _place(run: Run, b: int, members: set[int]) -> tuple[tuple[int, int], int, int] | None:
    """Returns the value that a node is a slice of, along which axis, and where it begins; None where none says."""
    while run.op_type[b].removesuffix("_copy") in _KEEPS_ORDER and run.inputs[b] and run.inputs[b][0][0] in members:
        b = run.inputs[b][0][0]
    begin = _TAKES_ONE.get(run.op_type[b])
    if begin is None or len(run.inputs[b]) != 1:
        return None  # more inputs: a place that is computed
    given = json.loads(run.attrs[b] or "{}").get("args", {})
    axis, start = given.get("1", given.get("dim", 0)), given.get("2", given.get(begin, 0)) or 0
    if not isinstance(axis, int) or not isinstance(start, int) or start < 0:
        return None
    return run.inputs[b][0][:2], axis, start
