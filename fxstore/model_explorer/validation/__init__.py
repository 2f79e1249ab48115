"""Checks of Model Explorer's files, ours or another's: what the app would refuse, drop, change or not show.

Each check is data (:data:`CHECKS`), and so is what it finds (:class:`Finding`). They follow the app's own code; the
tests run that code on each loss.
"""

from __future__ import annotations

from fxstore.model_explorer.validation.checks import CHECKS, Check, Finding
from fxstore.model_explorer.validation.documents import kind_of, validate

__all__ = ["CHECKS", "Check", "Finding", "kind_of", "validate"]
