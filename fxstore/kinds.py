"""Kinds of overlays: fxstore's own, and those of other packages, in the entry-point group ``fxstore.overlay_kinds``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fxstore import extensions, vocabulary
from fxstore.errors import UsageError


@dataclass(frozen=True)
class OverlayKind:
    """What the numbers of an overlay are; an entry point names one.

    Attributes:
        about: One line on what they are.
        unit: Of an overlay of this kind that has none of its own, such as ``uJ``; or None.
        better: ``higher``, ``lower`` or None, for the same.
        public: Whether they tell nothing about weights and inputs, so that a public run or page may hold them.
    """

    about: str = ""
    unit: str | None = None
    better: str | None = None
    public: bool = False


# They are made of a model's weights and inputs.
_PRIVATE: Final = (vocabulary.OverlayKind.ACCURACY, vocabulary.OverlayKind.STATISTICS)
OWN: Final[Mapping[str, OverlayKind]] = {
    word: OverlayKind(
        word.about,
        better="lower" if word == vocabulary.OverlayKind.LATENCY else None,
        public=word not in _PRIVATE,
    )
    for word in vocabulary.OverlayKind
}


def kind_of(name: str) -> OverlayKind:
    """Returns the kind of that name.

    Raises:
        UsageError: There is none, or the package that has it gives something else.
    """
    if name in OWN:
        return OWN[name]
    found = extensions.load("overlay-kinds", name, OWN)
    if not isinstance(found, OverlayKind):
        raise UsageError(f"overlay kind {name!r} is no fxstore.ingest.OverlayKind, but {type(found).__name__}")
    if found.better not in (None, "higher", "lower"):
        raise UsageError(f"overlay kind {name!r}: better cannot be {found.better!r}", hint="higher, lower or None")
    return found


def public_kinds() -> tuple[str, ...]:
    """Returns the kinds that a public run or page may hold; of other packages' those that say so."""
    others = (
        name for name, kind in extensions.loaded("overlay-kinds") if isinstance(kind, OverlayKind) and kind.public
    )
    return (*(name for name, kind in OWN.items() if kind.public), *(name for name in others if name not in OWN))
