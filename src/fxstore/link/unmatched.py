"""Says why a node has no counterpart in the stage before or after, in words that a person understands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fxstore.link.rules import Link, Pair
from fxstore.link.run import Run
from fxstore.records import Stage


def unmatched(run: Run, stages: Sequence[Stage], pairs: Sequence[Pair]) -> list[tuple[int, str, str]]:
    """Returns (ordinal, stage looked at, reason) for each node without a recorded link to that neighbouring stage.

    A node of which it is only inferred what it was folded into, or rewritten to, is among them, and that is its reason.
    """
    return sorted(row for pair in pairs if pair.earlier and pair.later for row in _of_pair(run, stages, pair))


def _of_pair(run: Run, stages: Sequence[Stage], pair: Pair) -> Iterator[tuple[int, str, str]]:
    before, after = (stages[run.stage(nodes[0])].name for nodes in (pair.earlier, pair.later))
    called = set(run.calls)
    for b in pair.later:
        links = pair.to_earlier.get(b, [])
        if all(link.evidence == "structure" for link in links) and not _is_delegate_call(run, b, called):
            yield b, before, _guess(links) or _inserted(run, b, before)
    for a in pair.earlier:
        links = pair.to_later.get(a, [])
        if all(link.evidence == "structure" for link in links):
            yield a, after, _guess(links) or _removed(run, pair, a, after)


def _guess(links: list[Link]) -> str | None:
    return f"{links[0].note} (inferred)" if links else None


def _is_delegate_call(run: Run, node: int, called: set[int]) -> bool:
    """A delegate call has its counterparts through the operators inside it."""
    return node in called and run.role[node] == "delegate"


def _inserted(run: Run, b: int, before: str) -> str:
    if run.op_type[b] == "alloc":
        return "memory planned by to_executorch"
    if run.role[b] == "subgraph":
        return "holds a nested graph"
    if run.role[b] == "output" and run.graphs[run.graph[b]].path:
        return "lists the values that a nested graph returns"
    chain = run.chain[b]
    if not chain:
        return "no provenance recorded"
    (_, name), _, pass_name = chain[-1][0], chain[-1][1], chain[0][2]
    return f"inserted by {pass_name}: it comes from {name}, which has no counterpart in {before}"


def _removed(run: Run, pair: Pair, a: int, after: str) -> str:
    users = run.users[a]
    if run.is_boundary(a) and users:
        folds = {
            link.note
            for user in users
            for link in pair.to_later.get(user, ())
            if link.note and link.note.startswith("folded")
        }
        if folds:
            return sorted(folds)[0]
        return f"no longer an input of {after}"
    if not users and run.role[a] != "output":
        return "removed: its value is not used"
    return f"removed: nothing in {after} names it"
