"""What goes round in a circle ends, in every question that follows something: a store may say anything."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fxstore import Store, connect
from fxstore.errors import StoreError
from fxstore.records import RunRecord
from fxstore.store import integrity, parquet
from fxstore.store.directory import RELATIONS as SCHEMAS
from tests.query.conftest import nid
from tests.store.records import chain, graph, metric, node, overlay, run

IN_TIME_S = 60.0


NUMBERS = {"first:a": 0.2, "first:b": 0.3, "first:c": 0.9, "second:e": 0.1}


def circles() -> RunRecord:
    """Edges ``a -> b -> c -> a -> out``, two graphs that call each other, and links in a circle."""
    first = graph(
        [node("x", "placeholder"), "a", "b", "c", node("out", "output")],
        [*chain("x", "a", "b", "c", "a"), ("c", "out")],
        origins={"a": [("p", "pass"), ("q", "pass"), ("r", "pass")]},
    )
    outer = graph([node("y", "placeholder"), "call", node("output", "output")], chain("y", "call", "output"),
                  parent=("inner", "call2"))  # fmt: skip
    inner = graph([node("z", "placeholder"), "call2", node("output2", "output")], chain("z", "call2", "output2"),
                  path="inner", parent=("", "call"))  # fmt: skip
    second = graph(["d", "e"], chain("d", "e"))
    return run(
        {"first": first, "calls": (outer, inner), "second": second},
        links=[("first:a", "second:d", "from_node"), ("second:d", "first:b", "handle"), ("first:b", "first:a", "name"),
               ("first:a", "second:e", "name"), ("second:d", "second:e", "handle")],
        overlays=[overlay("acc", [metric(place, "cosine", value) for place, value in NUMBERS.items()])],
    )  # fmt: skip


def put_sources(store: Store, rows: list[tuple[int, int | None]]) -> None:
    """Writes other parents into the file of sources, with its digest, as a hostile store may have it."""
    for path in store.path.glob("graphs/*/*/sources.parquet"):
        known = pq.read_table(path)
        if known.num_rows:
            found = known.take(pa.array([source for source, _ in rows]))
            place = found.schema.get_field_index("parent")
            found = found.set_column(place, "parent", pa.array([parent for _, parent in rows], pa.int32()))
            parquet.write(found.select(SCHEMAS["sources"].names), path)
            names = [file.name for file in sorted(path.parent.glob("*.parquet"))]
            (path.parent / "SHA256SUMS").unlink()
            integrity.write(path.parent, names)


@pytest.fixture
def store() -> Iterator[Store]:
    with connect(":memory:") as opened:
        opened.commit(circles())
        yield opened


def in_time(store: Store, ask: Callable[[], list[tuple[object, ...]]]) -> list[tuple[object, ...]]:
    """What a question answers; interrupted where it does not end."""
    engine = store._current()
    timer = threading.Timer(IN_TIME_S, engine._connection.interrupt)
    timer.start()
    try:
        return ask()
    finally:
        timer.cancel()


# Sources are r (0), q (1, from r), p (2, from q); the node cites p.
CHAINS: dict[str, tuple[list[tuple[int, int | None]], list[str]]] = {
    "as written": ([(0, None), (1, 0), (2, 1)], ["p", "q", "r"]),
    "a circle": ([(0, 2), (1, 0), (2, 1)], ["p", "q", "r"]),
    "a circle of two": ([(0, None), (1, 2), (2, 1)], ["p", "q"]),
    "cites itself": ([(0, None), (1, 0), (2, 2)], ["p"]),
    "several parents": ([(0, None), (1, 0), (1, 2), (2, 0), (2, 1)], ["p", "q", "r"]),
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_that_cites_itself_ends(store: Store, name: str) -> None:
    rows, expected = CHAINS[name]
    put_sources(store, rows)
    query = "SELECT DISTINCT ancestor_name, hop FROM provenance ORDER BY hop"
    said = in_time(store, lambda: store.sql(query).fetchall())
    assert said == [(ancestor, hop + 1) for hop, ancestor in enumerate(expected)]
    query = "SELECT DISTINCT name, hops FROM trace('first', 'a') WHERE via = 'provenance' ORDER BY hops"
    assert in_time(store, lambda: store.sql(query).fetchall()) == said


def test_a_long_chain_of_many_parents_ends(store: Store) -> None:
    """Each of 60 sources has two parents: 2^60 ways."""
    names = [(f"s{i}", "pass") for i in range(60)]
    store.commit(run({"first": graph(["a"], origins={"a": names})}, name="long"))
    rows: list[tuple[int, int | None]] = [(i, max(0, i - back)) for i in range(60) for back in (1, 2)]
    long = store.existing_run("long").graph_hashes[0]
    for path in store.path.glob("graphs/*/*"):
        if path.name != long:
            (path / "sources.parquet").write_bytes(store.directory.empty("sources").read_bytes())
            (path / "SHA256SUMS").unlink()
            integrity.write(path, [file.name for file in path.glob("*.parquet")])
    put_sources(store, rows)
    said = in_time(
        store, lambda: store.sql("SELECT max(hop), count(DISTINCT ancestor_name) FROM provenance").fetchall()
    )
    assert said == [(60, 60)]
    said = in_time(store, lambda: store.sql("SELECT max(hops) FROM trace('first', 'a', run := 'long')").fetchall())
    assert said == [(60,)]


def test_links_in_a_circle_end(store: Store) -> None:
    """Each node once for each direction, over the shortest way, with the best evidence of its last link."""
    query = "SELECT via, hops, stage, name, evidence FROM trace('first', 'a') WHERE via IN ('earlier', 'later')"
    assert in_time(store, lambda: store.sql(query).fetchall()) == [
        ("earlier", 1, "first", "b", "name"),
        ("earlier", 2, "second", "d", "handle"),
        ("later", 1, "second", "d", "from_node"),
        ("later", 1, "second", "e", "name"),
        ("later", 2, "first", "b", "handle"),
    ]


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda s, at: s.ancestors(at("first:a")), {"x", "b", "c"}),
        (lambda s, at: s.ancestors(at("first:a"), hops=1), {"x", "c"}),
        (lambda s, at: s.descendants(at("first:a")), {"b", "c", "out"}),
        (lambda s, at: s.neighbourhood(at("first:a"), hops=9), {"x", "b", "c", "out"}),
        (lambda s, at: s.nodes_between(at("first:x"), at("first:out")), {"x", "a", "b", "c", "out"}),
        (lambda s, at: s.shortest_path(at("first:b"), at("first:a")), {"b", "c", "a"}),
        (lambda s, at: s.common_ancestors(at("first:a"), at("first:b")), {"x", "a", "b", "c"}),
        (lambda s, at: s.ancestors(at("calls:call"), nested=True), {"y", "z", "call2", "output", "output2"}),
        (lambda s, at: s.descendants(at("calls:call"), nested=True), {"call2", "output", "output2"}),
    ],
)  # fmt: skip
def test_edges_in_a_circle_end(
    store: Store, ask: Callable[[Store, Callable[[str], int]], object], expected: set[str]
) -> None:
    result: object = ask(store, lambda place: nid(store, place))
    names = result.columns.index("name")  # type: ignore[attr-defined]
    rows = in_time(store, result.fetchall)  # type: ignore[attr-defined]
    assert {row[names] for row in rows} == expected


def test_rankings_and_patterns_end(store: Store) -> None:
    """Of a circle that is bad all around none is the first; a good one opens it."""
    for threshold, expected in ((0.5, [("a",), ("e",)]), (0.95, [("e",)])):
        query = f"SELECT name FROM first_bad('cosine', {threshold})"
        assert in_time(store, lambda query=query: store.sql(query).fetchall()) == expected  # type: ignore[misc]
    assert in_time(store, lambda: store.sql("SELECT stage FROM stage_errors('cosine', 0.5)").fetchall())
    assert len(in_time(store, store.match("a -> b -> c").fetchall)) == 1


@pytest.mark.parametrize("relation", ["provenance", "links", "delegation", "operators", "sync_sets", "unmatched"])
def test_every_relation_ends(store: Store, relation: str) -> None:
    put_sources(store, CHAINS["a circle"][0])
    in_time(store, lambda: store.sql(f"FROM {relation}").fetchall())


def test_pages_and_exports_end(store: Store, tmp_path: Path) -> None:
    store.compare().save(tmp_path / "page.html")
    store.export("svg", tmp_path / "one.svg")
    store.model_explorer()
    assert len(store.run_diff("tiny", "tiny").fetchall()) == 13


def test_a_writer_refuses_ancestors_in_a_circle(store: Store) -> None:
    made = graph(["a"], origins={"a": [("p", "pass"), ("q", "pass")]})
    sources = made.tables["sources"].set_column(6, "parent", pa.array([1, 0], pa.int32()))
    made.tables["sources"] = sources
    with pytest.raises(StoreError, match="a source of graph forward/ stands before the one that it comes from"):
        store.commit(run({"s": made}))
