"""Questions asked of synthetic stores of more and more runs; and of one graph, beside other libraries, from cold.

    python -m bench.query FOLDER 1 1000 10000

makes the stores in FOLDER (once) and prints, for each, CPU milliseconds of the best of several tries.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.arguments import options, positive
from bench.figures import Figure, timed
from bench.stores import made_stages, make, real_stages, records
from fxstore import Store, connect
from fxstore.store import Catalog, CommittedRun


def best(ask: Callable[[], Any], tries: int = 15) -> float:
    """Returns CPU milliseconds of the best try, after one that is not counted."""
    ask()
    took = []
    for _ in range(tries):
        start = time.process_time()
        ask()
        took.append(time.process_time() - start)
    return 1e3 * min(took)


def open_and_list(path: Path) -> None:
    with connect(path, read_only=True) as store:
        store.runs().arrow()


def asked(store: Store, motif: str = "linear -> gelu -> linear") -> dict[str, Callable[[], Any]]:
    """Returns the questions, asked of a run in the middle of the store, by their titles."""
    count = len(store.runs())
    run = store.existing_run(f"nightly-{count // 2}")
    nid = (run.run_key << 22) + 8010
    ((stage, name),) = store.sql(f"SELECT stage, name FROM nodes WHERE nid = {nid} AND run_id = ?", [run.run_id])
    return {
        "sync of one node": lambda: store.sync_nid(nid).arrow(),
        "worst 20 with counterparts": lambda: store.worst("cosine", run=run.name).arrow(),
        "worst, asked in SQL": lambda: store.sql(
            f"SELECT name, value FROM worst('cosine', run := '{run.run_id}')"
        ).arrow(),
        "motif in one run": lambda: store.match(motif, run=run.name).arrow(),
        "ancestors, 10 hops": lambda: store.ancestors(nid, 10).arrow(),
        "ancestors, all": lambda: store.ancestors(nid).arrow(),
        "op counts of all runs": lambda: store.sql("SELECT run_id, op_type, count(*) FROM nodes GROUP BY ALL").arrow(),
        "history of a metric, 500 runs": lambda: store.history(stage, name, "cosine", run=run.name).arrow(),
    }


def questions(store: Store) -> dict[str, float]:
    took = {title: best(ask, 3 if "runs" in title else 15) for title, ask in asked(store).items()}
    return {"sync of one node, first question of a run": first_time(store), **took}


def first_time(store: Store) -> float:
    """Returns CPU milliseconds of the best of several runs, each asked once."""
    took = []
    for run in store.committed_runs()[:15]:
        start = time.process_time()
        store.sync_nid((run.run_key << 22) + 8010).arrow()
        took.append(time.process_time() - start)
    return 1e3 * min(took)


def open_and_ask(path: Path, nid: int) -> None:
    """Asks for all ancestors of a node in a store that is opened for it."""
    with connect(path, read_only=True) as store:
        store.ancestors(nid).arrow()


def disk(folder: Path) -> int:
    """Returns the bytes that one further run of an unchanged model adds, its metrics not counted; directories are."""
    with connect(folder / "disk") as store:
        record = next(records(1))
        for _ in range(2):
            store.commit(replace(record, overlays=()))
        before = _used(store.path)
        store.commit(replace(record, overlays=()))
        grown = _used(store.path) - before
    shutil.rmtree(folder / "disk")
    return grown


def _used(path: Path) -> int:
    """Returns the bytes that a directory takes on the disk, in whole blocks."""
    return sum(entry.stat().st_blocks * 512 for entry in path.rglob("*"))


def figures(quick: bool) -> Iterator[Figure]:
    """Yields what the suite shows of queries: beside plain reading of the files that hold the answer."""
    rounds = 5 if quick else 15
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        runs = 20 if quick else 1_000
        make(path, runs, made_stages if quick else real_stages)  # exporting real ones takes 20 s
        with connect(path, read_only=True) as store:
            found = asked(store, "linear -> relu -> sin" if quick else "linear -> gelu -> linear")
            run = store.existing_run(f"nightly-{runs // 2}")
            for title, relations in READ.items():
                theirs = plain_reading(store, None if "runs" in title else run, relations)
                name = f"{title.replace(', 500 runs', '')}, {runs} runs"
                peer = f"pyarrow reads {' and '.join(relations)}"
                yield timed("query", name, found[title], peer, theirs, rounds=rounds)
            yield timed(
                "query",
                f"open and list, {runs} runs",
                lambda: open_and_list(path),
                "each run.json parsed",
                lambda: [json.loads(file.read_text("utf-8")) for file in path.glob("runs/*/run.json")],
                rounds=rounds,
            )
            peers = dict(ancestors(store))
            ours = peers.pop("fxstore, store open")
            for title, ask in peers.items():
                if not title.startswith("fxstore"):
                    name = f"ancestors, beside {title.partition(',')[0]}"
                    yield timed("query", name, ours, title, ask, rounds=rounds)


# The relations whose rows answer a question.
READ = {
    "sync of one node": ("sync_sets", "nodes"),
    "worst 20 with counterparts": ("metrics", "sync_sets", "nodes"),
    "motif in one run": ("nodes", "edges"),
    "op counts of all runs": ("nodes",),
    "history of a metric, 500 runs": ("metrics", "nodes"),
}


def plain_reading(store: Store, run: CommittedRun | None, relations: Iterable[str]) -> Callable[[], Any]:
    """Returns what reads the relations of a run, or of all, into memory, and does nothing with them."""
    import pyarrow.parquet as pq

    catalog = Catalog(store.directory)
    catalog.refresh()
    files = [file for name in relations for file in (catalog.files(run, name) if run else catalog.all_files(name))]
    return lambda: [pq.read_table(file) for file in files]


def others(store: Store) -> dict[str, float]:
    """Ancestors of one node of one graph from cold, in CPU milliseconds."""
    return {title: best(ask, 5 if title.endswith("opened") else 15) for title, ask in ancestors(store)}


def ancestors(store: Store) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields who finds the ancestors of a node: the edges read from the store's own file, and the graph built."""
    import pyarrow.parquet as pq

    run = store.existing_run(None)
    nid = (run.run_key << 22) + 8010
    ((name, position),) = store.sql(
        "SELECT g.fingerprint, n.position FROM nodes AS n JOIN graphs AS g USING (graph_id) WHERE nid = ?", [nid]
    )
    file = store.directory.graph(str(name)) / "edges.parquet"
    names = store.directory.graph(str(name)) / "nodes.parquet"

    def edges() -> list[tuple[int, int]]:
        table = pq.read_table(file, columns=["src", "dst"])
        return list(zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True))

    def named(found: Iterable[int]) -> list[str]:
        table = pq.read_table(names, columns=["name"])
        return table["name"].take(sorted(found)).to_pylist()

    yield "fxstore, store opened", lambda: open_and_ask(store.path, nid)
    yield "fxstore, store open", lambda: store.ancestors(nid).arrow()
    expected = len(store.ancestors(nid))
    with suppress(ImportError):
        import networkx

        def with_networkx() -> int:
            return len(named(networkx.ancestors(networkx.DiGraph(edges()), position)))

        assert with_networkx() == expected
        yield "networkx, edges read", with_networkx
    with suppress(ImportError):
        import rustworkx

        def with_rustworkx() -> int:
            graph = rustworkx.PyDiGraph()
            graph.extend_from_edge_list(edges())
            return len(named(rustworkx.ancestors(graph, position)))

        assert with_rustworkx() == expected
        yield "rustworkx, edges read", with_rustworkx


def ladybug(store: Store) -> dict[str, float]:
    """The same in Ladybug, its tables loaded from Parquet in memory."""
    import pyarrow.parquet as pq
    import real_ladybug

    run = store.existing_run(None)
    nid = (run.run_key << 22) + 8010
    with tempfile.TemporaryDirectory() as folder:
        for name, query in (
            ("nodes", "SELECT nid, name FROM nodes WHERE run_id = ?"),
            ("edges", "SELECT src_nid, dst_nid FROM edges WHERE run_id = ?"),
        ):
            pq.write_table(store.sql(query, [run.run_id]).arrow(), f"{folder}/{name}.parquet")

        def load() -> Any:
            connection = real_ladybug.Connection(real_ladybug.Database(":memory:"))
            connection.execute("CREATE NODE TABLE N(nid INT64, name STRING, PRIMARY KEY(nid))")
            connection.execute("CREATE REL TABLE E(FROM N TO N)")
            for table, name in (("N", "nodes"), ("E", "edges")):
                connection.execute(f"COPY {table} FROM '{folder}/{name}.parquet'")
            return connection

        loaded = load()
        query = f"MATCH (a:N)-[:E* SHORTEST 1..10]->(b:N {{nid: {nid}}}) RETURN count(DISTINCT a.nid)"
        return {
            "Ladybug, loaded from Parquet": best(load, 2),
            "Ladybug, 10 hops, loaded before": best(lambda: loaded.execute(query).get_all(), 2),
        }


def main(folder: Path, counts: list[int]) -> None:
    for count in counts:
        path = folder / f"r{count}"
        make(path, count)
        print(f"{count} runs: open and list {best(lambda path=path: open_and_list(path), 3):.1f} ms CPU")  # type: ignore[misc]
        with connect(path, read_only=True) as store:
            for title, took in questions(store).items():
                print(f"  {title:<42} {took:8.1f}")
    print(f"disk per further run of an unchanged model, without metrics: {disk(folder) / 1024:.1f} KiB")
    with connect(folder / f"r{counts[0]}", read_only=True) as store:
        for title, took in {**others(store), **ladybug(store)}.items():
            print(f"  {title:<32} {took:8.1f}")


if __name__ == "__main__":
    parser = options(__file__, __doc__)
    parser.add_argument("folder", type=Path, help="where the stores are, or are made")
    parser.add_argument("runs", type=positive, nargs="*", default=[1, 300], help="sizes of the stores")
    arguments = parser.parse_args()
    main(arguments.folder, arguments.runs)
