"""Builds small runs by hand: nodes by name, everything else by ``stage:name``."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from fxstore import tables
from fxstore.records import Graph, Overlay, RunRecord, Stage, Structure, starts

Row = dict[str, Any]


def node(name: str, op: str = "call_function", **columns: Any) -> Row:
    """One node; its operator is its name without a trailing number unless given."""
    kind = name.rstrip("0123456789").rstrip("_") or name
    role = {"placeholder": "input", "output": "output"}.get(op, "op")
    return {"name": name, "op": op, "target": f"aten.{kind}.default", "op_type": kind, "role": role, "ports": 1,
            "fingerprint": kind, "dtype": "float32", "shape": ["1", "8"], **columns}  # fmt: skip


def graph(
    nodes: Sequence[Row | str],
    edges: Iterable[tuple[str, str]] = (),
    *,
    method: str = "forward",
    path: str = "",
    parent: tuple[str, str] | None = None,
    origins: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    handles: Mapping[str, Sequence[int]] | None = None,
) -> Graph:
    """One graph.

    Args:
        edges: (source, target) names, a repeat is a second use.
        parent: Path and name of the node that calls it; the name is resolved by :func:`run`.
        origins: Node to its chain of (ancestor name, pass), nearest first.
    """
    rows = [node(n) if isinstance(n, str) else n for n in nodes]
    place = {row["name"]: i for i, row in enumerate(rows)}
    uses: list[Row] = []
    for source, target in edges:
        position = sum(use["dst"] == place[target] for use in uses)
        uses.append(
            {"src": place[source], "src_port": 0, "dst": place[target], "dst_arg": str(position), "position": position}
        )
    sources: list[Row] = []
    firsts: list[Row] = []
    for name, chain in (origins or {}).items():
        parent_source = None
        for ancestor, pass_name in reversed(chain):
            sources.append({"source": len(sources), "name": ancestor, "target": f"aten.{ancestor}", "graph": 0,
                            "pass_name": pass_name, "action": "create", "parent": parent_source})  # fmt: skip
            parent_source = len(sources) - 1
        firsts.append({"position": place[name], "branch": 0, "source": parent_source})
    held = [
        {"position": place[n], "namespace": "debug_handle", "handle": h}
        for n, hs in (handles or {}).items()
        for h in hs
    ]
    return Graph(
        method=method,
        path=path,
        tables={
            "nodes": _table(tables.NODES, [{"position": i, **row} for i, row in enumerate(rows)]),
            "edges": _table(tables.EDGES, uses),
            "sources": _table(tables.SOURCES, sources),
            "origins": _table(tables.ORIGINS, firsts),
            "handles": _table(tables.HANDLES, held),
            "roles": _table(tables.ROLES, [{"position": i, "role": row["role"]} for i, row in enumerate(rows)]),
        },
        parent_path=parent[0] if parent else None,
        signature={"parent": parent[1]} if parent else {},
    )


def chain(*names: str) -> list[tuple[str, str]]:
    """The edges of a chain of nodes."""
    return list(itertools.pairwise(names))


def metric(of: str, name: str, value: float | None, **columns: Any) -> Row:
    """One metric on ``stage:name``."""
    finite = value is not None and value == value and abs(value) != float("inf")
    status = "not_measured" if value is None else "ok" if finite else "non_finite"
    return {"of": of, "metric": name, "value": value, "port": 0, "status": status, **columns}


def overlay(
    name: str, metrics: Sequence[Row], kind: str = "accuracy", better: str | None = "higher"
) -> tuple[str, Any, str, str | None]:
    """One overlay, for ``run``."""
    return name, metrics, kind, better


def run(
    stages: Mapping[str, Graph | Sequence[Graph]],
    *,
    name: str = "tiny",
    links: Iterable[tuple[str, str, str]] = (),
    sync: Iterable[Sequence[str]] = (),
    values: Iterable[Sequence[str]] = (),
    unmatched: Iterable[tuple[str, str, str]] = (),
    ancestors: Iterable[tuple[str, int, str]] = (),
    overlays: Iterable[tuple[str, Sequence[Row], str, str | None]] = (),
    status: str = "complete",
    tags: dict[str, str] | None = None,
) -> RunRecord:
    """One run.

    Args:
        links: (source, target, evidence).
        sync: Members of each set; ``*`` marks a primary one, ``!`` the one whose focus it is *not*.
        values: Members of each value class.
        ancestors: (graph's stage, source number, node).
    """
    recorded = tuple(Stage(stage, (g,) if isinstance(g, Graph) else tuple(g)) for stage, g in stages.items())
    graphs = tuple(g for stage in recorded for g in stage.graphs)
    bases = starts([g.nodes.num_rows for g in graphs])
    ordinals, rows = _graph_rows(recorded, graphs, bases)
    members = [
        {"sync_set": i, "ordinal": ordinals[m.strip("*!")], "is_primary": "*" in m, "focus": "!" not in m}
        for i, group in enumerate(sync)
        for m in group
    ]
    classes = [
        {"value_class": i, "ordinal": ordinals[m], "port": 0, "evidence": "from_node"}
        for i, c in enumerate(values)
        for m in c
    ]
    structure = Structure(
        graphs,
        {
            "graphs": _table(tables.GRAPHS, rows),
            "links": _table(
                tables.LINKS,
                [
                    {"src": ordinals[a], "dst": ordinals[b], "evidence": e, "inferred": e in ("structure", "name")}
                    for a, b, e in links
                ],
            ),
            "sync_sets": _table(tables.SYNC_SETS, members),
            "value_classes": _table(tables.VALUE_CLASSES, classes),
            "ancestors": _table(
                tables.ANCESTORS,
                [{"graph": list(stages).index(s), "source": n, "ordinal": ordinals[m]} for s, n, m in ancestors],
            ),
            "unmatched": _table(
                tables.UNMATCHED, [{"ordinal": ordinals[m], "towards": t, "reason": r} for m, t, r in unmatched]
            ),
        },
    )
    made = tuple(
        Overlay(n, kind, "test", _table(_METRICS, [_metric(row, ordinals) for row in found]), better=better)
        for n, found, kind, better in overlays
    )
    return RunRecord(
        name, recorded, structure, made, model="tiny", tags=tags or {}, versions={"torch": "2.13"}, status=status
    )


_METRICS = pa.schema([field for field in tables.METRICS if field.name != "overlay"])


def _metric(row: Row, ordinals: Mapping[str, int]) -> Row:
    of, ref = row["of"], row.get("ref")
    return {
        **{k: v for k, v in row.items() if k != "of"},
        "ordinal": ordinals[of] if of else None,
        "ref": ordinals[ref] if ref else None,
    }


def _graph_rows(
    stages: Sequence[Stage], graphs: Sequence[Graph], bases: Sequence[int]
) -> tuple[dict[str, int], list[Row]]:
    ordinals: dict[str, int] = {}
    rows: list[Row] = []
    placed = [(index, stage.name, found) for index, stage in enumerate(stages) for found in stage.graphs]
    for (_, stage, found), base in zip(placed, bases, strict=True):
        prefix = f"{stage}:{found.path + '/' if found.path else ''}"
        for i, name in enumerate(found.nodes["name"].to_pylist()):
            ordinals.setdefault(f"{stage}:{name}", base + i)
            ordinals[f"{prefix}{name}"] = base + i
    for number, (index, stage, found) in enumerate(placed):
        parent = ordinals[f"{stage}:{found.signature['parent']}"] if "parent" in found.signature else None
        rows.append({"graph": number, "stage": stage, "stage_index": index, "method": found.method,
                     "path": found.path, "parent": parent, "graph_hash": found.fingerprint(),
                     "base": bases[number], "nodes": found.nodes.num_rows})  # fmt: skip
    return ordinals, rows


def _table(schema: pa.Schema, rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema=schema)
