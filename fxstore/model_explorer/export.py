"""The files of an export: collections, node data, a manifest of them all, and a README."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fxstore.model_explorer.collection import Collection
from fxstore.model_explorer.overlays import Coverage, Values
from fxstore.model_explorer.opening import query_of
from fxstore.model_explorer.sync import Synced

GRAPHS: Final = "graphs.json"
MANIFEST: Final = "manifest.json"
README: Final = "README.md"
FORMAT: Final = 1

Overlay = tuple[Values, dict[str, Any], Coverage]


def run_files(run: str, main: Collection, steps: Sequence[Collection], overlays: Sequence[Overlay]) -> dict[str, Any]:
    """Returns the files of one run by name: documents, and the README as text."""
    files: dict[str, Any] = {GRAPHS: main.payload}
    collections = {GRAPHS: main}
    for number, one in enumerate(steps, 1):
        collections[f"steps-{number}.json"] = one
        files[f"steps-{number}.json"] = one.payload
    described = []
    for number, (values, document, coverage) in enumerate(overlays, 1):
        name = f"node-data-{number:02d}-{_slug(values.name)}.json"
        files[name] = document
        described.append(data_entry(name, values, coverage))
    files[MANIFEST] = {
        "format": FORMAT,
        "run": run,
        "collections": [collection_entry(name, one) for name, one in collections.items()],
        "node_data": described,
    }
    files[README] = _readme(run, collections, described)
    return files


def collection_entry(name: str, one: Collection) -> dict[str, Any]:
    """Returns what the manifest says of a collection."""
    graphs = [{"id": graph["id"], "nodes": len(graph["nodes"])} for graph in one.graphs]
    return {
        "file": name,
        "label": one.label,
        "graphs": graphs,
        "notes": [f"{graph}: {note}" for graph, note in one.notes],
    }


def data_entry(name: str, values: Values, coverage: Coverage) -> dict[str, Any]:
    """Returns what the manifest says of node data: what it is, and which nodes have it."""
    return {
        "file": name,
        "name": values.name,
        "overlay": values.overlay,
        "metric": values.metric,
        "kind": values.kind,
        "unit": values.unit,
        "better": values.better,
        "coverage": coverage,
    }


def write(folder: Path, files: Mapping[str, Any]) -> None:
    """Writes files into a new folder; a document with a number that is not finite is refused.

    Raises:
        ValueError: There is such a number.
    """
    texts = {name: file if isinstance(file, str) else document_text(file) for name, file in files.items()}
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")


def document_text(document: object) -> str:
    """Returns a document as JSON."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "overlay"


def line(text: str) -> str:
    """Returns a text as one line of Markdown that means only itself."""
    return re.sub(r"([\\\\`*_\[\]<>#|!&])", r"\\\1", " ".join(text.split()))


def _readme(
    run: str,
    collections: Mapping[str, Collection],
    described: Sequence[Mapping[str, Any]],
    opening: Sequence[str] = (),
) -> str:
    lines = [
        f"# {line(run)} in Model Explorer",
        "",
        "Written by fxstore. Open a collection in Model Explorer (`model-explorer graphs.json`), or let"
        " `fxstore model-explorer` serve the run; add node data with *Add per-node data*.",
        "",
        "| file | holds |",
        "|---|---|",
    ]
    for name, one in collections.items():
        graphs = ", ".join(f"{line(graph['id'])} ({len(graph['nodes']):,} nodes)" for graph in one.graphs[:30])
        more = f", and {len(one.graphs) - 30} more" if len(one.graphs) > 30 else ""
        lines.append(f"| `{name}` | {graphs}{more} |")
    for entry in described:
        measured = sum(graph["measured"] for graph in entry["coverage"].values())
        total = sum(graph["nodes"] for graph in entry["coverage"].values())
        lines.append(f"| `{entry['file']}` | {line(entry['name'])}: on {measured:,} of {total:,} nodes |")
    lines += [
        f"| `{MANIFEST}` | this list as JSON, with the nodes of each graph that have no value, counted by reason |",
        "",
    ]
    if opening:
        lines += [*opening, ""]
    lines += [*naming(), ""]
    notes = [f"- {line(graph)}: {line(note)}" for one in collections.values() for graph, note in one.notes]
    if notes:
        lines += ["Left out, or worked out and not recorded:", "", *notes, ""]
    return "\n".join(lines)


def naming() -> list[str]:
    """Returns how the names read that the app would have changed."""
    return [
        "A node's id is its module and operator, `|`, and the how-manieth of these in the graph it is; equal graphs"
        " have equal ids. A namespace is the module's path; `:2` is the second call of a module that is called several"
        " times. What the app would change in a name stands as `%` and the hexadecimal digits of its UTF-8 bytes"
        " (`%FF` is the empty name).",
    ]


def compare_files(
    sides: Sequence[Collection],
    sets: Sequence[tuple[tuple[str, str], Synced]],
    data: Sequence[tuple[str, Values, dict[str, Any], Coverage]],
) -> dict[str, Any]:
    """Returns the files of a comparison by name.

    Args:
        sides: Left and right.
        sets: Of each pair of graphs what corresponds, those that are shown first.
        data: Node data of one side each.
    """
    collections = dict(zip(("left.json", "right.json"), sides, strict=True))
    files: dict[str, Any] = {name: one.payload for name, one in collections.items()}
    described, syncs = [], []
    for number, (side, values, document, coverage) in enumerate(data, 1):
        name = f"node-data-{side}-{number:02d}-{_slug(values.name)}.json"
        files[name] = document
        described.append({"side": side, **data_entry(name, values, coverage)})
    for number, (graphs, found) in enumerate(sets, 1):
        name = "sync.json" if number == 1 else f"sync-{number}.json"
        files[name] = found.payload
        counts = {"pairs": found.pairs, "sets": len(found.entries), "merged_pairs": found.merged}
        syncs.append({"file": name, "left": graphs[0], "right": graphs[1], **counts})
    files[MANIFEST] = {
        "format": FORMAT,
        "collections": [collection_entry(name, one) for name, one in collections.items()],
        "node_data": described,
        "sync": syncs,
    }
    opening = [
        "Both open as two panes in an app that was started in this folder (`model-explorer --no_open_in_browser`); load"
        " `sync.json` there by hand (Sync, Upload mapping from computer):",
        "",
        f"<http://localhost:8080/?{query_of(files[MANIFEST])}>",
    ]
    files[README] = _readme(" and ".join(one.label for one in sides), collections, described, opening)
    return files
