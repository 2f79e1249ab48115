"""What the app makes of texts: namespaces, attributes, the keys of its plain JavaScript objects."""

from __future__ import annotations

import re
from typing import Final

LAYER: Final = "___group___"
"""What the app appends to a namespace for the id of its layer."""
VALUES: Final = "__value"
"""The attribute whose value the app shows with the inputs that it feeds."""
TAG: Final = "__tensor_tag"
"""The key of an output or input that the app shows as its name."""
SETTER: Final = "__proto__"
"""The one key under which a JavaScript object holds nothing."""
_ESCAPED: Final = "___escaped_slash___"
_DENSE: Final = re.compile(r"dense<([^>]*)>")
_DIMENSION: Final = re.compile(r"(\d|\?)x")


def read_namespace(namespace: str) -> str:
    """Returns the namespace that the app takes for one: what stands behind the last semicolon."""
    parts = [part for part in namespace.split(";") if part]
    return parts[-1] if len(parts) > 1 else namespace


def layers_of(namespace: str) -> list[str]:
    """Returns the names of the layers that a namespace leads through; a backslash keeps a slash in a name."""
    parts = namespace.replace("\\/", _ESCAPED).split("/")
    return [part.replace(_ESCAPED, "\\/") for part in parts if part]


def shown_attribute(key: str, value: str) -> str:
    """Returns the text that the app shows of an attribute."""
    if key == VALUES:
        return value
    if value.startswith("dense<") and (match := _DENSE.match(value)):
        return match[1]
    return value.replace('"', "") or "<empty>"


def shown_metadata(key: str, value: str) -> tuple[str, str]:
    """Returns the key and the text that the app shows of an output or input."""
    if key != "tensor_shape":
        return key, value
    text = value.replace("tensor<", "", 1).replace(">", "", 1).replace("*", "\u2217", 1)
    return "shape", _DIMENSION.sub(r"\1 x ", text)
