"""Several graphs side by side, synced."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fxstore.fx_viewer.capture import Captured, capture
from fxstore.fx_viewer.exporter import Exporter, FXGraphExporter, payloads

SYNC_MODES: Final = ("auto", "id", "layer", "none")


class FXGraphCompareExporter(Exporter):
    """Shows any number of graphs side by side, in the order given.

    Args:
        viewers: Name and exporter of each pane, as a dict or as pairs.
        title: The page's title.
        sync_mode: What a click on a node shows in the other panes: ``auto`` its sync set, as the compiler's record has
            it; ``id`` the node of the same id; ``layer`` those whose field ``sync_field`` of the extension
            ``sync_layer`` is equal, or shares an item where it is a list; ``none`` nothing.
        sync_layer: Id of an extension, for ``layer``.
        sync_field: Key of that extension's data, for ``layer``.
        active_extensions: Ids of the extensions that are on when the page opens.
        color_by: Id of the extension that colours when the page opens.

    Raises:
        ValueError: There is no viewer, a name is empty or stands twice, the mode is unknown, or ``layer`` lacks its
            layer or field.
        TypeError: A viewer is no FXGraphExporter.
    """

    def __init__(
        self,
        viewers: Mapping[str, FXGraphExporter] | Sequence[tuple[str, FXGraphExporter]],
        *,
        title: str = "FX Graph Compare",
        sync_mode: str = "auto",
        sync_layer: str | None = None,
        sync_field: str | None = None,
        active_extensions: Sequence[str] | None = None,
        color_by: str | None = None,
    ) -> None:
        self._viewers = _checked(list(viewers.items() if isinstance(viewers, Mapping) else viewers or ()))
        if sync_mode not in SYNC_MODES:
            raise ValueError(f"sync_mode must be one of {sorted(SYNC_MODES)}, got {sync_mode!r}")
        if sync_mode == "layer" and not (sync_layer and sync_field):
            raise ValueError("sync_mode='layer' requires both sync_layer and sync_field")
        self._title = title
        self._sync = {"mode": sync_mode}
        if sync_layer and sync_field and sync_mode == "layer":
            self._sync |= {"layer": sync_layer, "field": sync_field}
        self._active_extensions = list(active_extensions or ())
        self._color_by = color_by

    @property
    def viewers(self) -> dict[str, FXGraphExporter]:
        """Each pane's exporter by the pane's name, in order."""
        return dict(self._viewers)

    def generate_json_payload(self) -> dict[str, Any]:
        """Returns the page as ``payload.schema.json`` has it: the same for the same graphs in any process."""
        captured = capture([(name, exporter.source) for name, exporter in self._viewers])
        drawn = payloads(self._viewers, captured)
        sets, focus = _sync_sets(captured)
        return {
            "schema": "fxstore.compare",
            "version": 1,
            "title": self._title,
            "viewers": [
                {"name": name, "payload": payload} for (name, _), payload in zip(self._viewers, drawn, strict=True)
            ],
            "sync": dict(self._sync),
            "sync_sets": sets,
            "focus": focus,
            "state": {"activeExtensions": list(self._active_extensions), "colorBy": self._color_by},
        }

    def export_html(self, output_html: str | os.PathLike[str] = "compare.html") -> None:
        """Writes a page that needs neither a network nor a server; an existing file is replaced."""
        self._write(output_html, self._page())


def _checked(pairs: list[tuple[str, FXGraphExporter]]) -> list[tuple[str, FXGraphExporter]]:
    if not pairs:
        raise ValueError("FXGraphCompareExporter requires at least one viewer")
    seen: set[str] = set()
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"viewers are a dict, or pairs of name and FXGraphExporter; one is {type(pair).__name__}")
        name, exporter = pair
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"viewer name must be a non-empty string, got {name!r}")
        if name in seen:
            raise ValueError(f"duplicate viewer name: {name!r}")
        if not isinstance(exporter, FXGraphExporter):
            raise TypeError(f"viewer {name!r} must be FXGraphExporter, got {type(exporter).__name__}")
        seen.add(name)
    return pairs


def _sync_sets(captured: Captured) -> tuple[list[list[list[int | str | bool]]], list[dict[str, int]]]:
    """Returns the sets that any pane shows, and per pane each node's own set."""
    kept: dict[int, int] = {}
    sets: list[list[list[int | str | bool]]] = []
    for number, members in enumerate(captured.sets):
        shown: list[list[int | str | bool]] = [
            [viewer, pane.ids[nid], bool(primary)]
            for viewer, pane in enumerate(captured.panes)
            for nid, primary in members
            if nid in pane.ids
        ]
        if shown:
            kept[number] = len(sets)
            sets.append(shown)
    focus = [
        {node: kept[captured.focus[nid]] for nid, node in pane.ids.items() if captured.focus.get(nid) in kept}
        for pane in captured.panes
    ]
    return sets, focus
