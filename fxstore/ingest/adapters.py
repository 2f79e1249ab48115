"""Finds the adapter for a source, through the entry-point group ``fxstore.adapters``.

A third party implements :class:`Adapter`, names the class in that group, and is found by ``pip install`` alone. What
its ``read`` gives is plain data: :class:`Ingested`, whose stages are built with
:class:`fxstore.ingest.build.GraphBuilder` and whose numbers are :class:`fxstore.ingest.overlays.NodeOverlay`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final, Protocol

from fxstore import extensions
from fxstore.errors import FxstoreError, SourceError, UsageError, nearest
from fxstore.gc_paused import at_rest
from fxstore.ingest.overlays import Layer, NodeOverlay
from fxstore.records import Stage

GROUP: Final = extensions.GROUPS["adapters"]
_log = logging.getLogger("fxstore")


@dataclass(frozen=True)
class Ingested:
    """What an adapter makes of a source.

    Attributes:
        stages: In pipeline order. An adapter that gives one stage leaves its name to the caller by ``''``. Empty for a
            source of numbers alone, which is laid on the stages of other sources of the same run.
        overlays: Numbers that the source holds, by the names of their nodes; these may be nodes of other sources.
        status: ``complete`` or ``partial``.
        versions: Versions of the tools that made the source, where it names them.
        live: What can be run of a source of several stages, by its own names of these.
    """

    stages: tuple[Stage, ...] = ()
    overlays: tuple[Layer, ...] = ()
    status: str = "complete"
    versions: Mapping[str, str] = field(default_factory=dict)
    live: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)

    def called(self, name: str | None) -> dict[str | None, str]:
        """Returns the run's name of each stage by its own; by None, too, where it is the only one.

        Args:
            name: The caller's name for it; None: its own names. Several stages are called ``name/its own``.
        """
        own = [stage.name or stage.kind for stage in self.stages]
        several = len(own) > 1
        names = own if name is None else [f"{name}/{one}" if several else name for one in own]
        called: dict[str | None, str] = dict(zip((stage.name for stage in self.stages), names, strict=True))
        return called if several or not own else {**called, None: names[0]}

    def titled(self, name: str) -> Ingested:
        """Returns numbers alone with their overlays called by that name; anything else as it is."""
        if self.stages:
            return self
        named = (replace(one, name=name) if isinstance(one, NodeOverlay) else one for one in self.overlays)
        return replace(self, overlays=tuple(named))

    def with_overlays(self, overlays: Iterable[Layer]) -> Ingested:
        """Returns the same with further overlays."""
        return replace(self, overlays=(*self.overlays, *overlays))


class Adapter(Protocol):
    """What a third party implements, and names in the entry-point group ``fxstore.adapters``.

    A class may also have an attribute ``options``: the names of the keyword arguments that its ``read`` takes, such as
    ``frozenset({"stage"})``. They come from ``store.ingest(source, stage="edge")``; without it there are none.
    ``endings`` are those of the files that it reads, such as ``(".pte",)``; the error about a file that nobody reads
    lists them.
    """

    def accepts(self, source: object) -> bool:
        """Tells whether this adapter reads that source, without importing what it would need to read it.

        A path is a :class:`pathlib.Path` that exists; anything else comes as the caller gave it.
        """
        ...

    def read(self, source: Any, **options: Any) -> Ingested:
        """Takes a snapshot of the source.

        Raises:
            SourceError: The source is broken, or refused.
        """
        ...


def installed() -> list[EntryPoint]:
    """Returns the adapters' entry points without importing any: fxstore's own first, then by name.

    The one for tables comes last: a format whose files end in ``.csv`` or ``.parquet`` may have an adapter of its own.
    """
    found = extensions.found(entry_points, GROUP, tuple(sys.path))
    return sorted(found, key=lambda entry: (_rank(entry), entry.name))


@at_rest()
def read(source: object, options: Mapping[str, Any] | None = None) -> Ingested:
    """Reads a source with the first adapter that accepts it; what has been read already is given back as it is.

    Args:
        options: Keyword arguments for the adapter's ``read``.

    Raises:
        SourceError: No adapter accepts it, or the one that does cannot read it.
        UsageError: The adapter takes no such option.
    """
    options = options or {}
    if isinstance(source, Ingested):
        return source
    source = path_of(source)
    entry, adapter = _accepting(source)
    if unknown := sorted(options.keys() - options_of(adapter)):
        known = sorted(options_of(adapter))
        hint = nearest(unknown[0], known) or (f"it takes {', '.join(known)}" if known else "it takes none")
        raise UsageError(f"adapter {entry.name} takes no option {unknown[0]!r}", hint=hint)
    try:
        return adapter.read(source, **options)
    except FxstoreError:
        raise
    except Exception as error:
        what = f"adapter {entry.name} cannot read {describe(source)}: {extensions.brief(error)}"
        raise SourceError(what, hint=f"it is {entry.value}; report it there") from error


def known_options() -> list[str]:
    """Returns the options that any installed adapter takes, for a hint."""
    return sorted({option for _, adapter in _loaded([]) for option in options_of(adapter)})


def takes(source: object, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns those of the options that the source's adapter takes; none for what has been read already."""
    if isinstance(source, Ingested):
        return {}
    _, adapter = _accepting(path_of(source))
    return {key: value for key, value in options.items() if key in options_of(adapter)}


def options_of(adapter: Adapter) -> frozenset[str]:
    """Returns the names of the options that an adapter declares."""
    return frozenset(getattr(adapter, "options", ()))


def path_of(source: object) -> object:
    """Returns a text as the path that it is, and anything else as it is.

    Raises:
        SourceError: There is nothing at that path.
    """
    if isinstance(source, str):
        source = Path(source)
    if isinstance(source, Path) and not _exists(source):
        raise SourceError(f"no such file: {source}", hint="check the path")
    return source


def describe(source: object) -> str:
    """Returns what a source is, in a few words."""
    kind = type(source)
    return (
        f"the file {source}" if isinstance(source, Path) else f"an object of type {kind.__module__}.{kind.__qualname__}"
    )


def state_of(source: object) -> Any:
    """Returns the :class:`fxstore.ingest.export.snapshot.State` of a live source; None for what has none.

    Only for sources that :func:`read` accepted.
    """
    if not _lives(source):
        return None
    from fxstore.ingest.export.snapshot import state

    return state(source)


def snapshot_of(source: object) -> Any:
    """Returns what runs as a live source does now (:func:`fxstore.ingest.export.snapshot.snapshot`).

    Of a source that does not live, the source itself.
    """
    if not _lives(source):
        return source
    from fxstore.ingest.export.snapshot import snapshot

    return snapshot(source)


def _lives(source: object) -> bool:
    """Tells whether a source has weights: a live object has, a path has not."""
    return isinstance(source, Mapping) or hasattr(source, "state_dict") or hasattr(source, "exported_program")


def _accepting(source: object) -> tuple[EntryPoint, Adapter]:
    broken: list[str] = []
    for entry, adapter in _loaded(broken):
        try:
            if adapter.accepts(source):
                return entry, adapter
        except Exception as error:  # a stranger's adapter must not stop the others
            _log.warning("adapter %s is passed over: %s", entry.name, extensions.brief(error))
            broken.append(entry.name)
    also = f"; broken: {', '.join(broken)}" if broken else ""
    if isinstance(source, Path):
        endings = sorted({end for _, adapter in _loaded([]) for end in getattr(adapter, "endings", ())})
        hint = f"files that are read end in {', '.join(endings)}, and hold what fxstore adapters says{also}"
    else:
        hint = f"installed adapters: {', '.join(entry.name for entry in installed() if entry.name not in broken)}{also}"
    raise SourceError(f"no adapter reads {describe(source)}", hint=hint)


def _loaded(broken: list[str]) -> Iterator[tuple[EntryPoint, Adapter]]:
    for entry in installed():
        try:
            adapter = entry.load()()
        except Exception as error:  # a stranger's package may be half installed
            _log.warning("adapter %s cannot be loaded: %s", entry.name, extensions.brief(error))
            broken.append(entry.name)
        else:
            yield entry, adapter


def _rank(entry: EntryPoint) -> int:
    own = entry.value.startswith("fxstore.")
    return (2 if entry.name == "metrics" else 0) if own else 1


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
