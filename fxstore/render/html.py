"""The finished page: one HTML file that needs neither a network nor a server."""

from __future__ import annotations

import base64
import hashlib
import html
import os
import string
import tempfile
import webbrowser
from abc import ABC, abstractmethod
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fxstore.errors import MissingExtraError, UsageError, path_of
from fxstore.render import payload
from fxstore.render.bundle import join
from fxstore.render.model import PageModel

if TYPE_CHECKING:
    from fxstore.render.widget import PageWidget

_ENTRY: Final = "page/main.js"
_FRAME: Final = (
    '<iframe title="fxstore" sandbox="allow-scripts" width="100%" height="720" style="border:0" srcdoc="{}"></iframe>'
)


class OfflinePage(ABC):
    """One HTML file that needs nothing else. Nothing is rendered before it is asked for."""

    @cached_property
    @abstractmethod
    def _html(self) -> str: ...

    def html(self) -> str:
        """Returns the page; the same text for the same model, and no part of it is made of the model's strings."""
        return self._html

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> Path:
        """Writes the page, whole or not at all, and returns where.

        Raises:
            UsageError: The file exists and ``overwrite`` is false, or its directory does not exist.
        """
        target = path_of(path)
        if not target.parent.is_dir():
            raise UsageError(f"no directory {str(target.parent)!r}", hint="create it first, or save elsewhere")
        if target.is_dir():
            raise UsageError(f"{str(target)!r} is a directory", hint="give the name of a file, such as compare.html")
        if target.exists() and not overwrite:
            raise UsageError(
                f"{str(target)!r} exists", hint="choose another name, or overwrite it (overwrite=True, -f)"
            )
        _write(target, self.html())
        return target

    def show(self) -> None:
        """Opens the page in the default browser, from a temporary file."""
        handle, name = tempfile.mkstemp(prefix="fxstore-", suffix=".html")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(self.html())
        webbrowser.open(Path(name).as_uri())

    def widget(self, height: int = 720) -> PageWidget:
        """Returns the page as a notebook's widget: its ``selected`` is the nid of the selected node, and can be set.

        Args:
            height: Of the frame, in pixels.

        Raises:
            MissingExtraError: anywidget is not installed.
        """
        try:
            from fxstore.render.widget import PageWidget
        except ImportError as error:
            raise MissingExtraError("the widget", "notebook") from error
        return PageWidget(html=self.html(), height=height)

    def _repr_html_(self) -> str:
        return inline(self.html())


def inline(page: str) -> str:
    """Returns a page as a frame that stands in a notebook, and in what is made of one; offline as the page is."""
    return _FRAME.format(html.escape(page, quote=True))


class Page(OfflinePage):
    """A compare page."""

    def __init__(self, model: PageModel) -> None:
        self.model = model

    @cached_property
    def _html(self) -> str:
        return framed(_script(), payload.compress(payload.encode(self.model)))


def framed(script: str, data: str) -> str:
    """Returns a page that runs a script, and nothing else, over packed data."""
    style = page_style()
    policy = (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    page = string.Template(source("page.html"))
    return page.substitute(policy=policy, style=style, script=script, payload=data)


def _write(target: Path, text: str) -> None:
    """Writes through a temporary file beside the target, so that no reader sees half a page."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}-", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@cache
def source(name: str) -> str:
    """Returns one of the viewer's files."""
    return (resources.files("fxstore.render") / "viewer" / name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    return join(_ENTRY, source)


@cache
def embed_style() -> str:
    """Returns the style sheet of viewers in other pages: nothing in it is about more than they hold."""
    return source("style.css") + source("embed.css")


@cache
def page_style() -> str:
    """Returns the style sheet of a page of our own."""
    return source("page.css") + embed_style()


def digest(text: str) -> str:
    """Returns what a content security policy calls a script or style by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
