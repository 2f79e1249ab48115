"""Says why a node has no counterpart in the stage before or after, in words that a person understands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from fxstore.link.packing import is_unnamed
from fxstore.link.pair import Link, Pair, consumers
from fxstore.link.run import STATE, Run
from fxstore.records import Stage

# Who made a node without a counterpart, where no chain of provenance tells it and it is known all the same.


_GUARDS = "_guards_fn"


def made_by(pair: Pair, b: int, *, recorded: bool) -> str | None:
    """Returns who made a node: of one that cites nothing also export, a fold, or the backend in whose payload it is.

    Args:
        recorded: Whether the node cites an ancestor, which says more.
    """
    run = pair.run
    if _writes_back(run, b):
        return f"inserted by to_executorch: writes the buffer {run.name[run.inputs[b][0][0]]} back"
    if recorded:
        return None
    if run.target[b] == _GUARDS:
        return "inserted by ExportedProgram.module(): checks what is passed in"
    if run.role[b] in STATE and not run.users[b]:
        return "comes with the module: nothing reads it"
    if run.role[b] in STATE:
        return _of_fold(pair, b) or _of_number(pair, b) or _of_program(run, b)
    if run.quantiser[b] and run.inputs[b]:
        return f"{'observes' if run.is_observer(b) else 'quantises'} {run.name[run.inputs[b][0][0]]}"
    call = run.parents.get(run.graph[b])
    backend = run.backend(call) if call is not None else None
    if call is not None and run.role[b] == "input":
        return _of_argument(run, b, call)
    if backend is None or not run.target[b].startswith("xnnpack.") or not run.inputs[b]:
        return None
    source = run.name[run.inputs[b][0][0]]
    if b in run.inserted_layouts:
        return f"inserted by {backend}: lays the value of {source} out with its channels last, or back"
    return None if run.carries_handle(b) else f"inserted by {backend} behind {source}: it has no debug handle"


def _writes_back(run: Run, b: int) -> bool:
    """Tells whether a node is what ``insert_write_back_for_buffers_pass`` puts in for a buffer that the graph edits."""
    is_emitted = run.kind_of_stage[run.stage[b]] == "runtime"
    return (
        is_emitted and run.op_type[b] == "copy_" and bool(run.inputs[b]) and run.role[run.inputs[b][0][0]] == "buffer"
    )


def _of_fold(pair: Pair, b: int) -> str | None:
    """A bias that an operator did not have before a batch-norm was folded into it."""
    for user in sorted(consumers(pair.run, b)):
        links = pair.to_earlier.get(user, ())
        norms = [link.src for link in links if (link.note or "").startswith("folded into")]
        if norms:
            return f"constant made by folding {_listed(pair.run, norms)} into {pair.run.name[user]}"
    return None


def _of_number(pair: Pair, b: int) -> str | None:
    """A number among the arguments of an operator that became a constant which the operator reads."""
    run = pair.run
    for reader in sorted(consumers(run, b)):
        places = {arg for src, _, arg in run.inputs[reader] if src == b or b in _behind(run, src)}
        for link in pair.to_earlier.get(reader, ()):
            given = json.loads(run.attrs[link.src] or "{}").get("args", {})
            for place in sorted(places & given.keys()):
                if isinstance(given[place], int | float):
                    return f"constant made of a number: argument {place} of {run.name[link.src]}, {given[place]}"
    return None


def _behind(run: Run, node: int) -> set[int]:
    """Returns the values that a node observes or quantises, step by step."""
    found: set[int] = set()
    while run.quantiser[node] and run.inputs[node]:
        node = run.inputs[node][0][0]
        found.add(node)
    return found


def _of_program(run: Run, b: int) -> str | None:
    """A constant of a program file: the file has its value, and not its name."""
    if not is_unnamed(run, b) or not run.users[b]:
        return None
    call = run.parents.get(run.graph[b])
    maker = run.backend(call) if call is not None else "to_executorch"
    if maker is None or run.kind_of_stage[run.stage[b]] != "runtime":
        return None
    return f"constant packed by {maker}, which keeps no name of it: {_listed(run, run.users[b])} reads it"


def _of_argument(run: Run, b: int, call: int) -> str | None:
    """An input of a delegate's graph, of which the value that is passed has no counterpart either."""
    given = next((value for inner, value in run.passed(call, run.graph[b]) if inner == b), None)
    return None if given is None else f"takes {run.name[given[0]]}, which has no counterpart either"


def packed_into(pair: Pair, a: int) -> str | None:
    """Returns the delegates that a weight went into: those in which everything is that reads it."""
    run = pair.run
    readers = pair.became(consumers(run, a))
    calls = {node if run.role[node] == "delegate" else run.parents.get(run.graph[node]) for node in readers}
    if None in calls or not calls:
        return None
    named = sorted(call for call in calls if call is not None and run.role[call] == "delegate")
    if len(named) < len(calls) or len({run.backend(call) for call in named}) > 1:
        return None
    return f"packed into {_listed(run, named)} by {run.backend(named[0]) or 'its backend'}"


def _listed(run: Run, nodes: Iterable[int]) -> str:
    names = list(dict.fromkeys(run.name[node] for node in nodes))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


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
