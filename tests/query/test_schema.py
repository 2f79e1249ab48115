"""The store documents itself: every view, column and macro, and every example runs."""

from __future__ import annotations

import json
import re
import runpy
from importlib import resources
from pathlib import Path

import pytest

from fxstore import Store, schema
from fxstore.errors import QueryError
from fxstore.query import library
from fxstore.query.engine import MACROS, RELATIONS
from tests.query.conftest import nid

CONTRACT = {
    "runs": "run_id name model created_at status tags versions",
    "stages": "run_id stage stage_index kind status note",
    "graphs": "graph_id run_id stage stage_index method path parent_nid fingerprint",
    "nodes": "nid graph_id run_id stage method path position name op target op_type role dtype shape device "
    "module_path module_type module_call backend source_file source_line source_code fingerprint attrs",
    "node_roles": "nid role",
    "edges": "graph_id run_id src_nid src_port dst_nid dst_arg position",
    "provenance": "nid hop branch ancestor_name ancestor_nid pass_name action",
    "handles": "nid run_id method namespace handle",
    "links": "run_id src_nid dst_nid evidence inferred note",
    "sync_sets": "run_id sync_id nid stage name is_primary",
    "value_pairs": "run_id ref_nid ref_port nid port evidence",
    "overlays": "overlay_id run_id name kind source unit better",
    "samples": "overlay_id run_id sample name",
    "metrics": "overlay_id run_id nid port metric value text status reason scope ref_nid sample",
    "coverage": "run_id overlay_id stage nodes measured not_measured reasons",
    "unmatched": "run_id nid stage name towards reason",
    "delegation": "run_id nid backend inner_nodes handles",
    "saved_tensors": "run_id nid backward_nid stage method name",
    "recomputed": "run_id nid backward_nid stage method name",
    "operators": "run_id stage op_type nodes",
}
RANKING = "nid stage name target module_path value status source_file source_line counterparts rank metric reason"


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_columns_that_stay(store: Store, relation: str) -> None:
    columns = store.sql(f"FROM {relation}").columns
    expected = CONTRACT[relation].split()
    assert columns[: len(expected)] == expected


def test_every_relation_of_the_contract_is_there(store: Store) -> None:
    assert set(RELATIONS) == set(CONTRACT)
    assert [relation.name for relation in store.schema().relations] == [*RELATIONS, *MACROS]


def test_everything_has_a_comment(store: Store) -> None:
    for relation in store.schema().relations:
        assert relation.comment.endswith("."), relation.name
        if relation.kind == "view":
            assert relation.columns, relation.name
        for column in relation.columns:
            assert column.comment, f"{relation.name}.{column.name}"


@pytest.mark.parametrize("macro", MACROS)
def test_the_example_of_each_macro_runs(store: Store, macro: str) -> None:
    (described,) = store.schema(macro).relations
    assert re.match(r"\w+( := \w+)?", described.arguments)
    run = store.run("tiny")
    assert run is not None
    place = nid(store, "edge:relu_1")
    query = described.example.replace("{nid}", str(place)).replace("{run}", f"'{run.run_id}'")
    assert macro in query
    assert store.sql(query).columns
    assert store.sql(query.replace(" WHERE change <> 'same'", "")).fetchall(), query


@pytest.mark.parametrize("macro", ["worst", "first_bad"])
def test_the_columns_of_rankings(store: Store, macro: str) -> None:
    columns = store.sql(f"FROM {macro}('cosine', {'5' if macro == 'worst' else '0.99'})").columns
    assert set(RANKING.split()) <= set(columns)


def test_each_relation_and_macro_has_its_own_file() -> None:
    root = resources.files("fxstore.query") / "sql"
    for kind, names in (("relations", RELATIONS), ("macros", MACROS)):
        assert {entry.name for entry in (root / kind).iterdir()} == {f"{name}.sql" for name in names}
        for name in names:
            text = (root / kind / f"{name}.sql").read_text("utf-8")
            assert re.findall(r"^CREATE (?:VIEW|MACRO) (\w+)", text, re.M) == [name]


def test_private_names_start_with_an_underscore() -> None:
    root = resources.files("fxstore.query") / "sql" / "private"
    for entry in root.iterdir():
        for name in re.findall(r"^CREATE (?:VIEW|MACRO|TABLE) (\w+)", entry.read_text("utf-8"), re.M):
            assert name.startswith("_"), entry.name


def test_macros_name_tables_with_their_schema() -> None:
    """Else a CTE of the caller would take their place."""
    root = resources.files("fxstore.query") / "sql"
    tables = {"_runs", "_stages", "_known_metrics", "_graphs", *RELATIONS}
    for entry in [*(root / "macros").iterdir(), *(root / "private").iterdir()]:
        for statement in entry.read_text("utf-8").split(";\n"):
            code = re.sub(r"--.*|'[^']*'", "", statement)
            if "CREATE MACRO" in code:
                own = set(re.findall(r"(\w+)(?:\([\w, ]*\))? (?:USING KEY \(.*?\) )?AS (?:MATERIALIZED )?\(", code))
                used = set(re.findall(r"(?:FROM|JOIN) (\w+)\b(?![.(\w])", code))
                assert not (used - own) & tables, (entry.name, used & tables)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_view_has_the_columns_that_the_schema_declares(store: Store, relation: str) -> None:
    real = store.sql(f"SELECT column_name, column_type FROM (DESCRIBE {relation})").fetchall()
    assert real == [(column.name, column.type) for column in schema.RELATIONS[relation].columns]


def test_text_and_json_say_the_same(store: Store) -> None:
    schema = store.schema()
    for entry in json.loads(schema.to_json()):
        assert entry["comment"] in str(schema)
        for column in entry["columns"]:
            assert column["comment"] in str(schema)
    assert str(store.schema("stages")).splitlines()[:3] == [
        "stages",
        "  One row per stage of a run, in pipeline order.",
        "    run_id       VARCHAR  The run.",
    ]


def test_sql_sees_the_same_comments(store: Store) -> None:
    query = "SELECT comment FROM duckdb_columns() WHERE table_name = 'nodes' AND column_name = 'nid'"
    ((comment,),) = store.sql(query).fetchall()
    assert comment == store.schema("nodes").relations[0].columns[0].comment


def test_an_unknown_relation_is_told(store: Store) -> None:
    with pytest.raises(QueryError, match="no relation 'nods'") as error:
        store.schema("nods")
    assert error.value.hint is not None
    assert "'nodes'" in error.value.hint


def test_the_page_of_the_schema_is_current() -> None:
    docs = Path(__file__).parents[2] / "docs"
    scope = runpy.run_path(str(docs / "make_schema.py"))
    said = (docs / "schema.md").read_text("utf-8")
    assert said == scope["text"](), "python docs/make_schema.py"


def test_only_what_is_needed_is_loaded() -> None:
    assert [module.name for module in library.in_order(["runs"])][-1] == "relations/runs.sql"
    needed = {module.name for module in library.in_order(["worst"])}
    assert "macros/worst.sql" in needed
    assert not {name for name in needed if name.startswith("relations/")}
