"""Reads the events out of a live Inspector, which has collated them by instruction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from fxstore.ingest.executorch.etdump import MISSING_BUFFER, NOT_A_TENSOR, Block, Dump, Event, Logged, kind_of

NANOSECONDS: Final = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_CLOSING: Final = ("operator", "delegate_call", "control")
_NO_BUFFER: Final = f"{MISSING_BUFFER}: an Inspector without one has nothing but zeros"
_JUMPS: Final = "no tensor data (an Inspector does not tell how often what stands behind a jump ran)"


def dump_of(inspector: Any) -> Dump:
    """Returns an Inspector's events as they would stand in its ETDump: one block per execution.

    Times in cycles stay cycles. Of several executions the Inspector keeps the first one's values, and has seen that
    those of the others are equal.
    """
    reason = None if any(map(_is_told, _everything(inspector.event_blocks))) else _NO_BUFFER
    blocks: list[Block] = []
    for block in inspector.event_blocks:
        unit = NANOSECONDS.get(str(getattr(block.target_time_scale, "value", "")), 1)
        times = max((len(event.perf_data.raw) for event in block.events if event.perf_data), default=0)
        values = list(_values(block, reason))
        for number in range(times or bool(values)):
            events = tuple(sorted((*values, *_times(block, number, unit)), key=_order))
            ran = any(event.kind in ("kernel", "operator", "delegate_call", "value") for event in events)
            blocks.append(Block(str(block.name), events, ran))
    return Dump(tuple(blocks), 0)


def _times(block: Any, number: int, unit: int) -> Iterator[Event]:
    for event in block.events:
        if event.perf_data is None or number >= len(event.perf_data.raw):
            continue
        identifier = event.delegate_debug_identifier if event.is_delegated_op else None
        kind = kind_of(event.name, identifier, 0)
        instruction = None if kind == "framework" else event._instruction_id
        duration = round(event.perf_data.raw[number] * unit)
        yield Event("framework" if instruction is None else kind, event.name, instruction, identifier, None, duration)


def _values(block: Any, reason: str | None) -> Iterator[Event]:
    """Yields what was logged; each of an instruction's timed events has all of it, so the first one's counts."""
    if reason is None and any(kind_of(event.name, None, 0) == "control" for event in block.events):
        reason = _JUMPS
    seen: set[tuple[object, object]] = set()
    for event in block.events:
        identifier = event.delegate_debug_identifier if event.is_delegated_op else None
        key = event._instruction_id, identifier
        if event.debug_data and event._instruction_id is not None and key not in seen:
            seen.add(key)
            for one in event.debug_data:  # each is an event of its own in the dump
                logged = tuple(_logged([one], reason))
                yield Event("value", event.name, event._instruction_id, identifier, values=logged)
    if block.run_output:
        yield Event("output", None, None, values=tuple(_logged(block.run_output, reason)))


def _logged(values: Iterable[Any], reason: str | None) -> Iterator[Logged]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _logged(value, reason)
        elif not hasattr(value, "numpy"):
            yield Logged(None, NOT_A_TENSOR)
        elif reason is not None:
            yield Logged(None, reason)
        else:
            yield Logged(value.detach().cpu().numpy().copy())


def _everything(blocks: Iterable[Any]) -> Iterator[Any]:
    for block in blocks:
        for values in (*(event.debug_data for event in block.events), block.run_output or ()):
            yield from (one for value in values for one in (value if isinstance(value, (list, tuple)) else (value,)))


def _is_told(value: Any) -> bool:
    """Tells whether a value was read from a debug buffer: an Inspector that has none makes every tensor of zeros."""
    return hasattr(value, "numpy") and bool(value.numel()) and bool((value != 0).any())


def _order(event: Event) -> tuple[int, int]:
    """Orders what an instruction did as an ETDump has it: what closes the instruction comes last."""
    return (-1 if event.instruction is None else event.instruction, event.kind in _CLOSING)
