"""Sources read and linked in a temporary store, and what is known of each node.

:func:`capture` reads the sources of all panes as stages of one run, so that the links between panes are the store's.
:func:`stored_infos` returns what the store knows of each node, :func:`live_infos` what only a live graph says.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fxstore.errors import SourceError
from fxstore.fx_viewer.models import plain
from fxstore.render.container import short_path
from fxstore.render.page.run_tables import Sets, StoredGraph, graphs_of, node_texts, sync_sets

if TYPE_CHECKING:
    from torch import fx

_OWN: Final = frozenset({"stack_trace", "debug_handle", "from_node", "val", "tensor_meta", "nn_module_stack"})


@dataclass(frozen=True)
class Source:
    """What one pane shows.

    Attributes:
        source: Whatever an adapter accepts as one stage.
        methods: Those of its methods that the pane shows; None for all.
    """

    source: object
    methods: frozenset[str] | None = None


@dataclass(frozen=True)
class CapturedPane:
    """The graphs of one pane, the top ones first.

    Attributes:
        ids: nid to the node's id in the pane.
        backends: nid to the backend that owns the node; empty where nothing is delegated.
    """

    graphs: tuple[StoredGraph, ...]
    ids: Mapping[int, str]
    backends: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Captured:
    """Panes of one run, and what links them.

    Attributes:
        sets: Members of each sync set as (nid, is_primary).
        focus: nid to the number of its set.
        handles: nid to the node's debug handles, least first.
        roots: nid to the name of the node that it goes back to, as the compiler recorded it.
    """

    panes: tuple[CapturedPane, ...]
    sets: Sets
    focus: Mapping[int, int]
    handles: Mapping[int, tuple[int, ...]]
    roots: Mapping[int, str]


def capture(panes: Sequence[tuple[str, Source]]) -> Captured:
    """Reads the sources of some panes as the stages of one run; panes of one source share a stage.

    Raises:
        SourceError: No source can be read. Of several, one that cannot be is an empty pane and a RuntimeWarning.
    """
    from fxstore.api import connect

    # A source's stage is named after its first pane.
    stages: dict[int, tuple[str, object]] = {}
    for name, one in panes:
        stages.setdefault(id(one.source), (name, one.source))
    with connect(":memory:") as store:
        run = store.ingest(dict(stages.values()), name="fx_viewer")
        for note in run.notes:
            warnings.warn(f"fx_viewer: {note}", RuntimeWarning, stacklevel=3)
        graphs = graphs_of(store, run.run_id, [name for name, _ in stages.values()])
        if not any(graphs.values()):
            raise SourceError("there is no graph in these sources", hint="pass a GraphModule or an exported program")
        owners = [one.texts for one in node_texts(store, run.run_id) if one.overlay == "backend"]
        backends = {nid: text for texts in owners for nid, text in texts.items()}
        handles = store.sql(
            "SELECT nid, list(DISTINCT handle ORDER BY handle) AS handles FROM handles "
            "WHERE namespace = 'debug_handle' AND handle <> 0 GROUP BY nid"
        )
        roots = store.sql("SELECT nid, arg_max(ancestor_name, (branch, hop)) AS root FROM provenance GROUP BY nid")
        sets, focus = sync_sets(store, [run.run_id])
        return Captured(
            tuple(_pane(graphs[stages[id(one.source)][0]], one.methods, backends) for _, one in panes),
            sets,
            focus,
            {row["nid"]: tuple(row["handles"]) for row in handles.arrow().to_pylist()},
            {row["nid"]: row["root"] for row in roots.arrow().to_pylist()},
        )


def _pane(graphs: Sequence[StoredGraph], methods: frozenset[str] | None, backends: Mapping[int, str]) -> CapturedPane:
    shown = tuple(graph for graph in graphs if methods is None or graph.method in methods)
    several = len({graph.method for graph in shown}) > 1
    ids: dict[int, str] = {}
    for graph in shown:
        prefix = "".join(f"{part}/" for part in (graph.method if several else "", graph.path) if part)
        names = zip(graph.nodes["nid"].to_pylist(), graph.nodes["name"].to_pylist(), strict=True)
        ids.update((nid, prefix + name) for nid, name in names)
    return CapturedPane(shown, ids, {nid: backends[nid] for nid in ids if nid in backends})


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
