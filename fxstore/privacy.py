"""What may leave the house: structure, operators, shapes and times; no source, no text of strangers, no values.

Built from lists of what is kept, so that whatever a column or an attribute may hold one day is dropped until somebody
lists it.
"""

from __future__ import annotations

import json
import re
from typing import Final

from fxstore.errors import UsageError

PROFILES: Final = ("public",)
NODE_COLUMNS: Final = (
    "position", "name", "op", "target", "op_type", "role", "dtype", "shape", "ports", "device", "module_path",
    "module_type", "module_call", "backend",
)  # fmt: skip
PRIVATE: Final = "<private>"
_VALUES = ("quantize", "dequantize", "choose_qparams", "fake_quantize")
_TORCH = re.compile(r"torch\.\w{1,24}|cpu|cuda(:\d{1,3})?|[-+*/() s\d]{1,40}")
_PATH = re.compile(r"[/\\]|\.py\b")
_PLAIN = re.compile(r"[\w.<>\[\]:@$#+\-*(), ]{0,300}")
_DROPPED: Final = object()


def is_public(profile: str | None) -> bool:
    """Tells whether a profile is ``public``; None drops nothing.

    Raises:
        UsageError: There is none of that name.
    """
    if profile is not None and profile not in PROFILES:
        raise UsageError(f"there is no privacy {profile!r}", hint="public, or none")
    return profile is not None


def plain(text: str) -> str:
    """Returns a name as it is, or a placeholder for what may be a path or prose."""
    return PRIVATE if holds_path(text) or not _PLAIN.fullmatch(text) else text


def holds_path(text: str) -> bool:
    """Tells whether a text may hold a path."""
    return _PATH.search(text) is not None


def attributes(text: str | None, kind: str) -> str | None:
    """Returns a node's attributes, JSON text, with what tells structure: sizes, flags, dtypes, further outputs.

    Args:
        kind: Its operator. The numbers of what quantises are statistics of values.
    """
    if text is None:
        return None
    given = json.loads(text)
    kept: dict[str, object] = {}
    args = given.get("args")
    if isinstance(args, dict) and not kind.startswith(_VALUES):
        found = ((plain(key), _argument(value)) for key, value in args.items())
        kept["args"] = {key: value for key, value in found if value is not _DROPPED}
    if "outputs" in given:
        kept["outputs"] = given["outputs"]
    if isinstance(given.get("module_calls"), dict):
        kept["module_calls"] = {plain(path): call for path, call in given["module_calls"].items()}
    return json.dumps(kept, sort_keys=True) if any(kept.values()) else None


def _argument(value: object) -> object:
    """Returns an argument that tells structure; floating-point numbers are values, and texts may be anything."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return value if _TORCH.fullmatch(value) else _DROPPED
    if isinstance(value, list):
        items = [_argument(item) for item in value]
        return _DROPPED if any(item is _DROPPED for item in items) else items
    return _DROPPED
