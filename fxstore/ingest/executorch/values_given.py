"""Values that a user brings by debug handle, as ExecuTorch's intermediate output capturer gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fxstore.errors import UsageError, nearest
from fxstore.ingest.executorch.handle_values import Array, HandleNodes, Laid, Offered, Place
from fxstore.ingest.executorch.handles import DEBUG_HANDLE, INSTRUCTION
from fxstore.metrics.operands import NoNumberError, operand
from fxstore.records import Graph, Stage

NOT_GIVEN: Final = "no value is given"
_KEYS: Final = (
    "keys are debug handles (5), several of one node ((5, 6)), names, or these with a delegate: ('lowered_module_0', 5)"
)


def samples_of(values: object) -> list[Mapping[Any, Any]]:
    """Returns the values of each sample: a mapping is one, a list of them one each.

    Raises:
        UsageError: It is neither.
    """
    several = values if isinstance(values, list | tuple) else [values]
    if not several or not all(isinstance(one, Mapping) for one in several):
        raise UsageError("values are a dict, or a list of dicts, one for each input", hint=_KEYS)
    return list(several)


def by_method(values: object, methods: Sequence[str]) -> dict[str, object] | None:
    """Returns the values of each method, where they are a dict by method; else None."""
    if isinstance(values, Mapping) and values and all(key in methods for key in values):
        return dict(values) if all(isinstance(one, Mapping | list | tuple) for one in values.values()) else None
    return None


def stage_with_handles(stages: Sequence[Stage], method: str, name: str | None) -> Stage:
    """Returns the stage whose handles values are of: the one of that name, or the last one that has any.

    Raises:
        UsageError: There is none.
    """
    names = [stage.name for stage in stages]
    if name is not None and name not in names:
        raise UsageError(
            f"stage {name!r} is not in this run", hint=nearest(name, names) or f"stages: {', '.join(names)}"
        )
    for stage in reversed(stages):
        if name in (None, stage.name) and any(map(_has_handles, _graphs(stage, method))):
            return stage
    where = "no stage" if name is None else f"stage {name!r}"
    raise UsageError(
        f"{where} has no debug handles in method {method!r}",
        hint="record the edge, lowered or emitted program that the handles are of",
    )


def laid_by_handle(stage: Stage, method: str, values: Mapping[Any, Any]) -> Laid:
    """Returns where values lie that are given by handle, by name, or by delegate and one of these."""
    return _Given(_graphs(stage, method)).lay(values)


class _Given:
    """The graphs of one method of a stage, as keys name them."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self._all = HandleNodes([(graph, None) for graph in graphs])
        self._inside = {graph.path: HandleNodes([(graph, None)]) for graph in graphs if graph.path}
        self._called: dict[str | int, str] = {path: path for path in self._inside}
        top = next(graph for graph in graphs if not graph.path)
        names, instructions = top.nodes["name"].to_pylist(), _handles(top, INSTRUCTION)
        for graph in graphs:
            if graph.parent_path == "" and graph.parent_position is not None:
                self._called[names[graph.parent_position]] = graph.path
                self._called |= dict.fromkeys(instructions.get(graph.parent_position, ()), graph.path)
        self._same_node = {frozenset(handles) for graph in graphs for handles in _handles(graph, DEBUG_HANDLE).values()}

    def lay(self, values: Mapping[Any, Any]) -> Laid:
        offered: dict[HandleNodes, dict[Place, list[Offered]]] = {}
        laid = Laid()
        for key, value in values.items():
            nodes, place, called = self._place(key)
            if isinstance(place, str):
                laid.unplaced[called] = place
            else:
                offered.setdefault(nodes, {}).setdefault(place, []).append(Offered(called, _arrays(value)))
        for nodes, places in offered.items():
            laid.add(nodes.lay(places))
        return laid

    def _place(self, key: Any) -> tuple[HandleNodes, Place | str, str]:
        """Returns the nodes that a key speaks of, the one of them or why it is none, and the key in words."""
        delegate, rest = self._apart(key)
        handles = () if isinstance(rest, str) else tuple(sorted({rest} if isinstance(rest, int) else {*rest}))
        said = f"handle{'s' if len(handles) > 1 else ''} {', '.join(map(str, handles))}" if handles else f"name {rest}"
        called = said if delegate is None else f"{said} of {delegate}"
        if delegate is not None and delegate not in self._called:
            return self._all, "there is no such delegate", called
        nodes = self._all if delegate is None else self._inside[self._called[delegate]]
        return nodes, nodes.by_name(rest) if isinstance(rest, str) else nodes.by_handle(handles), called

    def _apart(self, key: Any) -> tuple[str | int | None, int | str | tuple[int, ...]]:
        """Returns the delegate that a key names, or None, and the handle, the handles or the name.

        Two numbers are the handles of one node where a node has both, else an instruction and a handle inside of the
        delegate that it calls.

        Raises:
            UsageError: It is no such key.
        """
        if isinstance(key, str):
            delegate, slash, rest = key.rpartition("/")
            if slash and delegate in self._called:
                return delegate, self._apart(rest)[1]
            return None, int(key) if key.isdecimal() else key
        if _is_number(key):
            return None, int(key)
        parts = list(key) if isinstance(key, tuple | list | frozenset) else []
        if len(parts) == 2 and isinstance(parts[0], str):
            return parts[0], self._apart(parts[1])[1]
        if not parts or not all(map(_is_number, parts)):
            raise UsageError(f"{key!r} names no value", hint=_KEYS)
        together = any(set(parts) <= handles for handles in self._same_node)
        if len(parts) == 2 and not together and parts[0] in self._called:
            return int(parts[0]), int(parts[1])
        return None, tuple(map(int, parts))


def _is_number(key: object) -> bool:
    return isinstance(key, int) and not isinstance(key, bool)


def _arrays(value: Any) -> list[Array | str]:
    several = value if isinstance(value, list | tuple) else [value]
    return [_array(one) for one in several]


def _array(value: Any) -> Array | str:
    try:
        return operand(value).array
    except NoNumberError as error:
        return str(error)


def _graphs(stage: Stage, method: str) -> list[Graph]:
    return [graph for graph in stage.graphs if graph.method == method]


def _has_handles(graph: Graph) -> bool:
    return DEBUG_HANDLE in graph.tables["handles"]["namespace"].to_pylist()


def _handles(graph: Graph, namespace: str) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for row in graph.tables["handles"].to_pylist():
        if row["namespace"] == namespace:
            found.setdefault(row["position"], set()).add(row["handle"])
    return found
