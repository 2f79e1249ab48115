"""Checks of sync files: which nodes of the left pane are which of the right one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fxstore.model_explorer.validation.checks import Findings, listed
from fxstore.model_explorer.validation.read import Graph, Reader
from fxstore.model_explorer.validation.texts import SETTER

_SIDES: Final = ("leftNodeIds", "rightNodeIds")


def check_sync(document: Mapping[str, Any], graphs: Sequence[Sequence[Graph]], findings: Findings) -> None:
    """Checks a sync file; against the graphs of the left pane and of the right one, where there are any."""
    read = Reader(findings)
    if document.get("mappingEntries") and document.get("mapping"):
        findings.add("shape", "holds mappingEntries and mapping, and the app reads the first only")
    entries = list(_entries(document, read))
    for side, place in enumerate(_SIDES):
        known = {node.id for graph in (graphs[min(side, len(graphs) - 1)] if graphs else ()) for node in graph.nodes}
        for name, count in Counter(name for entry in entries for name in set(entry[side])).items():
            if count > 1:
                findings.add("overlapping_sets", f"{count} entries name it in {place}", None, name)
            if name == SETTER:
                findings.add("bad_node_id", "JavaScript holds nothing under that name", None, name)
            if known and name not in known:
                findings.add("unknown_node", f"{place} names it", None, name)
    for left, right in entries:
        if not left or not right:
            findings.add("empty_set", f"that of {listed(left or right)}")


def _entries(document: Mapping[str, Any], read: Reader) -> list[tuple[list[str], list[str]]]:
    if document.get("mappingEntries") is not None:
        rows = list(read.rows(document, "mappingEntries", "the file"))
        for row in rows:
            for side in _SIDES:
                if row.get(side) is None:
                    read.wrong(f"{side} of an entry", list, None)
        return [(read.texts(row, _SIDES[0], "an entry"), read.texts(row, _SIDES[1], "an entry")) for row in rows]
    mapping = read.take(document, "mapping", dict, "the file", needed=True) or {}
    return [([left], [right]) for left in mapping if (right := read.take(mapping, left, str, "mapping", needed=True))]
