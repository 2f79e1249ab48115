"""A store's relations in a Spark session: PySpark 4 (classic or Connect) or Sail.

>>> from fxstore.spark import register
>>> register(spark, "fxstore-runs")  # doctest: +SKIP
>>> spark.sql("SELECT op_type, sum(nodes) FROM operators GROUP BY op_type").show()  # doctest: +SKIP

The session reads the store's own Parquet files; nothing is copied. Only ``runs`` and ``stages``, which are JSON in the
store, are sent to it.
"""

from __future__ import annotations

import os
import re
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from fxstore.engines import portable
from fxstore.errors import UsageError

_TYPES: Final = {
    pa.string(): "STRING",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
}
# Sessions read these in a path as a pattern, and do not agree on how to say that it is none.
_PATTERN: Final = re.compile(r"[\[\]{}*?\\]")


def register(spark: Any, path: str | os.PathLike[str], *, prefix: str = "", at: str | None = None) -> tuple[str, ...]:
    """Makes each relation of a store a temporary view of a Spark session.

    The views show the runs that the store has now; register again to see later ones.

    Args:
        spark: A session.
        path: The store as this process reaches it: a path, or a URL, of which only small files are brought here.
        prefix: Begins the name of each view: for two stores in one session, or where ``nodes`` is a table already.
        at: The same store as the session's workers reach it, such as ``s3a://bucket/store``, where that differs.

    Returns:
        The names of the views that are for use. Private ones, which begin with an underscore, come with them.

    Raises:
        StoreError: There is no store at the path.
        UsageError: The prefix cannot begin a name, or the path is a pattern.
    """
    found = portable.snapshot(path)
    root, reached = str(found.directory.root), (at or found.directory.location).rstrip("/")
    try:
        if _PATTERN.search(reached):
            raise UsageError(f"Spark takes {reached!r} for a pattern of paths", hint="give at= a link to the store")
        found.directory.fetch(found.files["_sources"])
        chain = _unrolled(portable.hops(found.files["_sources"]))
    finally:
        found.directory.remove()
    views = portable.views("spark", _rewrite, prefix, {portable.CHAIN: chain})
    for name, files in found.files.items():
        frame = spark.read.schema(_columns(found.schemas[name])).parquet(
            *(reached + file.removeprefix(root) for file in files)
        )
        frame.createOrReplaceTempView(prefix + name)
    for name, table in found.tables.items():
        _sent(spark, table).createOrReplaceTempView(prefix + name)
    for name, query in views.items():
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query}")
    return portable.public(prefix)


def ask(spark: Any, question: str, *, prefix: str = "", **values: str | float | None) -> Any:
    """Returns the answer to a question over all runs of a store that is registered, as a frame.

    Args:
        question: ``counts`` (operators of each model), ``history`` (``stage``, ``node``, ``metric``, and
            ``model`` where only one is meant) or ``regressions`` (``metric``, and ``by`` how much it may get worse).
        prefix: The one that the store is registered with.
        values: What the question takes.

    Raises:
        UsageError: There is no such question, or it takes something else.
    """
    return spark.sql(portable.question(question, values, "spark", _rewrite, prefix))


def _sent(spark: Any, table: pa.Table) -> Any:
    """Returns rows as a frame. Times go as text: a session would take them for times in its own zone."""
    times = {field.name for field in table.schema if pa.types.is_timestamp(field.type)}
    as_text = pa.schema([field.with_type(pa.string()) if field.name in times else field for field in table.schema])
    frame = spark.createDataFrame(table.cast(as_text), _columns(as_text))
    return frame.selectExpr(
        *(f"CAST({name} AS TIMESTAMP_NTZ) AS {name}" if name in times else name for name in table.column_names)
    )


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"`{field.name}` {_type(field.type)}" for field in schema)


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"ARRAY<{_type(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"MAP<{_type(kind.key_type)}, {_type(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(f'`{field.name}`: {_type(field.type)}' for field in kind)}>"
    return _TYPES[kind]


def _rewrite(query: exp.Expression) -> exp.Expression:
    """Spark's lists keep no order, and are never NULL: what is sorted by itself is sorted, a map needs no order."""
    for made in list(query.find_all(exp.ArrayAgg)):
        if not isinstance(made.this, exp.Order):
            continue
        value, keys = made.this.this, [key.this for key in made.this.expressions]
        if isinstance(value, exp.Tuple) and made.find_ancestor(exp.MapFromEntries):
            entries = made.find_ancestor(exp.Coalesce)
            made.replace(exp.func("COLLECT_LIST", exp.func("STRUCT", *value.expressions)))
            if entries:
                entries.replace(entries.this)
        elif isinstance(value, exp.Distinct) and value.expressions == keys:
            made.replace(exp.func("SORT_ARRAY", exp.func("COLLECT_SET", *keys)))
        else:
            raise NotImplementedError(f"Spark would lose the order of {made.sql(dialect='duckdb')}")
    return query


def _unrolled(hops: int) -> str:
    """Returns the chains of ancestors without recursion: Sail and Spark 4.0 have none, and later ones limit it."""
    paths = "SELECT s.graph_hash, s.source, s.parent, ARRAY(s.source) AS path FROM _parents AS s"
    for _ in range(hops - 1):
        paths = (
            "SELECT c.graph_hash, c.source, p.parent, "
            "CASE WHEN p.source IS NULL THEN c.path ELSE CONCAT(c.path, ARRAY(p.source)) END AS path "
            f"FROM ({paths}) AS c LEFT JOIN _parents AS p ON p.graph_hash = c.graph_hash AND p.source = c.parent"
        )
    return (
        "SELECT o.graph_hash, o.position, o.branch, e.place + 1 AS hop, e.source FROM _origins AS o "
        f"JOIN ({paths}) AS c ON c.graph_hash = o.graph_hash AND c.source = o.source "
        "LATERAL VIEW POSEXPLODE(c.path) e AS place, source"
    )
