"""Takes sources in as one run: what ``Store.ingest`` and the verb ``ingest`` do."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from fxstore.errors import SourceError, UsageError, nearest
from fxstore.ingest import adapters
from fxstore.ingest.training import is_training_step
from fxstore.recording import Recorder, Run


def ingest(recorder: Recorder, source: object, options: Mapping[str, Any]) -> Run:
    """Records a source, or a dict of them, and commits the run.

    Of several sources, one that cannot be read becomes a stage that says so, and the run is ``partial``.

    Raises:
        SourceError: No source can be read; nothing is stored then.
        UsageError: No source takes one of the options, or numbers name nodes that stand in several places.
    """
    options, traced = _traced(options)
    if isinstance(source, Mapping) and not is_training_step(source):
        if not source:
            raise UsageError("the dict of stages is empty", hint="pass {stage name: source}, in pipeline order")
        _several(recorder, source, options)
    elif isinstance(source, adapters.Ingested):
        recorder.add(source)
    else:
        recorder.add(adapters.read(source, options))
    if traced is not None:
        recorder.add(traced)
    recorder.lay_overlays(strict=True)
    return recorder.finish()


def _traced(options: Mapping[str, Any]) -> tuple[dict[str, Any], adapters.Ingested | None]:
    """Returns the options without those of a traced run, and that run: what ``etdump`` and ``debug_buffer`` name."""
    rest = dict(options)
    dump, buffer = rest.pop("etdump", None), rest.pop("debug_buffer", None)
    if dump is None and buffer is not None:
        raise UsageError("a debug buffer alone tells nothing", hint="pass the ETDump that names its parts: etdump=")
    if dump is None:
        return rest, None
    return rest, adapters.read(dump, {} if buffer is None else {"debug_buffer": buffer})


def _several(recorder: Recorder, sources: Mapping[Any, object], options: Mapping[str, Any]) -> None:
    used: set[str] = set()
    for stage, one in sources.items():
        taken = _taken(one, options)
        used |= taken.keys()
        recorder.stage(str(stage), one, **taken)
    _all_used(options, used)
    recorder.raise_if_empty()


def _taken(source: object, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that a source's adapter takes; none for what nothing reads, which recording it tells."""
    if not options:
        return {}
    try:
        return adapters.takes(source, options)
    except SourceError:
        return {}


def _all_used(options: Iterable[str], used: set[str]) -> None:
    if unused := sorted(set(options) - used):
        hint = nearest(unused[0], used) or "the documentation of its adapter says what it takes"
        raise UsageError(f"no source takes the option {unused[0]!r}", hint=hint)


def default_name(source: object) -> str:
    """Returns the name of a run that was given none: the file's, or ``run``."""
    if isinstance(source, str | os.PathLike):
        return os.path.splitext(os.path.basename(os.fspath(source)))[0] or "run"
    return "run"
