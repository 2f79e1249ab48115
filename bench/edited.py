"""Takes a network through passes that lose provenance: patterns replaced, equals merged, constants propagated."""

from __future__ import annotations

from typing import Any

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.exir.passes.constant_prop_pass import constant_prop_pass
from torch import Tensor, fx, nn
from torch._functorch.compile_utils import fx_graph_cse
from torch.fx import subgraph_rewriter

from fxstore.ingest.demo.pipeline import Stage

aten = torch.ops.aten
_PATTERNS: tuple[tuple[Any, Any], ...] = (
    (lambda a: aten.mul.Tensor(a, aten.sigmoid.default(a)), lambda a: aten.silu.default(a)),
    (lambda a: aten.relu.default(a), lambda a: aten.clamp_min.default(a, 0)),
    (
        lambda a: aten.tanh.default(a),
        lambda a: aten.sub.Tensor(aten.mul.Tensor(aten.sigmoid.default(aten.mul.Tensor(a, 2)), 2), 1),
    ),
    (lambda a, b, c: aten.add.Tensor(aten.mul.Tensor(a, b), c), lambda a, b, c: aten.addcmul.default(c, a, b)),
)


def compile_edited(network: nn.Module, inputs: tuple[Tensor, ...], stage: Stage, options: dict[str, Any]) -> Any:
    """Compiles a float network with edits on the way and hands each stage over as it appears.

    The stages are ``float``, ``core``, ``module``, ``pattern``, ``cse``, ``dce``, ``again`` (exported anew), ``folded``
    (constants propagated), ``edge``, ``lowered`` and ``runtime``.
    """
    with torch.no_grad():
        exported = torch.export.export(network, inputs, **options)
        stage("float", exported)
        core = exported.run_decompositions()
        stage("core", core)
        module: Any = core.module()
        stage("module", module)
        for pattern, replacement in _PATTERNS:
            subgraph_rewriter.replace_pattern(module, fx.symbolic_trace(pattern), fx.symbolic_trace(replacement))
        stage("pattern", module)
        merged = fx.GraphModule(module, fx_graph_cse(module.graph))
        stage("cse", merged)
        merged.graph.eliminate_dead_code(is_impure_node=_stays)
        merged.recompile()
        stage("dce", merged)
        again = torch.export.export(merged, inputs, **options)
        stage("again", again)
        folded = constant_prop_pass(again.run_decompositions())
        stage("folded", folded)
        return _lowered(folded, stage)


def _stays(node: fx.Node) -> bool:
    return node.op in ("placeholder", "output") or "guards" in node.name


def _lowered(program: Any, stage: Stage) -> Any:
    edge = to_edge_transform_and_lower(
        program,
        partitioner=[XnnpackPartitioner()],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
        generate_etrecord=True,
    )
    stage("edge", edge._etrecord.edge_dialect_program)
    stage("lowered", edge)
    emitted = edge.to_executorch()
    stage("runtime", emitted)
    return emitted
