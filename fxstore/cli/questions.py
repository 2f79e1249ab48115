"""The verbs that ask: ``sql`` and the macros."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fxstore.cli import limits, options

if TYPE_CHECKING:
    from fxstore.api import Store
    from fxstore.query.result import Result

# What the verbs that answer with a table share.


Verb = Callable[..., Any]
run = click.option("--run", help="Run id or name; default: the latest complete one.")


def answering(ask: Callable[..., Result]) -> Callable[..., None]:
    """Makes a verb of a function that takes the open store and the verb's own parameters, and returns the answer.

    Adds the options that choose the store, the form of the answer, and its limits.
    """

    @options.store
    @options.result_output
    @limits.options[0]
    @limits.options[1]
    @wraps(ask)
    def verb(
        store_path: str,
        form: str | None,
        raw: bool,
        page: Path | None,
        force: bool,
        timeout: float | None,
        memory: int | None,
        **asked: Any,
    ) -> None:
        with options.opened(store_path, writable=page is not None) as store:
            asker: Any = store if timeout is None and memory is None else store.limited(timeout, memory)
            options.show(ask(asker, **asked), form, page, force, raw)

    return verb


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


# The verbs that go over several runs, and those that count.


@click.command()
@answering
@click.argument("base")
@click.argument("head")
def diff(store: Store, base: str, head: str) -> Result:
    """Tells what became of each node between the runs BASE and HEAD."""
    return store.run_diff(base, head)


@click.command(name="metric-diff")
@answering
@click.argument("base")
@click.argument("head")
@metric
@overlay
@sample
def metric_diff(store: Store, **asked: Any) -> Result:
    """Compares METRIC of each node in the runs BASE and HEAD, what got worse first."""
    return store.metric_diff(**asked)


@click.command(name="op-counts")
@answering
@run
@click.option("--stage", help="Default: all.")
def op_counts(store: Store, **asked: Any) -> Result:
    """Counts the operators of each stage of a run."""
    return store.op_counts(**asked)


@click.command()
@answering
@run
@click.option("--stage", help="Default: the last one in which a backend took any operator.")
@click.option("--overlay", help="Default: the newest one that holds latencies.")
def fallback(store: Store, **asked: Any) -> Result:
    """Lists the operators that no backend took, and the time that they cost."""
    return store.fallback(**asked)


@click.command()
@answering
@of_node
@metric
def history(store: Store, **asked: Any) -> Result:
    """Lists METRIC of NODE of STAGE in each run of the model, oldest first."""
    return store.history(**asked)


@click.command(name="first-broken")
@answering
@of_node
@metric
@click.option("--threshold", type=float, required=True, help="The last value that is still good.")
def first_broken(store: Store, **asked: Any) -> Result:
    """Finds the run in which METRIC of NODE of STAGE went beyond the threshold, or became NaN."""
    return store.first_broken(**asked)


@click.command(name="stage-errors")
@answering
@run
@scope
@sample
@click.option("--threshold", type=float, required=True, help="The last value that is still good.")
@metric
def stage_errors(store: Store, **asked: Any) -> Result:
    """Tells which stage brought METRIC beyond the threshold, and the node where it starts."""
    return store.stage_errors(**asked)


@click.command(name="same-operator")
@answering
@click.argument("operator")
def same_operator(store: Store, operator: str) -> Result:
    """Lists the nodes with OPERATOR in the newest run of each model."""
    return store.same_operator(operator)


@click.command(cls=limits.Limited)
@limits.limited
@options.store
@click.argument("run", required=False)
@click.option("--base", metavar="RUN", help="Compare with this run; default: the last one in which the node was good.")
@click.option("--metric", help="Judge by this metric; default: sqnr, else cosine.")
@click.option("--threshold", type=float, help="Worst value that still counts as good; default: sqnr 20, cosine 0.99.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
def why(
    store_path: str, run: str | None, base: str | None, metric: str | None, threshold: float | None, form: str
) -> None:
    """Say in a few sentences what is wrong with RUN (default: the latest), where it starts and what is not known.

    Example: fxstore why nightly --base release --metric cosine --threshold 0.999
    """
    with options.opened(store_path) as store:
        found = store.why(run, base, metric=metric, threshold=threshold)
    from fxstore.query.text import visible

    click.echo(visible(found.caption), err=True)
    click.echo(found.json() if form == "json" else "\n".join(visible(str(one)) for one in found.sentences))
