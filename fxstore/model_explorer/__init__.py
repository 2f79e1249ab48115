"""Model Explorer's files: collections of graphs, node data and sync files; built from plain data, checked, served."""

from __future__ import annotations

from fxstore.model_explorer.validation import CHECKS, Check, Finding, validate

__all__ = ["CHECKS", "Check", "Finding", "validate"]
