"""Compiles a network of the benches in one of four ways: quantised, float, in two steps, or edited on the way."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, to_edge
from torch import Tensor, nn

from bench.architectures import ARCHITECTURES
from bench.arguments import one_of
from bench.edited import compile_edited
from bench.models import MODELS
from bench.odd_models import EXPORT_OPTIONS, ODD_MODELS
from fxstore.ingest.demo.pipeline import Stage, compile_network

VARIANTS = "qxes"
"""Quantised, float, float with edits on the way (:mod:`bench.edited`), and float by ``to_edge().to_backend()``."""


def build(name: str) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Returns a network of any of the benches' sets, its batch-norms calibrated, and its inputs."""
    torch.manual_seed(0)
    network, inputs = _made(name)
    if any("BatchNorm" in type(module).__name__ for module in network.modules()):
        with torch.no_grad():
            network.train()(*(torch.randn(8, *given.shape[1:]) for given in inputs))
    return network.eval(), inputs


def _made(name: str) -> tuple[nn.Module, tuple[Tensor, ...]]:
    if name in ARCHITECTURES:
        return ARCHITECTURES[name]()
    make, inputs = {**MODELS, **ODD_MODELS}[name]
    return make(), inputs()


def compile_variant(name: str, variant: str, stage: Callable[[str, Any, tuple[Tensor, ...]], None]) -> Any:
    """Compiles a network; where PyTorch or ExecuTorch cannot, says so and keeps the stages until then.

    Returns:
        What must stay alive while the stages are looked at.
    """
    network, inputs = build(name)

    def take(label: str, source: Any) -> None:
        stage(label, source, inputs)

    try:
        return _compile(network, inputs, take, name, variant)
    except Exception as error:
        cause = " ".join(str(error).split())[:160]
        print(f"{name}:{variant}  stopped by {type(error).__name__}: {cause}", flush=True)
        return network


def _compile(network: nn.Module, inputs: tuple[Tensor, ...], stage: Stage, name: str, variant: str) -> Any:
    if variant == "e":
        return compile_edited(network, inputs, stage, EXPORT_OPTIONS.get(name, {}))
    if variant == "s":
        return _compile_in_two_steps(network, inputs, stage)
    return compile_network(network, inputs, stage, quantise=variant == "q")


def _compile_in_two_steps(network: nn.Module, inputs: tuple[Tensor, ...], stage: Stage) -> Any:
    """Lowers as ExecuTorch's older interface does, which gives names anew when it emits."""
    with torch.no_grad():
        exported = torch.export.export(network, inputs)
        stage("float", exported)
        edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False))
        stage("edge", edge)
        lowered = edge.to_backend(XnnpackPartitioner())
        stage("lowered", lowered)
        program = lowered.to_executorch()
        stage("runtime", program)
        return program


def network(text: str) -> str:
    """Takes ``NAME`` or ``NAME:VARIANTS`` from the command line."""
    name, _, wanted = text.partition(":")
    one_of((*MODELS, *ODD_MODELS, *ARCHITECTURES))(name)
    for variant in wanted:
        one_of(VARIANTS)(variant)
    return text


def add_networks(parser: argparse.ArgumentParser) -> None:
    """Lets a script take networks, as :func:`asked` wants them."""
    known = f"of {', '.join((*MODELS, *ODD_MODELS, *ARCHITECTURES))}, each with :{VARIANTS}"
    parser.add_argument("networks", metavar="NETWORK", nargs="*", type=network, help=known)


def asked(arguments: Iterable[str], variants: str) -> Iterator[tuple[str, str]]:
    """Yields name and variant of what :func:`network` takes; the six models, where nothing is asked for."""
    for argument in list(arguments) or list(MODELS):
        name, _, wanted = argument.partition(":")
        yield from ((name, variant) for variant in wanted or variants)
