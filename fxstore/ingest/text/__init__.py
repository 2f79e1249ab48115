"""Reads graphs that torch printed as text; nothing in it is executed."""
