"""A store's relations in a DataFusion context.

>>> import datafusion
>>> from fxstore.datafusion import register
>>> context = datafusion.SessionContext()  # doctest: +SKIP
>>> register(context, "fxstore-runs")  # doctest: +SKIP
>>> context.sql("SELECT op_type, sum(nodes) FROM operators GROUP BY op_type").show()  # doctest: +SKIP
"""

from __future__ import annotations

import atexit
import os
import warnings
from itertools import chain
from typing import Any, Final
from weakref import WeakKeyDictionary

import pyarrow as pa
from sqlglot import exp

from fxstore.engines import portable
from fxstore.errors import UsageError

# The nearest that sqlglot knows: where NULLs sort, and how an anti join is said.
_DIALECT: Final = "postgres"
# What was registered in each context, which may be replaced.
_OURS: Final[WeakKeyDictionary[Any, set[str]]] = WeakKeyDictionary()


def register(context: Any, path: str | os.PathLike[str], *, prefix: str = "") -> tuple[str, ...]:
    """Makes each relation of a store a view of a DataFusion context.

    The views show the runs that the store has now; register again to see later ones.

    Args:
        context: A ``datafusion.SessionContext``.
        path: The store; of one at a URL, all files are brought here. One of thousands of runs should be compacted:
            DataFusion opens all files of a relation at once.
        prefix: Begins the name of each view: for two stores in one context, or where ``nodes`` is a table already.

    Returns:
        The names of the views that are for use. Private ones, which begin with an underscore, come with them.

    Raises:
        StoreError: There is no store at the path.
        UsageError: The prefix cannot begin a name, or the context has a table of such a name that is not a store's.
    """
    import pyarrow.dataset as ds

    found = portable.snapshot(path)
    atexit.register(found.directory.remove)
    found.directory.fetch(chain.from_iterable(found.files.values()))
    _mind_the_limit(max(map(len, found.files.values())))
    views = portable.views(_DIALECT, _rewrite, prefix)
    _claim(context, [*(prefix + name for name in (*found.files, *found.tables)), *views])
    for name, files in found.files.items():
        _put(context, prefix + name, ds.dataset(files, schema=found.schemas[name], format="parquet"))
    for name, table in found.tables.items():
        _put(context, prefix + name, ds.dataset(table))
    for name, query in views.items():
        context.sql(f"CREATE OR REPLACE VIEW {name} AS {query}")
    return portable.public(prefix)


def ask(context: Any, question: str, *, prefix: str = "", **values: str | float | None) -> Any:
    """Returns the answer to a question over all runs of a store that is registered, as a frame.

    Args:
        question: As :func:`fxstore.spark.ask` has them.
        prefix: The one that the store is registered with.
        values: What the question takes.

    Raises:
        UsageError: There is no such question, or it takes something else.
    """
    return context.sql(portable.question(question, values, _DIALECT, _rewrite, prefix))


def _mind_the_limit(files: int) -> None:
    """Warns where a relation has more files than this process may open: DataFusion opens all of them at once."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files >= limit != resource.RLIM_INFINITY:
        warnings.warn(
            f"DataFusion will open {files:,} files at once, and this process may open {limit:,} files: "
            "put runs together first (fxstore compact), or raise the limit (ulimit -n)",
            stacklevel=3,
        )


def _claim(context: Any, names: list[str]) -> None:
    """Raises where a name is a table of the user's, which would be gone."""
    ours = _OURS.setdefault(context, set())
    for name in names:
        if name not in ours and context.table_exist(name):
            raise UsageError(
                f"the context has a table {name!r} already", hint='name the store\'s otherwise: prefix="a_"'
            )
    ours.update(names)


def _put(context: Any, name: str, dataset: pa.dataset.Dataset) -> None:
    if context.table_exist(name):
        context.deregister_table(name)
    context.register_dataset(name, dataset)


def _rewrite(query: exp.Expression) -> exp.Expression:
    """Writes a map as its keys and its values, and what has another name."""
    for asked in list(query.find_all(exp.IsNan)):
        asked.replace(exp.Anonymous(this="isnan", expressions=[asked.this]))
    for made in list(query.find_all(exp.MapFromEntries)):
        (entries,) = made.find_all(exp.Tuple)
        made.replace(exp.func("MAP", *(_only(made.this, entries, part) for part in entries.expressions)))
    return query


def _only(whole: exp.Expression, entries: exp.Tuple, part: exp.Expression) -> exp.Expression:
    """Returns a list of entries as one of a part of each."""
    return whole.transform(lambda node: part.copy() if node == entries else node)
