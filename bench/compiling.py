"""Compiles a network of the benches in one of three ways: quantised, float, or edited on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from bench.architectures import ARCHITECTURES
from bench.edited import compile_edited
from bench.models import MODELS
from bench.odd_models import EXPORT_OPTIONS, ODD_MODELS
from torch import Tensor, nn

from fxstore.ingest.demo.pipeline import Stage, compile_network

VARIANTS = "qxe"
"""Quantised, float, and float with edits on the way (:mod:`bench.edited`)."""


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
    return compile_network(network, inputs, stage, quantise=variant == "q")


def asked(arguments: Iterable[str], variants: str) -> Iterator[tuple[str, str]]:
    """Yields name and variant of ``NAME`` or ``NAME:VARIANTS``; the six models, where nothing is asked for.

    Raises:
        SystemExit: If there is no such network or variant.
    """
    known = [*MODELS, *ODD_MODELS, *ARCHITECTURES]
    for argument in list(arguments) or list(MODELS):
        name, _, wanted = argument.partition(":")
        if name not in known or not set(wanted) <= set(VARIANTS):
            raise SystemExit(f"{argument}: no such network; there are {', '.join(known)}, each with :{VARIANTS}")
        yield from ((name, variant) for variant in wanted or variants)
