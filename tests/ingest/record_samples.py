"""Real ETRecord files of tiny models, each with the live captures of the programs that it holds."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from fxstore.ingest.export.capture import capture_program
from fxstore.records import Graph


class Ports(nn.Module):
    """Multi-output operators, lists, None in a list, keywords, buffers and constants."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 12)
        self.norm = nn.LayerNorm(4)
        self.register_buffer("offset", torch.arange(4.0))
        self.constant = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, x: torch.Tensor, nothing: None = None) -> tuple[torch.Tensor, ...]:
        a, b, _ = torch.split(self.linear(x), 4, dim=1)
        values, where = torch.topk(a, 2)
        _, largest = torch.max(b, dim=1)
        both = torch.cat([a, b, a, self.constant.expand_as(a) + self.offset], dim=1)
        picked = both[:, torch.tensor([0, 2])]
        rest = torch.where(b > 0, self.norm(b), torch.zeros_like(b))
        return a + a, values, where, largest, picked.to(torch.float64), torch.add(a, b, alpha=2.5), rest


class Shared(nn.Module):
    """One block, called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.block(self.block(x)) + x


class Symbolic(nn.Module):
    """A dynamic dimension, and arithmetic on it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.where(torch.arange(x.shape[0]) < x.shape[0] // 2, x.sum(1), x.mean(1)), -1)


class Mapped(nn.Module):
    """A nested graph that ExecuTorch can save."""

    def forward(self, xs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        from functorch.experimental.control_flow import map as mapped

        return mapped(lambda x, z: torch.relu(x + z), xs, y) * 2


class Sine(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sin().relu()


class Cosine(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.cos().tanh()


@dataclass(frozen=True)
class Saved:
    """A record on disk.

    Attributes:
        extras: A record of the same compile whose ``graph_map`` holds the lowered program.
        live: Live captures by stage and method.
        record: The record in memory.
    """

    path: Path
    extras: Path
    live: dict[tuple[str, str], list[Graph]]
    record: Any


MODELS: dict[str, tuple[dict[str, nn.Module], tuple[Any, ...], Any]] = {
    "ports": ({"forward": Ports()}, (torch.randn(2, 8),), None),
    "shared": ({"forward": Shared()}, (torch.randn(2, 8),), None),
    "symbolic": ({"forward": Symbolic()}, (torch.randn(6, 3),), ({0: torch.export.Dim("n", min=2, max=64)},)),
    "mapped": ({"forward": Mapped()}, (torch.randn(3, 4), torch.randn(4)), None),
    "methods": ({"decode": Cosine(), "encode_constants": Sine()}, (torch.randn(2, 3),), None),
    "renamed": ({"prefill": Sine()}, (torch.randn(2, 3),), None),
}


def save(name: str, folder: Path) -> Saved:
    """Compiles a model for real, and saves its record."""
    modules, inputs, shapes = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

        programs = {
            m: torch.export.export(module.eval(), inputs, dynamic_shapes=shapes) for m, module in modules.items()
        }
        live = {("exported", method): capture_program(program, method) for method, program in programs.items()}
        manager = to_edge_transform_and_lower(
            programs,
            partitioner=[XnnpackPartitioner()],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
            generate_etrecord=True,
        )
        edge = manager._etrecord.edge_dialect_program
        for method, program in edge.items() if isinstance(edge, dict) else [(next(iter(programs)), edge)]:
            live["edge", method] = capture_program(program, method)
        for method in manager.methods:
            live["lowered", method] = capture_program(manager.exported_program(method), method)
        extras = manager._etrecord.copy()
        extras.add_extra_export_modules({"lowered": manager})
        extras._debug_handle_map = {method: {0: 1} for method in programs}
        extras.save(folder / "extras.etrecord")
        record = manager.to_executorch().get_etrecord()
        record.save(folder / "model.etrecord")
    return Saved(folder / "model.etrecord", folder / "extras.etrecord", live, record)


Row = dict[str, Any]


def rows(graph: Graph) -> dict[str, Any]:
    """Returns what a graph's tables say, by the names of its nodes instead of their positions."""
    names = graph.nodes["name"].to_pylist()
    nodes = {row["name"]: _node(row) for row in graph.nodes.to_pylist()}
    sources = graph.tables["sources"].to_pylist()

    def chain(source: int | None) -> list[tuple[Any, ...]]:
        hops = []
        while source is not None:
            hop = sources[source]
            hops.append(
                (hop["name"], hop["target"], graph.source_graphs[hop["graph"]], hop["pass_name"], hop["action"])
            )
            source = hop["parent"]
        return hops

    return {
        "order": [name for name, node in nodes.items() if node["op_type"] not in ("getitem", "get_attr")],
        "nodes": nodes,
        "edges": sorted(
            (names[e["src"]], e["src_port"], names[e["dst"]], e["dst_arg"]) for e in graph.edges.to_pylist()
        ),
        "handles": sorted(
            (names[h["position"]], h["namespace"], h["handle"]) for h in graph.tables["handles"].to_pylist()
        ),
        "chains": sorted(
            (names[o["position"]], o["branch"], chain(o["source"])) for o in graph.tables["origins"].to_pylist()
        ),
        "roles": sorted((names[r["position"]], r["role"]) for r in graph.tables["roles"].to_pylist()),
        "signature": graph.signature,
        "parent": graph.parent_path,
    }


_PLACE = ("module_path", "module_type", "module_call", "source_file", "source_line", "source_code")


def without_what_files_lose(given: dict[str, Any]) -> dict[str, Any]:
    """Takes from the rows of a live graph what the format does not hold.

    ``custom`` meta; place, handles and chains of placeholders, ``get_attr``, the output and ``getitem`` of delegates.
    """
    nodes = given["nodes"]
    called = {name for name, node in nodes.items() if node["role"] == "delegate"}
    picks = {dst for src, _, dst, _ in given["edges"] if src in called and nodes[dst]["op_type"] == "getitem"}
    bare = picks | {name for name, node in nodes.items() if node["op"] != "call_function"}
    kept = {}
    for name, node in nodes.items():
        lost = dict.fromkeys(_PLACE) if name in bare else {}
        gone = {"custom", "module_calls"} if name in bare else {"custom"}
        kept[name] = {**node, **lost, "attrs": {key: value for key, value in node["attrs"].items() if key not in gone}}
    return {
        **given,
        "nodes": kept,
        "handles": [row for row in given["handles"] if row[0] not in bare],
        "chains": [row for row in given["chains"] if row[0] not in bare],
    }


def without_unused(given: dict[str, Any]) -> dict[str, Any]:
    """Takes from the rows of a file's graph the outputs that nobody used: the live graph has no nodes for them."""

    def used(name: str) -> bool:
        return "_unused_" not in name

    return {
        **given,
        "nodes": {name: node for name, node in given["nodes"].items() if used(name)},
        "edges": [edge for edge in given["edges"] if used(edge[2])],
        **{table: [row for row in given[table] if used(row[0])] for table in ("handles", "chains", "roles")},
    }


def _node(row: Row) -> Row:
    attrs = json.loads(row["attrs"]) if row["attrs"] else {}
    return {**{key: value for key, value in row.items() if key not in ("position", "fingerprint")}, "attrs": attrs}
