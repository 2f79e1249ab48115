"""Makes the joint, forward and backward graphs of a training step."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from typing import Any

import torch
from torch import fx

from fxstore.errors import SourceError, UsageError, nearest
from fxstore.ingest.training import TrainingGraphs
from fxstore.ingest.training_parts import mark

Partition = Callable[..., tuple[fx.GraphModule, fx.GraphModule]]


def capture_joint(
    model: Callable[..., Any],
    inputs: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    partition: str | Partition = "min_cut",
    saved: Sequence[str] | None = None,
) -> TrainingGraphs:
    """Traces a training step with AOTAutograd and cuts it into its forward and its backward graph.

    Args:
        model: A module, or a function of tensors; it is traced, not run, and not changed.
        inputs: One input: a tuple as the model takes it. The outputs must need gradients.
        kwargs: Its keyword inputs.
        partition: ``min_cut`` (recomputes what is cheap), ``default`` (saves what backward reads), or a function like
            these of ``torch._functorch.partitioners``: ``(joint, inputs, *, num_fwd_outputs, **rest)`` to both graphs.
        saved: Names of the joint graph's nodes that backward gets; then nothing else decides.

    Returns:
        The three graphs: the joint one as it was before the partitioner, which may rewrite it.

    Raises:
        UsageError: The partition or a saved node is unknown, or these nodes are not enough for backward.
        SourceError: The model cannot be traced.
    """
    if not isinstance(inputs, tuple | list):
        raise UsageError(f"the input is a {type(inputs).__name__}", hint="pass a tuple, as the model takes it: (x,)")
    taken = _Cut(_partition(partition) if saved is None else _saving(list(saved)), _tied(model))
    try:
        _trace(model, tuple(inputs), dict(kwargs or {}), taken)
    except (UsageError, SourceError):
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise SourceError(
            f"the training step cannot be traced: {first[:300]}", hint="see that model(*inputs) runs"
        ) from error
    if taken.graphs is None:
        raise SourceError("no output of the model needs a gradient", hint="pass trainable parameters or inputs")
    return taken.graphs


class _Cut:
    """A partitioner that keeps what goes in and what comes out."""

    def __init__(self, partition: Partition, tied: Mapping[str, Sequence[str]]) -> None:
        self.partition = partition
        self.tied = tied
        self.graphs: TrainingGraphs | None = None

    def __call__(self, joint: fx.GraphModule, inputs: Any, *, num_fwd_outputs: int, **rest: Any) -> Any:
        mark(joint, self.tied)
        before = copy.deepcopy(joint)
        forward, backward = self.partition(joint, inputs, num_fwd_outputs=num_fwd_outputs, **rest)
        self.graphs = TrainingGraphs(
            copy.deepcopy(forward), copy.deepcopy(backward), before, forward_outputs=num_fwd_outputs
        )
        return forward, backward


def _tied(model: object) -> dict[str, list[str]]:
    """Returns the other names of each parameter and buffer of a module that has several."""
    if not isinstance(model, torch.nn.Module):
        return {}
    names: dict[int, list[str]] = {}
    for group in (model.named_parameters(remove_duplicate=False), model.named_buffers(remove_duplicate=False)):
        for name, value in group:
            names.setdefault(id(value), []).append(name)
    return {name: [other for other in same if other != name] for same in names.values() for name in same}


def _partition(name: str | Partition) -> Partition:
    from torch._functorch import partitioners

    known: dict[str, Partition] = {
        "min_cut": partitioners.min_cut_rematerialization_partition,
        "default": partitioners.default_partition,
    }
    if callable(name):
        return name
    if name not in known:
        raise UsageError(f"no partition {name!r}", hint="min_cut, default, or a function")
    return known[name]


def _saving(names: list[str]) -> Partition:
    def partition(joint: fx.GraphModule, inputs: Any, *, num_fwd_outputs: int, **rest: Any) -> Any:
        from torch._functorch import partitioners

        nodes = {node.name: node for node in joint.graph.nodes if node.op != "output"}
        for name in names:
            if name not in nodes:
                raise UsageError(f"the joint graph has no node {name!r}", hint=nearest(name, nodes))
        try:
            return partitioners._extract_fwd_bwd_modules(
                joint, [nodes[name] for name in names], [], num_fwd_outputs=num_fwd_outputs
            )
        except Exception as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise UsageError(
                f"backward cannot be computed from {', '.join(names)}: {first[:200]}", hint="save more nodes"
            ) from error

    return partition


class _Function(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def _trace(model: Callable[..., Any], inputs: tuple[Any, ...], kwargs: dict[str, Any], cut: _Cut) -> None:
    from torch._functorch.aot_autograd import aot_compile_joint_with_descriptors, aot_export_joint_with_descriptors

    module = model if isinstance(model, torch.nn.Module) else _Function(model)
    module = _with_places(module, inputs, kwargs) or module
    context = module.meta.get("tracing_context") if isinstance(module, fx.GraphModule) else None
    with ExitStack() as stack:
        stack.enter_context(torch._guards.tracing(context) if context is not None else nullcontext())
        stack.enter_context(fx.traceback.preserve_node_meta())
        joint = aot_export_joint_with_descriptors(stack, module, inputs, kwargs)
        keep = lambda graph, _: graph  # noqa: E731
        aot_compile_joint_with_descriptors(joint, partition_fn=cut, fw_compiler=keep, bw_compiler=keep)


def _with_places(module: torch.nn.Module, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> fx.GraphModule | None:
    """Returns the module as Dynamo captures it, whose nodes know their layer and line; None where it cannot."""
    if isinstance(module, fx.GraphModule):
        return None
    try:
        from torch._dynamo.functional_export import dynamo_graph_capture_for_export

        found = dynamo_graph_capture_for_export(module)(*inputs, **kwargs)
    except Exception:  # what Dynamo cannot capture, AOTAutograd still can
        return None
    return found if isinstance(found, fx.GraphModule) else None
