"""The SQL of the query side: one file per concept, loaded when a statement first needs it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from fxstore import schema
from fxstore.vocabulary import Evidence

_DEFINES: Final = re.compile(r"^CREATE (VIEW|MACRO|TABLE) (\w+)", re.M)
_HEADS: Final = re.compile(r"^CREATE MACRO (\w+)\((.*)\) AS TABLE$", re.M)
_NO_CODE: Final = re.compile(r"--[^\n]*|'(?:[^']|'')*'")
_USES: Final = re.compile(r"\b(?:FROM|JOIN)\s+(?:main\.)?(\w+)|\b(\w+)\(|\b(_\w+)\b", re.I)


@dataclass(frozen=True)
class Module:
    """One file of SQL.

    Attributes:
        name: The file's, without its folder; unique.
        defines: Views, macros and tables that it creates.
        needs: Names defined by other files that it uses.
    """

    name: str
    text: str
    defines: frozenset[str]
    needs: frozenset[str]


@cache
def modules() -> dict[str, Module]:
    """Returns all files, by each name that they define."""
    texts: dict[str, str] = {}
    for kind in ("private", "relations", "macros"):
        for entry in (resources.files("fxstore.query") / "sql" / kind).iterdir():
            if entry.name.endswith(".sql"):
                texts[f"{kind}/{entry.name}"] = entry.read_text("utf-8")
    for name, relation in schema.RELATIONS.items():
        texts[f"relations/{name}.sql"] += relation.comments()
    texts["private/vocabulary.sql"] = _vocabulary()
    defined = {file: frozenset(name for _, name in _DEFINES.findall(text)) for file, text in texts.items()}
    everything = frozenset(name for names in defined.values() for name in names)
    found: dict[str, Module] = {}
    for file, text in texts.items():
        module = Module(file, text, defined[file], (_uses(text) & everything) - defined[file])
        found |= dict.fromkeys(module.defines, module)
    return found


def _vocabulary() -> str:
    """Returns the macros that know the words of :mod:`fxstore.vocabulary`."""
    ranks = " ".join(f"WHEN '{word}' THEN {rank}" for rank, word in enumerate(Evidence, 1))
    return f"CREATE MACRO _strength(evidence) AS CASE evidence {ranks} ELSE {len(Evidence) + 1} END;"


def arguments(macro: str) -> str:
    """Returns the arguments of a table macro with their defaults, as SQL."""
    return str(dict(_HEADS.findall(modules()[macro].text))[macro])


@cache
def parameters(macro: str) -> dict[str, bool]:
    """Returns the names of a table macro's arguments, in order, and whether each must be given."""
    named = (one.partition(":=") for one in arguments(macro).split(","))
    return {name.strip(): not default for name, default, _ in named}


def uses(text: str) -> frozenset[str]:
    """Returns the names of this library that a statement of our own uses."""
    return _uses(text) & modules().keys()


def _uses(text: str) -> frozenset[str]:
    return frozenset(name for found in _USES.findall(_NO_CODE.sub("''", text)) for name in found if name)


def in_order(names: Iterable[str]) -> list[Module]:
    """Returns the files that define these names and all that they need, what is needed first."""
    found: dict[str, Module] = {}

    def add(name: str) -> None:
        module = modules().get(name)
        if module is None or module.name in found:
            return
        for needed in sorted(module.needs):
            add(needed)
        found[module.name] = module

    for name in names:
        add(name)
    return list(found.values())


@cache
def private_names() -> frozenset[str]:
    """Returns the names of the tables and views that queries may not use."""
    kinds = {name: kind for module in modules().values() for kind, name in _DEFINES.findall(module.text)}
    return frozenset(name for name, kind in kinds.items() if kind != "MACRO" and name.startswith("_"))
