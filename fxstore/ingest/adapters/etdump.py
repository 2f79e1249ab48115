"""Adapters for what a run leaves: an ETDump file, or a live Inspector. Numbers alone, laid on the stages of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from fxstore.errors import SourceError
from fxstore.ingest.adapters import Ingested

_MOST_BYTES: Final = 1 << 27


class EtDumpFileAdapter:
    """An ETDump (``.etdp``), with its debug buffer where that is given."""

    options = frozenset({"debug_buffer", "stage"})

    endings = (".etdp", ".etdump")

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a path that ends in ``.etdp`` or ``.etdump``."""
        return isinstance(source, Path) and source.suffix in self.endings

    def read(self, source: Path, debug_buffer: str | Path | bytes | None = None, stage: str | None = None) -> Ingested:
        """Reads the dump; nothing is run.

        Args:
            debug_buffer: The debug buffer's content, or the path of its file.
            stage: The program that ran; default: that whose operators the events name.
        """
        from fxstore.ingest.etdump import read_etdump
        from fxstore.ingest.events import EventLayer

        data = _content(source)
        buffer = debug_buffer if isinstance(debug_buffer, bytes | None) else _mapped(Path(debug_buffer))
        try:
            return Ingested(
                overlays=(EventLayer(read_etdump(data, buffer), stages=None if stage is None else [stage]),)
            )
        except SourceError as error:
            raise SourceError(f"{source}: {error}", hint=error.hint) from error


class InspectorAdapter:
    """A live ``executorch.devtools.Inspector``: its events, and the stages of its ETRecord where it has one."""

    def accepts(self, source: object) -> bool:
        """Tells whether the source is an Inspector."""
        home = "executorch.devtools.inspector._inspector"
        return any(cls.__module__ == home and cls.__qualname__ == "Inspector" for cls in type(source).__mro__)

    def read(self, source: Any) -> Ingested:
        """Takes a snapshot of its events."""
        from fxstore.ingest.adapters.live import EtRecordAdapter
        from fxstore.ingest.events import EventLayer
        from fxstore.ingest.inspector import dump_of

        record = source._etrecord
        found = Ingested() if record is None else EtRecordAdapter().read(record)
        return found.with_overlays([EventLayer(dump_of(source), "Inspector")])


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SourceError(f"{path}: is larger than {_MOST_BYTES >> 20} MiB", hint="trace fewer runs")
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}", hint="check the path") from error


def _mapped(path: Path) -> memoryview:
    """Returns a debug buffer without reading it: it may be larger than the memory, and little of it be used."""
    import mmap

    try:
        with path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}", hint="check the path") from error
    except ValueError:  # an empty file
        return memoryview(b"")
