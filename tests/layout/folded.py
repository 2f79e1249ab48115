"""A drawing with module boxes folded, as the page folds it: from ``Drawing.folding`` alone, without a layout."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fxstore.layout import Drawing
from fxstore.layout.model import GAP_PARTS
from tests.layout.graphs import Graph


class Folded:
    """Heights of all blocks, tops of everything, with some module boxes closed."""

    def __init__(self, graph: Graph, drawing: Drawing, closed: set[int]) -> None:
        self.graph, self.drawing, self.f = graph, drawing, drawing.folding
        n, self.blocks = len(graph.sizes), len(self.f.parent)
        self.closed = [self.f.module[b] in closed and self.f.module[b] >= 0 for b in range(self.blocks)]
        self.tall = [2 * -(-max(h, 1) // 2) for _, h in graph.sizes] + [0] * self.blocks
        self.rows: list[list[int]] = [[] for _ in self.f.gap]
        for item, row in enumerate(self.f.row):
            if row >= 0:
                self.rows[row].append(item)
        self.height = [0.0] * len(self.rows)
        self.upper = [0.0] * len(self.rows)
        self.top = [0.0] * len(self.tall)
        for b in reversed(range(self.blocks)):
            self.tall[n + b] = self._block_height(b)
        for b in range(self.blocks):
            self._place(b)

    def _rows_of(self, block: int) -> range:
        return range(self.f.first_row[block], self.f.first_row[block + 1])

    def _block_height(self, block: int) -> float:
        if self.closed[block]:
            return float(self.f.closed[block, 2])
        total = float(self.f.foot[block])
        for r in self._rows_of(block):
            self.height[r] = max((self.tall[item] for item in self.rows[r]), default=0)
            total += self.f.gap[r] + self.height[r]
        return total

    def _place(self, block: int) -> None:
        n, under = len(self.graph.sizes), self.f.under[block]
        while under >= 0:
            self.top[n + block] += self.tall[n + under] + GAP_PARTS
            under = self.f.under[under]
        y = self.top[n + block]
        for r in self._rows_of(block):
            y += self.f.gap[r]
            self.upper[r] = y
            for item in self.rows[r]:
                self.top[item] = y + (self.height[r] - self.tall[item]) * self.f.lie[item] / 2
            y += self.height[r]

    def closed_around(self, item: int) -> int:
        """Returns the outermost closed block that holds an item or is it, or -1."""
        n, found = len(self.graph.sizes), -1
        block = item - n if item >= n else self._home(item)
        while block >= 0:
            found = block if self.closed[block] else found
            block = self.f.parent[block]
        return found

    def _home(self, item: int) -> int:
        return int(np.searchsorted(self.f.first_row, self.f.row[item], side="right")) - 1

    def view(self) -> tuple[Graph, Drawing]:
        """Returns what is seen: nodes outside closed boxes, closed boxes as nodes, edges between different ones."""
        n, f = len(self.graph.sizes), self.f
        seen = [v for v in range(n) if self.closed_around(v) < 0]
        seen += [n + b for b in range(self.blocks) if self.closed_around(n + b) == b]
        number = {item: i for i, item in enumerate(seen)}
        centre, sizes, paths = [], [], []
        for item in seen:
            if item < n:
                sizes.append(self.graph.sizes[item])
                paths.append(self.graph.paths[item])
                centre.append((self.drawing.x[item], self.top[item] + self.tall[item] / 2))
            else:
                left, width, height = f.closed[item - n].tolist()
                sizes.append((width, height))
                paths.append(None)
                centre.append((left + width / 2, self.top[item] + height / 2))
        edges, lines, feedback = [], [], []
        for e, (a, b) in enumerate(self.graph.edges):
            line = self._line(e)
            ends = [n + c if (c := self.closed_around(v)) >= 0 else v for v in (a, b)]
            if ends[0] != ends[1] or (a == b and ends[0] < n):
                edges.append((number[ends[0]], number[ends[1]]))
                lines.append(line)
                feedback.append(self.drawing.feedback[e])
        x, y = np.array(centre, np.float32).reshape(-1, 2).T
        points = np.array([p for line in lines for p in line], np.float32).reshape(-1, 2)
        offsets = np.cumsum([0, *map(len, lines)], dtype=np.int32)
        boxes, names = [], []
        for b in range(self.blocks):
            if f.module[b] >= 0 and self.closed_around(n + b) < 0:
                left, _, width, _ = self.drawing.block_boxes[f.module[b]]
                boxes.append((left, self.top[n + b], width, self.tall[n + b]))
                names.append(self.drawing.blocks[f.module[b]])
        extent = max((self.top[n + b] + self.tall[n + b] for b in range(self.blocks)), default=0)
        return Graph(sizes, edges, paths), replace(
            self.drawing, x=x, y=y, points=points, offsets=offsets, feedback=np.array(feedback, np.bool_),
            blocks=tuple(names), block_boxes=np.array(boxes, np.float32).reshape(-1, 4), height=float(extent),
        )  # fmt: skip

    def _line(self, e: int) -> list[tuple[float, float]]:
        begin, end = self.drawing.offsets[e : e + 2]
        if begin == end:
            return []
        a, b = self.graph.edges[e][:: -1 if self.drawing.feedback[e] else 1]
        corners = list(zip(self.drawing.points[begin:end, 0].tolist(), self.f.corner[begin:end].tolist(), strict=True))
        corners = corners[::-1] if self.drawing.feedback[e] else corners
        start, stop = self.closed_around(a), self.closed_around(b)
        inner = corners[1:-1]
        first = next((i for i, (_, c) in enumerate(inner) if self._owner(c) < 0 or self._owner(c) != start), len(inner))
        kept = [(x, c) for x, c in inner if self._owner(c) < 0]
        last = first + len(kept)
        line = [self._end(a, start, (corners[0] if start < 0 else corners[first + 1])[0], True)]
        line += [(x, self.upper[c // 2] + (self.height[c // 2] if c % 2 else 0)) for x, c in kept]
        line += [self._end(b, stop, (corners[-1] if stop < 0 else corners[last])[0], False)]
        return line[::-1] if self.drawing.feedback[e] else line

    def _owner(self, corner: int) -> int:
        block = int(np.searchsorted(self.f.first_row, corner // 2, side="right")) - 1
        return self.closed_around(len(self.graph.sizes) + block)

    def _end(self, v: int, box: int, x: float, above: bool) -> tuple[float, float]:
        """Returns the end of an edge at a node, or at the closed box around it."""
        if box >= 0:
            item = len(self.graph.sizes) + box
            return x, self.top[item] + self.tall[item] * above
        return x, self.top[v] + self.tall[v] / 2 + self.graph.sizes[v][1] / 2 * (1 if above else -1)
