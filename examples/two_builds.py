"""Records two nightly builds of one network; on Tuesday, a pass approximates the gelus."""

from __future__ import annotations

import sys
from collections.abc import Callable

import torch
from torch import fx

import fxstore

Pass = Callable[[fx.GraphModule], fx.GraphModule]


def fold_dropout(module: fx.GraphModule) -> fx.GraphModule:
    """Removes the dropouts: they do nothing at inference."""
    for node in module.graph.find_nodes(op="call_function", target=torch.ops.aten.dropout.default):
        node.replace_all_uses_with(node.args[0])
        module.graph.erase_node(node)
    module.recompile()
    return module


def approximate_gelu(module: fx.GraphModule) -> fx.GraphModule:
    """Replaces each gelu by its cheaper approximation with tanh."""
    for node in module.graph.find_nodes(op="call_function", target=torch.ops.aten.gelu.default):
        node.kwargs = {"approximate": "tanh"}
    module.recompile()
    return module


def build(store: fxstore.Store, night: str, passes: list[Pass]) -> None:
    """Exports the network, runs the passes, measures what they did, and stores all of it as one run."""
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.GELU(), torch.nn.Dropout(), torch.nn.Conv2d(8, 8, 3), torch.nn.GELU()]
    network = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(8 * 12 * 12, 10)).eval()
    inputs = (torch.randn(1, 3, 16, 16),)
    with store.record(night, model="net", tags={"branch": "main"}) as rec:
        exported = torch.export.export(network, inputs)
        rec.stage("float", exported)
        module = exported.module()
        for one in passes:
            module = one(module)
        rec.stage("optimised", module)
        rec.measure(inputs, reference="float", metrics=["cosine", "max_abs"])


if __name__ == "__main__":
    with fxstore.connect(sys.argv[1] if len(sys.argv) > 1 else "builds") as store:
        build(store, "monday", [fold_dropout])
        build(store, "tuesday", [fold_dropout, approximate_gelu])
