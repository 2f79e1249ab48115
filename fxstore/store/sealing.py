"""JSON texts that end with a digest of themselves, so that a flipped bit in a name is noticed like one in a bracket."""

from __future__ import annotations

import hashlib
import re
from typing import Final

_SEAL: Final = re.compile(r',\s*"sha256": "([0-9a-f]{64})"\s*\}\s*\Z')
_LONGEST: Final = 100


def sealed(text: str) -> str:
    """Returns the text of a JSON object with one more member, ``sha256``: the digest of what stands before it."""
    said = text.rstrip()[:-1].rstrip()
    return f'{said}, "sha256": "{_digest(said)}"}}'


def checked(text: str) -> str:
    """Returns the text; one that has no digest is taken as it is.

    Raises:
        ValueError: The text is not the one that was sealed.
    """
    end = max(0, len(text) - _LONGEST)
    seal = _SEAL.search(text, end)
    if seal and _digest(text[: seal.start()]) != seal[1]:
        raise ValueError("its text is not the one that was written")
    return text


def _digest(said: str) -> str:
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
