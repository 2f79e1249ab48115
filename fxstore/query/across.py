"""The questions that go over several runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fxstore.query import session
from fxstore.query.result import Result

if TYPE_CHECKING:
    from fxstore.query.gates.check import Check
    from fxstore.query.why import Verdict


class Store(session.Store):
    """A store that compares runs with runs."""

    def run_diff(self, base: str, head: str) -> Result:
        """Returns what became of each node of two runs.

        Raises:
            QueryError: A run does not exist.
        """
        return self._call("run_diff", [base, head])

    def metric_diff(
        self, base: str, head: str, metric: str, overlay: str | None = None, sample: str | int | None = None
    ) -> Result:
        """Returns how each node's metric changed between two runs, what got worse first.

        Args:
            base: Id or name of a run.
            head: The same.
            metric: Name of a metric.
            overlay: Name of an overlay; default: every overlay that holds the metric.
            sample: Number or name of the only input that counts; default: the worst of all, of times the median.

        Raises:
            QueryError: A run does not exist, or does not have the metric or the sample.
        """
        return self._call("metric_diff", [base, head, metric], overlay=overlay, sample=sample)

    def check(self, base: str, head: str, rules: Sequence[str]) -> Check:
        """Returns what rules find in a run against a base: what tripped, and where data was not enough to tell.

        Args:
            base: Id or name of a run, or ``tag:KEY=VALUE~N`` for the last N complete runs with that tag.
            head: The same for what is checked; the newest of several stands for them, but for times.
            rules: Such as ``cosine >= 0.99``, ``p90_ms <= 1.1 * base``, ``coverage >= base``, ``no new fallback``.

        Raises:
            UsageError: A rule cannot be read.
            QueryError: There is no such run, or neither side has a rule's metric.
        """
        from fxstore.query.gates.check import evaluate

        return evaluate(self, base, head, [rules] if isinstance(rules, str) else rules)

    def why(
        self,
        run: str | None = None,
        base: str | None = None,
        *,
        metric: str | None = None,
        threshold: float | None = None,
    ) -> Verdict:
        """Returns the verdict on a run in a few sentences, and the facts that they rest on.

        It names the stage that introduced an error, the node and line where it starts, whether it reaches the output,
        what later stages and the device add, what runs outside of every backend, and what was not measured.

        Args:
            run: Id or name; default: the latest complete run.
            base: Run to compare that node with; default: the newest earlier run of the model in which it was good.
            metric: Accuracy metric to judge by; default: sqnr, else the first of snr, cosine, psnr, mismatch and
                max_rel that the run has.
            threshold: Worst value that still counts as good, in the metric's unit; default: 20 dB for sqnr, snr and
                psnr, 0.99 for cosine, 0.01 for mismatch, 0.1 for max_rel.

        Raises:
            QueryError: There is no such run or metric, or no metric of the run has a default threshold.
            UsageError: The metric has no default threshold, and none is given.

        Example:
            >>> import fxstore
            >>> with fxstore.connect(":memory:") as store:
            ...     store.why()
            Traceback (most recent call last):
            ...
            fxstore.errors.QueryError: the store has no run
        """
        from fxstore.query.why import verdict

        return verdict(self, run, base, metric, threshold)

    def op_counts(self, run: str | None = None, stage: str | None = None) -> Result:
        """Returns how often each operator stands in each stage of a run; SQL has all runs in ``operators``.

        Raises:
            QueryError: There is no such run or stage.
        """
        return self._call("op_counts", [], run=run, stage=stage)

    def fallback(self, run: str | None = None, stage: str | None = None, overlay: str | None = None) -> Result:
        """Returns the operators that no backend took, with the time that they cost where it was measured.

        Raises:
            QueryError: There is no such run or stage.
        """
        return self._call("fallback", [], run=run, stage=stage, overlay=overlay)

    def stage_errors(
        self,
        metric: str,
        threshold: float,
        run: str | None = None,
        scope: str | None = None,
        sample: str | int | None = None,
    ) -> Result:
        """Returns one row per measured stage, and which of them introduced an error, at which node.

        Args:
            sample: Number or name of the only input that counts; default: each is asked, and the starts are united.

        Raises:
            QueryError: The run has no such metric or sample.
        """
        return self._call("stage_errors", [metric, threshold], run=run, scope=scope, sample=sample)

    def history(
        self,
        stage: str,
        node: str,
        metric: str,
        run: str | None = None,
        method: str | None = None,
        path: str | None = None,
    ) -> Result:
        """Returns a node's metric in each run of its model, oldest first.

        Raises:
            QueryError: The run has no such stage, or the stage no such node.
        """
        return self._call("history", [stage, node, metric], run=run, method=method, path=path)

    def first_broken(
        self,
        stage: str,
        node: str,
        metric: str,
        threshold: float,
        run: str | None = None,
        method: str | None = None,
        path: str | None = None,
    ) -> Result:
        """Returns the runs in which a node's metric became bad, the newest first.

        Raises:
            QueryError: The run has no such stage, or the stage no such node.
        """
        return self._call("first_broken", [stage, node, metric, threshold], run=run, method=method, path=path)

    def same_operator(self, operator: str) -> Result:
        """Returns the nodes with an operator in the newest run of each model."""
        return self._call("same_operator", [operator])
