"""Who made a node without a counterpart, where no chain of provenance tells it and it is known all the same."""

from __future__ import annotations

import json
from collections.abc import Iterable

from fxstore.link.packed import is_unnamed
from fxstore.link.pair import Pair, consumers
from fxstore.link.run import STATE, Run

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
