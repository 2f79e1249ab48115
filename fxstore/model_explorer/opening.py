"""The address that opens written files in the app: its graphs, node data, panes and what syncs them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

MOST_NODE_DATA: Final = 12
"""Node data that is opened; the app colours by one of them at a time, and loads each."""


BY_NODE_ID: Final = "match_node_id"
BY_SYNC_FILE: Final = "visualizer_config"


def query_of(manifest: Mapping[str, Any], folder: str = "", sync_mode: str = BY_NODE_ID) -> str:
    """Returns the query of the app's address that opens the files of a manifest.

    Two stages beside each other open as two synced panes.

    Args:
        sync_mode: What is synced. The app reads a sync file by hand only, so :data:`BY_SYNC_FILE` needs a page that
            has been given one (:mod:`fxstore.model_explorer.serving`).
        folder: Where the files are, with a slash at its end; ``''`` for the folder that the app was started in.
    """
    collections = manifest["collections"]
    labels = {entry["file"]: entry["label"] for entry in collections}
    data = list(manifest["node_data"])[:MOST_NODE_DATA]
    opened: dict[str, Any] = {
        "models": [{"url": _path(folder, entry["file"])} for entry in collections],
        "nodeData": [_path(folder, entry["file"]) for entry in data],
        "nodeDataTargets": [labels[f"{entry['side']}.json"] if "side" in entry else "" for entry in data],
    }
    for sync in list(manifest.get("sync", ()))[:1]:
        opened["uiState"] = {"paneStates": _panes([labels["left.json"], labels["right.json"]], sync)}
        opened["sync"] = {"mode": sync_mode}
    return f"data={quote(json.dumps(opened, ensure_ascii=False))}"


def _path(folder: str, name: str) -> str:
    """Returns a path that the app may put into an address as it is."""
    return quote(folder + name, safe="/:")


def _panes(labels: Sequence[str], sync: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "deepestExpandedGroupNodeIds": [],
            "selectedNodeId": "",
            "selectedGraphId": sync[side],
            "selectedCollectionLabel": label,
            "widthFraction": 0.5,
            "selected": side == "left",
        }
        for side, label in zip(("left", "right"), labels, strict=True)
    ]
