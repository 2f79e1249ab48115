"""Names as Model Explorer reads them: every text becomes one that the app does not change, and can be read back.

The app splits namespaces at ``/`` and at ``;``, drops empty parts, joins parts around a backslash, builds ids of its
own with ``___group___``, and keeps much in plain JavaScript objects, where ``__proto__`` vanishes and ``constructor``
is already there. What is reserved is written as ``%`` and the hexadecimal digits of its UTF-8 bytes.

A layer with more than 1,000 children gets layers of its own for parts of them (:func:`in_parts`). The app would split
it itself, by a walk that does not reach every child and fails on long chains, into layers whose names may be taken.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

EMPTY: Final = "%FF"
"""The part that is empty; no text has that byte in UTF-8."""
INPUTS: Final = "Inputs"
OUTPUTS: Final = "Outputs"
_TURNING: Final = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_RESERVED: Final = frozenset("%/|;\\:\u2028\u2029" + _TURNING)
_MARKS: Final = re.compile(r"_(?=__group___)|_(?=__escaped_slash___)")
_CODES: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_CODE: Final = re.compile(r"%(?=[0-9A-Fa-f]{2})")
_CALL: Final = re.compile(r"(.*):([0-9]{1,9})", re.DOTALL)
PROTOTYPE: Final = frozenset({
    "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor",
    "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
})  # fmt: skip
"""Names that every JavaScript object has."""
MOST: Final = 1000
"""Children that the app lays out in one layer; it splits a layer with more into sections."""
_PART: Final = 100
"""Children of a part, as long as there are no more than MOST parts: the app lays out small layers much faster."""
_NAME: Final = re.compile(r"children:\d+-\d+")


def escaped(text: str) -> str:
    """Returns a text that may stand as one part of a namespace, of an id or as the id of a port."""
    if not text:
        return EMPTY
    safe = "".join(_code(c) if c in _RESERVED or unicodedata.category(c) in ("Cc", "Cs") else c for c in text)
    safe = _MARKS.sub("%5F", safe)
    return _code(safe[0]) + safe[1:] if safe in PROTOTYPE else safe


def unescaped(text: str) -> str:
    """Returns what was escaped; of a text of somebody else's, what it most likely stands for."""
    if text == EMPTY:
        return ""
    return _CODES.sub(lambda match: _decoded(match[0]), text)


def namespace(parts: Iterable[tuple[str, int | None]]) -> str:
    """Returns the namespace of nested modules, given as (name, call); a call of None is not written."""
    written = [escaped(name) + ("" if call is None else f":{call}") for name, call in parts]
    if written and written[0] in (INPUTS, OUTPUTS):
        written[0] = _code(written[0][0]) + written[0][1:]
    return "/".join(written)


def modules_of(namespace: str) -> list[tuple[str, int | None]]:
    """Returns the modules that a namespace stands for: the inverse of :func:`namespace`."""
    found: list[tuple[str, int | None]] = []
    for part in namespace.split("/") if namespace else ():
        match = _CALL.fullmatch(part)
        found.append((unescaped(match[1]), int(match[2])) if match else (unescaped(part), None))
    return found


def node_ids(keys: Iterable[Sequence[str]]) -> list[str]:
    """Returns the ids of a graph's nodes: the key, ``|`` and the node's index among those of that key, from 1.

    Args:
        keys: What each node is called by, outermost part first, in the order of the graph.
    """
    counts: dict[str, int] = {}
    ids: list[str] = []
    for parts in keys:
        key = "/".join(map(escaped, parts))
        counts[key] = counts.get(key, 0) + 1
        ids.append(f"{key}|{counts[key]}")
    return ids


def attribute(text: str) -> str:
    """Returns a text as the value of an attribute: the app drops quotation marks, and reads ``dense<`` as a tensor."""
    safe = _CODE.sub("%25", text).replace('"', "%22")
    return "%64" + safe[1:] if safe.startswith("dense<") else safe


def _code(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


def _decoded(codes: str) -> str:
    raw = bytes.fromhex(codes.replace("%", ""))
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace")


def in_parts(places: Sequence[str]) -> tuple[list[str], dict[str, dict[str, str]], list[str]]:
    """Puts the children of each large layer in parts, in their order.

    A part is called by the places of its first and last child in the layer, ``children:1-100``; no module is, since a
    colon stands in a module's name before its call alone.

    Args:
        places: The namespace of each node, in order.

    Returns:
        The namespaces with the parts in them, a row for each part, and a line for each layer that has some.
    """
    children: dict[str, dict[str, int]] = defaultdict(dict)
    for i, place in enumerate(places):
        parts = place.split("/") if place else []
        for depth in range(len(parts) + 1):
            layer, child = "/".join(parts[:depth]), parts[depth] if depth < len(parts) else f"/{i}"
            children[layer].setdefault(child, len(children[layer]))
    large = {layer: numbers for layer, numbers in children.items() if len(numbers) > MOST}
    if not large:
        return list(places), {}, []
    rows: dict[str, dict[str, str]] = {}
    notes = [f"{layer or 'the graph'} has {len(numbers)} children, shown in parts" for layer, numbers in large.items()]
    return [_placed(place, i, large, rows) for i, place in enumerate(places)], rows, notes


def is_part(name: str) -> bool:
    """Tells whether a layer of that name is a part of the one around it."""
    return _NAME.fullmatch(name) is not None


def _placed(place: str, node: int, large: dict[str, dict[str, int]], rows: dict[str, dict[str, str]]) -> str:
    parts = place.split("/") if place else []
    found: list[str] = []
    for depth in range(len(parts) + 1):
        layer, child = "/".join(parts[:depth]), parts[depth] if depth < len(parts) else f"/{node}"
        if layer in large:
            size = max(_PART, -(-len(large[layer]) // MOST))
            first = large[layer][child] // size * size
            found.append(f"children:{first + 1}-{min(first + size, len(large[layer]))}")
            row = rows.setdefault("/".join(found), {"part of": layer or "the graph", "nodes": "0"})
            row["nodes"] = str(int(row["nodes"]) + 1)
        found += parts[depth : depth + 1]
    return "/".join(found)
