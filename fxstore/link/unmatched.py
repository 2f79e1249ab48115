"""Says why a node has no counterpart in the stage before or after, in words that a person understands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fxstore.link.made import made_by, packed_into
from fxstore.link.pair import Link, Pair
from fxstore.link.run import Run
from fxstore.records import Stage


def unmatched(run: Run, stages: Sequence[Stage], pairs: Sequence[Pair]) -> list[tuple[int, str, str]]:
    """Returns (ordinal, stage looked at, reason) for each node without a recorded link to that neighbouring stage.

    A node of which it is only inferred what it was folded into, or rewritten to, is among them, and that is its reason.
    """
    return sorted(row for pair in pairs if pair.earlier and pair.later for row in _of_pair(run, stages, pair))


def _of_pair(run: Run, stages: Sequence[Stage], pair: Pair) -> Iterator[tuple[int, str, str]]:
    before, after = (stages[run.stage[nodes[0]]].name for nodes in (pair.earlier, pair.later))
    watched = stages[run.stage[pair.later[0]]].made_by
    for b in pair.later:
        links = pair.to_earlier.get(b)
        if (links is None or _is_guess(links)) and not _is_known_call(run, b):
            yield b, before, _guess(links) or pair.undecided.get(b) or _inserted(pair, b, before, watched)
    passes = f"the pass {watched}" if watched else None
    for a in pair.earlier:
        links = pair.to_later.get(a)
        if links is None or _is_guess(links):
            passes = _passes(pair) if passes is None else passes
            yield a, after, _guess(links) or _removed(pair, a, after, passes)


def _is_guess(links: list[Link]) -> bool:
    return all(link.evidence == "structure" for link in links)


def _guess(links: list[Link] | None) -> str | None:
    return f"{links[0].note} (inferred)" if links else None


def _is_known_call(run: Run, node: int) -> bool:
    """A delegate call has its counterparts through the operators inside it."""
    return run.role[node] == "delegate" and node in run.calls


_INNER_OUTPUT = "lists the values that a nested graph returns"


def _is_inner_output(run: Run, node: int) -> bool:
    return run.role[node] == "output" and bool(run.graphs[run.graph[node]].path)


def _inserted(pair: Pair, b: int, before: str, watched: str | None) -> str:
    run = pair.run
    if run.op_type[b] == "alloc":
        return "memory planned by to_executorch"
    if run.role[b] == "subgraph":
        return _nested(run, b)
    if _is_inner_output(run, b):
        return _INNER_OUTPUT
    if run.selects_port(b):
        source, port, _ = run.inputs[b][0]
        return f"reads output {port} of {run.name[source]}, which nothing reads in {before}"
    lineage = run.lineage
    sources = list(lineage.above(lineage.head[b]))
    if watched:
        return f"inserted by the pass {watched}"
    if maker := made_by(pair, b, recorded=bool(sources)):
        return maker
    if not sources:
        return "no provenance recorded"
    _, name = lineage.ancestor[lineage.hop[sources[-1]]]
    by = lineage.pass_name[sources[0]]
    return f"inserted by {by or 'a pass'}: it comes from {name}, which has no counterpart in {before}"


def _nested(run: Run, b: int) -> str:
    backend = next((found for user in run.users[b] if (found := run.backend(user))), None)
    return f"inserted by to_backend: the graph that {backend} runs" if backend else "holds a nested graph"


def _passes(pair: Pair) -> str:
    """Names the passes between two stages, as the chains of the nodes that came through them do."""
    run, lineage = pair.run, pair.run.lineage
    for b, links in pair.to_earlier.items():
        if links[0].evidence != "from_node":
            continue
        names: dict[str, None] = {}
        for source in lineage.chain(b):
            if lineage.pass_name[source]:
                names[lineage.pass_name[source]] = None
            home, name = lineage.ancestor[lineage.hop[source]]
            if home in run.graphs[run.graph[links[0].src]].identities and name == run.name[links[0].src]:
                found = list(names)
                return f"the pass {found[0]}" if len(found) == 1 else f"one of the passes {', '.join(reversed(found))}"
    return ""


def _removed(pair: Pair, a: int, after: str, passes: str) -> str:
    run = pair.run
    users = run.users[a]
    if _is_inner_output(run, a):
        return _INNER_OUTPUT
    if run.boundary[a] and users:
        links = (link for user in users for link in pair.to_later.get(user, ()))
        folds = {link.note for link in links if link.note and link.note.startswith("folded")}
        return sorted(folds)[0] if folds else packed_into(pair, a) or f"no longer an input of {after}"
    by = f" by {passes}" if passes else ""
    if not users and run.role[a] != "output":
        return f"removed{by}: its value is not used"
    if run.passes_on(a):
        return f"removed{by}: it passes the value of {run.name[run.inputs[a][0][0]]} on unchanged"
    return f"removed{by}: nothing in {after} names it"
