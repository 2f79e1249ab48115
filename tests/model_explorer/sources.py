"""Graphs as plain rows, written by hand or drawn by hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fxstore.model_explorer.names import escaped
from fxstore.model_explorer.source import Edge, Source

NASTY = (
    "%", "%41", "%2F", "/", "//", "|", "a|1", ";", ";;", "a;b", "", " ", "\\", "a\\", "\\/", ":", "a:2", "\x00", "\n",
    "\x1b[0m", "\x7f", "\x85", "\u2028", "\u202e", "é", "日本", "🙂", "__proto__", "constructor", "toString", "valueOf",
    "hasOwnProperty", "___group___", "____group______", "___escaped_slash___", "Inputs", "Outputs", "section_1_of_2",
    '"', 'a"b', "dense<1>", "<empty>", "<b>", "Const", "pseudo_const", "0", "-1", "null", "NaN", "%FF",
)  # fmt: skip
NAMES = st.sampled_from(NASTY) | st.text(st.characters(exclude_categories=("Cs",)), max_size=6)


def row(name: str, op: str = "call_function", **columns: Any) -> dict[str, Any]:
    """One node of a graph."""
    role = {"placeholder": "input", "output": "output"}.get(op, "op")
    empty = dict.fromkeys(
        ("module_path", "module_type", "module_call", "backend", "device", "source_file", "source_line", "source_code",
         "attrs", "handles", "unmatched")
    )  # fmt: skip
    own = {"name": name, "op": op, "target": name, "op_type": name, "role": role, "dtype": "float32", "shape": ["1"]}
    return {**empty, **own, "ports": 1, "nid": hash(name) & 0xFFFF, **columns}


def source(rows: list[dict[str, Any]], edges: list[tuple[Any, ...]], name: str = "g", **more: Any) -> Source:
    """One graph; an edge is (source, target), and port and argument where they are not 0 and the how-manieth it is."""
    counts: dict[int, int] = {}
    found = []
    for src, dst, *rest in edges:
        counts[dst] = counts.get(dst, -1) + 1
        port, argument = rest or (0, str(counts[dst]))
        found.append(Edge(src, port, dst, argument))
    numbered = [{**one, "nid": i} for i, one in enumerate(rows)]
    return Source(name, numbered, found, **more)


@st.composite
def hostile_sources(draw: st.DrawFn) -> Source:
    """A graph any name of which may be anything; some of its edges lead back."""
    count = draw(st.integers(1, 12))
    paths = draw(st.lists(st.none() | st.lists(NAMES, max_size=3).map(".".join), min_size=1, max_size=4))
    rows = [
        row(
            draw(NAMES),
            draw(st.sampled_from(("call_function", "call_function", "placeholder", "get_attr", "output"))),
            op_type=draw(NAMES),
            target=draw(NAMES),
            role=draw(st.sampled_from(("op", "op", "input", "parameter", "buffer", "output", "delegate")) | NAMES),
            module_path=draw(st.sampled_from(paths)),
            module_type=draw(st.none() | NAMES),
            module_call=draw(st.none() | st.integers(1, 3)),
            source_code=draw(st.none() | NAMES),
            ports=draw(st.integers(0, 2)),
        )
        for _ in range(count)
    ]
    places = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(places, places, st.integers(0, 2), st.none() | NAMES), max_size=20))
    return source(rows, edges, escaped(draw(NAMES)))
