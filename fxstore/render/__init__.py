"""One offline HTML page from a plain model: no torch, no DuckDB, no third-party JavaScript."""

from fxstore.render.model import Answer, ColorBy, DrawnGraph, PageModel, Pane
from fxstore.render.page import Page

__all__ = ["Answer", "ColorBy", "DrawnGraph", "Page", "PageModel", "Pane"]
