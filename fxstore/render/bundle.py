"""Joins the viewer's ES modules into one script: no bundler, no build step, the source but for comments and indents."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable
from typing import Final

_IMPORT: Final = re.compile(r'^import \{([^}]*)\} from "(\.{1,2}/[\w./-]+\.js)";\n', re.MULTILINE)
_DATA: Final = re.compile(r'^import (\w+) from "([^"]+\.json)" with \{ type: "json" \};\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|class|const)\b)", re.MULTILINE)
_DECLARATION: Final = re.compile(r"^(export )?(?:async )?(?:function\*?|class|const|let|var)\b\s*(\S*)", re.MULTILINE)
_LEFT_OVER: Final = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_PLAIN: Final = re.compile(r"[A-Za-z_$][\w$]*")
_COMMENT: Final = re.compile(r"^[ \t]*(?://.*|/\*(?:(?!\*/)[\s\S])*\*/[ \t]*)\n", re.MULTILINE)
_INDENT: Final = re.compile(r"^[ \t]+|\n(?=\n)", re.MULTILINE)
_UNSAFE: Final = re.compile(r"</script|<!--|<script|\r", re.IGNORECASE)


def join(entry: str, read: Callable[[str], str]) -> str:
    """Returns one module script: ``entry`` and all that it imports, each once, after what it imports itself.

    Args:
        entry: Path of the module to start from, below the viewer's folder.
        read: Gives a module's text for its path.

    Raises:
        ValueError: Two modules declare one name, import each other, or use a form of import, export or declaration
            that this plain joiner does not know.
    """
    order: dict[str, str] = {}
    _visit(entry, read, order, [])
    _check_names(order)
    return "\n".join(f"// {name}\n{_stripped(name, text)}" for name, text in order.items())


def _visit(name: str, read: Callable[[str], str], order: dict[str, str], trail: list[str]) -> None:
    if name in trail:
        raise ValueError(f"modules import each other: {' -> '.join([*trail, name])}")
    if name in order:
        return
    text = read(name)
    for names, path in _IMPORT.findall(text):
        source = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        _visit(source, read, order, [*trail, name])
        exported = {declared for export, declared in _declared(source, order[source]) if export}
        wanted = {word.strip() for word in names.split(",") if word.strip()}
        if wanted - exported:
            raise ValueError(f"{name} imports what {source} does not export: {', '.join(sorted(wanted - exported))}")
    for constant, path in _DATA.findall(text):
        source = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        if source not in order:
            order[source] = f"const {constant} = {json.dumps(json.loads(read(source)), ensure_ascii=False)};"
    order[name] = text


def _declared(module: str, text: str) -> list[tuple[bool, str]]:
    """Returns whether exported, and the name, of each declaration at the start of a line."""
    out = []
    for export, word in _DECLARATION.findall(text):
        name = _PLAIN.match(word)
        if not name:
            raise ValueError(f"{module}: cannot read the name declared at {word!r}; declare one plain name at a time")
        out.append((bool(export), name[0]))
    return out


def _check_names(order: dict[str, str]) -> None:
    owners: dict[str, str] = {}
    for module, text in order.items():
        for _, name in _declared(module, text):
            if name in owners:
                raise ValueError(f"{module} and {owners[name]} both declare {name}")
            owners[name] = module


def _stripped(name: str, text: str) -> str:
    plain = _INDENT.sub("", _COMMENT.sub("", _EXPORT.sub("", _DATA.sub("", _IMPORT.sub("", text)))))
    for pattern, what in ((_LEFT_OVER, "cannot join"), (_UNSAFE, "not safe inside a script element")):
        found = pattern.search(plain)
        if found:
            raise ValueError(f"{name}: {what}: {found[0]!r}")
    return plain
