"""Reads payloads in tests."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

SCHEMA = json.loads((resources.files("fxstore.fx_viewer") / "payload.schema.json").read_text("utf-8"))


def pane(payload: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns the graph payload of a pane."""
    found: dict[str, Any] = next(viewer["payload"] for viewer in payload["viewers"] if viewer["name"] == name)
    return found


def ids(payload: dict[str, Any], name: str) -> set[str]:
    return {node["id"] for node in pane(payload, name)["base"]["nodes"]}


def partners(payload: dict[str, Any], name: str, node: str) -> set[tuple[str, str]]:
    """Returns pane and id of each node that a click on one shows in the other panes."""
    names = [viewer["name"] for viewer in payload["viewers"]]
    number = payload["focus"][names.index(name)].get(node)
    members = payload["sync_sets"][number] if number is not None else []
    return {(names[viewer], id_) for viewer, id_, _ in members if names[viewer] != name}
