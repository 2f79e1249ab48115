"""The provenance of live nodes: chains of records of the nodes that they were made of."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any, Final

from torch import fx

from fxstore.ingest.build import Link

MOST_CHAINS: Final = 100
"""Of one record: where each of many hops has two ancestors, their number would double from hop to hop."""
# The stages of a compile share their nodes' records, which nothing edits: each is walked once, as long as it lives.
_walked: dict[int, tuple[weakref.ref[Any], list[list[Link]]]] = {}


def chains(node: fx.Node) -> list[list[Link]]:
    """Returns the provenance chains of a node, nearest ancestor first; one for each line of ancestors."""
    return [chain for source in node.meta.get("from_node") or () for chain in _of_source(source)]


def _of_source(source: Any) -> list[list[Link]]:
    key = id(source)
    known = _walked.get(key)
    if known is not None and known[0]() is source:
        return known[1]
    found = _walk(source)
    _walked[key] = weakref.ref(source, partial(_forget, key)), found
    return found


def _forget(key: int, gone: weakref.ref[Any]) -> None:
    if key in _walked and _walked[key][0] is gone:
        del _walked[key]


def _walk(source: Any) -> list[list[Link]]:
    found: list[list[Link]] = []
    waiting: list[tuple[list[Link], Any]] = [([], source)]
    while waiting and len(found) < MOST_CHAINS:
        chain, hop = waiting.pop()
        while True:
            told, actions = hop.node_info, hop.action
            action = actions[0]._name_ if len(actions) == 1 else ",".join([one._name_ for one in actions])
            if told is None:
                chain.append(("", "", -1, hop.pass_name, action))
            else:
                chain.append((told.name, told.target, told.graph_id, hop.pass_name, action))
            older = hop.from_node
            if not older:
                break
            if len(older) > 1:
                waiting.extend((list(chain), one) for one in reversed(older[1:]))
            hop = older[0]
        found.append(chain)
    return found
