"""The benchmarks' table, and what tells that a figure got worse."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import compare, figures
from bench.figures import Figure

ROOT = Path(__file__).parents[2]
ONE = Figure("store", "a run committed", 10.0, "ms", "lower", "plain", 5.0, [2.0, 2.02, 1.98, 2.01, 1.99])


def scaled(figure: Figure, by: float) -> Figure:
    return replace(figure, ratios=[ratio * by for ratio in figure.ratios])


def change(base: Figure, head: Figure) -> str:
    return compare.compared(base, head).change


@pytest.mark.parametrize(
    ("by", "expected"),
    [(1.0, "same"), (1.09, "same"), (1.2, "worse"), (3.0, "worse"), (0.92, "same"), (0.8, "better")],
)
def test_more_than_the_floor_counts(by: float, expected: str) -> None:
    assert change(ONE, scaled(ONE, by)) == expected
    higher = replace(ONE, better="higher")
    other = {"worse": "better", "better": "worse", "same": "same"}[expected]
    assert change(higher, scaled(higher, by)) == other


def test_a_slower_machine_is_no_regression() -> None:
    """Value and peer take twice as long: the ratio is the same."""
    assert change(ONE, replace(ONE, value=20.0, peer_value=10.0)) == "same"


def test_noise_widens_what_is_allowed() -> None:
    noisy = replace(ONE, ratios=[1.0, 3.0, 2.0, 1.2, 2.8])
    assert change(noisy, scaled(noisy, 1.5)) == "noisy"
    assert change(ONE, scaled(noisy, 1.5)) == "noisy"
    assert change(noisy, scaled(noisy, 20)) == "worse"


def test_sizes_have_no_noise() -> None:
    size = figures.size("store", "bytes", 1000, "zstd", 500)
    assert change(size, figures.size("store", "bytes", 1015, "zstd", 500)) == "same"
    assert change(size, figures.size("store", "bytes", 1030, "zstd", 500)) == "worse"
    assert change(size, figures.size("store", "bytes", 900, "zstd", 500)) == "better"


def test_a_fault_where_there_was_none_is_worse() -> None:
    none, some = (replace(ONE, ratios=[count]) for count in (0.0, 0.01))
    assert (change(none, some), change(some, none), change(none, none)) == ("worse", "better", "same")


def test_what_is_gone_is_bad_and_comes_first() -> None:
    other = replace(ONE, name="other")
    found = list(compare.changes([ONE, other], [scaled(ONE, 0.1), replace(ONE, name="fresh")]))
    assert [(one.name, one.change) for one in found] == [
        ("other", "gone"), ("a run committed", "better"), ("fresh", "new"),
    ]  # fmt: skip


RATIOS = st.lists(st.floats(0.01, 100), min_size=1, max_size=9)


@given(base=RATIOS, head=RATIOS)
def test_a_comparison_turned_round_says_the_contrary(base: list[float], head: list[float]) -> None:
    one, two = replace(ONE, ratios=base), replace(ONE, ratios=head)
    contrary = {"worse": "better", "better": "worse"}
    forth = change(one, two)
    assert change(two, one) == contrary.get(forth, forth)
    assert change(one, one) in ("same", "noisy")


@given(ratios=RATIOS, less=st.floats(1, 5), more=st.floats(1, 5))
def test_who_gets_slower_still_is_not_judged_better(ratios: list[float], less: float, more: float) -> None:
    base = replace(ONE, ratios=ratios)
    order = ["better", "same", "noisy", "worse"]
    small, large = (change(base, scaled(base, by)) for by in (less, less * more))
    assert order.index(large) >= order.index(small)


def test_equal_code_is_rarely_told_apart_and_half_as_fast_always_is() -> None:
    """Of 400 pairs of runs with a tenth of noise, one in a hundred may be told apart."""
    rnd = random.Random(0)

    def run(by: float) -> Figure:
        return replace(ONE, ratios=[by * rnd.lognormvariate(0, 0.1) for _ in range(9)])

    assert sum(change(run(1), run(1)) in ("worse", "better") for _ in range(400)) <= 4
    assert all(change(run(1), run(2)) == "worse" for _ in range(100))


def write(path: Path, found: list[Figure]) -> str:
    path.write_text(json.dumps({"format": 1, "figures": [figure.to_json() for figure in found]}))
    return str(path)


def compared(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.compare", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_command_trips_where_something_got_worse(tmp_path: Path) -> None:
    base = write(tmp_path / "base.json", [ONE, replace(ONE, name="other")])
    head = write(tmp_path / "head.json", [scaled(ONE, 2), replace(ONE, name="other")])
    tripped, well = compared(base, head), compared(base, base)
    assert (tripped.returncode, well.returncode) == (3, 0)
    row = [cell.strip() for cell in tripped.stdout.splitlines()[2].strip("|").split("|")]
    assert row == ["worse", "store", "a run committed", "2", "4", "+100%", "±10%"]
    assert "1 of 2 figures got worse" in tripped.stdout
    assert "no figure of 2 got worse" in well.stdout


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2, "figures": []}', '{"format": 1, "figures": [{}]}'])
def test_a_file_that_holds_no_figures_is_said_to(tmp_path: Path, text: str) -> None:
    (tmp_path / "odd.json").write_text(text)
    done = compared(str(tmp_path / "odd.json"), str(tmp_path / "odd.json"))
    assert done.returncode == 1
    assert "holds no figures of the suite" in done.stderr
    assert "Traceback" not in done.stderr
