"""What TorchLens writes into Model Explorer's files besides what every file has.

Follows torchlens 2.36: a node has its label, ``linear_1_4:2``, and the call of its module, ``fc:2``; its id names the
output that it is, ``s1||split|0|1|1``. A graph that is rolled up has labels without a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from fxstore.ingest.build import NOWHERE, Place
from fxstore.ingest.names import spelled
from fxstore.ingest.node_table import Node

_LABEL: Final = "torchlens_label"
_CALL: Final = re.compile(r"^(.*):(\d{1,6})$")
_ROOT: Final = Place("", None, 1)
_OUTPUT: Final = re.compile(r"^[^|]*\|[^|]*\|[^|]*\|(\d{1,4})\|")


def is_execution(attributes: Iterable[Mapping[str, object]]) -> bool:
    """Tells whether a graph holds what TorchLens saw run, call by call, by the attributes of its nodes."""
    labels = [one.get(_LABEL) for one in attributes]
    return bool(labels) and all(isinstance(label, str) and _CALL.match(label) for label in labels)


def refined(node: Node, attributes: Mapping[str, object]) -> Node:
    """Returns a node with what TorchLens told of it; as it is where another program wrote it."""
    if _LABEL not in attributes:
        return node
    called = _CALL.match(str(attributes.get("module") or ""))
    output = _OUTPUT.match(node.name)
    is_state = attributes.get("kind") == "buffer"
    return replace(
        node,
        operator=spelled(node.operator),
        role="buffer" if is_state else node.role,
        place=Place(called[1], None, int(called[2])) if called else _ROOT if node.place is NOWHERE else node.place,
        attrs={**node.attrs, "output": int(output[1])} if output else node.attrs,
    )
