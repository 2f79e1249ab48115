"""A store's relations in a Spark session: the public names of :mod:`fxstore.engines.spark`."""

from fxstore.engines.spark import ask, register

__all__ = ["ask", "register"]
