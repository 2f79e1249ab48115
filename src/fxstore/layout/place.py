"""The x of every cell: Brandes and Köpf, "Fast and simple horizontal coordinate assignment" (GD 2001).

As there, four extreme alignments are made and each cell stands at the mean of its two middle ones. Beyond it: links
end at ports, so aligned cells are shifted against each other to make the link straight; cells have widths; and a link
of more pull is never bent for one of less.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise, product

from fxstore.layout.grid import PLAIN, SPINE, Grid
from fxstore.layout.order import Lists
from fxstore.layout.relax import relax_cells
from fxstore.layout.spacing import GAP_X, LANE

MAX_OPTIONS = 4
"""So many orders of a block's rows are placed, to take the best."""
CROSSING = 60
"""A crossing is as bad as so many pixels that links go sidewards."""
FAR = 100
"""A link that goes so many pixels sidewards counts double, one that goes twice as far three times its length."""
MAX_SPREAD = 2
"""A block may be this many times as wide as its widest row when packed, for the sake of straight lines."""


def place_cells(grid: Grid, options: list[tuple[int, Lists]]) -> list[int]:
    """Takes the best of several orders of the rows and returns the left border of each cell; the leftmost is 0.

    Args:
        grid: The block; its rows are set.
        options: Crossings and rows of each order.
    """
    best: tuple[int, list[int], Lists] | None = None
    for crossings, rows in options[:MAX_OPTIONS]:
        grid.rows = rows
        x = _place(grid) if grid.row else []
        cost = CROSSING * crossings + _slant(grid, x)
        if best is None or cost < best[0]:
            best = cost, x, rows
    assert best is not None
    grid.rows = best[2]
    return best[1]


def _slant(grid: Grid, x: list[int]) -> int:
    """Returns how far all links together go sidewards; one that goes far counts more than several that go less."""
    ends = zip(grid.upper, grid.leave, grid.lower, grid.enter, strict=True)
    ways = (abs(x[u] + leave - x[v] - enter) for u, leave, v, enter in ends)
    return sum(way + way * way // FAR for way in ways)


def _place(grid: Grid) -> list[int]:
    position = [0] * len(grid.row)
    for row in grid.rows:
        for i, v in enumerate(row):
            position[v] = i
    bent = _bent(grid, position)
    favourite = _favourites(grid, bent)
    x = _balance(
        grid, [_alignment(grid, position, bent, favourite, *way) for way in product((True, False), (False, True))]
    )
    gaps = [[grid.width[a] + _gap(grid, a, b) for a, b in pairwise(row)] for row in grid.rows]
    packed = max(sum(steps) + grid.width[row[-1]] for steps, row in zip(gaps, grid.rows, strict=True))
    if _spread(grid, x) > MAX_SPREAD * packed:
        x = min(x, relax_cells(grid, gaps), key=lambda x: _spread(grid, x))
    least = min(x)
    return [left - least for left in x]


def _spread(grid: Grid, x: list[int]) -> int:
    low, high = _extent(grid, x)
    return high - low


def _extent(grid: Grid, x: list[int]) -> tuple[int, int]:
    """Returns the leftmost and the rightmost x."""
    return min(x), max([left + w for left, w in zip(x, grid.width, strict=True)])


def _bent(grid: Grid, position: list[int]) -> list[bool]:
    """Marks the links that cross one of more pull."""
    bent = [False] * len(grid.upper)
    gaps: list[list[int]] = [[] for _ in grid.rows]
    for link, v in enumerate(grid.upper):
        gaps[grid.row[v]].append(link)
    for links in gaps:
        for pull in range(SPINE, PLAIN, -1):
            strong = sorted((position[grid.upper[k]], position[grid.lower[k]]) for k in links if grid.pull[k] == pull)
            if strong:
                _bend(grid, position, strong, [k for k in links if grid.pull[k] < pull], bent)
    return bent


def _bend(grid: Grid, position: list[int], strong: list[tuple[int, int]], weak: list[int], bent: list[bool]) -> None:
    tops = [top for top, _ in strong]
    left_most, right_most = [bottom for _, bottom in strong], [bottom for _, bottom in strong]
    for i in range(1, len(strong)):
        right_most[i] = max(right_most[i], right_most[i - 1])
        left_most[-i - 1] = min(left_most[-i - 1], left_most[-i])
    for link in weak:
        top, bottom = position[grid.upper[link]], position[grid.lower[link]]
        before, after = bisect_left(tops, top), bisect_right(tops, top)
        if (before and right_most[before - 1] > bottom) or (after < len(tops) and left_most[after] < bottom):
            bent[link] = True


def _favourites(grid: Grid, bent: list[bool]) -> tuple[list[int], list[int]]:
    """Returns for each cell the link below, and the link above, that no other may take the place of, or -1."""
    below, above = [-1] * len(grid.row), [-1] * len(grid.row)
    for link, pull in enumerate(grid.pull):
        if pull == PLAIN or bent[link]:
            continue
        for chosen, v in ((below, grid.upper[link]), (above, grid.lower[link])):
            if chosen[v] < 0 or pull > grid.pull[chosen[v]]:
                chosen[v] = link
    return below, above


def _alignment(
    grid: Grid, position: list[int], bent: list[bool], favourite: tuple[list[int], list[int]], down: bool, right: bool
) -> list[int]:
    """Returns one of the four extreme placements."""
    root, shift = _align(grid, position, bent, favourite, down, right)
    return _compact(grid, root, shift, right)


def _align(
    grid: Grid, position: list[int], bent: list[bool], favourite: tuple[list[int], list[int]], down: bool, right: bool
) -> tuple[list[int], list[int]]:
    """Aligns each cell with a median neighbour, if none is crossed.

    Returns:
        For each cell the first of those that it is aligned with, and how far right of it it stands.
    """
    cells = len(grid.row)
    root, shift, taken = list(range(cells)), [0] * cells, [False] * cells
    links_of, far_end = (grid.above, grid.upper) if down else (grid.below, grid.lower)
    other = favourite[0] if down else favourite[1]
    mine = favourite[1] if down else favourite[0]
    sign = 1 if down else -1
    for row in grid.rows if down else reversed(grid.rows):
        limit = len(position) if right else -1
        for v in reversed(row) if right else row:
            for link in _candidates(grid, links_of[v], far_end, position, mine[v], down, right):
                u = far_end[link]
                free = not taken[u] and not bent[link] and other[u] in (-1, link)
                if free and (position[u] < limit if right else position[u] > limit):
                    root[v], taken[u], limit = root[u], True, position[u]
                    shift[v] = shift[u] + sign * (grid.leave[link] - grid.enter[link])
                    break
    return root, shift


def _candidates(
    grid: Grid, links: list[int], far_end: list[int], position: list[int], favourite: int, down: bool, right: bool
) -> list[int]:
    """Returns a cell's favourite link, else the links to its median neighbours."""
    if favourite >= 0:
        return [favourite]
    if len(links) < 2:
        return links
    place = grid.leave if down else grid.enter
    links = sorted(links, key=lambda k: (position[far_end[k]], place[k]))
    half = len(links) // 2
    if len(links) % 2:
        return [links[half]]
    return [links[half], links[half - 1]] if right else [links[half - 1], links[half]]


def _compact(grid: Grid, root: list[int], shift: list[int], right: bool) -> list[int]:
    """Pushes the aligned columns to one side, then each back to its neighbour."""
    after, before, order = _columns(grid, root, shift)
    x = [0] * len(root)
    if right:
        for v in reversed(order):
            x[v] = min([x[w] - d for w, d in after[v].items()], default=0)
        for v in order:
            if before[v]:
                x[v] = min(x[v], max([x[u] + d for u, d in before[v].items()]))
    else:
        for v in order:
            x[v] = max([x[u] + d for u, d in before[v].items()], default=0)
        for v in reversed(order):
            if after[v]:
                x[v] = max(x[v], min([x[w] - d for w, d in after[v].items()]))
    return [x[root[v]] + shift[v] for v in range(len(root))]


def _columns(
    grid: Grid, root: list[int], shift: list[int]
) -> tuple[list[dict[int, int]], list[dict[int, int]], list[int]]:
    """Returns how far the columns to the right, and to the left, of each must stay off, and all from left to right."""
    after: list[dict[int, int]] = [{} for _ in root]
    before: list[dict[int, int]] = [{} for _ in root]
    for row in grid.rows:
        for a, b in pairwise(row):
            u, v = root[a], root[b]
            apart = grid.width[a] + _gap(grid, a, b) + shift[a] - shift[b]
            if apart > after[u].get(v, -(1 << 60)):
                after[u][v] = before[v][u] = apart
    missing = [len(left) for left in before]
    ready = [v for v in range(len(root)) if root[v] == v and not missing[v]]
    order = []
    while ready:
        v = ready.pop()
        order.append(v)
        for w in after[v]:
            missing[w] -= 1
            if not missing[w]:
                ready.append(w)
    return after, before, order


def _gap(grid: Grid, a: int, b: int) -> int:
    """Returns the space between two cells: none between lanes, whose width holds it."""
    return (0 if grid.width[a] == LANE else GAP_X // 2) + (0 if grid.width[b] == LANE else GAP_X // 2)


def _balance(grid: Grid, places: list[list[int]]) -> list[int]:
    """Moves the four placements to the narrowest, and returns the mean of the middle two, rounded down."""
    spans = [_extent(grid, x) for x in places]
    best = min(spans, key=lambda s: s[1] - s[0])
    moves = [best[i % 2] - span[i % 2] for i, span in enumerate(spans)]
    out = []
    for xs in zip(*places, strict=True):
        four = sorted(x + d for x, d in zip(xs, moves, strict=True))
        out.append((four[1] + four[2]) // 2)
    return out
