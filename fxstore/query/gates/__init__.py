"""Rules that a run must keep, against a base: what ``fxstore check`` and ``Store.check`` evaluate."""
