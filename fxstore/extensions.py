"""What other packages add to fxstore, found through entry points; listed without importing any of them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from fxstore.errors import UsageError, nearest

GROUPS: Final[Mapping[str, str]] = {
    "adapters": "fxstore.adapters",
    "overlay-kinds": "fxstore.overlay_kinds",
    "color-rules": "fxstore.color_rules",
    "pane-types": "fxstore.pane_types",
}
"""What can be added, and the group of entry points that names it."""
_log = logging.getLogger("fxstore")


def installed(what: str) -> tuple[EntryPoint, ...]:
    """Returns the entry points of one of :data:`GROUPS`, by name, without importing any."""
    return found(entry_points, GROUPS[what], tuple(sys.path))


@cache
def found(find: Callable[..., Iterable[EntryPoint]], group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Looks through every installed package, once for each place where these are looked for: it takes 20 ms.

    Args:
        find: ``importlib.metadata.entry_points``.
        path: ``sys.path`` as it is now.
    """
    return tuple(sorted(find(group=group), key=lambda entry: entry.name))


def load(what: str, name: str, own: Iterable[str] = ()) -> Any:
    """Returns what an entry point names.

    Args:
        own: Names that fxstore has itself, for the hint.

    Raises:
        UsageError: There is none of that name, or it cannot be loaded.
    """
    known = {entry.name: entry for entry in reversed(installed(what))}
    if name not in known:
        names = [*own, *known]
        hint = nearest(str(name), names) or (
            f"there are {', '.join(names)}" if names else f"none is installed ({GROUPS[what]})"
        )
        raise UsageError(f"there is no {_one(what)} {name!r}", hint=hint)
    try:
        return known[name].load()
    except Exception as error:  # a stranger's package may be half installed
        raise UsageError(
            f"{_one(what)} {name!r} cannot be loaded: {brief(error)}", hint=f"it is {known[name].value}"
        ) from error


def loaded(what: str) -> Iterator[tuple[str, Any]]:
    """Yields name and value of each; what cannot be loaded is logged, and passed over."""
    for entry in installed(what):
        try:
            value = entry.load()
        except Exception as error:  # as above
            _log.warning("%s %s cannot be loaded: %s", _one(what), entry.name, brief(error))
        else:
            yield entry.name, value


def brief(error: Exception) -> str:
    """Returns an error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _one(what: str) -> str:
    return what.removesuffix("s").replace("-", " ")
