"""Runs stages in Python and on this machine's runtime, and compares their values."""
