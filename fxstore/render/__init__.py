"""One offline HTML page from a plain model: no torch, no DuckDB, no third-party JavaScript."""

from fxstore.render.html import Page
from fxstore.render.model import Answer, ColorBy, DrawnGraph, PageModel, Pane

__all__ = ["Answer", "ColorBy", "DrawnGraph", "Page", "PageModel", "Pane"]
