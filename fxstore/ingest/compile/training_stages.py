"""The stages of a training step: its graphs, with what each node of them is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from torch import fx

from fxstore.ingest.build import Link
from fxstore.ingest.capture import Told, capture_module
from fxstore.ingest.live_nodes import target_text
from fxstore.ingest.overlays import NodeOverlay
from fxstore.ingest.provenance import chains
from fxstore.ingest.training import BACKWARD_OUTPUT, FORWARD_OUTPUT, Part, TrainingGraphs, roles, saved_values
from fxstore.ingest.training_overlay import saved_overlay
from fxstore.ingest.training_parts import Parts, output_of, parts_of, returned_by, tied_with
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
