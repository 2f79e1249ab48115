"""One graph as the app takes it: nodes in the modules that they belong to, every edge with its ports."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fxstore.model_explorer.names import INPUTS, OUTPUTS, attribute, escaped, in_parts, is_part, namespace, node_ids
from fxstore.model_explorer.source import HELD, Edge, Row, Source, attrs_of, calls_of, feedback, values_of

Json = dict[str, Any]
_LONGEST: Final = 400
_MOST_ARGUMENTS: Final = 24
_COLUMNS: Final = (
    ("name", "name"), ("target", "target"), ("op", "op"), ("role", "role"), ("module", "module_path"),
    ("module_type", "module_type"), ("module_call", "module_call"), ("backend", "backend"), ("device", "device"),
    ("source_code", "source_code"), ("calls", "rolled"), ("debug_handles", "handles"), ("unmatched", "unmatched"),
    ("graph", "step_graph"), ("nid", "nid"),
)  # fmt: skip


@dataclass
class Graph:
    """A graph of a collection, and how its nodes are told from each other.

    Attributes:
        ids: The id of each node of the source, in order.
        payload: What the app reads.
        notes: What is left out of it, and what is worked out and not recorded; one line each.
    """

    ids: list[str]
    payload: Json
    notes: list[str] = field(default_factory=list)


def key_of(row: Row) -> tuple[str, ...]:
    """Returns what a node is called by in its id: an operator by module and operator, any other by role and name.

    So a node keeps its id when nodes are added elsewhere, whatever the compiler numbers them.
    """
    if row.get("key") is not None:
        return tuple(row["key"])
    if row["op"] in ("placeholder", "output", "get_attr"):
        return row["role"] or row["op"], row["name"] or ""
    kind = row["op_type"] or row["op"] or ""
    return (row["module_path"], kind) if row["module_path"] else (kind,)


def graph_of(source: Source) -> Graph:
    """Returns a graph of a collection."""
    ids = node_ids(map(key_of, source.nodes))
    modules, notes = _namespaces(source)
    places, parts, said = in_parts(modules)
    notes += said
    uses: dict[int, list[Edge]] = defaultdict(list)
    back = feedback(source.edges)
    ports: Counter[int] = Counter()
    for edge in source.edges:
        ports[edge.src] = max(ports[edge.src], edge.port + 1)
        if edge not in back:
            uses[edge.dst].append(edge)
    clipped: Counter[str] = Counter()
    nodes = [
        _node(row, ids, place, uses.get(i, ()), ports[i], source.calls.get(i, ()), clipped, i)
        for i, (row, place) in enumerate(zip(source.nodes, places, strict=True))
    ]
    if back:
        notes.append(f"{len(back)} edges lead back; they are drawn as the overlay 'feedback'")
    notes += [f"{what}: {count} left out or cut short" for what, count in sorted(clipped.items())]
    operators = [row for row in source.nodes if row["op"] not in ("placeholder", "get_attr", "output", "boundary")]
    known = sum(row["module_path"] is not None for row in operators)
    recorded = f"the module's path, recorded for {known} of {len(operators)} operators"
    rows = {"": {**source.facts, "namespaces": recorded, **{f"note {i}": note for i, note in enumerate(notes, 1)}}}
    payload: Json = {
        "id": source.id,
        "nodes": nodes,
        "groupNodeAttributes": rows | _rows(source, modules, places) | parts,
        # The app's settings hide labels such as "Const".
        "nodeLabelsToHide": [],
    }
    if back:
        payload["tasksData"] = _overlay(sorted(back, key=lambda edge: (edge.dst, edge.src)), ids)
    return Graph(ids, payload, notes)


def _overlay(edges: Sequence[Edge], ids: Sequence[str]) -> Json:
    """Returns edges as an overlay of either pane; one label per pair of nodes."""
    labels: dict[tuple[str, str], list[str]] = {}
    for edge in edges:
        labels.setdefault((ids[edge.src], ids[edge.dst]), []).append(f"{edge.port} → {edge.arg}")
    drawn = [{"sourceNodeId": src, "targetNodeId": dst, "label": ", ".join(of)} for (src, dst), of in labels.items()]
    overlays = [{"name": "feedback", "edgeColor": "#c2410c", "edges": drawn}]
    data = [{"type": "edge_overlays", "name": "feedback", "overlays": overlays}]
    return {"edgeOverlaysDataListLeftPane": data, "edgeOverlaysDataListRightPane": data}


def _namespaces(source: Source) -> tuple[list[str], list[str]]:
    """Returns the namespace of each node; a module that is called several times is qualified on every call."""
    calls = [calls_of(row) for row in source.nodes]
    repeated = {path for one in calls for path, call in one.items() if call > 1}
    places = [_place(row, one, repeated) for row, one in zip(source.nodes, calls, strict=True)]
    users: dict[int, list[int]] = defaultdict(list)
    for edge in source.edges:
        users[edge.src].append(edge.dst)
    derived = 0
    for i in range(len(places) - 1, -1, -1):
        row = source.nodes[i]
        if row["role"] in HELD and row["module_path"] is None:
            places[i] = _common([places[user] for user in users.get(i, ()) if places[user] != OUTPUTS])
            derived += bool(places[i])
    notes = [f"{derived} parameters, buffers or constants stand in the module of their users"] if derived else []
    return places, notes


def _place(row: Row, calls: Mapping[str, int], repeated: set[str]) -> str:
    if row.get("place") is not None:
        return str(row["place"])
    if not calls:
        if row["op"] == "output" or row["role"] == "output":
            return OUTPUTS
        return INPUTS if row["op"] == "placeholder" and row["role"] not in HELD else ""
    named = [("self", calls[""])] if "" in repeated else []
    return namespace(named + [
        (path.rpartition(".")[2], call if path in repeated else None) for path, call in calls.items() if path
    ])  # fmt: skip


def _common(places: Sequence[str]) -> str:
    if not places or len(set(places)) == 1:
        return places[0] if places else ""
    split = [place.split("/") for place in places]
    shared = []
    for parts in zip(*split, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join(shared)


def _rows(source: Source, modules: Sequence[str], places: Sequence[str]) -> dict[str, dict[str, str]]:
    """Returns a row for each layer; where one stands in a part, it is its module's."""
    rows = _group_rows(source.nodes, modules)
    if modules == places:
        return rows
    found: dict[str, dict[str, str]] = {}
    for module, place in zip(modules, places, strict=True):
        shown = place.split("/")
        named = [i for i, part in enumerate(shown) if not is_part(part)]
        for depth, i in enumerate(named, 1):
            found["/".join(shown[: i + 1])] = rows["/".join(module.split("/")[:depth])]
    return found


def _group_rows(nodes: Sequence[Row], places: Sequence[str]) -> dict[str, dict[str, str]]:
    """Returns what is known of each namespace: how many nodes it holds, and of a module its path, type and call."""
    counts: Counter[str] = Counter()
    for place in places:
        parts = place.split("/") if place else []
        counts.update("/".join(parts[:i]) for i in range(1, len(parts) + 1))
    rows = {place: {"nodes": str(count)} for place, count in counts.items()}
    for row, place in zip(nodes, places, strict=True):
        if place and row["module_path"] is not None and row.get("place") is None:
            given = (("module", row["module_path"]), ("type", row["module_type"]), ("call", row["module_call"]))
            rows[place] |= {key: str(value) for key, value in given if value not in (None, "")}
    return rows


def _node(
    row: Row,
    ids: Sequence[str],
    place: str,
    uses: Sequence[Edge],
    ports: int,
    calls: Sequence[str],
    clipped: Counter[str],
    position: int,
) -> Json:
    edges, inputs = _edges(uses, ids)
    node: Json = {"id": ids[position], "label": _label(row), "namespace": place}
    if calls:
        node["subgraphIds"] = list(calls)
    node["attrs"] = [{"key": key, "value": value} for key, value in _attributes(row, clipped)]
    if edges:
        node["incomingEdges"], node["inputsMetadata"] = edges, inputs
    outputs = _outputs(row, ports)
    if outputs:
        node["outputsMetadata"] = outputs
    return node


def _label(row: Row) -> str:
    """Returns the short name that stands on a box: the operator, for what is none its role."""
    held = row["op"] in ("placeholder", "get_attr", "output")
    columns = ("role", "op") if held else ("op_type", "target", "op", "name")
    return next((str(row[name]) for name in columns if row[name] and str(row[name]).strip()), "?")


def _edges(uses: Sequence[Edge], ids: Sequence[str]) -> tuple[list[Json], list[Json]]:
    """Returns a node's incoming edges, no two of them alike, and the name of each argument."""
    edges: list[Json] = []
    names: dict[str, str] = {}
    taken: set[tuple[str, str, str]] = set()
    for edge in uses:
        name = edge.arg if edge.arg is not None else "argument"
        port, again = escaped(name), 1
        while (ids[edge.src], str(edge.port), port) in taken:
            again += 1
            port = escaped(f"{name}#{again}")
        taken.add((ids[edge.src], str(edge.port), port))
        names[port] = name
        edges.append({"sourceNodeId": ids[edge.src], "sourceNodeOutputId": str(edge.port), "targetNodeInputId": port})
    tags = [{"id": port, "attrs": [{"key": "__tensor_tag", "value": name}]} for port, name in names.items()]
    return edges, tags


def _outputs(row: Row, ports: int) -> list[Json]:
    """Returns dtype and shape of each output; outputs that are used are declared even where nothing is known."""
    values = values_of(row)
    values += [(None, None)] * (ports - len(values))
    outputs = []
    for port, (dtype, shape) in enumerate(values):
        known = [] if dtype is None else [{"key": "dtype", "value": str(dtype)}]
        known += [] if shape is None else [{"key": "shape", "value": f"[{', '.join(map(str, shape))}]"}]
        outputs.append({"id": str(port), "attrs": known})
    return outputs


def _attributes(row: Row, clipped: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yields a node's attributes, short and only those that there are; counts what is cut short."""
    for key, column in _COLUMNS:
        if column != "module_call" or row[column] != 1:
            yield from _attribute(key, row.get(column), clipped)
    if row.get("source_file"):
        line = row.get("source_line")
        yield from _attribute("source", f"{row['source_file']}:{line}" if line else row["source_file"], clipped)
    arguments = attrs_of(row).get("args")
    given = list(arguments.items()) if isinstance(arguments, dict) else []
    for path, value in given[:_MOST_ARGUMENTS]:
        yield from _attribute(f"argument {path}", json.dumps(value, ensure_ascii=False), clipped)
    clipped.update({"constant arguments": len(given) - _MOST_ARGUMENTS} if len(given) > _MOST_ARGUMENTS else {})


def _attribute(key: str, value: object, clipped: Counter[str]) -> Iterator[tuple[str, str]]:
    text = "" if value is None else str(value)
    if len(text) > _LONGEST:
        clipped[f"attribute {key}"] += 1
        text = text[: _LONGEST - 1] + "…"
    if text:
        yield key, attribute(text)
