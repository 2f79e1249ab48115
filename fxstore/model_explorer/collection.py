"""Collections: the graphs of a run, and where in them each of its nodes stands."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fxstore.model_explorer.graph import Graph, graph_of
from fxstore.model_explorer.source import Source
from fxstore.model_explorer.views import BUDGET, rolled, stepped_module, steps_of, within_budget


@dataclass
class Collection:
    """One file of graphs.

    Attributes:
        label: Its name in the app.
        graphs: What the app reads, in order.
        nodes: The ids of each graph's nodes, and the nids that each of them stands for; none for one that is made up.
        notes: What is left out or worked out, as (graph, line).
    """

    label: str
    graphs: list[dict[str, Any]] = field(default_factory=list)
    nodes: dict[str, list[tuple[str, tuple[int, ...]]]] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)

    @property
    def payload(self) -> dict[str, Any]:
        """What the app reads: ``label`` and ``graphs``."""
        return {"label": self.label, "graphs": self.graphs}

    def add(self, source: Source, nids: Sequence[tuple[int, ...]]) -> Graph:
        """Adds a graph; nids are those that each of its nodes stands for."""
        graph = graph_of(source)
        self.graphs.append(graph.payload)
        self.nodes[source.id] = list(zip(graph.ids, nids, strict=True))
        self.notes += [(source.id, note) for note in graph.notes]
        return graph

    def resolve(self) -> None:
        """Drops the ways to graphs that the collection does not hold, and says so."""
        held = {graph["id"] for graph in self.graphs}
        for graph in self.graphs:
            dropped = 0
            for node in graph["nodes"]:
                ways = node.get("subgraphIds", [])
                kept = [way for way in ways if way in held]
                dropped += len(ways) - len(kept)
                if ways and not kept:
                    del node["subgraphIds"]
                elif kept != ways:
                    node["subgraphIds"] = kept
            if dropped:
                note = f"{dropped} calls lead to graphs that are not in this collection"
                graph["groupNodeAttributes"][""]["calls"] = note
                self.notes.append((graph["id"], note))


def collection(label: str, sources: Sequence[Source]) -> Collection:
    """Returns a collection of graphs; beside one whose modules are called several times stands its rolled view."""
    found = Collection(label)
    taken = {source.id for source in sources}
    for source in sources:
        found.add(source, [(row["nid"],) for row in source.nodes])
        view = rolled(source)
        if view is not None:
            name = view.source.id
            while name in taken:
                name += "'"
            taken.add(name)
            nids = [tuple(source.nodes[i]["nid"] for i in group) for group in view.members]
            found.add(replace(view.source, id=name), nids)
    found.resolve()
    return found


def step_collections(
    label: str, sources: Sequence[Source], module: str | None = None, budget: int = BUDGET
) -> Iterator[Collection]:
    """Yields a collection for each graph of several steps: the whole graph first, then each step.

    Args:
        module: The module each call of which is a step; by default the outermost one that is called several times.
    """
    for source in sources:
        stepped = module if module is not None else stepped_module(source)
        steps = steps_of(source, stepped) if stepped is not None else []
        if len(steps) < 2:
            continue
        kept, omitted = within_budget(
            steps, lambda step: len(json.dumps(graph_of(step.source).payload, ensure_ascii=False)), budget
        )
        told = {"steps": f"{len(kept)} calls of {stepped or 'the model'}"}
        if omitted:
            told["omitted"] = omitted[0]
        found = Collection(f"{label} steps of {source.id}")
        found.add(replace(source, facts={**source.facts, **told}), [(row["nid"],) for row in source.nodes])
        found.notes += [(source.id, line) for line in omitted]
        for step in kept:
            nids = [() if at is None else (source.nodes[at]["nid"],) for at in step.positions]
            found.add(step.source, nids)
        found.resolve()
        yield found


def where(collections: Sequence[Collection]) -> dict[int, list[tuple[str, str]]]:
    """Returns where each nid stands, as (graph, node), in any of some collections."""
    found: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for one in collections:
        for graph, nodes in one.nodes.items():
            for node, nids in nodes:
                for nid in nids:
                    if (graph, node) not in found[nid]:
                        found[nid].append((graph, node))
    return found
