"""Translates between the two numbers that one node has: its debug handle, and the instruction that runs it.

After ``to_executorch()`` an emitted node carries the index of its instruction where its handle was. Only the maps that
the program and its ETRecord keep tell which handles an instruction stands for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from fxstore import tables
from fxstore.ingest.etrecord import counts_of, delegates_of, handles_of
from fxstore.ingest.overlays import NodeOverlay
from fxstore.records import Delegate, Graph, Stage

INSTRUCTION: Final = "instruction"
DEBUG_HANDLE: Final = "debug_handle"


@dataclass(frozen=True)
class Maps:
    """What a program's runtime maps say, by method and instruction.

    Attributes:
        handles: The debug handles of the nodes that an instruction runs.
        delegates: The delegate that it calls.
    """

    handles: Mapping[str, Mapping[int, tuple[int, ...]]] = field(default_factory=dict)
    delegates: Mapping[str, Mapping[int, Delegate]] = field(default_factory=dict)

    @classmethod
    def of_live(cls, handles: Any, delegates: Any) -> Maps:
        """Returns the maps that a live object holds, read as if they came from its file: the keys are texts there."""
        return cls(handles_of(_as_stored(handles)), delegates_of(_as_stored(delegates)))

    def on(self, stage: Stage) -> Stage:
        """Returns a stage with these maps."""
        graphs = tuple(self.translated(graph) for graph in stage.graphs)
        return replace(stage, graphs=graphs, delegates=self.delegates)

    def translated(self, graph: Graph) -> Graph:
        """Returns a graph whose nodes have both numbers, as far as the maps tell.

        An emitted node gets the handles of its instruction; any other node the instructions that run its handles.
        """
        by_instruction = self.handles.get(graph.method, {})
        rows = graph.tables["handles"].to_pylist()
        emitted = any(row["namespace"] == INSTRUCTION for row in rows)
        known = {(row["position"], row["namespace"], row["handle"]) for row in rows}
        if emitted:
            pairs = {i: tuple(dict.fromkeys(handles)) for i, handles in by_instruction.items()}
        else:
            pairs = _inverse(by_instruction)
        asked, given = (INSTRUCTION, DEBUG_HANDLE) if emitted else (DEBUG_HANDLE, INSTRUCTION)
        more = [
            (row["position"], given, number)
            for row in rows
            if row["namespace"] == asked
            for number in pairs.get(row["handle"], ())
            if (row["position"], given, number) not in known
        ]
        return _with_handles(graph, list(dict.fromkeys(more))) if more else graph


def _inverse(by_instruction: Mapping[int, Sequence[int]]) -> dict[int, tuple[int, ...]]:
    found: dict[int, list[int]] = {}
    for instruction, handles in sorted(by_instruction.items()):
        for handle in dict.fromkeys(handles):
            found.setdefault(handle, []).append(instruction)
    return {handle: tuple(instructions) for handle, instructions in found.items()}


def _with_handles(graph: Graph, rows: list[tuple[int, str, int]]) -> Graph:
    columns = zip(*rows, strict=True)
    more = pa.table([pa.array(c, f.type) for c, f in zip(columns, tables.HANDLES, strict=True)], schema=tables.HANDLES)
    return replace(graph, tables={**graph.tables, "handles": pa.concat_tables([graph.tables["handles"], more])})


def _as_stored(found: Any) -> object:
    return {} if found is None else json.loads(json.dumps(found))


def counts_of_live(found: Any) -> tuple[NodeOverlay, ...]:
    """Returns the same from the map that a live ETRecord holds."""
    return counts(counts_of(_as_stored(found)))


def counts(num_outs: Mapping[str, Mapping[int, int | tuple[int, ...]]]) -> tuple[NodeOverlay, ...]:
    """Returns the numbers of outputs of a program's instructions as an overlay on the run; none where it has none."""
    rows = [
        {"metric": "outputs", "value": float(count), "text": f"{method} {INSTRUCTION} {instruction}"}
        for method, found in num_outs.items()
        for instruction, given in found.items()
        for count in (given if isinstance(given, tuple) else (given,))
    ]
    return (NodeOverlay.of("outputs of instructions", "static", rows, source="the ETRecord"),) if rows else ()
