"""The verbs that ask: ``sql`` and the macros."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fxstore.cli import limits, options
from fxstore.errors import UsageError

if TYPE_CHECKING:
    from fxstore.api import Store
    from fxstore.query.result import Result

# What the verbs that answer with a table share.


Verb = Callable[..., Any]
run = click.option(
    "--run", shell_complete=options.listed("run"), help="Run id or name; default: the latest complete one."
)


def answering(ask: Callable[..., Result]) -> Callable[..., None]:
    """Makes a verb of a function that takes the open store and the verb's own parameters, and returns the answer.

    Adds the options that choose the store, the form of the answer, and its limits.
    """
    own = len(getattr(ask, "__click_params__", ()))

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

    # A verb's own parameters first in its help: click lists those of the list's end first.
    parameters = verb.__click_params__  # type: ignore[attr-defined]
    parameters[:] = [*parameters[own:], *parameters[:own]]
    return verb


metric = click.argument("metric", shell_complete=options.listed("metric"))
overlay = click.option(
    "--overlay", shell_complete=options.listed("overlay"), help="Default: every overlay that holds METRIC."
)
sample = click.option("--sample", help="Only this input, by number or name; default: the worst, of times the median.")
scope = click.option(
    "--scope", type=click.Choice(("local", "cumulative")), help="Default: cumulative, where METRIC has both."
)
hops = click.option("--hops", type=click.IntRange(min=1), help="Maximum distance; default: unlimited.")
nested = click.option("--nested", is_flag=True, help="Also follow values into and out of nested graphs.")


def of_node(ask: Verb) -> Verb:
    """Adds the parameters that name a node by stage and name."""
    parameters = (
        run,
        click.option("--method", help="Where NODE stands in several methods; default: all of them."),
        click.option("--path", help="Where NODE stands in several graphs: '' is the top one; default: all of them."),
        click.argument("stage", shell_complete=options.listed("stage")),
        click.argument("node", shell_complete=options.listed("node")),
    )
    for parameter in reversed(parameters):
        ask = parameter(ask)
    return ask


@click.command()
@answering
@click.argument("query")
def sql(store: Store, query: str) -> Result:
    """Answer one read-only SQL statement; `fxstore schema` prints the relations and macros.

    Example: fxstore sql "SELECT stage, count(*) FROM nodes GROUP BY stage"
    """
    return store.sql(query)


@click.command()
@answering
@run
@click.option("--stage", shell_complete=options.listed("stage"), help="Default: all that METRIC is measured in.")
@overlay
@scope
@sample
@click.option("-n", type=click.IntRange(min=1), default=20, show_default=True, help="Number of rows.")
@metric
def worst(store: Store, **asked: Any) -> Result:
    """Rank nodes by METRIC, broken values first: NaN, then infinite, then the worst number.

    Example: fxstore worst cosine -n 10 --compare worst.html
    """
    return store.worst(**asked)


@click.command(name="first-bad")
@answering
@run
@overlay
@scope
@sample
@click.option("--threshold", type=float, required=True, help="Worst value that still counts as good.")
@metric
def first_bad(store: Store, **asked: Any) -> Result:
    """Find where an error starts: bad nodes none of whose inputs is bad.

    Example: fxstore first-bad cosine --threshold 0.99
    """
    return store.first_bad(**asked)


@click.command()
@answering
@of_node
def sync(store: Store, **asked: Any) -> Result:
    """List the counterparts of a node in every stage.

    Example: fxstore sync float conv2d_1
    """
    return store.sync(**asked)


@click.command()
@answering
@of_node
def trace(store: Store, **asked: Any) -> Result:
    """Follow a node through the stages, with the evidence for each step.

    Example: fxstore trace runtime getitem_9
    """
    return store.trace(**asked)


def one_node(ask: Verb) -> Verb:
    """Adds the parameters of a verb about one node: its nid, or its stage and name; the verb gets the nid."""

    @run
    @click.argument("node", nargs=-1, required=True, metavar="NID | STAGE NODE", shell_complete=options.listed("place"))
    @wraps(ask)
    def verb(store: Store, node: tuple[str, ...], run: str | None, **asked: Any) -> Result:
        if len(node) > 2:
            raise UsageError(f"a node is a nid, or a stage and a name, not {' '.join(node)!r}", hint=_ONE_NODE)
        answer: Result = ask(store, nid=_nid_of(store, node, run), **asked)
        return answer

    return verb


def two_nodes(ask: Verb) -> Verb:
    """Adds the parameters of a verb about two nodes of a stage: two nids, or the stage and two names."""

    @run
    @click.argument("nodes", nargs=-1, required=True, metavar="A B | STAGE A B", shell_complete=options.listed("place"))
    @wraps(ask)
    def verb(store: Store, nodes: tuple[str, ...], run: str | None) -> Result:
        *stage, a, b = ("", *nodes) if len(nodes) < 3 else nodes
        if len(nodes) not in (2, 3):
            raise UsageError("two nodes are two nids, or a stage and two names", hint=_TWO_NODES)
        places = [(a,), (b,)] if len(nodes) == 2 else [(stage[-1], a), (stage[-1], b)]
        answer: Result = ask(store, *(_nid_of(store, place, run) for place in places))
        return answer

    return verb


_ONE_NODE = "fxstore ancestors quantized conv2d_1"
_TWO_NODES = "fxstore between float conv2d linear"


def _nid_of(store: Store, node: tuple[str, ...], run: str | None) -> int:
    """Returns the nid of a node that is given by nid, or by stage and name."""
    if len(node) == 1:
        if not node[0].isdecimal():
            raise UsageError(f"{node[0]!r} is no nid", hint=f"give the stage, too: {_ONE_NODE}")
        return int(node[0])
    found = [row for row in store.sync(node[0], node[1], run=run).arrow().to_pylist() if row["nid"] == row["asked_nid"]]
    found = [row for row in found if row["path"] == ""] or found
    if len(found) > 1:
        places = ", ".join(f"{row['nid']} ({row['method']}{'/' if row['path'] else ''}{row['path']})" for row in found)
        raise UsageError(
            f"{len(found)} nodes of stage {node[0]!r} are called {node[1]!r}", hint=f"give a nid: {places}"
        )
    return int(found[0]["nid"])


@click.command()
@answering
@hops
@nested
@one_node
def ancestors(store: Store, **asked: Any) -> Result:
    """List the nodes from which a node's value is computed, nearest first.

    Example: fxstore ancestors quantized conv2d_1 --hops 3
    """
    return store.ancestors(**asked)


@click.command()
@answering
@hops
@nested
@one_node
def descendants(store: Store, **asked: Any) -> Result:
    """List the nodes that a node's value goes into, nearest first.

    Example: fxstore descendants float conv2d
    """
    return store.descendants(**asked)


@click.command()
@answering
@two_nodes
def between(store: Store, a: int, b: int) -> Result:
    """List the nodes on any path from the node A to the node B.

    Example: fxstore between float conv2d linear
    """
    return store.nodes_between(a, b)


@click.command()
@answering
@click.option("--hops", type=click.IntRange(min=1), default=1, show_default=True, help="Maximum distance.")
@one_node
def neighbourhood(store: Store, **asked: Any) -> Result:
    """List the nodes near a node, in either direction, nearest first.

    Example: fxstore neighbourhood edge aten_convolution_default --hops 2
    """
    return store.neighbourhood(**asked)


@click.command(name="shortest-path")
@answering
@two_nodes
def shortest_path(store: Store, a: int, b: int) -> Result:
    """List the nodes on a shortest path from the node A to the node B.

    Example: fxstore shortest-path float conv2d linear
    """
    return store.shortest_path(a, b)


@click.command(name="common-ancestors")
@answering
@two_nodes
def common_ancestors(store: Store, a: int, b: int) -> Result:
    """List the nodes from which both A and B are computed, the nearest first.

    Example: fxstore common-ancestors float add_1 linear
    """
    return store.common_ancestors(a, b)


@click.command()
@answering
@run
@click.option("--stage", shell_complete=options.listed("stage"), help="Default: all.")
@click.argument("module", shell_complete=options.listed("module"))
def subgraph(store: Store, **asked: Any) -> Result:
    """List the nodes of MODULE and of the modules in it.

    Example: fxstore subgraph attention --stage float
    """
    return store.subgraph(**asked)


@click.command()
@answering
@run
@click.option("--stage", shell_complete=options.listed("stage"), help="Default: all.")
@nested
@click.argument("pattern")
def match(store: Store, **asked: Any) -> Result:
    """List the nodes that match a PATTERN of operators.

    Example: fxstore match 'conv* -> *batch_norm*? -> relu' --stage float
    """
    return store.match(**asked)


# The verbs that go over several runs, and those that count.


@click.command()
@answering
@click.argument("base", shell_complete=options.listed("run"))
@click.argument("head", shell_complete=options.listed("run"))
def diff(store: Store, base: str, head: str) -> Result:
    """Show what became of each node between the runs BASE and HEAD.

    Example: fxstore diff monday tuesday
    """
    return store.run_diff(base, head)


@click.command(name="metric-diff")
@answering
@click.argument("base", shell_complete=options.listed("run"))
@click.argument("head", shell_complete=options.listed("run"))
@metric
@overlay
@sample
def metric_diff(store: Store, **asked: Any) -> Result:
    """Compare METRIC of each node in the runs BASE and HEAD, what got worse first.

    Example: fxstore metric-diff monday tuesday cosine
    """
    return store.metric_diff(**asked)


@click.command(name="op-counts")
@answering
@run
@click.option("--stage", shell_complete=options.listed("stage"), help="Default: all.")
def op_counts(store: Store, **asked: Any) -> Result:
    """Count the operators of each stage of a run.

    Example: fxstore op-counts --stage edge
    """
    return store.op_counts(**asked)


@click.command()
@answering
@run
@click.option(
    "--stage",
    shell_complete=options.listed("stage"),
    help="Default: the last one in which a backend took any operator.",
)
@click.option("--overlay", help="Default: the newest one that holds latencies.")
def fallback(store: Store, **asked: Any) -> Result:
    """List the operators that no backend took, and the time that they cost.

    Example: fxstore fallback --compare fallback.html
    """
    return store.fallback(**asked)


@click.command()
@answering
@of_node
@metric
def history(store: Store, **asked: Any) -> Result:
    """List a node's METRIC in each run of the model, oldest first.

    Example: fxstore history quantized conv2d_1 cosine
    """
    return store.history(**asked)


@click.command(name="first-broken")
@answering
@of_node
@metric
@click.option("--threshold", type=float, required=True, help="Worst value that still counts as good.")
def first_broken(store: Store, **asked: Any) -> Result:
    """Find the run in which a node's METRIC went beyond the threshold, or became NaN.

    Example: fxstore first-broken quantized conv2d_1 cosine --threshold 0.99
    """
    return store.first_broken(**asked)


@click.command(name="stage-errors")
@answering
@run
@scope
@sample
@click.option("--threshold", type=float, required=True, help="Worst value that still counts as good.")
@metric
def stage_errors(store: Store, **asked: Any) -> Result:
    """Find the stage that brought METRIC beyond the threshold, and the node where it starts.

    Example: fxstore stage-errors cosine --threshold 0.99
    """
    return store.stage_errors(**asked)


@click.command(name="same-operator")
@answering
@click.argument("operator")
def same_operator(store: Store, operator: str) -> Result:
    """List the nodes with OPERATOR in the newest run of each model.

    Example: fxstore same-operator sigmoid
    """
    return store.same_operator(operator)


@click.command(cls=limits.Limited)
@limits.limited
@options.store
@click.argument("run", required=False, shell_complete=options.listed("run"))
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
