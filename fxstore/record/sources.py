"""Takes sources in as one run: what ``Store.ingest`` and the verb ``ingest`` do."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Final

from fxstore.errors import SourceError, UsageError, nearest
from fxstore.ingest import adapters
from fxstore.ingest.compile.training import is_training_step
from fxstore.record.recorder import Recorder, Run
from fxstore.record.traced import compare_logged

_TRACE: Final = ("etdump", "debug_buffer", "inputs", "kwargs", "reference", "values", "values_stage")


def ingest(recorder: Recorder, source: object, options: Mapping[str, Any]) -> Run:
    """Records a source, or a dict of them, and commits the run.

    Of several sources, one that cannot be read becomes a stage that says so, and the run is ``partial``.

    Raises:
        SourceError: No source can be read; nothing is stored then.
        UsageError: No source takes one of the options, or numbers name nodes that stand in several places.
    """
    rest, told = _apart(options)
    if isinstance(source, Mapping) and not is_training_step(source):
        if not source:
            raise UsageError("the dict of stages is empty", hint="pass {stage name: source}, in pipeline order")
        _several(recorder, source, rest)
    elif isinstance(source, adapters.Ingested):
        recorder._open.take(source)
    else:
        recorder._open.take(adapters.read(source, rest))
    _add_trace(recorder, told)
    recorder._open.lay_overlays(strict=True)
    return recorder.finish()


def _apart(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the options of adapters, and those of a traced run of the source."""
    rest, told = dict(options), {name: options[name] for name in _TRACE if options.get(name) is not None}
    if "etdump" in told and "stage" in rest:
        told["stage"] = rest["stage"]
    for name in (*_TRACE, *told):
        rest.pop(name, None)
    if "debug_buffer" in told and "etdump" not in told:
        raise UsageError("a debug buffer alone tells nothing", hint="pass the ETDump that names its parts: etdump=")
    if "reference" in told and "inputs" not in told:
        raise UsageError("a reference is run on inputs, and none are given", hint="pass inputs=")
    if "values_stage" in told and "values" not in told:
        raise UsageError("values_stage says what values are of, and none are given", hint="pass values=")
    return rest, told


def _add_trace(recorder: Recorder, told: Mapping[str, Any]) -> None:
    """Adds the traced run; one that cannot be read costs the run nothing else."""
    if "etdump" in told:
        options = {key: told[key] for key in ("debug_buffer", "stage") if key in told}
        try:
            recorder._open.take(adapters.read(told["etdump"], options))
        except SourceError as error:
            recorder._open.miss("the traced run is not read", error)
            return
    if "inputs" in told:
        compare_logged(recorder._open, told["inputs"], told.get("kwargs"), told.get("reference"))
    if "values" in told:
        about = {"reference": told.get("reference"), "stage": told.get("values_stage")}
        recorder.values(told["values"], told.get("inputs"), told.get("kwargs"), **about, carry_state=True)


def _several(recorder: Recorder, sources: Mapping[Any, object], options: Mapping[str, Any]) -> None:
    used: set[str] = set()
    for stage, one in sources.items():
        taken = _taken(one, options)
        used |= taken.keys()
        recorder.stage(str(stage), one, **taken)
    _all_used(options, used)
    recorder._open.raise_if_empty()


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
        hint = nearest(unused[0], adapters.known_options()) or "the documentation of its adapter says what it takes"
        raise UsageError(f"no source takes the option {unused[0]!r}", hint=hint)


def default_name(source: object) -> str:
    """Returns the name of a run that was given none: the file's, or ``run``."""
    if isinstance(source, str | os.PathLike):
        return os.path.splitext(os.path.basename(os.fspath(source)))[0] or "run"
    return "run"
