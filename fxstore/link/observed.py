"""Links of what observes and quantises a value: it belongs to that value."""

from __future__ import annotations

from collections.abc import Iterator

from fxstore.link.pair import Link, Pair


def observer(pair: Pair) -> Iterator[Link]:
    """An observer, and what quantises its value, belongs to the value that it observes."""
    run = pair.run
    found: dict[int, list[int]] = {}
    waiting = pair.open()
    for b in waiting:
        if run.quantiser[b] and run.inputs[b]:
            source = run.inputs[b][0][0]
            partners = [link.src for link in pair.to_earlier.get(source, ())] or found.get(source, [])
            found[b] = partners
            guess = f"quantises {run.name[source]}"
            for a in partners:
                yield Link(a, b, "observer") if run.is_observer(b) else Link(a, b, "structure", True, guess)
    for b in waiting:
        if run.role[b] in ("parameter", "buffer", "constant") and run.users[b]:
            yield from _quantised_state(pair, b)


def _quantised_state(pair: Pair, b: int) -> Iterator[Link]:
    """Codes, scales and zero points of a weight, through the observer that became the node that dequantises them."""
    run = pair.run
    partners = {
        run.inputs[link.src][0][0]
        for user in run.users[b]
        if run.quantiser[user]
        for link in pair.to_earlier.get(user, ())
        if run.quantiser[link.src] and run.inputs[link.src]
    }
    for a in sorted(partners):
        yield Link(a, b, "observer")
