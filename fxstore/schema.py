"""The relations of a store: each view and column defined once, with its type, its unit and what NULL means.

From here come the Arrow schemas of the files (:mod:`fxstore.tables`), the comments in the store (``COMMENT ON``), what
``fxstore schema`` prints, ``docs/schema.md`` and the words that pages show. The SQL of a view stands in
``query/sql/relations/<name>.sql``; a test compares its columns and types with these.

To add a column: add it here, at the end of its relation, and to the SELECT of its view; if it is stored, also to its
table in :mod:`fxstore.tables`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fxstore.vocabulary import (
    Aggregation,
    Better,
    Evidence,
    MetricStatus,
    OverlayKind,
    Role,
    Scope,
    StageKind,
    Status,
    Verdict,
)

TEXT: Final = "VARCHAR"
TEXTS: Final = "VARCHAR[]"
INT: Final = "INTEGER"
LONG: Final = "BIGINT"
LONGS: Final = "BIGINT[]"
REAL: Final = "DOUBLE"
FLAG: Final = "BOOLEAN"
TIME: Final = "TIMESTAMP"
TAGS: Final = "MAP(VARCHAR, VARCHAR)"
COUNTS: Final = "MAP(VARCHAR, BIGINT)"


@dataclass(frozen=True)
class Column:
    """One column of a relation.

    Attributes:
        type: As DuckDB writes it.
        about: What it holds, as a phrase without a full stop.
        null: When it is NULL, to be read after "NULL": ``at the top``. Empty where "or NULL" says enough; None where it
            is never NULL.
        unit: Unit of its numbers; None where it has none.
    """

    name: str
    type: str
    about: str
    null: str | None = None
    unit: str | None = None

    @property
    def comment(self) -> str:
        """The column in one sentence.

        >>> Column("backend", TEXT, "Backend that runs it", null="").comment
        'Backend that runs it, or NULL.'
        >>> Column("bytes", LONG, "Size of the tensor", null="where its shape is symbolic", unit="bytes").comment
        'Size of the tensor, in bytes; NULL where its shape is symbolic.'
        """
        about = f"{self.about}, in {self.unit}" if self.unit else self.about
        if self.null is None:
            return about if about.endswith("…") else f"{about}."
        return f"{about}; NULL {self.null}." if self.null else f"{about}, or NULL."


class Relation:
    """One view: its name, what a row is, its columns in order."""

    def __init__(self, name: str, about: str, *columns: Column) -> None:
        self.name = name
        self.about = about
        self.columns = columns

    def __getitem__(self, column: str) -> Column:
        return next(one for one in self.columns if one.name == column)

    def comments(self) -> str:
        """Returns the statements that put the comments into the store."""
        said = [f"COMMENT ON VIEW {self.name} IS {_literal(self.about)};"]
        said += [f"COMMENT ON COLUMN {self.name}.{c.name} IS {_literal(c.comment)};" for c in self.columns]
        return "\n".join(said)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


RUN_ID: Final = Column("run_id", TEXT, "The run")
_INFERRED: Final = " and ".join(word for word in Evidence if word.inferred)

RELATIONS: Final[dict[str, Relation]] = {
    one.name: one
    for one in (
        Relation(
            "runs",
            "One row per run: one compile (and, where there is one, execution) of one model, newest first.",
            Column("run_id", TEXT, "Eight hexadecimal digits that name the run"),
            Column("name", TEXT, "Name given at ingest; several runs may share one"),
            Column("model", TEXT, "Name of the model", null=""),
            Column("created_at", TIME, "When the run was committed, UTC"),
            Column("status", TEXT, "complete, or partial where the recording was left by an error"),
            Column("tags", TAGS, "Tags given at ingest"),
            Column("versions", TAGS, "Versions of the packages that compiled it"),
            Column("nodes", LONG, "Number of nodes in all its graphs"),
        ),
        Relation(
            "stages",
            "One row per stage of a run, in pipeline order.",
            RUN_ID,
            Column("stage", TEXT, "Name of the stage, unique within the run"),
            Column("stage_index", INT, "Place in the pipeline, from 0"),
            Column("kind", TEXT, StageKind.listed()),
            Column("status", TEXT, Status.listed()),
            Column("note", TEXT, "What is missing and why", null=""),
        ),
        Relation(
            "graphs",
            "One row per graph: a stage holds one per method, and the graphs nested in it.",
            Column("graph_id", LONG, "The graph; never equal to a nid"),
            RUN_ID,
            Column("stage", TEXT, "The stage"),
            Column("stage_index", INT, "Place of the stage in the pipeline, from 0"),
            Column("method", TEXT, "Entry point, forward for most"),
            Column("path", TEXT, "Empty at the top, else the nested graph's: true_graph_0, lowered_module_0/…"),
            Column("parent_nid", LONG, "The node that calls it", null="at the top"),
            Column("fingerprint", TEXT, "Hash of its content: equal graphs of any run have equal fingerprints"),
            Column("nodes", INT, "Number of its nodes"),
        ),
        Relation(
            "nodes",
            "One row per node of every graph.",
            Column("nid", LONG, "The node, unique in the store; any column that holds nids makes a result renderable"),
            Column("graph_id", LONG, "Its graph"),
            Column("run_id", TEXT, "Its run"),
            Column("stage", TEXT, "Its stage"),
            Column("method", TEXT, "Entry point of its graph"),
            Column("path", TEXT, "Path of its graph, empty at the top"),
            Column("position", INT, "Topological place in its graph, from 0"),
            Column("name", TEXT, "Name, unique in its graph only"),
            Column("op", TEXT, "placeholder, get_attr, call_function, call_module, call_method or output"),
            Column("target", TEXT, "What it calls, such as aten.conv2d.default"),
            Column("op_type", TEXT, "Operator without namespace, overload and dialect: conv2d"),
            Column("role", TEXT, f"Main role: {', '.join(list(Role)[:10])}, …"),
            Column("dtype", TEXT, "Type of output port 0", null="for what is no tensor"),
            Column("shape", TEXTS, "Shape of output port 0, symbols as text", null="for what is no tensor"),
            Column("device", TEXT, "Device of output port 0", null=""),
            Column("module_path", TEXT, "Path of the module that it came from", null=""),
            Column("module_type", TEXT, "Type of that module", null=""),
            Column("module_call", INT, "Which call of that module instance, from 1", null="without a module"),
            Column("backend", TEXT, "Backend that runs it", null=""),
            Column("source_file", TEXT, "File of the innermost source line of the user's own", null=""),
            Column("source_line", INT, "Number of that line, from 1", null=""),
            Column("source_code", TEXT, "Text of that line", null=""),
            Column("fingerprint", TEXT, "Hash of operator, type and inputs: equal under renaming and renumbering"),
            Column("attrs", TEXT, "JSON object: constant arguments, further outputs, quantisation parameters", null=""),
            Column("ports", INT, "Number of output values"),
            Column("stage_index", INT, "Place of its stage in the pipeline, from 0"),
        ),
        Relation(
            "node_roles",
            "One row per role of a node: nodes.role has the main one, this has all.",
            Column("nid", LONG, "The node"),
            Column(
                "role", TEXT, "One of its roles; training graphs add tangent, forward, backward, saved, recomputed, …"
            ),
        ),
        Relation(
            "edges",
            "One row per use of a value: x + x is two.",
            Column("graph_id", LONG, "The graph of both ends"),
            RUN_ID,
            Column("src_nid", LONG, "Node that gives the value"),
            Column("src_port", INT, "Which of its outputs, from 0"),
            Column("dst_nid", LONG, "Node that uses it"),
            Column("dst_arg", TEXT, "Argument path: 0, 0[1], alpha"),
            Column("position", INT, "Place among the uses by that node, from 0"),
        ),
        Relation(
            "provenance",
            "One row per hop of the chain of ancestors that a node names about itself, as the compiler recorded it.",
            Column("nid", LONG, "The node"),
            Column("hop", INT, "Distance in the chain: 1 is the nearest ancestor"),
            Column("branch", INT, "Number of the chain, from 0, where a node has several"),
            Column("ancestor_name", TEXT, "Name of the ancestor"),
            Column("ancestor_nid", LONG, "The ancestor, where its graph is in the run; else NULL"),
            Column("pass_name", TEXT, "Pass that made the step"),
            Column("action", TEXT, "What it did: create, replace, …"),
            Column("ancestor_target", TEXT, "Target of the ancestor"),
            RUN_ID,
        ),
        Relation(
            "handles",
            "One row per handle of a node. A handle is valid only inside its run, method and namespace.",
            Column("nid", LONG, "The node"),
            RUN_ID,
            Column("method", TEXT, "Entry point that the handle belongs to"),
            Column("namespace", TEXT, "Numbering that it belongs to: debug_handle or instruction"),
            Column("handle", LONG, "The number"),
        ),
        Relation(
            "links",
            "One row per correspondence: this node became that node.",
            RUN_ID,
            Column("src_nid", LONG, "Node in the earlier stage"),
            Column("dst_nid", LONG, "Node in the later stage"),
            Column("evidence", TEXT, Evidence.listed()),
            Column("inferred", FLAG, f"True where the compiler did not record it: {_INFERRED}"),
            Column("note", TEXT, "Remark", null=""),
        ),
        Relation(
            "sync_sets",
            "One row per member of a set: all nodes of a run that are one computation. Sets may overlap.",
            RUN_ID,
            Column("sync_id", LONG, "The set; never equal to a nid"),
            Column("nid", LONG, "The member"),
            Column("stage", TEXT, "Stage of the member"),
            Column("name", TEXT, "Name of the member"),
            Column("is_primary", FLAG, "True for the member that holds the value of the computation in its stage"),
            Column("focus", FLAG, "True in the one set that a click on the node shows"),
        ),
        Relation(
            "value_pairs",
            "One row per two values that must be equal up to numerical error, the reference in the earlier stage.",
            RUN_ID,
            Column("ref_nid", LONG, "Node of the reference value, in the earlier stage"),
            Column("ref_port", INT, "Its output, from 0"),
            Column("nid", LONG, "Node of the compared value"),
            Column("port", INT, "Its output, from 0"),
            Column("evidence", TEXT, "The weaker evidence of the two: identity, from_node, handle, signature, …"),
        ),
        Relation(
            "overlays",
            "One row per overlay: a named set of metrics or categories with one source. The largest of a run's "
            "overlay_id is its oldest overlay.",
            Column("overlay_id", LONG, "The overlay; never equal to a nid"),
            RUN_ID,
            Column("name", TEXT, "Name, as the macros take it"),
            Column("kind", TEXT, OverlayKind.listed()),
            Column("source", TEXT, "Where its numbers come from"),
            Column("unit", TEXT, "Unit of its values", null=""),
            Column(
                "better", TEXT, Better.listed(), null="where neither is known, or each metric has its own direction"
            ),
        ),
        Relation(
            "samples",
            "One row per input of an overlay that has a name: a prompt, a decode step.",
            Column("overlay_id", LONG, "Its overlay"),
            RUN_ID,
            Column("sample", INT, "Its number, as metrics.sample has it"),
            Column("name", TEXT, "Its name"),
        ),
        Relation(
            "metrics",
            "One row per measured value of a (node, port), or the reason why there is none.",
            Column("overlay_id", LONG, "Its overlay"),
            RUN_ID,
            Column("nid", LONG, "The node", null="for what belongs to the run, such as a framework event"),
            Column("port", INT, "Output of the node, from 0"),
            Column("metric", TEXT, "Name of the metric: cosine, mse, sqnr, p90_ms, …"),
            Column("value", REAL, "The number, NaN and infinity included", null="only where there is none"),
            Column("text", TEXT, "The category, for an overlay of categories; else NULL"),
            Column("status", TEXT, MetricStatus.listed()),
            Column("reason", TEXT, "Why there is no number, or why it is not finite; else NULL"),
            Column(
                "scope",
                TEXT,
                f"{Scope.LOCAL} ({Scope.LOCAL.about}), {Scope.CUMULATIVE} ({Scope.CUMULATIVE.about})",
                null="",
            ),
            Column("ref_nid", LONG, "Node that it was compared with", null=""),
            Column("sample", INT, "Which input it was measured on, from 0; samples has the names", null=""),
            Column("unit", TEXT, "Its unit: 1 for a ratio, dB, ns, bytes, value for the tensor's own", null=""),
            Column("better", TEXT, Better.listed(), null="where neither is known"),
            Column("threshold", REAL, "Worst value that still counts as good", null="where none was set"),
            Column(
                "verdict",
                TEXT,
                f"{Verdict.listed()} by the threshold; a number that is not finite fails",
                null="without a threshold or a number",
            ),
            Column(
                "aggregation",
                TEXT,
                "How a question makes one number of all that a node has: "
                + ", ".join(f"{one} ({one.about})" for one in Aggregation),
            ),
        ),
        Relation(
            "coverage",
            "One row per overlay and stage that it measures: how many of its nodes have a value. Nodes that call "
            "nothing (inputs, parameters) count only where the overlay mentions them.",
            RUN_ID,
            Column("overlay_id", LONG, "The overlay"),
            Column("stage", TEXT, "The stage"),
            Column("nodes", LONG, "Nodes of the stage that could have a value"),
            Column("measured", LONG, "Those with a value; NaN and infinity are values"),
            Column("not_measured", LONG, "Those without"),
            Column(
                "reasons",
                COUNTS,
                "Reason, without the nodes that it names, to number of nodes without a value; no data where the "
                "overlay does not mention them",
            ),
        ),
        Relation(
            "unmatched",
            "One row per node without a link to the stage before or after.",
            RUN_ID,
            Column("nid", LONG, "The node"),
            Column("stage", TEXT, "Its stage"),
            Column("name", TEXT, "Its name"),
            Column("towards", TEXT, "The neighbouring stage in which it has no counterpart"),
            Column("reason", TEXT, "Why, as far as it is known"),
        ),
        Relation(
            "delegation",
            "One row per call of a delegate: a part of the graph that a backend took.",
            RUN_ID,
            Column("nid", LONG, "The call"),
            Column("backend", TEXT, "The backend"),
            Column("inner_nodes", LONG, "Nodes of the graph that it took; 0 where that graph is not in the store"),
            Column(
                "handles",
                LONGS,
                "Handles of the inner nodes in the namespace debug_handle, each once; handles has the others",
            ),
            Column("inner_ops", LONG, "Operators among the inner nodes"),
            Column("stage", TEXT, "Stage of the call"),
            Column("name", TEXT, "Name of the call"),
        ),
        Relation(
            "operators",
            "One row per operator of a stage of a run: how often it stands there, nested graphs included.",
            RUN_ID,
            Column("stage", TEXT, "The stage"),
            Column("op_type", TEXT, "Operator without namespace, overload and dialect: conv2d"),
            Column("nodes", LONG, "Number of its nodes"),
            Column("stage_index", INT, "Place of the stage in the pipeline, from 0"),
        ),
        Relation(
            "saved_tensors",
            "One row per value that a training step's forward graph saves for its backward graph.",
            RUN_ID,
            Column("nid", LONG, "The value's node in the forward graph"),
            Column(
                "backward_nid", LONG, "The placeholder of the backward graph that takes it, or NULL where none is known"
            ),
            Column("stage", TEXT, "Stage of the forward graph"),
            Column("method", TEXT, "Its method"),
            Column("name", TEXT, "Name of the value's node"),
            Column("op_type", TEXT, "Operator that computes it"),
            Column("target", TEXT, "Its target; of a parameter or a buffer its name in the model"),
            Column(
                "role", TEXT, "Main role: saved, or input, parameter, buffer where it is an input that is saved, too"
            ),
            Column("dtype", TEXT, "Element type"),
            Column("shape", TEXTS, "Sizes as text; symbols keep their name"),
            Column("bytes", LONG, "Size of the tensor", null="where its shape is symbolic", unit="bytes"),
            Column(
                "new_bytes",
                LONG,
                "Memory that lives on only because it is saved: 0 for inputs, and for views of inputs or of what "
                "another row counts",
            ),
            Column("kind", TEXT, "tensor, input, view (of another value), or view of input"),
            Column("view_of", TEXT, "Name of the forward graph's node whose memory it shares", null=""),
            Column("readers", LONG, "How many nodes of the backward graph read it"),
            Column("module_path", TEXT, "Module that computes it"),
            Column("source_file", TEXT, "File of the line that computes it"),
            Column("source_line", INT, "That line"),
        ),
        Relation(
            "recomputed",
            "One row per operator of a training step that runs in its forward graph and again in its backward graph.",
            RUN_ID,
            Column("nid", LONG, "The operator in the forward graph"),
            Column("backward_nid", LONG, "The operator in the backward graph"),
            Column("stage", TEXT, "Stage of the forward graph"),
            Column("method", TEXT, "Its method"),
            Column("name", TEXT, "Name in the forward graph"),
            Column("op_type", TEXT, "The operator"),
            Column("target", TEXT, "Its target"),
            Column("dtype", TEXT, "Element type of its value"),
            Column("shape", TEXTS, "Sizes as text; symbols keep their name"),
            Column(
                "bytes", LONG, "Size of its value, which is not kept", null="where the shape is symbolic", unit="bytes"
            ),
            Column(
                "flops", LONG, "Floating-point operations that the second run costs", null="where they are not known"
            ),
            Column("module_path", TEXT, "Module that computes it"),
            Column("source_file", TEXT, "File of the line that computes it"),
            Column("source_line", INT, "That line"),
        ),
    )
}
