"""Questions to a store: what a query may do, graphs of diamonds, and what a shared page or store gives away."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import fxstore
from fxstore import Store, connect
from fxstore.errors import QueryError
from tests.query.conftest import tiny
from tests.render.unpacking import Elements, payload_of
from tests.store.records import chain, graph, run

PAYLOADS = (
    "<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "\"><svg onload=alert(3)>",
    "javascript:alert(4)", "<!--", "]]>", "\u2028alert(5)",
)  # fmt: skip


@pytest.fixture
def store() -> Iterator[Store]:
    with connect(":memory:") as opened:
        yield opened


def test_49_what_a_model_says_is_never_a_part_of_the_page(store: Store) -> None:
    """Module names, notes, stack traces, the run's name and a metric's name hold markup and scripts."""
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.d = torch.nn.ModuleDict({text.replace(".", ""): torch.nn.Linear(2, 2) for text in PAYLOADS[:3]})

        def forward(self, x: Any) -> Any:
            for layer in self.d.values():
                x = layer(x)
            return x

    pages = []
    for texts in (("a",) * 7, PAYLOADS):
        program = torch.export.export(Net(), (torch.ones(1, 2),))
        operators = [node for node in program.graph.nodes if node.op == "call_function"]
        for node, text in zip(operators, texts[3:], strict=False):
            node.meta["custom"] = {"note": text}
            node.meta["stack_trace"] = f'File "{text}", line 1, in f\n    {text}'
        with store.record(texts[1]) as rec:
            rec.stage("float", program)
            rec.overlay("given", {operators[0].name: {texts[0]: 0.5}})
        pages.append(store.compare(run=rec.run.run_id).html())
    plain, hostile = map(Elements, pages)
    assert hostile.seen == plain.seen
    assert len(hostile.scripts) == len(plain.scripts)
    assert "onerror" not in pages[1]
    assert "alert(" not in pages[1]
    page = payload_of(pages[1])
    shown = json.dumps([page.header, {key: column.tolist() for key, column in page.columns.items()}], default=str)
    assert all(json.dumps(text)[1:-1] in shown for text in PAYLOADS[:5])


REJECTED = (
    "SELECT * FROM read_text('{secret}')", "SELECT * FROM '{secret}'", "COPY nodes TO '{out}'",
    "ATTACH '{out}.db' AS x", "INSTALL httpfs", "LOAD httpfs",
    "PRAGMA database_list; DROP TABLE nodes", "SELECT 1; DELETE FROM nodes",
    "CREATE TABLE t AS SELECT * FROM glob('/etc/*')", "SELECT getenv('HOME')", "SET enable_external_access=true",
)  # fmt: skip
ALLOWED = (
    "SELECT * FROM nodes LIMIT 1",
    "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i+1 FROM r WHERE i<3) SELECT * FROM r",
    "SELECT name, count(*) FROM nodes GROUP BY ALL", "SELECT 'read_text(''x'')' AS text_only",
    "EXPLAIN SELECT * FROM nodes", "SELECT * FROM nodes WHERE name LIKE '%;%'",
)  # fmt: skip


def test_52_a_query_reads_the_store_and_nothing_else(store: Store, tmp_path: Path) -> None:
    """Eleven statements that would read, write, attach, install or set, and six that only ask."""
    secret, out = tmp_path / "secret.txt", tmp_path / "out.csv"
    secret.write_text("fxstore-secret")
    store.commit(tiny())
    assert (len(REJECTED), len(ALLOWED)) == (11, 6)
    for query in REJECTED:
        with pytest.raises(QueryError) as refused:
            store.sql(query.format(secret=secret, out=out)).fetchall()
        assert "fxstore-secret" not in str(refused.value)
    for query in ALLOWED:
        assert isinstance(store.sql(query).fetchall(), list)
    assert [path.name for path in tmp_path.iterdir()] == ["secret.txt"]


def test_53_a_public_store_and_page_name_neither_paths_nor_code(tmp_path: Path) -> None:
    """Stack traces of an export hold the file, the user and the code."""
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            secret_variable_name = x.sin()
            return secret_variable_name.relu()

    program = torch.export.export(Net(), (torch.ones(2),))
    hits = {}
    for privacy in ("public", None):
        folder = tmp_path / str(privacy)
        with fxstore.connect(folder / "store") as store:
            store.ingest(program, **({"privacy": privacy} if privacy else {}))
            store.compare().save(folder / "page.html")
            assert store.sql("SELECT count(*) FROM nodes WHERE op_type IN ('sin', 'relu')").fetchall() == [(2,)]
        text = _everything(folder)
        hits[privacy] = sum(text.count(word) for word in (str(Path(__file__).parent), "secret_variable_name"))
    assert hits["public"] == 0
    assert hits[None] > 0


def _everything(folder: Path) -> str:
    """Returns all text under a folder, Parquet and pages unpacked."""
    texts = []
    for path in folder.rglob("*"):
        if path.suffix == ".parquet":
            texts.append(json.dumps(pq.read_table(path).to_pylist(), default=str))
        elif path.suffix == ".html":
            page = payload_of(path.read_text())
            texts.append(json.dumps([page.header, {k: c.tolist() for k, c in page.columns.items()}], default=str))
        elif path.is_file():
            texts.append(path.read_bytes().decode("latin-1"))
    return "\n".join(texts)


@pytest.mark.parametrize(("diamonds", "nodes", "seconds"), [(40, 121, 0.5), (2000, 6001, 5)])
def test_56_stacked_diamonds_are_asked_by_node_not_by_path(
    store: Store, diamonds: int, nodes: int, seconds: float
) -> None:
    """Two ways at each of 40 steps are 2^40 ways, and 121 nodes."""
    edges = []
    for i in range(diamonds):
        edges += chain(f"j{i}", f"a{i}", f"j{i + 1}") + chain(f"j{i}", f"b{i}", f"j{i + 1}")
    names = [name for i in range(diamonds) for name in (f"j{i}", f"a{i}", f"b{i}")] + [f"j{diamonds}"]
    store.commit(run({"float": graph(names, edges)}))
    (last,) = store.sql("SELECT nid FROM nodes WHERE name = ?", [f"j{diamonds}"]).fetchall()[0]
    begin = time.process_time()
    rows = store.ancestors(last).fetchall()
    assert time.process_time() - begin < seconds
    assert len(rows) + 1 == nodes
    assert max(row[3] for row in rows) == 2 * diamonds
