from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore.layout import draw
from fxstore.layout.blocks import Modules
from fxstore.layout.crossing import balance, candidate_rows, joins, suggested_rows
from fxstore.layout.drawing import pack
from fxstore.layout.grid import Contracted, Grid, build_grid
from fxstore.layout.model import GAP_PARTS, GAP_X, HEAD, LANE, PAD, Problem, Wire
from fxstore.layout.ordering import Ordering
from fxstore.layout.place import place_cells, relax_cells
from fxstore.layout.plan import adjacency, against_flow, beside_consumers, topological
from fxstore.layout.rows import assign_rows

EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    ins, items, outs = draw(st.integers(0, 3)), draw(st.integers(1, 12)), draw(st.integers(0, 3))
    cells = ins + items + outs
    ends = st.tuples(st.integers(0, ins + items - 1), st.integers(ins, cells - 1)).filter(lambda e: e[0] < e[1])
    sides = st.integers(1, 40).map(lambda k: 12 * k)
    widths = draw(st.lists(sides, min_size=items, max_size=items))
    width = [LANE] * ins + widths + [LANE] * outs
    pairs = sorted(draw(st.sets(ends, max_size=20)))
    wires = [Wire(a, b, a, width[a] // 2, width[b] // 2, False) for a, b in pairs]
    return Problem(ins, outs, width, [0] * ins + [38] * items + [0] * outs, wires, draw(st.booleans()))


def ordered_grid(problem: Problem) -> Grid:
    grid = build_grid(problem, assign_rows(problem))
    grid.rows = candidate_rows(grid)[0][1]
    return grid


@given(EDGES)
@settings(deadline=None)
def test_without_the_edges_against_the_flow_there_is_no_cycle(edges: list[tuple[int, int]]) -> None:
    ends = np.array(edges, np.int64).reshape(-1, 2)
    kept = ends[~against_flow(12, ends[:, 0], ends[:, 1])]
    order = topological(12, kept[:, 0], kept[:, 1], adjacency(12, kept[:, 0], kept[:, 1]))
    assert sorted(order) == list(range(12))
    place = {v: i for i, v in enumerate(order)}
    assert all(place[a] < place[b] for a, b in kept.tolist())


@given(EDGES)
@settings(deadline=None)
def test_only_edges_on_cycles_go_against_the_flow(edges: list[tuple[int, int]]) -> None:
    ends = np.array(edges, np.int64).reshape(-1, 2)
    succ = adjacency(12, ends[:, 0], ends[:, 1])
    for a, b in ends[against_flow(12, ends[:, 0], ends[:, 1])].tolist():
        reached, stack = {b}, [b]
        while stack:
            for w in succ[stack.pop()]:
                if w not in reached:
                    reached.add(w)
                    stack.append(w)
        assert a in reached


@given(problems())
@settings(deadline=None)
def test_wires_go_down_and_ports_are_outermost(problem: Problem) -> None:
    row = assign_rows(problem)
    assert all(row[w.source] < row[w.target] for w in problem.wires)
    last = len(row) - problem.outs
    assert all(r == 0 for r in row[: problem.ins])
    assert all(r == max(row) for r in row[last:])
    assert not {0 if problem.ins else -1, max(row) if problem.outs else -1} & set(row[problem.ins : last])


@given(problems())
@settings(deadline=None)
def test_a_chain_of_lanes_joins_the_ends_of_each_wire(problem: Problem) -> None:
    grid = ordered_grid(problem)
    for wire, cells in zip(problem.wires, grid.chains, strict=True):
        assert (cells[0], cells[-1]) == (wire.source, wire.target)
        rows = [grid.row[v] for v in cells]
        assert rows == list(range(rows[0], rows[0] + len(rows)))
        assert all(v >= len(problem.width) for v in cells[1:-1])


@given(problems())
@settings(deadline=None)
def test_crossings_are_counted_right(problem: Problem) -> None:
    grid = ordered_grid(problem)
    state = Ordering(grid)
    state.take(grid.rows)
    count = 0
    for i, j in combinations(range(len(grid.upper)), 2):
        if grid.row[grid.upper[i]] == grid.row[grid.upper[j]]:
            top = np.sign(state.position[grid.upper[i]] - state.position[grid.upper[j]])
            count += top * np.sign(state.position[grid.lower[i]] - state.position[grid.lower[j]]) < 0
    assert state.crossings() == count


@given(problems())
@settings(deadline=None)
def test_every_order_found_has_the_crossings_it_says(problem: Problem) -> None:
    grid = build_grid(problem, assign_rows(problem))
    for count, rows in candidate_rows(grid):
        state = Ordering(grid)
        state.take(rows)
        assert state.crossings() == count
        assert [sorted(row) for row in rows] == [sorted(row) for row in grid.rows]


@given(problems())
@settings(deadline=None)
def test_side_inputs_on_both_sides_add_no_crossing(problem: Problem) -> None:
    grid = build_grid(problem, assign_rows(problem))
    state = Ordering(grid)
    state.take(grid.rows)
    before, found = state.crossings(), joins(grid)
    balance(state, grid, found)
    assert state.counts == [state._count(row) for row in state.rows]
    assert state.crossings() <= before
    assert [sorted(row) for row in state.rows] == grid.rows


@given(problems(), st.data())
@settings(deadline=None)
def test_what_has_a_rank_keeps_its_side(problem: Problem, data: st.DataObject) -> None:
    grid = build_grid(problem, assign_rows(problem))
    grid.rank = data.draw(st.permutations(range(len(grid.row))))
    for count, rows in candidate_rows(grid):
        state = Ordering(grid)
        state.take(rows)
        assert (state.crossings(), state.rows) == (count, rows)


def test_half_of_the_weights_of_a_normalisation_are_left_of_the_longest_path_and_none_far_away() -> None:
    """0 is the input, 2 a convolution with weight 1, 7 a normalisation of it with weights 3 to 6."""
    edges = [(0, 2), (1, 2), (2, 7), *[(i, 7) for i in range(3, 7)], (7, 8)]
    drawing = draw([(220, 36)] * 9, edges, ["m"] * 9)
    assert sum(drawing.x[3:7] < drawing.x[7]) == 2
    assert drawing.x[0] == drawing.x[2] == drawing.x[7] == drawing.x[8]
    assert max(abs(drawing.x[1:7] - drawing.x[7])) < 520
    assert drawing.height <= 4 * 36 + 3 * 30 + HEAD + PAD
    lifted = next(v for v in range(3, 7) if drawing.y[v] < drawing.y[2])
    line = drawing.points[drawing.offsets[lifted] : drawing.offsets[lifted + 1]]
    assert max(abs(line[2:, 0] - drawing.x[7])) < 220 / 2 + 2 * GAP_X


def test_weights_are_lifted_where_that_makes_no_row_wider_and_never_past_a_tall_box() -> None:
    # 0 is an input port, 1 to 3 a chain, 4 to 7 weights that 3 takes.
    wires = [Wire(a, b, a, 4, 4, False) for a, b in [(0, 1), (1, 2), (2, 3), *[(i, 3) for i in range(4, 8)]]]
    order = {0: 0, 1: 1, 2: 2, 4: 3, 5: 4, 6: 5, 7: 6, 3: 7}
    wires = sorted(Wire(order[a], order[b], order[a], 4, 4, False) for a, b, *_ in wires)
    for tall, rows in ((38, [1, 1, 2, 2]), (500, [2, 2, 2, 2])):
        problem = Problem(1, 0, [LANE, *[100] * 7], [0, 38, tall, 38, 38, 38, 38, 38], wires, False)
        row = assign_rows(problem)
        assert (row[1], row[2], row[7]) == (1, 2, 3)
        assert sorted(row[3:7]) == rows


@given(problems())
@settings(deadline=None)
def test_neighbours_keep_their_distance(problem: Problem) -> None:
    grid = ordered_grid(problem)
    gaps = [[grid.width[v] + 5 for v in row[:-1]] for row in grid.rows]
    for x, extra in ((place_cells(grid, [(0, grid.rows)]), 0), (relax_cells(grid, gaps), 5)):
        for row in grid.rows:
            assert all(x[a] + grid.width[a] + extra <= x[b] for a, b in pairwise(row))


@given(problems())
@settings(deadline=None)
def test_rows_taken_together_cross_nowhere_and_keep_their_distance(problem: Problem) -> None:
    grid = build_grid(problem, assign_rows(problem))
    runs = Contracted(grid)
    options = candidate_rows(runs)
    left = runs.spread(place_cells(runs, options))
    grid.rows = runs.expanded(runs.rows)
    state = Ordering(grid)
    state.take(grid.rows)
    assert state.crossings() == options[0][0]
    for row, gaps in zip(grid.rows, grid.gaps(grid.rows), strict=True):
        assert all(left[a] + gap <= left[b] for (a, b), gap in zip(pairwise(row), gaps, strict=True))
    straight = sum(
        left[u] + leave == left[v] + enter
        for u, v, leave, enter in zip(grid.upper, grid.lower, grid.leave, grid.enter, strict=True)
    )
    assert straight >= len(grid.upper) - len(runs.upper)


def grid_of(edges: list[tuple[int, int]], row: list[int]) -> Grid:
    wires = [Wire(a, b, a, 6, 6, False) for a, b in edges]
    return build_grid(Problem(0, 0, [12] * len(row), [12] * len(row), wires, False), row)


def test_fast_sugiyama_is_asked_only_where_it_is_safe() -> None:
    crossed = grid_of([(0, 3), (1, 2), (0, 2)], [0, 0, 1, 1])
    rows = suggested_rows(crossed, crossed.rows)
    assert rows is not None
    assert [sorted(row) for row in rows] == [[0, 1], [2, 3]]
    apart = grid_of([(0, 2), (1, 3)], [0, 0, 1, 1])
    assert suggested_rows(apart, apart.rows) is None
    long = grid_of([(i, i + 1) for i in range(100)], list(range(101)))
    assert suggested_rows(long, long.rows) is None
    single = grid_of([], [0])
    assert suggested_rows(single, single.rows) is None


PARTS = st.tuples(st.tuples(st.integers(1, 500), st.integers(1, 500)), st.booleans())


@given(st.lists(PARTS, max_size=40), st.integers(0, 700))
@settings(deadline=None)
def test_packed_components_keep_apart(parts: list[tuple[tuple[int, int], bool]], stem: int) -> None:
    extents = [extent for extent, _ in parts]
    corners = pack(extents, [alone for _, alone in parts], stem)
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(corners, extents, strict=True)]
    assert min([left for left, *_ in boxes], default=0) == min([top for _, top, *_ in boxes], default=0) == 0
    for a, b in combinations(boxes, 2):
        assert max(b[0] - a[2], a[0] - b[2], b[1] - a[3], a[1] - b[3]) >= GAP_PARTS


def test_unused_inputs_stand_under_the_longest_path_and_stay_there_when_the_rest_gets_wider() -> None:
    extents = [(500, 900), (300, 400), *[(100, 36)] * 10]
    alone = [False, False, *[True] * 10]
    corners = pack(extents, alone, 250)
    assert {y for _, y in corners[2:]} == {900 + GAP_PARTS + i * (36 + GAP_PARTS) for i in range(3)}
    wider = pack([(640, 900), *extents[1:]], alone, 250)
    assert wider[2:] == corners[2:]
    assert wider[0] == corners[0]


def test_a_source_that_two_modules_use_comes_before_both() -> None:
    # 0 and 1 are weights: 0 is used in m.a and m.b, 1 in m.b only.
    modules = Modules([None, None, "m.a", "m.a", "m.b", "m.b"])
    succ, pred = [[3, 5], [5], [3], [4], [5], []], [[], [], [], [0, 2], [3], [0, 1, 4]]
    module = modules.settle(range(6), succ, pred)
    assert beside_consumers([0, 1, 2, 3, 4, 5], succ, pred, modules, module) == [0, 2, 3, 4, 1, 5]


def test_of_sources_put_before_one_node_those_of_outer_modules_come_first() -> None:
    # 0 is used in two modules of layer 0, 1 in both layers: 0 is in the box of layer 0, 1 is not.
    modules = Modules([None, None, "m.0.a", "m.0.b", "m.1.a"])
    succ, pred = [[2, 3], [2, 4], [3], [4], []], [[], [], [0, 1], [0, 2], [1, 3]]
    module = modules.settle(range(5), succ, pred)
    assert [modules.paths[m] for m in module[:2]] == ["m.0", "m"]
    assert beside_consumers([0, 1, 2, 3, 4], succ, pred, modules, module) == [1, 0, 2, 3, 4]


def test_a_parameter_joins_the_module_that_uses_it_and_the_output_the_root() -> None:
    modules = Modules([None, None, "m.a", "m.b", None])
    succ, pred = [[2], [2, 3], [3], [4], []], [[], [], [0, 1], [1, 2], [3]]
    module = modules.settle(range(5), succ, pred)
    assert [modules.paths[m] for m in module] == ["m.a", "m", "m.a", "m.b", ""]


def test_a_node_without_a_path_does_not_cut_a_module_in_two() -> None:
    modules = Modules(["m.a", None, "m.a", "m.b"])
    module = [modules.own[0], 0, modules.own[2], modules.own[3]]
    modules.smooth(range(4), module)
    assert [modules.paths[m] for m in module] == ["m.a", "m.a", "m.a", "m.b"]
