"""Graph payloads in JSON as pages of their own, and as scripts for the pages of others."""

from __future__ import annotations

import gzip
import json
import math
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from string import Template
from typing import Any, Final

from fxstore import extensions
from fxstore.errors import UsageError
from fxstore.render.bundle import join
from fxstore.render.html import OfflinePage, embed_style, framed, source

# Pane types of other packages: panes of a compare that show the same nodes in a way of their own.
#
# The entry-point group ``fxstore.pane_types`` names functions without arguments that return a JavaScript expression:
# the function that ``FXGraphCompare.registerPaneType`` takes.


_UNSAFE: Final = re.compile(r"</script|<!--|<script", re.IGNORECASE)


def registration(name: str) -> str:
    """Returns the statement that registers an installed pane type.

    Raises:
        UsageError: There is none of that name, or its script cannot stand in a page.
    """
    give = extensions.load("pane-types", name)
    try:
        code = give()
    except Exception as error:  # the package's own function
        raise UsageError(f"pane type {name!r} gives no script: {extensions.brief(error)}") from error
    if not isinstance(code, str) or not code.strip():
        raise UsageError(
            f"pane type {name!r} gives no script", hint="its function returns a JavaScript function's text"
        )
    if found := _UNSAFE.search(code):
        raise UsageError(f"the script of pane type {name!r} is not safe inside a page: {found[0]!r}")
    return f"window.FXGraphCompare.registerPaneType({json.dumps(name)}, ({code.strip()}\n));"


_PAGE: Final = "embed/main.js"
_BUNDLE: Final = "embed/api.js"


def html(payload: Mapping[str, Any], title: str = "") -> str:
    """Returns one offline page around a payload of one graph or several.

    No part of the page's HTML is made of the payload's strings.

    Args:
        payload: As ``fx_viewer/payload.schema.json`` describes it; the prototype's is one, too.
        title: Of the page, where the payload has none.
    """
    return framed(_page_script(), _packed({"title": title, "payload": payload}))


def script(payload: Mapping[str, Any], container_id: str, runtime: bool = True) -> str:
    """Returns a script that shows a payload in the element of that id: in any page, and several times in one.

    It sets ``window.fxstore``, ``FXGraphViewer`` and ``FXGraphCompare``; what it mounted is
    ``await fxstore.mounted(container_id)``. A later run for the same element replaces what the earlier one showed.

    Args:
        payload: Of one graph, or of several.
        container_id: Id of the element.
        runtime: Whether the viewer is in the script, which then needs nothing else. Without it the script is the data
            alone: the page loads the viewer (:func:`runtime_js`) itself, once for all scripts, before or after them.
    """
    place, data = _literal(container_id), _literal(_packed(payload))
    mount = Template(source("embed/mount.js")).substitute(place=place, data=data)
    return (runtime_js() if runtime else "") + mount


class PayloadPage(OfflinePage):
    """The page around a payload of one graph or several."""

    def __init__(self, payload: Mapping[str, Any], title: str = "") -> None:
        self.payload = payload
        self.title = title

    @cached_property
    def _html(self) -> str:
        return html(self.payload, self.title)


def runtime_js(pane_types: Sequence[str] = ()) -> str:
    """Returns the viewer alone, as a plain script: for pages that mount payloads themselves, or hold several exports.

    It sets ``window.fxstore``, ``FXGraphViewer`` and ``FXGraphCompare``. The same text for the same pane types.

    Args:
        pane_types: Installed pane types that it brings along; see :mod:`fxstore.render.embedded`.

    Raises:
        UsageError: There is no such pane type, or its script cannot stand in a page.
    """
    return _viewer() + "".join(f"{registration(name)}\n" for name in dict.fromkeys(pane_types))


@cache
def _viewer() -> str:
    code = join(_BUNDLE, source)
    return f'(() => {{\n"use strict";\n{code}\ninstall(window, {_literal(embed_style())});\n}})();\n'


@cache
def _page_script() -> str:
    return join(_PAGE, source)


def _packed(payload: object) -> str:
    text = json.dumps(_plain(payload), allow_nan=False, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode("ascii"), compresslevel=9, mtime=0)).decode("ascii")


def _plain(value: Any) -> Any:
    """Returns the value with NaN and the infinities as texts, which JSON has no numbers for."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


def _literal(text: str) -> str:
    """Returns a JavaScript string that is safe in a script element, too."""
    return json.dumps(text).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
