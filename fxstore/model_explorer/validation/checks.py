"""What is checked of Model Explorer's files: each check has a name, a severity and one line that says what is lost."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

Severity = Literal["error", "warning"]
MOST: Final = 1000
"""Findings of one check that are told one by one; the others are counted."""
_LONGEST: Final = 120
KINDS: Final[dict[type, str]] = {str: "a text", list: "a list", dict: "an object", bool: "true or false"}


@dataclass(frozen=True)
class Check:
    """One named check; an error is a loss or a refusal, a warning is neither but seldom meant."""

    name: str
    severity: Severity
    says: str


@dataclass(frozen=True)
class Finding:
    """What one check found at one place.

    Attributes:
        check: The check's name, of :data:`CHECKS`.
        severity: ``error`` or ``warning``.
        graph: The id of the graph, or None where it is no matter of one graph.
        node: The id of the node, or None.
        message: What is wrong there, in one line.
    """

    check: str
    severity: Severity
    graph: str | None
    node: str | None
    message: str


def _checks(severity: Severity, texts: str) -> Iterator[Check]:
    for line in filter(None, map(str.strip, texts.splitlines())):
        name, _, says = line.partition(": ")
        yield Check(name, severity, says)


CHECKS: Final = {
    check.name: check
    for check in itertools.chain(
        _checks(
            "error",
            """
            shape: the file is none that the app reads, or something in it has a wrong type: the app refuses it or stops
            non_finite: NaN and infinite numbers are no JSON: the app refuses the whole file
            inexact_number: JavaScript has no such number, so it reads another one
            repeated_key: of a key that stands twice in one object, only the last is read
            duplicate_graph_id: the app gives the second graph another id, so that node data and callers miss it
            bad_graph_id: an empty id, and a name that every JavaScript object has, is replaced
            unresolved_subgraph: a node leads to a graph that is not there
            graph_cycle: graphs that lead to each other cannot be chosen, or keep the file from being read
            graph_paths: the list of graphs repeats a graph for every way to it, and these are too many
            duplicate_node_id: of nodes with one id, only the last is held
            bad_node_id: an empty id, one with control characters, of a layer or of a JavaScript object breaks the graph
            hidden_node: the app hides nodes with this label
            bad_namespace: the app reads it otherwise, or places the node nowhere
            section_name: the app splits this layer into sections, and one has this name already
            deep_namespace: layers nested so deeply stop the app; nothing else of the graph is checked
            lost_in_cycle: the app splits this layer into sections, and this child is reached from no start of it
            long_chain: the app follows this chain of a layer deeper than JavaScript can
            pinned_node: a node that is pinned has no edges drawn, and one per layer has a place
            unresolved_edge: an edge from a node that is not there is dropped
            duplicate_edge: edges with the same two ends and ports are one
            undeclared_port: an edge leaves an output that its source does not declare, so that no value is shown for it
            shared_input: of edges into one input with metadata, the others show the values of the first
            undrawn_edge: edges of a cycle that no node without inputs leads to are not drawn
            duplicate_port: of outputs or inputs with one id, only the last is held
            duplicate_attribute: of attributes with one key, only the last is held
            hidden_attribute: the side panel does not show keys that begin with two underscores
            bad_attribute: a key that the app cannot hold, or a value that it does not show
            changed_text: the app rewrites this text
            unresolved_reference: an attribute or an overlay of edges names a node that is not there
            missing_group_rows: a layer, or the graph as a whole, has no row in groupNodeAttributes
            unknown_group_row: a row of groupNodeAttributes that no layer has
            bad_pattern: a regular expression that JavaScript cannot read
            bad_layout: a distance of the layout that makes boxes overlap
            unknown_graph: data for a graph that is not there
            unknown_node: data for a node that is not there
            ambiguous_key: data for the name of an output, that two nodes have, or that is another node's id
            bad_result_key: data under a name that JavaScript or the app uses itself goes elsewhere
            no_color: values that a gradient gives no colour
            bad_color: a colour of a gradient that the app reads as another
            overlapping_sets: of two entries with one node, the app follows the last only
            empty_set: an entry with nothing on one side leads nowhere
            """,
        ),
        _checks(
            "warning",
            """
            empty_label: a box without a word
            escaped_slash: a backslash before a slash makes the slash part of the layer's name
            slow_layout: edges across so many rows take the app long
            """,
        ),
    )
}
"""All checks by name."""


@dataclass
class Findings:
    """Collects findings; of one check in one graph, those beyond :data:`MOST` are counted only."""

    strict: bool = False
    _found: list[Finding] = field(default_factory=list)
    _counts: Counter[tuple[str, str | None]] = field(default_factory=Counter)

    def add(self, check: str, message: str, graph: str | None = None, node: str | None = None) -> None:
        """Notes what a check found."""
        self._counts[check, graph] += 1
        if self._counts[check, graph] <= MOST:
            severity = "error" if self.strict else CHECKS[check].severity
            self._found.append(Finding(check, severity, graph, node, message))

    def all(self) -> list[Finding]:
        """Returns the findings in the order of the file; a last one for what was only counted."""
        more = [
            Finding(check, CHECKS[check].severity, graph, None, f"and {count - MOST} more")
            for (check, graph), count in self._counts.items()
            if count > MOST
        ]
        return self._found + more


def quoted(value: object) -> str:
    """Returns a value as it may stand in a message: one line of visible text, cut where it is long."""
    if not isinstance(value, str):
        return str(value)[:_LONGEST] if isinstance(value, bool | int | float | None) else KINDS.get(type(value), "?")
    return repr(value) if len(value) <= _LONGEST else f"{value[:_LONGEST]!r}…"


def listed(values: Iterable[object]) -> str:
    """Returns the first three of some values, and how many more there are."""
    given = list(values)
    more = f" and {len(given) - 3} more" if len(given) > 3 else ""
    return ", ".join(map(quoted, given[:3])) + more
