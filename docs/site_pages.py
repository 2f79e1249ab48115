"""A hook of mkdocs: pages and files from outside of docs/ that the pages link to are part of the site, too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {"README.md": "index.md", "bench/README.md": "bench.md"} | {
    name: name for name in ("CONTRIBUTING.md", "CHANGELOG.md")
}
_LINK = re.compile(r"\[((?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*)\]\((?!\w+:|#)([^)\s#]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Adds the other pages, and each file that any page links to."""
    texts = {ROOT / path: (ROOT / path).read_text("utf-8") for path in PAGES}
    texts |= {path: path.read_text("utf-8") for path in DOCS.glob("*.md")}
    for path, name in PAGES.items():
        files.append(File.generated(config, name, content=_relinked(texts[ROOT / path], (ROOT / path).parent)))
    targets = {_path(page.parent, link[2]) for page, text in texts.items() for link in _LINK.finditer(text)}
    for target in sorted(targets):
        if (ROOT / target).is_file() and target not in PAGES and not target.startswith("docs/"):
            files.append(File.generated(config, f"{target}.txt", content=(ROOT / target).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turns links that leave docs/ to where the site has their target."""
    return markdown if page.file.src_uri in PAGES.values() else _relinked(markdown, DOCS)


def _relinked(text: str, folder: Path) -> str:
    return _LINK.sub(lambda link: _link(link, folder), text)


def _link(link: re.Match[str], folder: Path) -> str:
    path = _path(folder, link[2])
    if (ROOT / path).is_dir():
        return link[1]
    home = PAGES.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else f"{path}.txt")
    return f"[{_relinked(link[1], folder)}]({home}{link[3] or ''})"


def _path(folder: Path, link: str) -> str:
    path = (folder / link).resolve()
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else link
