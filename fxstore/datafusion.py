"""A store's relations in a DataFusion context: the public names of :mod:`fxstore.engines.datafusion`."""

from fxstore.engines.datafusion import ask, register

__all__ = ["ask", "register"]
