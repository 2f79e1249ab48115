"""Exported programs and graph modules: live objects and ``.pt2`` files."""
