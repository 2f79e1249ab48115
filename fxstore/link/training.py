"""Forward operators and the backward operators that autograd ran for them, by sequence number.

A backward operator is no counterpart of the forward one: it computes something else. So these links are told, and take
no part in sync sets and value pairs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fxstore.link.pair import Link
from fxstore.link.run import Run

_NAMESPACE = "seq_nr"
_PASSES = ("forward", "backward")


def sequence_links(run: Run) -> Iterator[Link]:
    """Yields a link for each forward and backward operator of one sequence number, method by method.

    Sequence numbers are torch's: autograd gives a backward operator that of the forward operator whose gradient it
    computes. A node that is recomputed has its own copy in the forward graph, and is none of these.
    """
    forward: dict[tuple[str, int], list[int]] = defaultdict(list)
    backward: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, graph in enumerate(run.graphs):
        handles = graph.tables["handles"]
        if _NAMESPACE not in handles["namespace"].unique().to_pylist():
            continue
        passes = _passes(run, index)
        for position, space, number in zip(*(handles[c].to_pylist() for c in handles.column_names), strict=True):
            if space == _NAMESPACE and passes.get(position) is not None:
                found = forward if passes[position] == "forward" else backward
                found[graph.method, number].append(run.base[index] + position)
    for key, nodes in backward.items():
        for later in nodes:
            for earlier in forward.get(key, ()):
                if run.stage[earlier] < run.stage[later]:
                    yield Link(earlier, later, "handle", note=f"seq_nr {key[1]}")


def _passes(run: Run, index: int) -> dict[int, str]:
    """Returns, for the nodes of a graph that are of one pass only, which it is; none for a joint graph."""
    roles = run.graphs[index].tables["roles"]
    given: dict[int, set[str]] = defaultdict(set)
    for position, role in zip(roles["position"].to_pylist(), roles["role"].to_pylist(), strict=True):
        given[position].add(role)
    found = {position: [one for one in _PASSES if one in names] for position, names in given.items()}
    is_joint = {"forward", "backward"} <= {one for names in found.values() if len(names) == 1 for one in names}
    return {} if is_joint else {position: names[0] for position, names in found.items() if len(names) == 1}
