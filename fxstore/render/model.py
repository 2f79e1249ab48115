"""What a compare page is made from: plain data, built by the query side and only rendered here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from fxstore.colors.scales import Measure
from fxstore.layout import Drawing, Stretch


@dataclass(frozen=True)
class DrawnGraph:
    """One graph of a pane.

    Attributes:
        title: ``''`` for a method's top graph when the stage has one method, else method and path, and for a delegate
            its backend: ``lowered_module_0 · XnnpackBackend``.
        nodes: One row per node, in order: nid, name, op, target, op_type, role, dtype, shape (list of text),
            module_path, backend, source_file, source_line, source_code, attrs (JSON text or NULL), width, height (of
            its box), unmatched (reason why it has no counterpart in a neighbouring stage, or NULL), side (of a
            training step, or NULL).
        edges: One row per use of a value: src, dst (row numbers in ``nodes``), src_port, dst_arg.
        drawing: Where they stand; box sizes are those of ``nodes``.
        parent_nid: The node that calls this graph, or None at the top.
        beside: Whether it holds neighbours of ``parent_nid`` that are left out of the drawing until they are asked for.
        stretch: What has brought ``drawing`` to the heights of its counterparts in other panes, so that a page which
            hides some of them can take it back; None where nothing has.
    """

    title: str
    nodes: pa.Table
    edges: pa.Table
    drawing: Drawing
    parent_nid: int | None = None
    beside: bool = False
    stretch: Stretch | None = None


@dataclass(frozen=True)
class Pane:
    """One stage of one run. Its graphs are drawn side by side, top graphs first.

    Attributes:
        run: Id of the run, which links name; '' where there is none.
    """

    title: str
    graphs: tuple[DrawnGraph, ...]
    subtitle: str = ""
    run: str = ""


@dataclass(frozen=True)
class Numbers:
    """The numbers of one sample.

    Attributes:
        name: The sample's, or its number in words.
        values: nid to number; NaN and infinite values are numbers.
        missing: nid to the reason why there is no number.
    """

    name: str
    values: dict[int, float] = field(default_factory=dict)
    missing: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ColorBy:
    """Values that colour nodes.

    Attributes:
        values: nid to number; NaN and infinite values are numbers and look broken.
        missing: nid to the reason why there is no number.
        better: ``higher``, ``lower`` or None where neither is.
        whole: What the numbers are a share of, as a time of the whole run's; None where they are none.
        threshold: Worst number that still passes the gate, or None.
        differ: nids of tensors that are known to differ although this metric is perfect (a cosine does not see a
            factor); None where nothing else was measured.
        texts: nid to category, for what is no number; then ``values`` is empty.
        fills: The fill of a category on a light and on a dark ground, in the order of the legend; what has none gets
            a colour of the page's.
        notes: nid to what is to be known of its number.
        samples: What ``values`` and ``missing`` are in each sample alone, in order; none where there are not several.
            ``values`` then has the worst of each node.
        all_samples: How many samples there are; more than ``samples``, where the page has not all of them.
        parts: Places of the page's other colours that this one unites, the first that knows a node before the others;
            none where it has numbers of its own. The page computes it from these.
    """

    name: str
    metric: str
    values: Mapping[int, float]
    missing: Mapping[int, str] = field(default_factory=dict)
    unit: str | None = None
    better: str | None = None
    texts: Mapping[int, str] = field(default_factory=dict)
    fills: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)
    samples: Sequence[Numbers] = ()
    all_samples: int = 0
    whole: float | None = None
    threshold: float | None = None
    differ: frozenset[int] | None = None
    parts: tuple[int, ...] = ()

    @property
    def measure(self) -> Measure:
        """What its scale depends on, beside the values."""
        return Measure(self.metric, self.unit, self.better, self.whole, self.threshold)


@dataclass(frozen=True)
class Answer:
    """The rows of the query that the page shows, and the nodes that each row names.

    Attributes:
        query: What was asked, as the user wrote it.
        columns: Names of the columns.
        rows: One tuple per row; cells are text, int, float (NaN and infinity included), bool or None.
        nids: The nodes that each row names, best first; empty where it names none.
        note: One line under the table (coverage, what was left out), or ''.
    """

    query: str
    columns: Sequence[str]
    rows: Sequence[tuple[object, ...]]
    nids: Sequence[Sequence[int]]
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """What the top of the page says about a run.

    Attributes:
        level: ``good``, ``warn`` or ``bad``.
        caption: What was judged: run, metric and threshold.
        sentences: Each a sequence of texts and of (name, nid), which leads to that node.
        stages: Those that tell the story: the reference, where the error starts, the device.
    """

    level: str
    caption: str
    sentences: Sequence[Sequence[str | tuple[str, int]]]
    stages: Sequence[str] = ()


@dataclass(frozen=True)
class PageModel:
    """Everything that one page shows.

    Attributes:
        sync_sets: Members of each sync set as (nid, is_primary); a node may be in several.
        focus: nid to the index of the one set that a click on it shows.
        highlight: Nodes highlighted when the page opens (the answer's), in rank order.
        facts: Name and value pairs for the page's "about" box: run name, versions, time.
        with_sources: Whether source files keep their absolute paths; otherwise the page holds only the path from the
            package on, or its last parts.
        with_code: Whether the page holds source code.
        equal_values: Sets of values, as (nid, port, evidence), that must be equal but for numerical error; those in
            different stages make value pairs.
        more: nid to how many of its neighbours are not on the page.
        left_out: What is not on the page, in one line, or ''.
        statistics: nid to what is known of its value: name and number; ``histogram`` is a list of counts.
        columns: Whether graphs that are much taller than wide stand in columns when the page opens.
        verdict: What is known of the run's accuracy; None where nothing was compared, or of several runs.
    """

    title: str
    panes: tuple[Pane, ...]
    sync_sets: Sequence[Sequence[tuple[int, bool]]]
    focus: Mapping[int, int]
    colors: tuple[ColorBy, ...] = ()
    answer: Answer | None = None
    highlight: Sequence[int] = ()
    facts: Sequence[tuple[str, str]] = ()
    with_sources: bool = False
    with_code: bool = True
    equal_values: Sequence[Sequence[tuple[int, int, str]]] = ()
    more: Mapping[int, int] = field(default_factory=dict)
    left_out: str = ""
    statistics: Mapping[int, Mapping[str, object]] = field(default_factory=dict)
    columns: bool = False
    verdict: Verdict | None = None
