"""The words of the store, each defined once: Python, SQL comments, the docs and the page take them from here.

A word is a member of an enum and a plain string at once, so that a table, a JSON file or a comparison needs no
conversion: ``Evidence.FROM_NODE == "from_node"``. The order of the members of :class:`Evidence` is their strength.

A column may hold other words than these where a package or a backend adds its own (a role, a kind of overlay); nothing
here refuses them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Word(StrEnum):
    """A word with its meaning.

    Attributes:
        about: What it says, as a phrase that can follow the word in a list.
    """

    about: str

    def __new__(cls, value: str, about: str = "") -> Self:
        """Makes a member from the word and its meaning."""
        word = str.__new__(cls, value)
        word._value_ = value
        word.about = about
        return word

    def __repr__(self) -> str:
        """Shows the word as any other string: errors and hints quote names by their ``repr``."""
        return repr(self.value)

    @classmethod
    def listed(cls) -> str:
        """Returns the words as prose: ``ok, non_finite or not_measured``.

        >>> MetricStatus.listed()
        'ok, non_finite or not_measured'
        """
        *first, last = (word.value for word in cls)
        return f"{', '.join(first)} or {last}"


class Evidence(Word):
    """What a link rests on, strongest first. The last two are inferred: no compiler recorded them."""

    IDENTITY = "identity", "the same node, copied"
    FROM_NODE = "from_node", "the provenance that the compiler recorded"
    HANDLE = "handle", "equal debug handles"
    SIGNATURE = "signature", "the same input, parameter, buffer or output of the exported program"
    DELEGATE = "delegate", "a delegate call and the graph that the backend took"
    OBSERVER = "observer", "the observer from which a quantisation was made"
    STRUCTURE = "structure", "the same place between linked neighbours"
    NAME = "name", "equal names, where there is nothing else"

    @property
    def inferred(self) -> bool:
        """Whether nothing that a compiler recorded supports it."""
        return self in (Evidence.STRUCTURE, Evidence.NAME)


class Status(Word):
    """How much of a run or a stage is there."""

    COMPLETE = "complete", "everything was recorded"
    PARTIAL = "partial", "something is missing; the note says what"
    FAILED = "failed", "a stage of which nothing could be recorded"


class StageKind(Word):
    """What a stage was captured from."""

    GRAPH = "graph", "a graph module"
    EXPORTED = "exported", "an exported program"
    EDGE = "edge", "an edge program"
    LOWERED = "lowered", "an edge program with delegates"
    RUNTIME = "runtime", "an ExecuTorch program"
    TRACE = "trace", "a trace of a compile"
    EXECUTED = "executed", "what was run, call by call"


class Role(Word):
    """What a node is for; training graphs add those from ``tangent`` on."""

    INPUT = "input"
    PARAMETER = "parameter"
    BUFFER = "buffer"
    CONSTANT = "constant"
    OP = "op"
    OUTPUT = "output"
    SYMINT = "symint"
    TOKEN = "token"
    SUBGRAPH = "subgraph"
    DELEGATE = "delegate"
    TANGENT = "tangent", "gradient that comes in"
    FORWARD = "forward"
    BACKWARD = "backward"
    SAVED = "saved", "kept by the forward graph for the backward graph"
    RECOMPUTED = "recomputed", "in both graphs"
    FORWARD_OUTPUT = "forward_output"
    BACKWARD_OUTPUT = "backward_output"


class MetricStatus(Word):
    """Whether a measurement gave a number."""

    OK = "ok"
    NON_FINITE = "non_finite", "NaN or infinite; the value is there"
    NOT_MEASURED = "not_measured", "no number; the reason says why"


class Scope(Word):
    """What an error of a node contains."""

    LOCAL = "local", "this operator alone"
    CUMULATIVE = "cumulative", "all up to it"


class Better(Word):
    """The good direction of a metric."""

    HIGHER = "higher"
    LOWER = "lower"


class Verdict(Word):
    """A metric against its threshold."""

    PASS = "pass"
    FAIL = "fail"


class Aggregation(Word):
    """How the numbers that a node has of one metric become one: its ports, samples and executions."""

    MEDIAN = "median", "a time: over all executions"
    SUM = "sum", "bytes: over the ports; then the worst sample"
    WORST = "worst", "everything else: the worst port of the worst sample"


class OverlayKind(Word):
    """What the numbers of an overlay are."""

    ACCURACY = "accuracy", "how far values are from those of a reference"
    LATENCY = "latency", "times of a run"
    CATEGORY = "category", "texts: which backend, which category"
    STATIC = "static", "what shapes and files tell: bytes, operations"
    STATISTICS = "statistics", "what describes the values themselves"


class Change(Word):
    """What became of a node between two runs."""

    ADDED = "added"
    CHANGED = "changed", "operator overload, type, shape, backend or constants"
    MOVED = "moved", "another module or call of it, another graph, another place in the order"
    REMOVED = "removed"
    RENAMED = "renamed", "another name, or its whole module has another"
    REWIRED = "rewired", "other inputs"
    SAME = "same"
