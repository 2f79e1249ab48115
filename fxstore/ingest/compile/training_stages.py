"""The stages of a training step: its graphs, with what each node of them is."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from typing import Any

import torch
from torch import fx

from fxstore.errors import SourceError, UsageError, nearest
from fxstore.ingest.build import Link
from fxstore.ingest.compile.training import (
    BACKWARD_OUTPUT,
    FORWARD_OUTPUT,
    Part,
    TrainingGraphs,
    roles,
    saved_overlay,
    saved_values,
)
from fxstore.ingest.compile.training_parts import Parts, mark, output_of, parts_of, returned_by, tied_with
from fxstore.ingest.export.capture import Told, capture_module
from fxstore.ingest.export.live_nodes import chains, target_text
from fxstore.ingest.overlays import NodeOverlay
from fxstore.records import Stage

# The forward and the backward graph return different things: no rule may take one's output for the other's.
_OUTPUT_ROLES = {
    "joint": ["output", FORWARD_OUTPUT, BACKWARD_OUTPUT],
    "forward": [FORWARD_OUTPUT, "output"],
    "backward": [BACKWARD_OUTPUT, "output"],
}


def stages_of(graphs: TrainingGraphs) -> tuple[list[Stage], list[NodeOverlay]]:
    """Returns a stage for each of the graphs, ``joint``, ``forward``, ``backward``, and what is saved in between."""
    parts = parts_of(graphs)
    told = roles(parts.forward, parts.backward, parts.joint)
    stages = []
    for name, module in (("joint", graphs.joint), ("forward", graphs.forward), ("backward", graphs.backward)):
        if module is None:
            continue
        part = {"joint": parts.joint, "forward": parts.forward, "backward": parts.backward}[name] or parts.forward
        stands_for = _standing(module)
        about = Told(
            {**told[name], output_of(module).name: _OUTPUT_ROLES[name]},
            dict(_signature(part, parts)),
            {} if name == "joint" else _chains(name, module, graphs, parts),
            {
                n.name: said
                for n in module.graph.nodes
                if n.op == "placeholder" and (said := _spoken(n.meta.get("desc")))
            },
            {one: {"stands_for": what} for one, what in stands_for.items()},
        )
        notes: list[str] = []
        captured = tuple(capture_module(module, told=about, notes=notes))
        status, note = ("partial", "; ".join(notes)) if notes else ("complete", None)
        stages.append(Stage(name, captured, status=status, note=note))
    values = saved_values(parts.forward)
    return stages, [saved_overlay("saved for backward", values, "forward", "forward")] if values else []


def _signature(part: Part, parts: Parts) -> Iterator[tuple[str, str]]:
    """Yields what placeholders stand for: the forward graph's inputs wherever they are, and tangents by position."""
    positions = {one: i for i, one in enumerate(parts.forward.inputs)}
    tangents = 0
    for one, role in part.inputs.items():
        name = parts.taken.get(one, one) if part is parts.backward else one
        if role == "tangent":
            yield one, f"tangent:{tangents}"
            tangents += 1
        elif name in positions:
            yield one, f"input:{positions[name]}"


def _chains(name: str, module: fx.GraphModule, graphs: TrainingGraphs, parts: Parts) -> dict[str, list[Link]]:
    """Returns each node's chain: through the value that was saved, if it is one, and the node that it was.

    Where that is a backward operator its chain ends: what its gradient is of is no earlier form of it.
    """
    found: dict[str, list[Link]] = {}
    ran = set(parts.forward.ops.values())
    for one, was in parts.origins[name].items():
        is_gradient = name == "backward" and one in parts.backward.ops and parts.backward.ops[one] not in ran
        found[one] = [_link(was, graphs.joint), *(() if is_gradient else next(iter(chains(was)), []))]
    values = {node.name: node for node in graphs.forward.graph.nodes}
    for one, value in parts.taken.items() if name == "backward" else ():
        if values[value].op != "placeholder":
            found[one] = [_link(values[value], graphs.forward), *found.get(one, [])]
    return found


def _link(node: fx.Node, module: fx.GraphModule) -> Link:
    return node.name, target_text(node, module)[0], id(module.graph), "partition", "create"


def _standing(module: fx.GraphModule) -> dict[str, str]:
    """Returns what torch's descriptors say that inputs and returned values are, by node."""
    found: dict[str, list[str]] = defaultdict(list)
    for node in module.graph.nodes:
        if node.op == "placeholder":
            found[node.name] += [_spoken(node.meta.get("desc")), *(f"tied with {name}" for name in tied_with(node))]
    said = output_of(module).meta.get("desc")
    for name, desc in zip(returned_by(module), said if isinstance(said, (list, tuple)) else (), strict=False):
        found[name].append(_spoken(desc))
    return {name: ", ".join(dict.fromkeys(filter(None, texts))) for name, texts in found.items() if name and any(texts)}


def _spoken(desc: object) -> str:
    """Returns a descriptor as words: ``fc.weight``, ``input 0``, ``gradient of fc.weight``; '' for any other."""
    kind = type(desc).__name__
    if kind in ("ParamAOTInput", "BufferAOTInput"):
        return str(getattr(desc, "target", ""))
    if kind == "PlainAOTInput":
        return f"input {getattr(desc, 'idx', '')}"
    if kind == "PlainAOTOutput":
        return f"output {getattr(desc, 'idx', '')}"
    of = {
        "TangentAOTInput": ("gradient", "output"),
        "GradAOTOutput": ("gradient", "grad_of"),
        "InputMutationAOTOutput": ("new value", "mutated_input"),
    }.get(kind)
    inner = _spoken(getattr(desc, of[1], None)) if of else ""
    return f"{of[0]} of {inner}" if of and inner else ""


# Makes the joint, forward and backward graphs of a training step.


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
