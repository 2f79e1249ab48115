"""The metadata of a serialised node: place in model and source, provenance chains, debug handles."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from operator import itemgetter

from fxstore.ingest.build import NOWHERE, Link, Place
from fxstore.ingest.json_input import Malformed, optional, typed
from fxstore.ingest.names import module_call, module_path, outer_calls, source_line

_HANDLES = re.compile(r"[\[(]?\s*(\d{1,18}(?:\s*,\s*\d{1,18})*)?\s*,?\s*[\])]?")

# As those of a live node; more would take more memory than the file that holds them.
_MOST_CHAINS = 100
_HOP = itemgetter("name", "target", "graph_id", "pass_name", "action")


class Metadata:
    """Reads metadata; what repeats from node to node is read once."""

    def __init__(self) -> None:
        self._places: dict[tuple[str | None, str | None], Place] = {}

    def place(self, meta: dict[str, object]) -> Place:
        """Returns where a node comes from: the innermost module of its stack, the user's own line of its trace."""
        key = (optional(meta, "stack_trace", str) or None, optional(meta, "nn_module_stack", str) or None)
        if key == (None, None):
            return NOWHERE
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = _place(*key)
        return place


def _place(trace: str | None, stack: str | None) -> Place:
    file, line, code = source_line(trace) if trace else (None, None, None)
    if stack is None:
        return Place(source_file=file, source_line=line, source_code=code)
    modules = [module.split(",") for module in stack.split(";")]
    parts = modules[-1]
    if len(parts) < 3:
        raise Malformed("has a module stack that does not read 'key,path,type;…'")
    outer = outer_calls((own[0], ",".join(own[1:-1])) for own in modules[:-1])
    return Place(module_path(",".join(parts[1:-1])), parts[-1], module_call(parts[0]), file, line, code, outer)


def chains(meta: dict[str, object]) -> list[list[Link]]:
    """Returns the provenance chains of a node, nearest ancestor first."""
    text = optional(meta, "from_node", str)
    if text is None:
        return []
    try:
        sources = json.loads(text)
    except json.JSONDecodeError as error:
        raise Malformed(f"has a provenance chain that is not JSON: {error}") from error
    return [chain for source in typed(sources or [], list, "a provenance chain") for chain in _chains(source)]


def _chains(source: object) -> list[list[Link]]:
    """Returns the chain of one ancestor, or several where one further back has several ancestors."""
    found: list[list[Link]] = []
    waiting: list[tuple[list[Link], object]] = [([], source)]
    while waiting:
        chain, hop = waiting.pop()
        while hop is not None:
            fields = typed(hop, dict, "an ancestor")
            chain.append(_link(fields))
            older = optional(fields, "from_node", list) or [None]
            waiting.extend((list(chain), one) for one in reversed(older[1:]))
            hop = older[0]
        found.append(chain)
        if len(found) + len(waiting) > _MOST_CHAINS:
            raise Malformed(f"has more than {_MOST_CHAINS} provenance chains")
    return found


def _link(hop: dict[str, object]) -> Link:
    try:
        name, target, graph, pass_name, action = _HOP(hop)
    except KeyError as error:
        raise Malformed(f"has an ancestor without {error}") from error
    if type(name) is not str or type(target) is not str or type(pass_name) is not str or type(action) is not str:
        raise Malformed("has an ancestor whose name, target, pass or action is not text")
    return name, target, typed(graph, int, "an ancestor's graph"), pass_name, action.replace("+", ",")


def handles(meta: dict[str, object]) -> Sequence[int] | None:
    """Returns a node's debug handles, ``(0,)`` and ``()`` included, or None where it has none."""
    text = optional(meta, "debug_handle", str)
    if text is None or text == "None":
        return None
    if text.isdecimal() and len(text) <= 18:
        return (int(text),)
    match = _HANDLES.fullmatch(text)
    if match is None:
        raise Malformed(f"has a debug handle that is neither a number nor a list: {text[:60]!r}")
    return [int(part) for part in match[1].split(",")] if match[1] else ()
