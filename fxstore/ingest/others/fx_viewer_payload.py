"""Payloads of the fx_viewer: ``{"base": {"nodes", "edges"}, "extensions": {…}}``, one graph and its overlays.

What compares several holds a payload for each: ``{"viewers": [{"name", "payload"}]}``, as
:class:`fxstore.fx_viewer.FXGraphCompareExporter` writes it, a dict from their names, or a list, whose items may have a
``name``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fxstore.ingest.build import NO_VALUE, NOWHERE, Place, Value
from fxstore.ingest.json_input import Malformed, each, member, optional
from fxstore.ingest.names import module_path, op_type
from fxstore.ingest.node_table import Node, Use, graph_of
from fxstore.ingest.overlays import NodeOverlay
from fxstore.records import Stage

_VERSION = 1
_OPS = frozenset({"placeholder", "get_attr", "call_function", "call_module", "call_method", "output"})
_SHOWN_ELSEWHERE = frozenset({"op", "name", "target", "args", "kwargs", "tensor_shape", "dtype", "debug_handle"})


def is_payload(document: object) -> bool:
    """Tells whether a document is a payload."""
    base = document.get("base") if isinstance(document, dict) else None
    return isinstance(base, dict) and isinstance(base.get("nodes"), list) and isinstance(base.get("edges"), list)


def several(document: object) -> dict[str, object]:
    """Returns the payloads of a document by name, in order; none where it is anything else."""
    if isinstance(document, dict) and isinstance(document.get("viewers"), list):
        viewers = [one for one in document["viewers"] if isinstance(one, dict) and is_payload(one.get("payload"))]
        payloads = [{**one["payload"], "name": one.get("name")} for one in viewers]
        return several(payloads) if len(viewers) == len(document["viewers"]) else {}
    if isinstance(document, dict) and document and all(map(is_payload, document.values())):
        return {str(name): payload for name, payload in document.items()}
    if isinstance(document, list) and document and all(map(is_payload, document)):
        found: dict[str, object] = {}
        for number, payload in enumerate(document):
            name = payload.get("name")
            name = name if isinstance(name, str) and name else f"graph {number + 1}"
            found[name if name not in found else f"{name} #{number + 1}"] = payload
        return found
    return {}


def check_version(document: object) -> None:
    """Raises where a document is of a later version than this reads; one that names none is the prototype's.

    Raises:
        Malformed: It is.
    """
    version = optional(document, "version", int) if isinstance(document, dict) else None
    if version is not None and version > _VERSION:
        raise Malformed(f"is a payload of version {version}; this fxstore reads up to {_VERSION}")


def stage_of(document: object, name: str = "") -> Stage:
    """Returns a payload's graph.

    Raises:
        Malformed: It does not follow the shape.
    """
    base = member(document, "base", dict)
    rows = list(each(member(base, "nodes", list), dict, "a node"))
    sources: dict[str, list[str]] = {}
    for edge in each(member(base, "edges", list), dict, "an edge"):
        sources.setdefault(member(edge, "w", str), []).append(member(edge, "v", str))
    many = {member(row, "id", str) for row in rows if isinstance(_info(row).get("dtype"), list)}
    nodes = [_node(row, sources.get(member(row, "id", str), []), many) for row in rows]
    graph, notes = graph_of(nodes)
    return Stage(name, (graph,), status="partial" if notes else "complete", note="; ".join(notes) or None)


def overlays_of(document: object, stage: str | None = None, better: str | None = None) -> Iterator[NodeOverlay]:
    """Yields one overlay per extension: a metric per field of its nodes' info."""
    extensions = optional(document, "extensions", dict) or {}  # type: ignore[arg-type]
    for key, extension in extensions.items():
        name = optional(extension, "name", str) or key  # type: ignore[arg-type]
        rows = [
            {"stage": stage, "node": node, "port": 0, "metric": metric, "sample": 0, **found}
            for node, data in member(extension, "nodes", dict).items()
            for metric, value in (optional(data, "info", dict) or {}).items()  # type: ignore[arg-type]
            if (found := _measured(value)) is not None
        ]
        kind = "category" if rows and all(row["value"] is None for row in rows) else "statistics"
        yield NodeOverlay.of(name, kind, rows, source="fx_viewer payload", better=better)


def _measured(value: object) -> dict[str, object] | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return {"value": float(value), "text": None}
    if isinstance(value, (str, bool)):
        return {"value": None, "text": value if isinstance(value, str) else str(value).lower()}
    return None


def _info(row: dict[str, object]) -> dict[str, object]:
    return optional(row, "info", dict) or {}


def _node(row: dict[str, object], sources: list[str], several: set[str]) -> Node:
    name, info = member(row, "id", str), _info(row)
    op = optional(info, "op", str) or "call_function"
    target = optional(info, "target", str) or optional(row, "label", str) or name
    op = op if op in _OPS else "call_function"
    role = {"placeholder": "input", "output": "output", "get_attr": "constant"}.get(op, "op")
    rest = {key: value for key, value in info.items() if key not in _SHOWN_ELSEWHERE}
    return Node(
        name,
        op if role != "op" else op_type(target),
        list(_uses(info, sources, several)),
        _values(info),
        role,
        op,
        target,
        _place(info),
        attrs={"info": rest} if rest else {},
        handles=_handles(info.get("debug_handle")),
    )


def _uses(info: Mapping[str, object], sources: list[str], several: set[str]) -> Iterator[Use]:
    """Yields each use of a value: argument paths from the arguments, which name nodes; the rest from the edges."""
    known = set(sources)
    args, kwargs = info.get("args"), info.get("kwargs")
    leaves = [leaf for i, value in enumerate(args if isinstance(args, list) else []) for leaf in _leaves(str(i), value)]
    leaves += [leaf for k, v in (kwargs.items() if isinstance(kwargs, dict) else ()) for leaf in _leaves(k, v)]
    found = [(path, value) for path, value in leaves if value in known]
    port = _port(info, args, several)
    yield from (Use(str(value), port, path) for path, value in found)
    used = {value for _, value in found}
    yield from (Use(source) for source in sources if source not in used)


def _leaves(path: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from _leaves(f"{path}[{i}]", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}", item)
    elif isinstance(value, str):
        yield path, value


def _port(info: Mapping[str, object], args: object, several: set[str]) -> int:
    if "getitem" not in str(info.get("target")) or not isinstance(args, list) or len(args) != 2:
        return 0
    source, index = args
    return int(index) if source in several and str(index).isdecimal() and len(str(index)) <= 4 else 0


def _values(info: Mapping[str, object]) -> list[Value]:
    dtype, shape = info.get("dtype"), info.get("tensor_shape")
    if isinstance(dtype, list) and isinstance(shape, list) and len(dtype) == len(shape):
        return [_value(*one) for one in zip(dtype, shape, strict=True)] or [NO_VALUE]
    return [_value(dtype, shape)]


def _value(dtype: object, shape: object) -> Value:
    if not isinstance(dtype, str) or not isinstance(shape, list):
        return NO_VALUE
    return Value(dtype.removeprefix("torch."), tuple(str(size) for size in shape))


def _handles(value: object) -> dict[str, list[int]]:
    given = value if isinstance(value, list) else [value]
    handles = [one for one in given if isinstance(one, int) and not isinstance(one, bool) and 0 < one < 2**62]
    return {"debug_handle": handles} if handles else {}


def _place(info: Mapping[str, object]) -> Place:
    path = info.get("module_path")
    return Place(module_path(path)) if isinstance(path, str) and path else NOWHERE
