"""What the graphs of a training step tell about each other, once they are cut."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import fx
from torch._ops import OpOverload

from fxstore.ingest.compile.training import BACKWARD_OUTPUT, FORWARD_OUTPUT, SAVED, VIEWS, Part, TrainingGraphs
from fxstore.ingest.export.live_nodes import target_text

_ORIGIN: Final = "fxstore_joint_node"
_TIED: Final = "fxstore_tied_with"
_DESCRIBED: Final = {
    "ParamAOTInput": "parameter",
    "BufferAOTInput": "buffer",
    "TangentAOTInput": "tangent",
    "PlainAOTInput": "input",
}
_SAVES_STATE: Final = "run_and_save_rng_state"
_TAKES_STATE: Final = "run_with_rng_state"


def mark(joint: fx.GraphModule, tied: Mapping[str, Sequence[str]]) -> None:
    """Writes each node's name into its metadata, which partitioners copy: so a copy tells what it is a copy of.

    Args:
        tied: The other names of each parameter and buffer that has several.
    """
    for node in joint.graph.nodes:
        node.meta[_ORIGIN] = node.name
        others = tied.get(getattr(node.meta.get("desc"), "target", ""))
        if others:
            node.meta[_TIED] = list(others)


def tied_with(node: fx.Node) -> list[str]:
    """Returns the other names of a parameter or buffer."""
    return list(node.meta.get(_TIED, ()))


@dataclass(frozen=True)
class Parts:
    """The graphs of a training step by what they tell together.

    Attributes:
        taken: For each placeholder of the backward graph that is saved, the name of the forward graph's value.
        origins: For each of the forward and the backward graph's nodes that the joint graph has, its node there.
    """

    forward: Part
    backward: Part
    joint: Part | None
    taken: Mapping[str, str]
    origins: Mapping[str, Mapping[str, fx.Node]]


def parts_of(graphs: TrainingGraphs) -> Parts:
    """Reads the three graphs; nothing follows from a name alone where the joint graph was marked."""
    returned = returned_by(graphs.forward)
    count, taken = _cut(graphs, returned)
    wanted = None if graphs.saved is None else set(graphs.saved)
    same = _Identities(graphs, taken)
    forward = Part(inputs={n.name: described(n) or "input" for n in _placeholders(graphs.forward)})
    backward = Part(inputs={n.name: _backward_input(n, taken) for n in _placeholders(graphs.backward)}, taken=taken)
    _fill(forward, graphs.forward, same)
    _fill(backward, graphs.backward, same)
    for i, name in enumerate(returned):
        is_saved = i >= count if wanted is None else name in wanted and i >= count
        if name and (is_saved or i < count):
            forward.outputs.append((name, SAVED if is_saved else FORWARD_OUTPUT))
    backward.outputs = [(name, BACKWARD_OUTPUT) for name in returned_by(graphs.backward) if name]
    joint = _joint(graphs.joint, forward, count, same) if graphs.joint is not None else None
    origins = {"forward": same.origins(graphs.forward), "backward": same.origins(graphs.backward)}
    return Parts(forward, backward, joint, taken, origins)


def _cut(graphs: TrainingGraphs, returned: Sequence[str]) -> tuple[int, dict[str, str]]:
    """Returns how many outputs the forward graph has, and which of its values each saved placeholder takes.

    Most placeholders have the value's name. The others are states of random generators: in the order of both.
    """
    placeholders = _placeholders(graphs.backward)
    names = {node.name for node in graphs.forward.graph.nodes if node.op != "output"}
    told = any(described(node) == "tangent" for node in placeholders)
    given = [n for n in placeholders if (described(n) != "tangent" if told else n.name in names)]
    count = graphs.forward_outputs if graphs.forward_outputs is not None else len(returned) - len(given)
    saved = [name for name in returned[count:] if name]
    taken = {n.name: n.name for n in placeholders if described(n) != "tangent" and n.name in saved}
    left = [name for name in dict.fromkeys(saved) if name not in taken]
    others = [n.name for n in placeholders if n.name not in taken and described(n) != "tangent"]
    taken |= dict(zip(others, left, strict=False))
    return count, taken


def _backward_input(node: fx.Node, taken: Mapping[str, str]) -> str:
    return SAVED if node.name in taken else described(node) or "tangent"


class _Identities:
    """What each operator is, equal for the copies of one node in the joint, forward and backward graph.

    A marked node is known by its mark. Any other has its name, its operator and its ``seq_nr``: partitioners keep them.
    A random operator that is recomputed is replaced on both sides, by one that saves the generator's state and one that
    takes it; the state leads from the one to the other.
    """

    def __init__(self, graphs: TrainingGraphs, taken: Mapping[str, str]) -> None:
        self._joint = {} if graphs.joint is None else {_identity(n, graphs.joint): n for n in graphs.joint.graph.nodes}
        self._replaced: dict[fx.Node, Hashable] = {}
        states = dict(self._saving(graphs.forward))
        for node in graphs.backward.graph.nodes:
            if _higher(node) == _TAKES_STATE and isinstance(node.args[0], fx.Node):
                saving = states.get(taken.get(node.args[0].name, ""))
                if saving is not None:
                    self._replaced[node] = self._replaced[saving]

    def _saving(self, module: fx.GraphModule) -> Iterator[tuple[str, fx.Node]]:
        """Yields each state that the forward graph saves, and the operator that saves it."""
        for node in module.graph.nodes:
            if _higher(node) != _SAVES_STATE:
                continue
            read = {user.args[1]: user for user in node.users if getattr(user.target, "__name__", "") == "getitem"}
            if 0 not in read:
                continue
            value = read.get(1, node)
            was = (known for known, one in self._joint.items() if one.target is node.args[0] and _follows(value, one))
            self._replaced[node] = next(was, ("random", read[0].name))
            yield read[0].name, node

    def of(self, node: fx.Node, module: fx.GraphModule) -> Hashable:
        """Returns the identity of an operator."""
        return self._replaced.get(node) or _identity(node, module)

    def origins(self, module: fx.GraphModule) -> dict[str, fx.Node]:
        """Returns the joint graph's node of each operator and each value that it computes."""
        known = {identity: node for identity, node in self._joint.items() if node.op not in ("placeholder", "output")}
        found = {node.name: known.get(self.of(node, module)) for node in module.graph.nodes if node.op != "output"}
        named = {_mark(node): node for node in known.values()}
        for node in _placeholders(module):
            found[node.name] = named.get(_mark(node))
        return {name: node for name, node in found.items() if node is not None}


def _follows(value: fx.Node, was: fx.Node) -> bool:
    """Tells whether a value has a node's metadata: those of the random operator that gave it."""
    mark = value.meta.get(_ORIGIN)
    return bool(mark == was.name if mark is not None else value.meta.get("seq_nr") == was.meta.get("seq_nr"))


def _mark(node: fx.Node) -> tuple[str, bool]:
    mark = node.meta.get(_ORIGIN)
    return str(mark or node.name), mark is not None


def _identity(node: fx.Node, module: fx.GraphModule) -> Hashable:
    name, marked = _mark(node)
    return name, target_text(node, module)[0], "marked" if marked else node.meta.get("seq_nr")


def _higher(node: fx.Node) -> str | None:
    """Returns the name of a higher-order operator that is called."""
    return str(node.target) if isinstance(node.target, torch._ops.HigherOrderOperator) else None


def _joint(module: fx.GraphModule, forward: Part, count: int, same: _Identities) -> Part:
    part = Part(inputs={n.name: forward.inputs.get(n.name) or described(n) or "tangent" for n in _placeholders(module)})
    _fill(part, module, same)
    part.outputs = [
        (name, FORWARD_OUTPUT if i < count else BACKWARD_OUTPUT) for i, name in enumerate(returned_by(module)) if name
    ]
    return part


def _placeholders(module: fx.GraphModule) -> list[fx.Node]:
    return [node for node in module.graph.nodes if node.op == "placeholder"]


def described(node: fx.Node) -> str | None:
    """Returns the role of a placeholder by torch's descriptor, or None."""
    return _DESCRIBED.get(type(node.meta.get("desc")).__name__)


def output_of(module: fx.GraphModule) -> fx.Node:
    """Returns the node that says what a graph returns."""
    nodes: list[fx.Node] = list(module.graph.nodes)
    return next(node for node in reversed(nodes) if node.op == "output")


def returned_by(module: fx.GraphModule) -> list[str]:
    """Returns the names of what a graph returns, in order; ``''`` for what is no node."""
    output = output_of(module)
    given = output.args[0] if output.args else ()
    values = given if isinstance(given, (tuple, list)) else (given,)
    return [value.name if isinstance(value, fx.Node) else "" for value in torch.utils._pytree.tree_leaves(list(values))]


def _fill(part: Part, module: fx.GraphModule, same: _Identities) -> None:
    for node in module.graph.nodes:
        if node.op in ("call_function", "call_method", "call_module"):
            part.ops[node.name] = same.of(node, module)
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
