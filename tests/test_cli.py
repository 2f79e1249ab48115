"""The command line: exit codes, one line per error, nothing half-written."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import fxstore
from fxstore import cli
from fxstore.cli import run
from tests.runs import example_run


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with one run, which is the command line's default."""
    path = tmp_path / "store"
    with fxstore.connect(path) as opened:
        opened.commit(example_run())
    monkeypatch.setenv("FXSTORE_STORE", str(path))
    monkeypatch.chdir(tmp_path)
    return path


def test_sql_prints_csv_in_a_pipe(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "SELECT stage, name FROM nodes WHERE op_type = 'relu' ORDER BY nid"]) == 0
    assert capsys.readouterr().out == "stage,name\nfloat,relu\nedge,aten_relu_default\n"


def test_worst_puts_nan_first_and_counts_what_has_no_value(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["worst", "cosine", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["name"], row["value"]) for row in rows] == [("aten_addmm_default", "NaN"), ("aten_relu_default", 0.5)]
    assert rows[1]["counterparts"] == {"float": "relu"}


def test_sync_lists_counterparts(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sync", "float", "linear", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {(row["stage"], row["name"], row["is_primary"]) for row in rows} == {
        ("float", "linear", True),
        ("edge", "aten_permute_copy_default", False),
        ("edge", "aten_addmm_default", True),
    }


def test_compare_never_overwrites_without_force(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "-o", "page.html"]) == 0
    assert "Wrote page.html (" in capsys.readouterr().err
    before = Path("page.html").read_bytes()
    assert run(["compare", "-o", "page.html"]) == 2
    assert capsys.readouterr().err.splitlines() == ["fxstore: page.html exists", "  pass -f to overwrite it"]
    assert Path("page.html").read_bytes() == before
    assert run(["compare", "-f", "--columns", "-o", "page.html", "--query", "FROM worst('cosine')"]) == 0


def test_a_result_is_rendered_beside_its_rows(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "SELECT nid, name FROM nodes LIMIT 2", "--compare", "out.html"]) == 0
    assert Path("out.html").stat().st_size > 1000
    capsys.readouterr()
    assert run(["sql", "SELECT count(*) AS n FROM nodes", "--compare", "none.html"]) != 0
    assert "add list(nid) to the SELECT" in capsys.readouterr().err
    assert not Path("none.html").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["sql", "DROP TABLE runs"], 1, "DROP"),
        (["sql", "COPY (SELECT 1) TO 'x.csv'"], 1, "COPY"),
        (["sql", "SELECT nme FROM nodes"], 1, "name"),
        (["sql", "SELECT * FROM nodez"], 1, "nodes"),
        (["worst"], 2, "metric"),
        (["worst", "cosine", "--run", "nightlyy"], 1, "nightlyy"),
        (["sync", "float", "liner"], 1, "linear"),
        (["runs", "--store", "nowhere"], 1, "nowhere"),
        (["ingest", "missing.etrecord"], 1, "missing.etrecord"),
        (["ingest", "text.txt"], 1, "no adapter reads"),
        (["ingest", "x", "--tag", "novalue"], 2, "key=value"),
        (["frobnicate"], 2, "frobnicate"),
    ],
)
def test_bad_input_gets_one_clear_line(
    store: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, says: str
) -> None:
    Path("text.txt").write_text("hello")
    before = sorted(p for p in Path().rglob("*") if p.is_file())
    assert run(arguments) == code
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert captured.out == ""
    assert lines[0].startswith("fxstore: ")
    assert len(lines) <= 2
    assert says.lower() in captured.err.lower()
    assert sorted(p for p in Path().rglob("*") if p.is_file()) == before


def test_adapters_are_listed_without_importing_them() -> None:
    code = (
        "import sys; from fxstore.cli import run; run(['adapters']); "
        "print([m for m in sys.modules if m.startswith('fxstore.ingest.adapters.')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "graph-module" in done.stdout


def test_schema_is_printed_without_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["schema", "worst"]) == 0
    assert capsys.readouterr().out.startswith("worst(metric")
    assert list(tmp_path.iterdir()) == []


def test_help_names_every_verb_in_its_section_and_cuts_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    group = cli.fxstore
    assert isinstance(group, click.Group)
    named = [line.split()[0] for line in out.partition("Options:")[2].splitlines() if re.match(r"  [a-z]", line)]
    assert sorted(named) == group.list_commands(click.Context(group))
    assert "..." not in out.partition("Options:")[2]


def test_the_demo_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert run(["demo"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "fxstore: the demo needs an optional package",
        '  pip install "fxstore[executorch]"',
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_failed_ingest_creates_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FXSTORE_STORE", raising=False)
    assert run(["ingest", "nope.etrecord"]) == 1
    assert capsys.readouterr().err.startswith("fxstore: no such file: nope.etrecord")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_line(store: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    done = subprocess.run(
        f"{sys.executable} -m fxstore sql 'FROM nodes' > /dev/full",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "fxstore: No space left on device\n")
