"""Node data of Model Explorer's: values by the ids of nodes, or by the names of their outputs.

A file holds ``{graph id: {"results": {node id: {"value"}}}}`` or one such ``{"results"}``, as the vendor's
``node_data_builder`` has them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from fxstore.ingest.overlays import Laid, NodeOverlay, Place, RunNodes
from fxstore.ingest.typed_json import Malformed, member, optional
from fxstore.records import EXECUTED

KIND = "graph"
"""Kind of the stages that are read from graphs as JSON."""
KEYS = "called"
"""Attribute of a node that was read from such a graph: its id and the names of its outputs, where not its own name."""


def is_node_data(document: object) -> bool:
    """Tells whether a document is node data."""
    return bool(_results(document))


def _results(document: object) -> dict[str | None, dict[str, object]]:
    """Returns the node data of a document by graph id; None for a document that names no graph."""
    if not isinstance(document, dict) or not document:
        return {}
    if isinstance(document.get("results"), dict):
        return {None: document}
    if all(isinstance(one, dict) and isinstance(one.get("results"), dict) for one in document.values()):
        return dict(document)
    return {}


@dataclass(frozen=True)
class NodeData:
    """Node data: one overlay per graph that it names, laid on the stage of that graph's id."""

    document: object
    name: str
    better: str | None = None

    def lay(self, run: RunNodes) -> Iterator[Laid]:
        """Returns the overlays; each on the stage or nested graph of its id, else on the graph that has its nodes."""
        for graph, data in _results(self.document).items():
            keys = member(data, "results", dict).keys()
            places = _places(run, graph, keys)
            names = _names(places)
            stages = {place.stage.name for place in places}
            for overlay in _overlays(data, self.name, stages.pop() if len(stages) == 1 else None, names):
                yield from replace(overlay, better=self.better).lay(run)


def _places(run: RunNodes, graph: str | None, keys: Iterable[str]) -> list[Place]:
    """Returns the graphs that data may be for.

    A stage is called as the graph, with all graphs nested in it; or a nested graph is; or a stage's name ends so.
    Where none is, it is any graph of Model Explorer's, and of these the one that has most of the nodes.
    """
    for known in (
        [place for place in run.places if place.stage.name == graph],
        [place for place in run.places if graph is not None and place.graph.path.rpartition("/")[2] == graph],
        [place for place in run.places if graph is not None and place.stage.name.rpartition("/")[2] == graph],
    ):
        if known and (known[0].graph.path or len({place.stage.name for place in known}) == 1):
            return known
    others = [place for place in run.places if place.stage.kind in (KIND, EXECUTED)]
    asked = set(keys)
    shared = {place.base: len(asked & (_names([place]).keys() | set(_called(place)))) for place in others}
    most = max(shared.values(), default=0)
    best = {place.stage.name for place in others if most and shared[place.base] == most}
    return [place for place in others if place.stage.name in best] if best else run.places


def _called(place: Place) -> list[str]:
    names: list[str] = place.graph.nodes["name"].to_pylist()
    return names


def _names(places: Iterable[Place]) -> dict[str, tuple[str, str, str]]:
    """Returns the stage, path and name of a node by what node data may call it where that is not its name."""
    found: dict[str, tuple[str, str, str]] = {}
    for place in places:
        for name, attrs in zip(_called(place), place.graph.nodes["attrs"].to_pylist(), strict=True):
            if attrs and f'"{KEYS}"' in attrs:
                keys = json.loads(attrs).get(KEYS)
                where = (place.stage.name, place.graph.path, name)
                found.update((key, where) for key in keys or () if isinstance(key, str))
    return found


def _overlays(
    data: dict[str, object], name: str, stage: str | None, names: Mapping[str, tuple[str, str, str]]
) -> Iterator[NodeOverlay]:
    label = optional(data, "name", str) or name
    rows = []
    for key, result in member(data, "results", dict).items():
        in_stage, path, node = names.get(key, (stage, None, key))
        where = {"stage": in_stage, "path": path, "node": node}
        rows.append({**where, "port": 0, "metric": label, "sample": 0, **_result(result)})
    kind = "category" if rows and all(row["value"] is None for row in rows) else "statistics"
    yield NodeOverlay.of(label, kind, rows, source="Model Explorer node data")


def _result(result: object) -> dict[str, object]:
    value = result.get("value") if isinstance(result, dict) else result
    if isinstance(value, bool) or value is None:
        return {"value": None, "text": None if value is None else str(value).lower()}
    if isinstance(value, (int, float)):
        return {"value": float(value), "text": None}
    if isinstance(value, str):
        return {"value": None, "text": value}
    raise Malformed("a value should be a number or a text")
