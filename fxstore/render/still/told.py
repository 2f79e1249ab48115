"""What a picture says of a node: on its box, and beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fxstore.colors.scales import with_unit
from fxstore.render.model import ColorBy
from fxstore.render.still.scene import Scene

_MOST_NUMBERS: Final = 8


def label(node: Mapping[str, Any]) -> tuple[str, str]:
    """Returns the lines of a node's box; the second is '' where it says nothing new."""
    title, name = node["op_type"] or node["role"] or "", node["name"] or ""
    return title, name if name != title else ""


def tooltip(scene: Scene, node: Mapping[str, Any]) -> str:
    """Returns what is told of a node beside its box, a fact per line."""
    shape = "" if node["shape"] is None else f"[{', '.join(node['shape'])}]"
    facts = [node["name"], node["target"], " ".join(filter(None, (node["dtype"], shape))), node["module_path"]]
    facts += list(_numbers(scene.colors, node["nid"]))[:_MOST_NUMBERS]
    return "\n".join(dict.fromkeys(str(fact) for fact in facts if fact))


def _numbers(colors: Sequence[ColorBy], nid: int) -> Iterator[str]:
    for by in colors:
        told = by.texts.get(nid) or by.missing.get(nid)
        if nid in by.values:
            told = with_unit(by.values[nid], by.unit)
        if told:
            yield f"{by.metric}: {told}"
