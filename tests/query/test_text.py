"""Rows as text: nothing in them is run by a spreadsheet, or by a terminal, and numbers stay numbers."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fxstore import connect
from fxstore.cli import run as command
from fxstore.query.text import as_csv, as_json, as_jsonl
from tests.store.records import graph, run

ESCAPES = "\x1b\x07\x7f\x85\x9b\xad\u202e\u2066\u200b\ud800"
TEXTS = st.text(st.characters() | st.sampled_from("=+-@\t\r\n＝'\"," + ESCAPES), max_size=12)


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@given(st.lists(st.tuples(TEXTS), max_size=4))
def test_no_cell_of_csv_begins_as_a_formula_and_no_character_is_unseen(rows: list[tuple[str]]) -> None:
    text = as_csv(["name"], rows)
    for (cell,) in cells(text)[1:] if rows else []:
        number = cell.lstrip("+-").replace(".", "", 1).isdecimal()
        assert number or "e" in cell.lower() or not cell.startswith(("=", "+", "-", "@", "\t", "\r", "＝"))
    assert all(c.isprintable() or c in "\n" for c in text)


@pytest.mark.parametrize(
    "formula", ['=HYPERLINK("http://x")', "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1+1", "=1"]
)
def test_a_formula_gets_an_apostrophe_unless_raw_is_asked_for(formula: str) -> None:
    assert cells(as_csv(["a"], [(formula,)]))[1][0].startswith("'")
    assert as_csv(["a"], [(formula,)], raw=True) in (f"a\n{formula}\n", 'a\n"' + formula.replace('"', '""') + '"\n')


@pytest.mark.parametrize("number", [-0.5, -3, 1e-9, "-0.5", "+3", "-1.5e-07"])
def test_numbers_stay_numbers(number: object) -> None:
    assert float(cells(as_csv(["a"], [(number,)]))[1][0]) == float(number)  # type: ignore[arg-type]


@given(TEXTS)
def test_json_keeps_every_value_and_shows_no_unseen_character(text: str) -> None:
    for written in (as_json(["a"], [(text,)]), as_jsonl(["a"], [(text,)])):
        assert all(c.isprintable() or c == "\n" for c in written)
        found = json.loads(written)
        assert (found[0] if isinstance(found, list) else found) == {"a": text}


def test_no_format_and_no_error_line_writes_an_escape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "a\x1b[2J\x9b\u202eb"
    with connect(tmp_path / "store") as store:
        store.commit(run({"s": graph([name])}, name=name))
    for form in ("box", "csv", "json", "jsonl", "markdown"):
        assert (
            command(["sql", "SELECT name, stage FROM nodes", "--format", form, "--store", str(tmp_path / "store")]) == 0
        )
        assert command(["runs", "--format", form, "--store", str(tmp_path / "store")]) == 0
    assert command(["worst", name, "--store", str(tmp_path / "store")]) == 1
    assert command(["why", "--store", str(tmp_path / "store")]) == 0
    said = capsys.readouterr()
    for text in (said.out, said.err):
        assert not set(text) & set(ESCAPES)


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_binary_rows_go_to_no_terminal(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(tmp_path / "store") as store:
        store.commit(run({"s": graph(["a"])}))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert command(["runs", "--format", form, "--store", str(tmp_path / "store")]) == 2
    assert f"{form} is binary" in capsys.readouterr().err


def test_raw_is_an_option_of_every_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with connect(tmp_path / "store") as store:
        store.commit(run({"s": graph(["=1+1"])}))
    asked = ["sql", "SELECT name FROM nodes", "--format", "csv", "--store", str(tmp_path / "store")]
    assert command(asked) == 0
    assert capsys.readouterr().out == "name\n'=1+1\n"
    assert command([*asked, "--raw"]) == 0
    assert capsys.readouterr().out == "name\n=1+1\n"
