"""Saved JSON payloads, read back without the compiler or a store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fxstore.errors import SourceError

VERSION: Final = 1
GRAPH: Final = "fxstore.graph"
COMPARE: Final = "fxstore.compare"
_HINT: Final = "give a file that export_json of fxstore.fx_viewer, or of its prototype, has written"


def read(path: Path) -> dict[str, Any]:
    """Returns the payload of one graph or several that a file holds.

    Raises:
        SourceError: The file cannot be read, is no JSON, no payload, or one of a later version.
    """
    try:
        payload = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SourceError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SourceError(f"{str(path)!r} is no JSON: it is no text in UTF-8", hint=_HINT) from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{str(path)!r} is no JSON: {error}", hint=_HINT) from None
    problem = problem_of(payload)
    if problem:
        hint = "a newer fxstore can show it" if "version" in problem else _HINT
        raise SourceError(f"{str(path)!r} is no payload that this fxstore shows: {problem}", hint=hint)
    checked: dict[str, Any] = payload
    return checked


def problem_of(payload: object) -> str | None:
    """Returns the first thing that keeps a payload from being shown, or None."""
    if not isinstance(payload, Mapping):
        return "it is no object"
    if "viewers" not in payload and payload.get("schema") != COMPARE:
        return _graph_problem(payload)
    viewers = payload.get("viewers")
    if not isinstance(viewers, list) or not viewers:
        return "viewers is no list of graphs"
    for index, viewer in enumerate(viewers):
        inner = viewer.get("payload") if isinstance(viewer, Mapping) else None
        problem = _graph_problem(inner) if isinstance(inner, Mapping) else "it has no payload"
        if problem:
            return f"in viewers[{index}]: {problem}"
    return _version_problem(payload, COMPARE)


def _graph_problem(payload: Mapping[str, Any]) -> str | None:
    problem = _version_problem(payload, GRAPH)
    if problem:
        return problem
    base = payload.get("base")
    if not isinstance(base, Mapping):
        return "it has no object base"
    if not isinstance(payload.get("extensions", {}), Mapping):
        return "extensions is no object"
    for name, needed in (("nodes", ("id",)), ("edges", ("v", "w"))):
        things = base.get(name)
        if not isinstance(things, list):
            return f"base.{name} is no list"
        for index, thing in enumerate(things):
            missing = [key for key in needed if not isinstance(thing, Mapping) or key not in thing]
            if missing:
                return f"base.{name}[{index}] has no {missing[0]}"
    return None


def _version_problem(payload: Mapping[str, Any], schema: str) -> str | None:
    if payload.get("schema", schema) != schema:
        return f"its schema is {payload['schema']!r}, not {schema!r}"
    version = payload.get("version", VERSION)
    return None if version == VERSION else f"its version is {version!r}, and this fxstore reads version {VERSION}"
