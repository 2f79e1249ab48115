"""Makes the joint, forward and backward graphs of a training step, and says what each node of them is."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload

from fxstore.errors import SourceError, UsageError, nearest
from fxstore.ingest.build import Link
from fxstore.ingest.capture import Told, capture_module
from fxstore.ingest.live_nodes import target_text
from fxstore.ingest.overlays import NodeOverlay
from fxstore.ingest.provenance import chains
from fxstore.ingest.training import (
    BACKWARD_OUTPUT,
    FORWARD_OUTPUT,
    SAVED,
    VIEWS,
    Part,
    TrainingGraphs,
    roles,
    saved_values,
)
from fxstore.ingest.training_overlay import saved_overlay
from fxstore.records import Stage

Partition = Callable[..., tuple[fx.GraphModule, fx.GraphModule]]
_DESCRIBED = {
    "ParamAOTInput": "parameter",
    "BufferAOTInput": "buffer",
    "TangentAOTInput": "tangent",
    "PlainAOTInput": "input",
}


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
    taken = _Cut(_partition(partition) if saved is None else _saving(list(saved)))
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

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.graphs: TrainingGraphs | None = None

    def __call__(self, joint: fx.GraphModule, inputs: Any, *, num_fwd_outputs: int, **rest: Any) -> Any:
        before = copy.deepcopy(joint)
        forward, backward = self.partition(joint, inputs, num_fwd_outputs=num_fwd_outputs, **rest)
        self.graphs = TrainingGraphs(
            copy.deepcopy(forward), copy.deepcopy(backward), before, forward_outputs=num_fwd_outputs
        )
        return forward, backward


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


@dataclass(frozen=True)
class _Parts:
    forward: Part
    backward: Part
    joint: Part | None


def stages_of(graphs: TrainingGraphs) -> tuple[list[Stage], list[NodeOverlay]]:
    """Returns a stage for each of the graphs, ``joint``, ``forward``, ``backward``, and what is saved in between."""
    parts = _parts(graphs)
    told = roles(parts.forward, parts.backward, parts.joint)
    modules = {"joint": graphs.joint, "forward": graphs.forward, "backward": graphs.backward}
    original = _Original(graphs.joint) if graphs.joint is not None else None
    stages = []
    for name, module in modules.items():
        if module is not None:
            part = {"joint": parts.joint, "forward": parts.forward, "backward": parts.backward}[name]
            origin = original.chains(module) if original is not None and name != "joint" else {}
            signature = dict(_signature(part or parts.forward, parts.forward, name))
            about = Told({**told[name], _output(module).name: _of_output(name)}, signature, origin)
            notes: list[str] = []
            graphs_of = tuple(capture_module(module, told=about, notes=notes))
            status, note = ("partial", "; ".join(notes)) if notes else ("complete", None)
            stages.append(Stage(name, graphs_of, status=status, note=note))
    values = saved_values(parts.forward)
    return stages, [saved_overlay("saved for backward", values, "forward", "forward")] if values else []


def _of_output(name: str) -> list[str]:
    further = {"joint": ["output", FORWARD_OUTPUT, BACKWARD_OUTPUT], "forward": [FORWARD_OUTPUT, "output"]}
    return further.get(name, [BACKWARD_OUTPUT, "output"])


def _signature(part: Part, forward: Part, name: str) -> Iterator[tuple[str, str]]:
    """Yields what placeholders stand for: the forward graph's inputs wherever they are, and tangents by position."""
    positions = {one: i for i, one in enumerate(forward.inputs)}
    tangents = 0
    for one, role in part.inputs.items():
        if role == "tangent":
            yield one, f"tangent:{tangents}"
            tangents += 1
        elif one in positions:
            yield one, f"input:{positions[one]}"


class _Original:
    """The nodes of the joint graph, as the ancestors of those that were copied from it."""

    def __init__(self, joint: fx.GraphModule) -> None:
        self.joint = joint
        self.nodes = {node.name: node for node in joint.graph.nodes if node.op != "output"}

    def chains(self, module: fx.GraphModule) -> dict[str, list[Link]]:
        """Returns, for each node that was copied from the joint graph, its chain through the node that it was."""
        found: dict[str, list[Link]] = {}
        for node in module.graph.nodes:
            was = self.nodes.get(node.name)
            copied = was is not None and (node.target is was.target or node.target == was.target)
            if was is not None and (copied or node.op == "placeholder") and was.op != "placeholder":
                link = (was.name, target_text(was, self.joint)[0], id(self.joint.graph), "partition", "create")
                found[node.name] = [link, *next(iter(chains(was)), [])]
        return found


def _parts(graphs: TrainingGraphs) -> _Parts:
    names = {node.name for node in graphs.forward.graph.nodes if node.op != "output"}
    backward = Part(inputs={n.name: _backward_input(n, names) for n in _placeholders(graphs.backward)})
    forward = Part(inputs={n.name: _described(n) or "input" for n in _placeholders(graphs.forward)})
    _fill(forward, graphs.forward)
    _fill(backward, graphs.backward)
    given = [name for name in backward.inputs if backward.inputs[name] == SAVED]
    returned = _returned(graphs.forward)
    count = graphs.forward_outputs if graphs.forward_outputs is not None else len(returned) - len(given)
    wanted = None if graphs.saved is None else set(graphs.saved)
    for i, name in enumerate(returned):
        is_saved = i >= count if wanted is None else name in wanted and i >= count
        if is_saved or i < count:
            forward.outputs.append((name, SAVED if is_saved else FORWARD_OUTPUT))
    backward.outputs = [(name, BACKWARD_OUTPUT) for name in _returned(graphs.backward)]
    return _Parts(forward, backward, _joint(graphs.joint, forward, count) if graphs.joint is not None else None)


def _joint(module: fx.GraphModule, forward: Part, count: int) -> Part:
    part = Part(
        inputs={n.name: forward.inputs.get(n.name) or _described(n) or "tangent" for n in _placeholders(module)}
    )
    _fill(part, module)
    returned = _returned(module)
    part.outputs = [(name, FORWARD_OUTPUT if i < count else BACKWARD_OUTPUT) for i, name in enumerate(returned)]
    return part


def _placeholders(module: fx.GraphModule) -> list[fx.Node]:
    return [node for node in module.graph.nodes if node.op == "placeholder"]


def _described(node: fx.Node) -> str | None:
    return _DESCRIBED.get(type(node.meta.get("desc")).__name__)


def _backward_input(node: fx.Node, forward: set[str]) -> str:
    told = _described(node)
    return "tangent" if told == "tangent" or (told is None and node.name not in forward) else SAVED


def _output(module: fx.GraphModule) -> fx.Node:
    nodes: list[fx.Node] = list(module.graph.nodes)
    return next(node for node in reversed(nodes) if node.op == "output")


def _returned(module: fx.GraphModule) -> list[str]:
    """Returns the names of what a graph returns, in order; ``''`` for what is no node."""
    output = _output(module)
    given = output.args[0] if output.args else ()
    values = given if isinstance(given, (tuple, list)) else (given,)
    return [value.name if isinstance(value, fx.Node) else "" for value in torch.utils._pytree.tree_leaves(list(values))]


def _fill(part: Part, module: fx.GraphModule) -> None:
    for node in module.graph.nodes:
        if node.op in ("call_function", "call_method", "call_module"):
            part.ops[node.name] = target_text(node, module)[0]
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            part.sizes[node.name] = _bytes(value)
        owner = _viewed(node)
        if owner is not None:
            part.views[node.name] = owner.name


def _bytes(value: torch.Tensor) -> int | None:
    count = value.numel()
    return count * value.element_size() if isinstance(count, int) else None


def _viewed(node: fx.Node) -> fx.Node | None:
    """Returns the node whose memory a node's value shares, by its operator's schema."""
    first = node.args[0] if node.args else None
    if not isinstance(first, fx.Node) or node.op != "call_function":
        return None
    if getattr(node.target, "__name__", "") == "getitem":
        return first if _viewed(first) is not None else None
    if not isinstance(node.target, OpOverload):
        return None
    shared = any(
        value.alias_info is not None and not value.alias_info.is_write for value in node.target._schema.returns
    )
    return first if shared or target_text(node)[1] in VIEWS else None
