"""The verbs that go over several runs, and those that count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fxstore.cli.answering import answering, run
from fxstore.cli.questions import metric, of_node, overlay, sample, scope

if TYPE_CHECKING:
    from fxstore.api import Store
    from fxstore.query.result import Result


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
