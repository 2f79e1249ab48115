"""The x of every cell: Brandes and Köpf, "Fast and simple horizontal coordinate assignment" (GD 2001).

1. Each cell is aligned with the median of its neighbours above, or below, if no alignment is crossed. Aligned cells
   are one column, whose links are straight.
2. Columns are packed to the left, or to the right. With both choices there are four extreme placements::

       up-left  ├▉──   up-right  ──▉┤   down-left  ├▉──   down-right  ──▉┤

3. Each cell stands at the mean of its two middle ones.

Beyond the paper: links end at ports, so aligned cells are shifted against each other to make the link straight; cells
have widths; and a link of more pull is never bent for one of less. Time is linear in cells and links.

Where straight lines would make a block too wide, :func:`relax_cells` packs its rows instead: each row in turn is put
where the squared lengths of its links are least, cells keeping their distance. This is isotonic regression by pooling
adjacent violators (Ayer et al., Ann. Math. Stat. 1955), linear in the row.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import add

from fxstore.layout.grid import PLAIN, SPINE, Grid
from fxstore.layout.model import Lists

MAX_OPTIONS, MANY_CELLS = 4, 60
"""So many orders of a block's rows are placed, to take the best; in a block of more cells only the first."""
FAR = 100
"""A link that goes so many pixels sidewards counts double, one that goes twice as far three times its length."""
MAX_SPREAD = 2
"""A block may be this many times as wide as its widest row when packed, for the sake of straight lines."""
ROUNDS, MANY, FEW_ROUNDS = 6, 20_000, 2
"""How often each row is settled, and how often in a block of more than so many cells: later rounds move little."""
PULL = (1, 2, 8)
"""Weight of a link by its pull (plain, passing, spine): those of graphviz's dot (Gansner et al., TSE 1993)."""


def place_cells(grid: Grid, options: list[tuple[int, Lists]]) -> list[int]:
    """Takes the best of the orders with the fewest crossings and returns each cell's left border; the leftmost is 0.

    Args:
        grid: The block; its rows are set.
        options: Crossings and rows of each order, the fewest first.
    """
    best: tuple[int, list[int], Lists] | None = None
    fewest = [rows for crossings, rows in options if crossings == options[0][0]]
    fewest = fewest[: MAX_OPTIONS if len(grid.row) <= MANY_CELLS else 1]
    for rows in fewest:
        grid.rows = rows
        x = _place(grid, options[0][0] > 0) if grid.row else []
        cost = _slant(grid, x) if len(fewest) > 1 else 0
        if best is None or 10 * cost < 9 * best[0]:
            best = cost, x, rows
    assert best is not None
    grid.rows = best[2]
    return best[1]


def _slant(grid: Grid, x: list[int]) -> int:
    """Returns how far all links together go sidewards; one that goes far counts more than several that go less."""
    ends = zip(grid.upper, grid.leave, grid.lower, grid.enter, strict=True)
    ways = (abs(x[u] + leave - x[v] - enter) for u, leave, v, enter in ends)
    return sum(way + way * way // FAR for way in ways)


def _place(grid: Grid, crossed: bool) -> list[int]:
    position = [0] * len(grid.row)
    for row in grid.rows:
        for i, v in enumerate(row):
            position[v] = i
    gaps = grid.gaps(grid.rows)
    bent = _bent(grid, position) if crossed else [False] * len(grid.upper)
    _loosen(grid, bent)
    places = []
    for down, links in zip((True, False), _medians(grid, position, bent), strict=True):
        for right in (False, True):
            root, shift = _align(grid, position, links, down, right)
            places.append(_compact(grid, gaps, root, shift, right))
    x = _balance(grid, places)
    packed = max(sum(steps) + grid.width[row[-1]] for steps, row in zip(gaps, grid.rows, strict=True))
    if _spread(grid, x) > MAX_SPREAD * packed:
        x = min(x, relax_cells(grid, gaps), key=lambda x: _spread(grid, x))
    least = min(x)
    return [left - least for left in x]


def _loosen(grid: Grid, bent: list[bool]) -> None:
    """Marks links from side inputs into lanes: the lanes are to be near the cell that they go to."""
    nodes = len(grid.row) - grid.lanes
    for v in range(nodes, len(grid.row)):
        for link in grid.above[v]:
            u = grid.upper[link]
            if grid.ins <= u < nodes and not grid.above[u] and len(grid.below[u]) == 1:
                bent[link] = True


def _spread(grid: Grid, x: list[int]) -> int:
    low, high = _extent(grid, x)
    return high - low


def _extent(grid: Grid, x: list[int]) -> tuple[int, int]:
    """Returns the leftmost and the rightmost x."""
    return min(x), max(map(add, x, grid.width))


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


def _medians(grid: Grid, position: list[int], bent: list[bool]) -> tuple[Lists, Lists]:
    """Returns for each cell the links it may be aligned along: a favourite, else those to its median neighbours.

    First come the links to the row above, from left to right, then those to the row below. Bent ones are left out, and
    those that would take the place of another cell's favourite.
    """
    favourite_below, favourite_above = _favourites(grid, bent)
    out = []
    for links_of, far_end, place, mine, other in (
        (grid.above, grid.upper, grid.leave, favourite_above, favourite_below),
        (grid.below, grid.lower, grid.enter, favourite_below, favourite_above),
    ):
        chosen = []
        for v, links in enumerate(links_of):
            if mine[v] >= 0:
                links = [mine[v]]
            elif len(links) > 1:
                links = sorted(links, key=lambda k: (position[far_end[k]], place[k]))
                half = len(links) // 2
                links = [links[half]] if len(links) % 2 else links[half - 1 : half + 1]
            chosen.append([k for k in links if not bent[k] and other[far_end[k]] in (-1, k)])
        out.append(chosen)
    return out[0], out[1]


def _align(grid: Grid, position: list[int], links: Lists, down: bool, right: bool) -> tuple[list[int], list[int]]:
    """Aligns each cell with a median neighbour, if no alignment is crossed.

    Returns:
        For each cell the first of those that it is aligned with, and how far right of it it stands.
    """
    cells = len(grid.row)
    root, shift, taken = list(range(cells)), [0] * cells, [False] * cells
    far_end = grid.upper if down else grid.lower
    sign = 1 if down else -1
    for row in grid.rows if down else reversed(grid.rows):
        limit = cells if right else -1
        for v in reversed(row) if right else row:
            for link in reversed(links[v]) if right else links[v]:
                u = far_end[link]
                if not taken[u] and (position[u] < limit if right else position[u] > limit):
                    root[v], taken[u], limit = root[u], True, position[u]
                    shift[v] = shift[u] + sign * (grid.leave[link] - grid.enter[link])
                    break
    return root, shift


def _compact(grid: Grid, gaps: Lists, root: list[int], shift: list[int], right: bool) -> list[int]:
    """Pushes the aligned columns to one side, then each back to its neighbour."""
    cells = len(root)
    after: list[list[tuple[int, int]]] = [[] for _ in root]
    missing = [0] * cells
    for row, apart in zip(grid.rows, gaps, strict=True):
        if not apart:
            continue
        u, at = root[row[0]], shift[row[0]]
        for gap, cell in zip(apart, row[1:], strict=True):
            v, own = root[cell], shift[cell]
            before, behind = (v, u) if right else (u, v)
            after[before].append((behind, gap + at - own))
            missing[behind] += 1
            u, at = v, own
    ready = [v for v in range(cells) if root[v] == v and not missing[v]]
    order = []
    x = [0] * cells
    while ready:
        v = ready.pop()
        order.append(v)
        at = x[v]
        for w, gap in after[v]:
            if at + gap > x[w]:
                x[w] = at + gap
            missing[w] -= 1
            if not missing[w]:
                ready.append(w)
    for v in reversed(order):
        if after[v]:
            x[v] = max(x[v], min([x[w] - gap for w, gap in after[v]]))
    if right:
        return [s - x[r] for r, s in zip(root, shift, strict=True)]
    return [s + x[r] for r, s in zip(root, shift, strict=True)]


def _balance(grid: Grid, places: list[list[int]]) -> list[int]:
    """Moves the four placements to the narrowest, and returns the mean of the middle two, rounded down."""
    spans = [_extent(grid, x) for x in places]
    best = min(spans, key=lambda s: s[1] - s[0])
    a, b, c, d = (best[i % 2] - span[i % 2] for i, span in enumerate(spans))
    out = []
    for p, q, r, s in zip(*places, strict=True):
        p, q, r, s = p + a, q + b, r + c, s + d
        low, high = (p, q) if p < q else (q, p)
        least, most = (r, s) if r < s else (s, r)
        out.append(((low if low > least else least) + (high if high < most else most)) // 2)
    return out


def relax_cells(grid: Grid, gaps: list[list[int]]) -> list[int]:
    """Returns the left border of each cell, rows packed: near its neighbours, lines not straight.

    Args:
        grid: The block, rows in order.
        gaps: For each row the least distances between the left borders of neighbours.
    """
    x = [0.0] * len(grid.row)
    starts = []
    for row, apart in zip(grid.rows, gaps, strict=True):
        at = [0]
        for step in apart:
            at.append(at[-1] + step)
        starts.append(at)
        middle = (at[-1] + grid.width[row[-1]]) / 2
        for v, left in zip(row, at, strict=True):
            x[v] = left - middle
    numbers = range(len(grid.rows))
    for turn in range(ROUNDS if len(x) <= MANY else FEW_ROUNDS):
        for r in numbers if turn % 2 == 0 else reversed(numbers):
            _settle(grid, x, grid.rows[r], starts[r])
    return _whole(grid, x, gaps)


def _settle(grid: Grid, x: list[float], row: list[int], at: list[int]) -> None:
    """Moves one row to the mean of its neighbours."""
    pools: list[list[float]] = []
    for v, offset in zip(row, at, strict=True):
        wish, weight = _wish(grid, x, v)
        pools.append([(wish - offset) * weight, weight, 1])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] >= pools[-1][0] * pools[-2][1]:
            total, weight, count = pools.pop()
            pools[-1] = [pools[-1][0] + total, pools[-1][1] + weight, pools[-1][2] + count]
    i = 0
    for total, weight, count in pools:
        for _ in range(int(count)):
            x[row[i]] = total / weight + at[i]
            i += 1


def _wish(grid: Grid, x: list[float], v: int) -> tuple[float, float]:
    """Returns where a cell wants to be, and how much."""
    total = weight = 0.0
    for k in grid.above[v]:
        pull = PULL[grid.pull[k]]
        total += pull * (x[grid.upper[k]] + grid.leave[k] - grid.enter[k])
        weight += pull
    for k in grid.below[v]:
        pull = PULL[grid.pull[k]]
        total += pull * (x[grid.lower[k]] + grid.enter[k] - grid.leave[k])
        weight += pull
    return (total / weight, weight) if weight else (x[v], 0.1)


def _whole(grid: Grid, x: list[float], gaps: list[list[int]]) -> list[int]:
    """Rounds to whole pixels without bringing neighbours too near."""
    out = [int(a // 1) for a in x]
    for row, apart in zip(grid.rows, gaps, strict=True):
        for a, b, step in zip(row, row[1:], apart, strict=False):
            out[b] = max(out[b], out[a] + step)
    return out
