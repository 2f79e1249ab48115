"""The files of an export (collections, node data, sync files, manifest, README), and the address that opens them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from fxstore.model_explorer.collection import Collection
from fxstore.model_explorer.overlays import Coverage, Synced, Values

GRAPHS: Final = "graphs.json"
MANIFEST: Final = "manifest.json"
README: Final = "README.md"
FORMAT: Final = 1

Overlay = tuple[Values, dict[str, Any], Coverage]

MOST_NODE_DATA: Final = 12
"""Node data that is opened; the app colours by one of them at a time, and loads each."""
BY_NODE_ID: Final = "match_node_id"
BY_SYNC_FILE: Final = "visualizer_config"


def run_files(run: str, main: Collection, steps: Sequence[Collection], overlays: Sequence[Overlay]) -> dict[str, Any]:
    """Returns the files of one run by name: documents, and the README as text."""
    collections = {GRAPHS: main, **{f"steps-{number}.json": one for number, one in enumerate(steps, 1)}}
    files, listed = _documents(collections, [("", *overlay) for overlay in overlays])
    files[MANIFEST] = {"format": FORMAT, "run": run, **listed}
    files[README] = _readme(run, collections, listed["node_data"])
    return files


def compare_files(
    sides: Sequence[Collection],
    sets: Sequence[tuple[tuple[str, str], Synced]],
    data: Sequence[tuple[str, Values, dict[str, Any], Coverage]],
) -> dict[str, Any]:
    """Returns the files of a comparison by name.

    Args:
        sides: Left and right.
        sets: The sync sets of each pair of graphs, those of the pair that is shown first.
        data: Node data, each with its side, ``left`` or ``right``.
    """
    collections = dict(zip(("left.json", "right.json"), sides, strict=True))
    files, listed = _documents(collections, data)
    syncs = []
    for number, (graphs, found) in enumerate(sets, 1):
        name = "sync.json" if number == 1 else f"sync-{number}.json"
        files[name] = found.payload
        counts = {"pairs": found.pairs, "sets": len(found.entries), "merged_pairs": found.merged}
        syncs.append({"file": name, "left": graphs[0], "right": graphs[1], **counts})
    files[MANIFEST] = {"format": FORMAT, **listed, "sync": syncs}
    opening = [
        "Both open as two panes in an app that was started in this folder (`model-explorer --no_open_in_browser`); load"
        " `sync.json` there by hand (Sync, Upload mapping from computer):",
        "",
        f"<http://localhost:8080/?{query_of(files[MANIFEST])}>",
    ]
    files[README] = _readme(" and ".join(one.label for one in sides), collections, listed["node_data"], opening)
    return files


def _documents(
    collections: Mapping[str, Collection], data: Sequence[tuple[str, Values, dict[str, Any], Coverage]]
) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """Returns collections and node data by file name, and what the manifest says of each.

    Args:
        data: Each with its side; ``""`` in a run, which has none.
    """
    files: dict[str, Any] = {name: one.payload for name, one in collections.items()}
    listed: dict[str, list[dict[str, Any]]] = {"collections": [], "node_data": []}
    for name, one in collections.items():
        graphs = [{"id": graph["id"], "nodes": len(graph["nodes"])} for graph in one.graphs]
        notes = [f"{graph}: {note}" for graph, note in one.notes]
        listed["collections"].append({"file": name, "label": one.label, "graphs": graphs, "notes": notes})
    for number, (side, values, document, coverage) in enumerate(data, 1):
        slug = re.sub(r"[^a-z0-9]+", "-", values.name.lower()).strip("-")[:60] or "overlay"
        name = f"node-data-{side}{'-' if side else ''}{number:02d}-{slug}.json"
        files[name] = document
        said = {key: getattr(values, key) for key in ("name", "overlay", "metric", "kind", "unit", "better")}
        listed["node_data"].append({**({"side": side} if side else {}), "file": name, **said, "coverage": coverage})
    return files, listed


def write(folder: Path, files: Mapping[str, Any]) -> None:
    """Writes files into a new folder; a document with a number that is not finite is refused.

    Raises:
        ValueError: There is such a number.
    """
    texts = {
        name: file
        if isinstance(file, str)
        else json.dumps(file, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        for name, file in files.items()
    }
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")


def _line(text: str) -> str:
    """Returns a text as one line of Markdown, its special characters escaped."""
    return re.sub(r"([\\\\`*_\[\]<>#|!&])", r"\\\1", " ".join(text.split()))


def _readme(
    run: str,
    collections: Mapping[str, Collection],
    described: Sequence[Mapping[str, Any]],
    opening: Sequence[str] = (),
) -> str:
    lines = [
        f"# {_line(run)} in Model Explorer",
        "",
        "Written by fxstore. Open a collection in Model Explorer (`model-explorer graphs.json`), or let"
        " `fxstore model-explorer` serve the run; add node data with *Add per-node data*.",
        "",
        "| file | holds |",
        "|---|---|",
    ]
    for name, one in collections.items():
        graphs = ", ".join(f"{_line(graph['id'])} ({len(graph['nodes']):,} nodes)" for graph in one.graphs[:30])
        more = f", and {len(one.graphs) - 30} more" if len(one.graphs) > 30 else ""
        lines.append(f"| `{name}` | {graphs}{more} |")
    for entry in described:
        measured = sum(graph["measured"] for graph in entry["coverage"].values())
        total = sum(graph["nodes"] for graph in entry["coverage"].values())
        lines.append(f"| `{entry['file']}` | {_line(entry['name'])}: on {measured:,} of {total:,} nodes |")
    lines += [
        f"| `{MANIFEST}` | this list as JSON, with the nodes of each graph that have no value, counted by reason |",
        "",
    ]
    if opening:
        lines += [*opening, ""]
    lines += [
        "A node's id is its module and operator, `|`, and its index among these in the graph, from 1; equal graphs have"
        " equal ids. A namespace is the module's path; `:2` is the second call of a module that is called several"
        " times. What the app would change in a name stands as `%` and the hexadecimal digits of its UTF-8 bytes"
        " (`%FF` is the empty name).",
        "",
    ]
    notes = [f"- {_line(graph)}: {_line(note)}" for one in collections.values() for graph, note in one.notes]
    if notes:
        lines += ["Left out, or worked out and not recorded:", "", *notes, ""]
    return "\n".join(lines)


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
