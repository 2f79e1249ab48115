"""The verbs that ask: ``sql`` and the macros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fxstore.cli.answering import Verb, answering, run

if TYPE_CHECKING:
    from fxstore.api import Store
    from fxstore.query.result import Result

metric = click.argument("metric")
overlay = click.option("--overlay", help="Default: every overlay that holds METRIC.")
sample = click.option("--sample", help="Only this input, by number or name; default: the worst, of times the median.")
scope = click.option(
    "--scope", type=click.Choice(("local", "cumulative")), help="Default: cumulative, where METRIC has both."
)
nid = click.argument("nid", type=int)
hops = click.option("--hops", type=click.IntRange(min=1), help="At most that far; default: any distance.")
nested = click.option("--nested", is_flag=True, help="Go on into and out of nested graphs.")
two = (click.argument("a", type=int), click.argument("b", type=int))


def of_node(ask: Verb) -> Verb:
    """Adds the parameters that name a node by stage and name."""
    parameters = (
        run,
        click.option("--method", help="Where NODE stands in several methods; default: all of them."),
        click.option("--path", help="Where NODE stands in several graphs: '' is the top one; default: all of them."),
        click.argument("stage"),
        click.argument("node"),
    )
    for parameter in reversed(parameters):
        ask = parameter(ask)
    return ask


@click.command()
@answering
@click.argument("query")
def sql(store: Store, query: str) -> Result:
    """Answers one read-only SQL statement; `fxstore schema` prints what can be asked."""
    return store.sql(query)


@click.command()
@answering
@run
@click.option("--stage", help="Default: all that METRIC is measured in.")
@overlay
@scope
@sample
@click.option("-n", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@metric
def worst(store: Store, **asked: Any) -> Result:
    """Ranks nodes by METRIC, broken ones first: NaN, then infinite, then the worst number."""
    return store.worst(**asked)


@click.command(name="first-bad")
@answering
@run
@overlay
@scope
@sample
@click.option("--threshold", type=float, required=True, help="The first value that is still good.")
@metric
def first_bad(store: Store, **asked: Any) -> Result:
    """Finds where METRIC first goes beyond the threshold: bad nodes that no bad node feeds."""
    return store.first_bad(**asked)


@click.command()
@answering
@of_node
def sync(store: Store, **asked: Any) -> Result:
    """Lists the counterparts of NODE of STAGE in every stage."""
    return store.sync(**asked)


@click.command()
@answering
@of_node
def trace(store: Store, **asked: Any) -> Result:
    """Follows NODE of STAGE through the stages, with the evidence for each step."""
    return store.trace(**asked)


@click.command()
@answering
@hops
@nested
@nid
def ancestors(store: Store, **asked: Any) -> Result:
    """Lists the nodes from which the value of the node NID is computed, nearest first."""
    return store.ancestors(**asked)


@click.command()
@answering
@hops
@nested
@nid
def descendants(store: Store, **asked: Any) -> Result:
    """Lists the nodes that the value of the node NID goes into, nearest first."""
    return store.descendants(**asked)


@click.command()
@answering
@click.argument("a", type=int)
@click.argument("b", type=int)
def between(store: Store, a: int, b: int) -> Result:
    """Lists the nodes on any way from the node A to the node B, given by nid."""
    return store.nodes_between(a, b)


@click.command()
@answering
@click.option("--hops", type=click.IntRange(min=1), default=1, show_default=True, help="At most that far.")
@nid
def neighbourhood(store: Store, **asked: Any) -> Result:
    """Lists the nodes near the node NID, in either direction, nearest first."""
    return store.neighbourhood(**asked)


@click.command(name="shortest-path")
@answering
@two[0]
@two[1]
def shortest_path(store: Store, a: int, b: int) -> Result:
    """Lists the nodes on a shortest way from the node A to the node B, given by nid."""
    return store.shortest_path(a, b)


@click.command(name="common-ancestors")
@answering
@two[0]
@two[1]
def common_ancestors(store: Store, a: int, b: int) -> Result:
    """Lists the nodes from which both A and B, given by nid, are computed, the nearest first."""
    return store.common_ancestors(a, b)


@click.command()
@answering
@run
@click.option("--stage", help="Default: all.")
@click.argument("module")
def subgraph(store: Store, **asked: Any) -> Result:
    """Lists the nodes of MODULE and of the modules in it."""
    return store.subgraph(**asked)


@click.command()
@answering
@run
@click.option("--stage", help="Default: all.")
@nested
@click.argument("pattern")
def match(store: Store, **asked: Any) -> Result:
    """Lists the nodes that match a PATTERN of operators, such as 'conv* -> *batch_norm*? -> relu'."""
    return store.match(**asked)
