"""How large a difference a matching makes of two graphs."""

from __future__ import annotations

import numpy as np

from fxstore.query.matching.side import Hashes, Numbers, Side, mix
from fxstore.query.matching.steps import NONE

Sides = tuple[Side, Side]


def doubtful_scopes(sides: Sides, scopes: Numbers, partner: Numbers) -> Numbers:
    """Returns the scopes in which a node takes another value though the old and the new one have partners."""
    base, head = sides
    origin = np.full(head.size, NONE, np.int64)
    rows = np.flatnonzero(partner != NONE)
    origin[partner[rows]] = rows
    known = mix(head.uses.src, head.uses.dst, head.uses.slot)
    used = partner[base.uses.dst] != NONE
    src, dst = base.uses.src[used], base.uses.dst[used]
    gone = (partner[src] != NONE) & ~np.isin(mix(partner[src], partner[dst], base.uses.slot[used]), known)
    lost = dst[gone]
    expected = mix(partner[src], partner[dst], base.uses.slot[used])
    fresh = (origin[head.uses.src] != NONE) & (origin[head.uses.dst] != NONE) & ~np.isin(known, expected)
    both = np.intersect1d(lost, origin[head.uses.dst[fresh]])
    return np.asarray(np.setdiff1d(scopes[both], [NONE]))


def cheaper_scopes(sides: Sides, scopes: tuple[Numbers, Numbers], first: Numbers, second: Numbers) -> Numbers:
    """Returns the scopes in which the second matching makes the smaller difference."""
    costs = [_costs(sides, scopes, partner) for partner in (first, second)]
    return np.flatnonzero(costs[1] < costs[0])


def _costs(sides: Sides, scopes: tuple[Numbers, Numbers], partner: Numbers) -> Numbers:
    """Returns per scope the number of nodes without a partner, twice, and of those that are changed or rewired."""
    base, head = sides
    rows = np.flatnonzero(partner != NONE)
    other = partner[rows]
    differs = base.nodes.label[rows] != head.nodes.label[other]
    differs |= wiring(base, partner[base.uses.src])[rows] != wiring(head, head.uses.src)[other]
    added = np.ones(head.size, bool)
    added[other] = False
    lonely = np.concatenate([scopes[0][partner == NONE], scopes[1][added]])
    counted = np.concatenate([lonely, lonely, scopes[0][rows[differs]]])
    return np.bincount(counted[counted != NONE], minlength=int(scopes[0].max(initial=0)) + 1)


def wiring(side: Side, sources: Numbers) -> Hashes:
    """Returns one hash per node of where its inputs come from."""
    wired = np.zeros(side.size, np.uint64)
    np.add.at(wired, side.uses.dst, mix(sources, side.uses.slot))
    return wired
