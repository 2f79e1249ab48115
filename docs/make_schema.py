"""Writes docs/schema.md from the comments in the store itself: ``python docs/make_schema.py``."""

from __future__ import annotations

from pathlib import Path

from fxstore import connect
from fxstore.query.schema import Relation


def text() -> str:
    """Returns the page."""
    with connect(":memory:") as store:
        parts = [_section(relation) for relation in store.schema().relations]
    return "\n".join(["# Relations and macros\n", "Written by `docs/make_schema.py`; do not edit.\n", *parts])


def _section(relation: Relation) -> str:
    head = f"{relation.name}({relation.arguments})" if relation.kind == "macro" else relation.name
    lines = [f"## `{head}`\n", f"{relation.comment}\n"]
    if relation.columns:
        lines += ["| column | type | |", "|---|---|---|"]
        lines += [f"| {c.name} | {c.type} | {c.comment.replace('|', chr(92) + '|')} |" for c in relation.columns]
        lines.append("")
    if relation.example:
        lines += ["```sql", relation.example, "```", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    (Path(__file__).parent / "schema.md").write_text(text(), "utf-8")
