"""Reads the events out of a live Inspector, which has collated them by instruction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fxstore.ingest.etdump import Block, Dump, Event, kind_of

_NANOSECONDS: Final = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_CLOSING: Final = ("operator", "delegate_call", "control")


def dump_of(inspector: Any) -> Dump:
    """Returns an Inspector's events as they would stand in its ETDump: one block per execution.

    Times in cycles stay cycles.
    """
    blocks: list[Block] = []
    for block in inspector.event_blocks:
        unit = _NANOSECONDS.get(str(getattr(block.target_time_scale, "value", "")), 1)
        times = max((len(event.perf_data.raw) for event in block.events if event.perf_data), default=0)
        for number in range(times):
            events = tuple(sorted(_events(block, number, unit), key=_order))
            ran = any(event.kind in ("kernel", "operator", "delegate_call") for event in events)
            blocks.append(Block(str(block.name), events, ran))
    return Dump(tuple(blocks), 0)


def _events(block: Any, number: int, unit: int) -> Iterator[Event]:
    for event in block.events:
        if event.perf_data is None or number >= len(event.perf_data.raw):
            continue
        identifier = event.delegate_debug_identifier if event.is_delegated_op else None
        kind = kind_of(event.name, identifier, 0)
        instruction = None if kind == "framework" else event._instruction_id
        duration = round(event.perf_data.raw[number] * unit)
        yield Event("framework" if instruction is None else kind, event.name, instruction, identifier, None, duration)


def _order(event: Event) -> tuple[int, int]:
    """Orders what an instruction did as an ETDump has it: what closes the instruction comes last."""
    return (-1 if event.instruction is None else event.instruction, event.kind in _CLOSING)
