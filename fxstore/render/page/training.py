"""Training steps on a page: categories as colours, and a forward and its backward graph as one drawing."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa

from fxstore.query.session import Store
from fxstore.render.model import ColorBy
from fxstore.render.page.run_tables import StoredGraph
from fxstore.render.training import category, category_fills

Stages = dict[str, list[StoredGraph]]
FORWARD_SIDE, SAVED_SIDE, BACKWARD_SIDE = range(3)
_BOTH: Final = " + "
_AHEAD: Final = frozenset({"forward", "forward_output"})


def training_categories(store: Store, run_id: str) -> dict[int, str]:
    """Returns the category of each node of a run's joint, forward and backward graphs; nothing for other graphs."""
    rows = store.rows_of("_training_roles", run_id).to_pylist()
    return {row["nid"]: category(row["roles"]) for row in rows}


def training_colors(store: Store, run_ids: Sequence[str]) -> list[ColorBy]:
    """Returns the colours of the training steps of some runs, as one; none where there is no training step."""
    texts = {nid: text for run_id in run_ids for nid, text in training_categories(store, run_id).items()}
    return [ColorBy("training step", "category", {}, texts=texts, fills=category_fills())] if texts else []


def as_steps(store: Store, run_id: str, stages: Stages) -> Stages:
    """Returns a run's stages with each forward graph and the backward graph right after it as one.

    The stage of both is called ``forward + backward``. What is saved stands between the two: a saved value leads to the
    placeholder that takes it, not to the forward graph's output.
    """
    pairs = [(a, b) for a, b in pairwise(stages) if _are_step(stages[a], stages[b])]
    if not pairs:
        return stages
    rows = store.rows_of("_training_saved", run_id).to_pylist()
    saved = {row["backward_nid"]: row["nid"] for row in rows}
    second = dict(pairs)
    found: Stages = {}
    for name, graphs in stages.items():
        if name in second:
            found[f"{name}{_BOTH}{second[name]}"] = _joined(graphs, stages[second[name]], saved)
        elif name not in second.values():
            found[name] = graphs
    return found


def stages_in(title: str) -> list[str]:
    """Returns the names that a pane's title may stand for: a stage's, or those of a forward and a backward graph."""
    return [title] if _BOTH not in title else [title, *title.split(_BOTH)]


def _are_step(forward: Sequence[StoredGraph], backward: Sequence[StoredGraph]) -> bool:
    """Tells whether stages are a forward graph and its backward graph for each of their methods."""
    roles = [
        {graph.method: set(graph.nodes["role"].to_pylist()) for graph in graphs if not graph.path}
        for graphs in (forward, backward)
    ]
    return (
        bool(roles[0])
        and roles[0].keys() == roles[1].keys()
        and all("tangent" not in own and _AHEAD & own for own in roles[0].values())
        and all("tangent" in own and not _AHEAD & own for own in roles[1].values())
    )


def _joined(
    forward: Sequence[StoredGraph], backward: Sequence[StoredGraph], saved: Mapping[int, int]
) -> list[StoredGraph]:
    later = {graph.method: graph for graph in backward if not graph.path}
    whole = [_step(graph, later[graph.method], saved) for graph in forward if not graph.path]
    return [*whole, *(graph for graph in (*forward, *backward) if graph.path)]


def _step(forward: StoredGraph, backward: StoredGraph, saved: Mapping[int, int]) -> StoredGraph:
    nodes = pa.concat_tables([forward.nodes, backward.nodes])
    count = forward.nodes.num_rows
    places = {nid: i for i, nid in enumerate(forward.nodes["nid"].to_pylist())}
    sides = [FORWARD_SIDE] * count
    between = []
    columns = (backward.nodes[name].to_pylist() for name in ("nid", "op", "role"))
    for i, (nid, op, role) in enumerate(zip(*columns, strict=True)):
        is_saved = op == "placeholder" and role == "saved"
        sides.append(SAVED_SIDE if is_saved else BACKWARD_SIDE)
        if is_saved and saved.get(nid) in places:
            between.append((places[saved[nid]], count + i))
    edges = [*_edges(forward, {source for source, _ in between}), *_edges(backward, (), count)]
    edges += [{"src": source, "dst": target, "src_port": 0, "dst_arg": "saved"} for source, target in between]
    digest = hashlib.sha256(f"{forward.graph_hash} {backward.graph_hash} {between}".encode()).hexdigest()
    return replace(
        forward,
        graph_hash=digest if forward.graph_hash and backward.graph_hash else "",
        nodes=nodes.append_column("side", pa.array(sides, pa.int32())),
        edges=pa.Table.from_pylist(sorted(edges, key=lambda edge: edge["dst"]), schema=forward.edges.schema),
    )


def _edges(graph: StoredGraph, saved: Collection[int], first: int = 0) -> list[dict[str, Any]]:
    """Returns a graph's edges, its nodes numbered from ``first``; without those that only hand out what is saved."""
    ops, roles = graph.nodes["op"].to_pylist(), graph.nodes["role"].to_pylist()
    kept = []
    for edge in graph.edges.to_pylist():
        hands_out = edge["src"] in saved and ops[edge["dst"]] == "output" and roles[edge["src"]] != "forward_output"
        if not hands_out:
            kept.append(edge | {"src": edge["src"] + first, "dst": edge["dst"] + first})
    return kept
