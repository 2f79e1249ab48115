"""Questions over all runs of a store, asked of DuckDB, DataFusion, Sail and PySpark: the same files, the same SQL.

    python -m bench.engines STORE [ENGINE ...]

prints CPU seconds (of the process and of those that it started) and wall seconds; the stores are those of bench.query.
"""

from __future__ import annotations

import os
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.arguments import existing, one_of, options
from fxstore.engines import portable
from fxstore.query.engine import Engine
from fxstore.store import Catalog, open_directory

Ask = Callable[[str, dict[str, Any]], pa.Table]
STAGE = "edge"
METRIC = "cosine"


def asked(path: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """Returns the questions, each with what it asks for."""
    with duckdb(path) as ask:
        rows = ask("SELECT n.name, n.stage FROM _metrics AS m JOIN _runs AS r ON r.run_key = m.run_key "
                   "JOIN _structure_nodes AS n ON n.structure_hash = r.structure_hash AND n.ordinal = m.ordinal "
                   "ORDER BY m.run_key, m.ordinal LIMIT 1", {})  # fmt: skip
    (node,) = rows.to_pylist()
    return {
        "counts of every operator, all models": ("counts", {}),
        "history of one node, all models": (
            "history",
            {"stage": node["stage"], "node": node["name"], "metric": METRIC, "model": None},
        ),
        "regressions, all models": ("regressions", {"metric": METRIC, "by": 0.003}),
    }


@contextmanager
def duckdb(path: Path) -> Iterator[Ask]:
    engine = Engine(Catalog(open_directory(path, read_only=True)))
    engine.load_all()

    def ask(question: str, values: dict[str, Any]) -> pa.Table:
        known = portable.questions().get(question)
        return engine.arrow(known.sql(dialect="duckdb") if known else question, values or None)

    yield ask
    engine.close()


@contextmanager
def datafusion(path: Path) -> Iterator[Ask]:
    import datafusion as theirs

    from fxstore import datafusion as module

    # It opens all files of a relation at once.
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    context = theirs.SessionContext()
    module.register(context, path)
    yield lambda question, values: module.ask(context, question, **values).to_arrow_table()


@contextmanager
def sail(path: Path) -> Iterator[Ask]:
    os.environ |= {"SAIL_MODE": "local-cluster", "SAIL_CLUSTER__WORKER_INITIAL_COUNT": "2", "RUST_LOG": "error"}
    from pysail.spark import SparkConnectServer
    from pyspark.sql.connect.session import SparkSession

    from fxstore import spark as module

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    session = SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").create()
    module.register(session, path)
    yield lambda question, values: module.ask(session, question, **values).toArrow()
    session.stop()
    server.stop()


@contextmanager
def pyspark(path: Path) -> Iterator[Ask]:
    from pyspark.sql import SparkSession

    from fxstore import spark as module

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", False)
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", 8)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    module.register(session, path)
    yield lambda question, values: module.ask(session, question, **values).toArrow()
    session.stop()


ENGINES = {"duckdb": duckdb, "datafusion": datafusion, "sail": sail, "pyspark": pyspark}


def cpu() -> float:
    """Returns CPU seconds of this process and of its children that have ended or, on Linux, still run."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime + sum(_of_children())


def _of_children() -> Iterator[float]:
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # a thread, or a process, that has just ended
            for child in (task / "children").read_text().split():
                fields = Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()
                yield (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """Returns a call's result, its CPU and its wall seconds."""
    wall, used = time.perf_counter(), cpu()
    result = call()
    return result, cpu() - used, time.perf_counter() - wall


def main(path: Path, engines: list[str]) -> None:
    questions = asked(path)
    for name in engines:
        opened, used, wall = timed(lambda name=name: ENGINES[name](path))  # type: ignore[misc]
        ask, used, wall = timed(opened.__enter__)
        print(f"{name}: registered in {used:.1f} s CPU, {wall:.1f} s", flush=True)
        for title, what in questions.items():
            rows, used, wall = timed(lambda ask=ask, what=what: ask(*what))  # type: ignore[misc]
            print(f"  {title:<40} {used:8.1f} CPU {wall:8.1f} wall {rows.num_rows:10,} rows", flush=True)
        opened.__exit__(None, None, None)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = options(__file__, __doc__)
    parser.add_argument("store", type=existing)
    parser.add_argument("engines", metavar="ENGINE", nargs="*", type=one_of(ENGINES), help=f"of {', '.join(ENGINES)}")
    arguments = parser.parse_args()
    main(arguments.store, arguments.engines or list(ENGINES))
