"""A page in a notebook whose selection Python sees, and sets."""

from __future__ import annotations

import anywidget
import traitlets

from fxstore.render.html import source


class PageWidget(anywidget.AnyWidget):
    """A page in a frame of its own: it can reach neither the notebook nor a network.

    Attributes:
        selected: nid of the selected node, or None. Setting it selects on the page; ``observe`` tells of clicks.
        height: Of the frame, in pixels.
    """

    _esm = source("page/widget.js")
    html = traitlets.Unicode(help="The page.").tag(sync=True)
    selected = traitlets.Int(None, allow_none=True, help="nid of the selected node.").tag(sync=True)
    height = traitlets.Int(720, min=80, help="Of the frame, in pixels.").tag(sync=True)
