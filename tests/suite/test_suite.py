"""One command, one table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from bench import __main__ as suite
from bench import compare, figures, store

ROOT = Path(__file__).parents[2]


def test_the_suite_shows_and_keeps_its_figures(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "--quick", "link", "-o", str(tmp_path / "kept.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    heading, _, row = done.stdout.splitlines()
    assert cells(heading) == list(figures.COLUMNS)
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert kept["versions"]["duckdb"]
    (one,) = compare.load(tmp_path / "kept.json")
    assert (one.area, one.unit, len(one.ratios)) == ("link", "µs/node", 5)
    assert one.value > 0
    assert one.peer_value > 0
    assert cells(row) == list(next(figures.rows([one])))


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_area_has_figures() -> None:
    areas = {"ingest", "link", "measure", "query", "layout", "page", "store"}
    assert suite.AREAS.keys() == areas
    for module in suite.AREAS.values():
        text = (ROOT / f"{module.replace('.', '/')}.py").read_text()
        assert "\ndef figures(quick: bool) -> Iterator[Figure]:" in text


def test_an_area_that_fails_says_why_and_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = figures.size("store", "bytes", 2048, "zstd", 1024)
    given = {"page": ([], "ModuleNotFoundError: No module named 'playwright'"), "store": ([one], None)}
    monkeypatch.setattr(suite, "measured", lambda area, quick: given[area])
    assert suite.main(["page", "store"], True, tmp_path / "kept.json") == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[2].split() == [
        "|",
        "store",
        "|",
        "bytes",
        "|",
        "2",
        "|",
        "KiB",
        "|",
        "zstd",
        "|",
        "1",
        "|",
        "2",
        "|",
        "|",
    ]
    assert shown[3] == "page: not measured: ModuleNotFoundError: No module named 'playwright'"
    assert json.loads((tmp_path / "kept.json").read_text())["missing"].keys() == {"page"}


def test_an_unknown_area_is_said_to_be_unknown() -> None:
    command = [sys.executable, "-m", "bench", "pages"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no area 'pages'" in done.stderr


def test_the_kept_figures_are_of_every_area() -> None:
    kept = max((ROOT / "bench" / "results").glob("*.json"))
    assert {one.area for one in compare.load(kept)} == suite.AREAS.keys()


def test_entropy_is_of_what_columns_hold() -> None:
    """Offsets, which only grow, are no content; nor is what stands under a NULL."""
    kind = pa.list_(pa.struct([("a", pa.string()), ("b", pa.int32())]))
    values = pa.array([[{"a": "xy", "b": 1}], None, [], [{"a": None, "b": 2}, {"a": "z", "b": None}]], kind)
    held = list(store.parts(values))
    assert b"xyz" in held
    lengths = [int.from_bytes(part[i : i + 4], "little") for part in held if len(part) == 16 for i in range(0, 16, 4)]
    assert lengths == [1, 0, 0, 2]


def test_measurements_are_taken_in_turns() -> None:
    order: list[str] = []
    ours, theirs = figures.in_turns(lambda: order.append("a") or 1.0, lambda: order.append("b") or 2.0, 3)
    assert order == ["a", "b"] * 4
    assert (ours, theirs) == ([1.0] * 3, [2.0] * 3)
    figure = figures.paired("store", "x", "rows/s", "higher", "y", (ours, theirs))
    assert (figure.value, figure.peer_value, figure.ratio) == (1.0, 2.0, 0.5)
