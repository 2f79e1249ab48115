"""Finds the adapter for a source, through the entry-point group ``fxstore.adapters``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Protocol

from fxstore.errors import SourceError
from fxstore.records import Overlay, Stage

GROUP = "fxstore.adapters"


@dataclass(frozen=True)
class Ingested:
    """What an adapter makes of a source.

    Attributes:
        stages: In pipeline order. An adapter that gives one stage leaves its name to the caller by ``''``.
        overlays: Metrics that the source holds itself, on nodes of these stages.
        status: ``complete`` or ``partial``.
        versions: Versions of the tools that made the source, where it names them.
    """

    stages: tuple[Stage, ...]
    overlays: tuple[Overlay, ...] = ()
    status: str = "complete"
    versions: Mapping[str, str] = field(default_factory=dict)


class Adapter(Protocol):
    """What a third party implements, and names in the entry-point group ``fxstore.adapters``."""

    def accepts(self, source: object) -> bool:
        """Tells whether this adapter reads that source, without importing what it would need to read it."""
        ...

    def read(self, source: object) -> Ingested:
        """Takes a snapshot of the source.

        Raises:
            SourceError: The source is broken, or refused.
        """
        ...


def installed() -> list[EntryPoint]:
    """Returns the adapters' entry points by name, without importing any."""
    return sorted(entry_points(group=GROUP), key=lambda entry: entry.name)


def read(source: object) -> Ingested:
    """Reads a source with the first adapter that accepts it.

    Raises:
        SourceError: No adapter accepts it, or the one that does cannot read it.
    """
    if isinstance(source, str):
        source = Path(source)
    if isinstance(source, Path) and not source.exists():
        raise SourceError(f"no such file: {source}", hint="check the path")
    for entry in installed():
        adapter: Adapter = entry.load()()
        if adapter.accepts(source):
            return adapter.read(source)
    names = ", ".join(entry.name for entry in installed())
    what = f"the file {source}" if isinstance(source, Path) else f"an object of type {_type_name(source)}"
    raise SourceError(f"no adapter reads {what}", hint=f"installed adapters: {names}")


def state_of(source: object) -> dict[str, int]:
    """Returns a checksum of each weight and buffer of a live source; empty for what has none.

    Only for sources that :func:`read` accepted.
    """
    methods = isinstance(source, Mapping)
    if not (methods or hasattr(source, "state_dict") or hasattr(source, "exported_program")):
        return {}
    from fxstore.ingest.state import digest

    return digest(source)


def _type_name(source: object) -> str:
    kind = type(source)
    return f"{kind.__module__}.{kind.__qualname__}"
