"""Roles in a training step's graphs, and what its forward graph saves for the backward one.

A joint graph is cut into a forward and a backward graph by copying its nodes. So what a node is follows from the graphs
that it stands in and from their signatures: never from its name alone, nor from ``partitioner_tag``, which calls some
nodes forward that stand in the backward graph only.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from fxstore.ingest.adapters import Ingested
from fxstore.ingest.overlays import NodeOverlay

FORWARD_OUTPUT: Final = "forward_output"
BACKWARD_OUTPUT: Final = "backward_output"
SAVED: Final = "saved"
_MAIN: Final = (SAVED, "recomputed", FORWARD_OUTPUT, BACKWARD_OUTPUT, "forward", "backward")

VIEWS: Final = frozenset(
    {
        "view", "_unsafe_view", "t", "transpose", "permute", "expand", "slice", "select", "unsqueeze", "squeeze",
        "as_strided", "alias", "detach", "diagonal", "unfold", "view_as", "split", "split_with_sizes", "chunk",
        "unbind", "narrow", "movedim", "swapaxes", "real", "imag", "view_as_real", "view_as_complex", "numpy_T", "mT",
        "adjoint",
    }
)  # fmt: skip
"""Operators whose results share the memory of their first argument."""

_BYTES: Final = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "complex64": 8, "complex128": 16, "complex32": 4,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "bool": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1,
}  # fmt: skip


@dataclass
class Part:
    """One graph of a training step.

    Attributes:
        inputs: Name of each placeholder, and its role: ``input``, ``parameter``, ``buffer``, ``tangent``, ``saved``.
        ops: Name of each operator, and what it is: equal for the copies of one node in several graphs, and for nothing
            else.
        outputs: Name of each value that is returned, and what it is returned as: :data:`FORWARD_OUTPUT`,
            :data:`BACKWARD_OUTPUT` or :data:`SAVED`; in order.
        views: For each view, the node whose memory it shares.
        sizes: Bytes of each tensor; None where its shape is symbolic.
        taken: Of a backward graph, for each placeholder that is saved the forward graph's value.
    """

    inputs: dict[str, str] = field(default_factory=dict)
    ops: dict[str, Hashable] = field(default_factory=dict)
    outputs: list[tuple[str, str]] = field(default_factory=list)
    views: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int | None] = field(default_factory=dict)
    taken: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SavedValue:
    """A value that the forward graph hands to the backward graph.

    Attributes:
        bytes: Its size; None where its shape is symbolic.
        new_bytes: Memory that lives on only because it is saved: 0 for an input, and for a view of an input or of what
            is counted already; None where the size is unknown.
        note: What it is, where it is not new memory: ``input``, ``view of input primals_3``, ``view of mm``.
    """

    name: str
    bytes: int | None
    new_bytes: int | None
    note: str | None


def byte_size(dtype: str | None, shape: Iterable[str] | None) -> int | None:
    """Returns the bytes of a dense tensor; None for what is no tensor or has a symbolic shape."""
    sizes = list(shape) if shape is not None else ["?"]
    item = _BYTES.get(dtype or "")
    return item * math.prod(map(int, sizes)) if item and all(size.isdecimal() for size in sizes) else None


def saved_values(forward: Part) -> list[SavedValue]:
    """Returns what a forward graph saves, in order; memory that several saved values share is counted once."""
    counted: set[str] = set()
    names = [name for name, kind in forward.outputs if kind == SAVED]
    owning = [name for name in names if name not in forward.views]
    found: dict[str, SavedValue] = {}
    for name in [*owning, *(name for name in names if name in forward.views)]:
        base = _base(forward, name)
        size, note = forward.sizes.get(name), None
        new = forward.sizes.get(base)
        if base in forward.inputs:
            new, note = 0, "input" if base == name else f"view of input {base}"
        elif base != name:
            note = f"view of {base}"
        if base in counted:
            new = 0
        counted.add(base)
        found[name] = SavedValue(name, size, new, note)
    return [found[name] for name in dict.fromkeys(names)]


def _base(part: Part, name: str) -> str:
    seen = {name}
    while (owner := part.views.get(name)) is not None and owner not in seen:
        seen.add(owner)
        name = owner
    return name


def roles(forward: Part, backward: Part, joint: Part | None = None) -> dict[str, dict[str, list[str]]]:
    """Returns the roles of the nodes of ``forward``, ``backward`` and ``joint``, by name, the main one first.

    What stands in no more than its own graph keeps the role that its own graph tells.
    """
    parts = {"forward": forward, "backward": backward} | ({"joint": joint} if joint is not None else {})
    return {name: _roles(part, forward, backward) for name, part in parts.items()}


def _roles(part: Part, forward: Part, backward: Part) -> dict[str, list[str]]:
    saved = {name for name, kind in forward.outputs if kind == SAVED}
    ran, saves = set(forward.ops.values()), {forward.ops[name] for name in saved if name in forward.ops}
    ran_again = set(backward.ops.values())
    returned: dict[str, list[str]] = {}
    for name, kind in part.outputs:
        if kind != SAVED:
            returned.setdefault(name, []).append(kind)
    found = {}
    for name, own in part.inputs.items():
        value = backward.taken.get(name, name) if part is backward else name
        further = [SAVED] if value in saved else []
        further += [forward.inputs[value]] if part is backward and value in forward.inputs else []
        found[name] = list(dict.fromkeys([own, *further, *returned.get(name, ())]))
    for name, what in part.ops.items():
        given = set(returned.get(name, ()))
        given |= {"forward"} if what in ran else set()
        given |= {"backward"} if what in ran_again else set()
        given |= {"recomputed"} if what in ran and what in ran_again else set()
        given |= {SAVED} if what in saves else set()
        found[name] = [role for role in _MAIN if role in given] or ["op"]
    return found


@dataclass(frozen=True)
class TrainingGraphs:
    """The graphs of one training step; ``store.ingest`` takes them as one run with a stage for each.

    Attributes:
        forward: The forward GraphModule: it returns its outputs, then what it saves.
        backward: The backward GraphModule: it takes what is saved, then the tangents.
        joint: The joint GraphModule as it was before it was cut, or None.
        saved: Names of the values that count as saved; default: all that forward returns for backward.
        forward_outputs: How many of forward's values are outputs; default: all but as many as backward takes besides
            tangents.
    """

    forward: Any
    backward: Any
    joint: Any = None
    saved: Sequence[str] | None = None
    forward_outputs: int | None = None


def is_training_step(source: object) -> bool:
    """Tells whether a source is a dict of the graph modules ``forward`` and ``backward``, and maybe ``joint``."""
    if not isinstance(source, Mapping) or not {"forward", "backward"} <= source.keys() <= {
        "joint",
        "forward",
        "backward",
    }:
        return False
    return all(any(cls.__name__ == "GraphModule" for cls in type(one).__mro__) for one in source.values())


# What a training step saves for backward, as an overlay.


def saved_overlay(name: str, values: Iterable[SavedValue], stage: str, method: str) -> NodeOverlay:
    """Returns two metrics per saved value: ``saved_bytes``, its size, and ``new_bytes``, what only saving it keeps.

    The text of ``new_bytes`` says what is no new memory: ``view of input primals_3``, ``input``.
    """
    return NodeOverlay.of(
        name, "static", _rows(values, stage, method), source="forward graph", unit="B", better="lower"
    )


def _rows(values: Iterable[SavedValue], stage: str, method: str) -> Iterator[dict[str, object]]:
    for value in values:
        for metric, number, text in (
            ("saved_bytes", value.bytes, None),
            ("new_bytes", value.new_bytes, value.note),
        ):
            yield {
                "stage": stage,
                "method": method,
                "node": value.name,
                "port": 0,
                "metric": metric,
                "value": number,
                "text": text,
                "status": "not_measured" if number is None else "ok",
                "reason": "its shape is symbolic" if number is None else None,
                "sample": 0,
            }


# The adapter for the graphs of a training step.


class TrainingAdapter:
    """``TrainingGraphs``, or a dict of the graph modules ``forward`` and ``backward``, and ``joint``."""

    options = frozenset({"saved", "forward_outputs"})

    def accepts(self, source: object) -> bool:
        """Tells whether the source holds a training step's graphs."""
        return isinstance(source, TrainingGraphs) or is_training_step(source)

    def read(
        self,
        source: TrainingGraphs | Mapping[str, Any],
        *,
        saved: Sequence[str] | None = None,
        forward_outputs: int | None = None,
    ) -> Ingested:
        """Takes a snapshot of each graph, with the roles that they tell together.

        Args:
            saved: Names of the values that count as saved; default: all that forward returns for backward.
            forward_outputs: How many of forward's values are outputs.
        """
        from fxstore.ingest.compile.training_stages import stages_of

        graphs = source if isinstance(source, TrainingGraphs) else TrainingGraphs(**source)
        if saved is not None:
            graphs = replace(graphs, saved=tuple(saved))
        if forward_outputs is not None:
            graphs = replace(graphs, forward_outputs=forward_outputs)
        stages, overlays = stages_of(graphs)
        complete = all(stage.status == "complete" for stage in stages)
        return Ingested(tuple(stages), tuple(overlays), "complete" if complete else "partial")
