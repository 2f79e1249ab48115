"""What a store offers to queries, as its own comments say it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from fxstore.errors import QueryError
from fxstore.query import hints, library
from fxstore.query.engine import MACROS, RELATIONS, Engine

_EXAMPLE = re.compile(r"\s*Example: (.*)\Z", re.S)


@dataclass(frozen=True)
class Column:
    """One column of a relation."""

    name: str
    type: str
    comment: str


@dataclass(frozen=True)
class Relation:
    """One view or table macro.

    Attributes:
        kind: ``view`` or ``macro``.
        arguments: A macro's arguments with their defaults, as SQL; empty for a view.
        columns: A view's columns; a macro's comment names what it gives.
        example: A statement that runs; ``{nid}`` and ``{run}`` stand for a node and a run of the store.
    """

    name: str
    kind: str
    arguments: str
    comment: str
    columns: tuple[Column, ...] = ()
    example: str = ""


@dataclass(frozen=True)
class Schema:
    """The relations of a store; prints itself."""

    relations: tuple[Relation, ...]

    def __str__(self) -> str:
        return "\n\n".join(_text(relation) for relation in self.relations)

    def to_json(self) -> str:
        """Returns a JSON array with one object per relation."""
        return json.dumps([asdict(relation) for relation in self.relations], indent=1, ensure_ascii=False)


def describe(engine: Engine, relation: str | None = None) -> Schema:
    """Returns the schema of all relations, or of one.

    Raises:
        QueryError: There is no relation of that name.
    """
    names: Sequence[str] = (*RELATIONS, *MACROS)
    if relation is not None and relation not in names:
        raise QueryError(f"no relation {relation!r} in this store", hint=hints.among(relation, names, "fxstore schema"))
    engine.load_all()
    found = {**_views(engine), **_macros(engine)}
    return Schema(tuple(found[name] for name in names if relation in (None, name)))


def _views(engine: Engine) -> dict[str, Relation]:
    columns: dict[str, list[Column]] = {}
    for view, name, kind, comment in engine.rows("FROM _catalog_columns()"):
        columns.setdefault(view, []).append(Column(name, kind, comment))
    views = engine.rows("FROM _catalog_views()")
    return {name: Relation(name, "view", "", comment, tuple(columns[name])) for name, comment in views}


def _macros(engine: Engine) -> dict[str, Relation]:
    found = {}
    for name, comment in engine.rows("FROM _catalog_macros()"):
        example = _EXAMPLE.search(comment)
        said = _EXAMPLE.sub("", comment)
        found[name] = Relation(name, "macro", library.arguments(name), said, example=example[1] if example else "")
    return found


def _text(relation: Relation) -> str:
    head = f"{relation.name}({relation.arguments})" if relation.kind == "macro" else relation.name
    lines = [head, f"  {relation.comment}"]
    widths = (
        max((len(c.name) for c in relation.columns), default=0),
        max((len(c.type) for c in relation.columns), default=0),
    )
    lines += [f"    {c.name:<{widths[0]}}  {c.type:<{widths[1]}}  {c.comment}" for c in relation.columns]
    if relation.example:
        lines.append(f"  Example: {relation.example}")
    return "\n".join(lines)
