"""The rules that link two stages, in the order of their strength. A lower rule never overrides a higher one.

Each rule returns links for nodes that have none yet; see :data:`RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from fxstore.link.borders import body_input, delegate_call, delegate_input, ports, signature
from fxstore.link.handles import handle
from fxstore.link.inferred import folded, merged, read_in_place, rewritten, same_name
from fxstore.link.observed import observer
from fxstore.link.packed import constant, layout
from fxstore.link.pair import Link, Pair
from fxstore.link.pieces import pieces
from fxstore.link.placed import as_it_ran, same_place
from fxstore.link.recorded import common_source, exact_source, identity
from fxstore.link.run import Run

Rule = Callable[[Pair], Iterator[Link]]

RECORDED: tuple[Rule, ...] = (identity, exact_source, common_source, signature)
RULES: tuple[Rule, ...] = (
    *RECORDED,
    handle,
    constant,
    layout,
    delegate_call,
    delegate_input,
    body_input,
    observer,
    as_it_ran,
    folded,
    merged,
    read_in_place,
    pieces,
    rewritten,
    same_place,
    same_name,
)


def link_pair(run: Run, earlier: Iterable[int], later: Iterable[int], *, recorded_only: bool = False) -> Pair:
    """Links two stages; every rule sees what the rules before it found, and so do those who read an output of that.

    Args:
        recorded_only: Follow only what the compiler recorded about the nodes themselves.
    """
    pair = Pair(run, list(earlier), list(later))
    for rule in RECORDED if recorded_only else RULES:
        pair.add(list(rule(pair)))
        pair.add(list(ports(pair)))
    return pair
