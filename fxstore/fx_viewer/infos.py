"""What is known of each node, by name, as ``GraphNode.info`` holds it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from fxstore.fx_viewer.capture import Captured, CapturedPane
from fxstore.fx_viewer.plain import plain
from fxstore.render.columns import short_path

if TYPE_CHECKING:
    from torch import fx

_OWN: Final = frozenset({"stack_trace", "debug_handle", "from_node", "val", "tensor_meta", "nn_module_stack"})


def stored_infos(captured: Captured, pane: CapturedPane, enrich: bool = False) -> dict[str, dict[str, Any]]:
    """Returns what the store knows of each node of a pane, by the node's id.

    ``debug_handle`` is a number, or a list of several; ``from_node_root`` the name of the node that it goes back to.

    Args:
        enrich: Give a node without a recorded origin its own name as ``from_node_root``, and one without a handle the
            handles of its sync set.
    """
    infos: dict[str, dict[str, Any]] = {}
    for graph in pane.graphs:
        for row in graph.nodes.to_pylist():
            nid = row["nid"]
            handles = captured.handles.get(nid) or (_shared_handles(captured, nid) if enrich else ())
            root = captured.roots.get(nid) or (row["name"] if enrich and row["op"] == "call_function" else None)
            infos[pane.ids[nid]] = _info(row, handles, root)
    return infos


def _info(row: Mapping[str, Any], handles: tuple[int, ...], root: str | None) -> dict[str, Any]:
    attrs = json.loads(row["attrs"]) if row["attrs"] else {}
    known = {
        "op": row["op"],
        "name": row["name"],
        "target": row["target"],
        "op_type": row["op_type"],
        "role": row["role"],
        "dtype": row["dtype"],
        "tensor_shape": None if row["shape"] is None else [_size(size) for size in row["shape"]],
        "module_path": row["module_path"],
        "backend": row["backend"],
        "source_file": row["source_file"] and short_path(row["source_file"]),
        "source_line": row["source_line"],
        "source_code": row["source_code"],
        "debug_handle": list(handles) if len(handles) > 1 else handles[0] if handles else None,
        "from_node_root": root,
        "unmatched": row["unmatched"],
    }
    found = {name: value for name, value in known.items() if value is not None}
    return {**{name: plain(value) for name, value in attrs.items() if name not in found}, **found}


def _size(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _shared_handles(captured: Captured, nid: int) -> tuple[int, ...]:
    number = captured.focus.get(nid)
    members = captured.sets[number] if number is not None else []
    return tuple(sorted({handle for member, _ in members for handle in captured.handles.get(member, ())}))


def live_infos(source: object) -> dict[str, dict[str, Any]]:
    """Returns what only a live graph says of its nodes: arguments as written, the schema, its metadata's scalars."""
    return {f"{prefix}{node.name}": _live(node) for prefix, graph in _graphs(source) for node in graph.nodes}


def _graphs(source: object) -> Iterator[tuple[str, fx.Graph]]:
    torch = sys.modules.get("torch")
    module = getattr(source, "graph_module", source)
    if torch is None or not isinstance(module, torch.fx.GraphModule):
        return
    for path, nested in module.named_modules():
        if isinstance(nested, torch.fx.GraphModule):
            yield path.replace(".", "/") + "/" if path else "", nested.graph


def _live(node: fx.Node) -> dict[str, Any]:
    known = {"args": _argument(node.args), "kwargs": _argument(node.kwargs)}
    schema = getattr(node.target, "_schema", None)
    schema = getattr(schema, "schema", schema)  # an edge operator wraps that of its ATen one
    arguments = getattr(schema, "arguments", None)
    if arguments is not None:
        names = [argument.name for argument in arguments if not argument.kwarg_only]
        named = {names[i] if i < len(names) else f"arg_{i}": value for i, value in enumerate(known["args"])}
        known |= {"schema": str(schema), "named_args": {**named, **known["kwargs"]}}
    scalars = {
        name: plain(value)
        for name, value in node.meta.items()
        if isinstance(name, str) and name not in _OWN and isinstance(value, (str, int, float, bool))
    }
    return {**scalars, **known}


def _argument(value: object) -> Any:
    """Returns an argument with nodes as their names; texts, as everything but a container is there."""
    if isinstance(value, (list, tuple)):
        return [_argument(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _argument(item) for name, item in value.items()}
    name = getattr(value, "name", None)
    if type(value).__name__ == "Node" and isinstance(name, str):
        return name
    if isinstance(value, slice):
        return f"{_argument(value.start)}:{_argument(value.stop)}:{_argument(value.step)}"
    return str(value)
