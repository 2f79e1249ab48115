"""Drawings of stored graphs, each made once."""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from fxstore.errors import StoreError
from fxstore.layout import Drawing, Folding, Sides, draw
from fxstore.render.boxes import box_size
from fxstore.store import Directory

# Part of the file's path: raise it when the layout or the boxes change, so that graphs are drawn anew.
_VERSION: Final = 13
_ARRAYS: Final = ("x", "y", "points", "offsets", "feedback", "block_boxes", "stub")
SIDES: Final = ("forward", "saved for backward", "backward")
"""Of a training step, by the numbers of a column ``side``."""
_FORWARD: Final = frozenset({"forward", "forward_output"})
_BACKWARD: Final = frozenset({"backward", "backward_output", "tangent"})
QUANTISING: Final = ("quantize_", "dequantize_", "choose_qparams")
"""How the names of operators begin that a quantiser puts in."""
Places = Sequence[tuple[float, float] | None]
_DECIDING: Final = ("side", "module_path", "op_type", "width", "height")
_FOLDS: Final = tuple(field.name for field in fields(Folding))


def box_sizes(nodes: pa.Table) -> list[tuple[float, float]]:
    """Returns width and height of the box of each node, in CSS pixels."""
    columns = (nodes[name].to_pylist() for name in ("op_type", "role", "name", "op", "target"))
    return [
        box_size(kind or role or "", (op == "placeholder" and target) or name or "")
        for kind, role, name, op, target in zip(*columns, strict=True)
    ]


class Drawings:
    """Draws graphs by their hash; keeps drawings in the store, and in memory where the store may not be written."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._kept: dict[str, Drawing] = {}

    def get(self, graph_hash: str, nodes: pa.Table, edges: pa.Table) -> Drawing:
        """Returns the drawing of a graph.

        Args:
            graph_hash: The graph's hash: its rows decide the drawing; ``''`` for a part of a graph, whose drawing is
                not kept.
            nodes: Its nodes in order; op_type, role, name, op, target and module_path are used.
            edges: Its edges in order; src and dst are rows of ``nodes``.
        """
        if not graph_hash:
            return drawn(nodes, edges)
        drawing = self._kept.get(graph_hash) or self._load(graph_hash, nodes.num_rows, edges.num_rows)
        if drawing is None:
            drawing = drawn(nodes, edges)
            self._save(graph_hash, drawing)
        self._kept[graph_hash] = drawing
        return drawing

    def beside(self, nodes: pa.Table, edges: pa.Table, places: Places) -> Drawing:
        """Returns a drawing that is to stand beside another one; the arguments are those of :func:`drawn`."""
        key = hashlib.sha256()
        for part in (nodes.select(_DECIDING).to_pylist(), edges.select(["src", "dst"]).to_pylist(), list(places)):
            key.update(repr(part).encode("utf-8", "surrogatepass"))
        name = key.hexdigest()
        drawing = self._kept.get(name) or self._load(name, nodes.num_rows, edges.num_rows)
        if drawing is None:
            drawing = drawn(nodes, edges, places)
            self._save(name, drawing)
        self._kept[name] = drawing
        return drawing

    def _path(self, graph_hash: str) -> Path:
        return self._directory.layout(_VERSION, graph_hash)

    def _load(self, graph_hash: str, nodes: int, edges: int) -> Drawing | None:
        """Returns the stored drawing, or None where there is none that fits the graph."""
        try:
            content = io.BytesIO(self._path(graph_hash).read_bytes())
            with np.load(content, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in _ARRAYS}
                folds = {name: stored[f"folding.{name}"] for name in _FOLDS}
                extent = stored["extent"]
                blocks = tuple(json.loads(stored["blocks"].tobytes().decode("utf-8")))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        if len(arrays["x"]) != nodes or len(arrays["offsets"]) != edges + 1:
            return None
        width, height = extent.tolist()
        return Drawing(**arrays, blocks=blocks, width=width, height=height, folding=Folding(**folds))

    def _save(self, graph_hash: str, drawing: Drawing) -> None:
        if self._directory.read_only:
            return
        buffer = io.BytesIO()
        blocks = np.frombuffer(json.dumps(drawing.blocks).encode("utf-8"), np.uint8)
        arrays = {name: getattr(drawing, name) for name in _ARRAYS}
        arrays |= {f"folding.{name}": getattr(drawing.folding, name) for name in _FOLDS}
        np.savez_compressed(buffer, blocks=blocks, extent=np.array([drawing.width, drawing.height]), **arrays)
        staged, target = self._directory.staging / f"layout.{secrets.token_hex(8)}", self._path(graph_hash)
        with suppress(OSError):  # a drawing can always be made again
            try:
                staged.write_bytes(buffer.getvalue())
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(staged, target)
            finally:
                staged.unlink(missing_ok=True)


def drawn(nodes: pa.Table, edges: pa.Table, beside: Places | None = None) -> Drawing:
    """Returns a new drawing of a graph.

    Args:
        nodes: As :meth:`Drawings.get` has it; boxes are of its width and height, and sides those of its column
            ``side``, where it has these columns.
        edges: The same.
        beside: Centre of each node's counterpart in a drawing beside which it will stand, None where it has none.

    Raises:
        StoreError: An edge is from or to no node, as in a file that was forged.
    """
    pairs = list(zip(edges["src"].to_pylist(), edges["dst"].to_pylist(), strict=True))
    if any(not 0 <= end < nodes.num_rows for pair in pairs for end in pair):
        raise StoreError("a graph has edges to nodes that it does not have", hint="ingest that run again")
    has_side = "side" in nodes.column_names
    side = sides(nodes["side"].to_pylist() if has_side else sides_of(nodes["role"].to_pylist()))
    if "width" in nodes.column_names:
        sizes = list(zip(nodes["width"].to_pylist(), nodes["height"].to_pylist(), strict=True))
    else:
        sizes = box_sizes(nodes)
    return draw(sizes, pairs, drawn_modules(nodes), side, beside)


def drawn_modules(nodes: pa.Table) -> list[str | None]:
    """Returns the module in whose box each node is drawn, None where it stands with its neighbours.

    A later export says of what a quantiser put in that it came from the model itself, the module ``''``: drawn there,
    it would cut every box around it in two.
    """
    rows = zip(nodes["module_path"].to_pylist(), nodes["op_type"].to_pylist(), strict=True)
    return [path or (None if (kind or "").startswith(QUANTISING) else path) for path, kind in rows]


def sides(numbers: Sequence[int | None]) -> Sides | None:
    """Returns the sides of a training step for the layout; None for any other graph."""
    known = [one for one in numbers if one is not None]
    return Sides(SIDES, known) if known and len(known) == len(numbers) else None


def sides_of(roles: Sequence[str | None]) -> list[int | None]:
    """Returns the side of each node of a joint training graph; None for all where there are not two sides."""
    late = [role in _BACKWARD for role in roles]
    if not any(late) or _FORWARD.isdisjoint(roles):
        return [None] * len(late)
    return [len(SIDES) - 1 if one else 0 for one in late]
