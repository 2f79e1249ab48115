"""What rules find: accuracy, coverage, times and fallback, in runs of a few nodes."""

from __future__ import annotations

import math
import random
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from fxstore import Store, connect
from fxstore.cli import run as fxstore
from fxstore.errors import QueryError, UsageError
from fxstore.query.gates.check import Check
from fxstore.records import Graph, RunRecord
from tests.store.records import chain, graph, metric, node, overlay, run

NAN = math.nan


def line(names: Sequence[str], renamed: Mapping[str, str] | None = None) -> Graph:
    """A chain of operators; ``renamed`` gives some another name, as a re-trace does."""
    shown = [(renamed or {}).get(name, name) for name in names]
    rows = [
        node(new, op_type=old, source_file="/src/m.py", source_line=3) for new, old in zip(shown, names, strict=True)
    ]
    return graph([node("x", "placeholder"), *rows, node("output", "output")], chain("x", *shown, "output"))


def measured(
    name: str, values: Mapping[str, float | None], without: Sequence[str] = (), renamed: Mapping[str, str] | None = None
) -> RunRecord:
    """A run whose nodes are those of ``values`` and have these cosines; ``without`` are nodes without a row."""
    rows = [metric(f"edge:{(renamed or {}).get(n, n)}", "cosine", v, reason=None if v is not None else "not executed")
            for n, v in values.items()]  # fmt: skip
    return run({"edge": line([*values, *without], renamed)}, name=name, overlays=[overlay("acc", rows)])


def found(check: Check, *states: str) -> dict[object, object]:
    return {row["name"] or row["stage"]: row["reason"] for row in check.rows() if row["state"] in states}


BASE = {"conv": 0.97, "bn": 0.99, "relu": 0.999, "add": 0.995, "gelu": 0.998, "cat": 1.0}
RULES = ["cosine >= base - 0.01", "coverage >= base"]


@pytest.fixture
def pair() -> Any:
    """Returns what checks a head against a base."""
    stores: list[Store] = []

    def check(base: RunRecord, head: RunRecord, *rules: str) -> Check:
        stores.append(connect(":memory:"))
        stores[-1].commit(base)
        stores[-1].commit(head)
        return stores[-1].check("base", "head", rules)

    yield check
    for store in stores:
        store.close()


def test_a_fused_node_an_improved_one_a_drop_and_a_nan(pair: Any) -> None:
    head = {"conv": 0.99, "relu": 0.999, "add": 0.945, "gelu": NAN, "cat": 1.0}
    check = pair(measured("base", BASE), measured("head", head), *RULES)
    tripped = found(check, "tripped")
    assert set(tripped) == {"add", "gelu", "edge"}
    assert tripped["gelu"] == "NaN appeared"
    assert "-0.05 to the base" in str(tripped["add"])
    assert "6 -> 5 nodes measured" in str(tripped["edge"])
    assert set(found(check, "note")) == {"bn", "conv"}
    assert check.tripped
    assert check.state == "tripped"


def test_what_tripped_stands_in_the_order_of_the_graph_and_only_values_are_counted(pair: Any) -> None:
    """Three operators of seven are measured; of these one trips in each rule."""
    values = {"conv": 0.99, "relu": 0.5, "add": 0.6, "cat": None}
    names = ["gelu", "bn", "mean"]
    check = pair(measured("base", dict(values, relu=0.99, add=0.99), names), measured("head", values, names),
                 "cosine >= 0.9", "cosine >= 0.55")  # fmt: skip
    said = [(row["rule"], row["name"], row["reason"]) for row in check.rows()]
    assert said == [
        ("cosine >= 0.9", "relu", "0.5 against 0.9"),
        ("cosine >= 0.9", "add", "0.6 against 0.9"),
        ("cosine >= 0.55", "relu", "0.5 against 0.55"),
        ("cosine >= 0.9", None, "1 node keeps it"),
        ("cosine >= 0.55", None, "2 nodes keep it"),
    ]


def test_a_run_against_itself_passes(pair: Any) -> None:
    check = pair(measured("base", BASE), measured("head", BASE), *RULES, "cosine >= 0.9")
    assert not check.tripped
    assert check.state == "passed"
    assert check.summary() == "3 passed"


def test_a_renamed_or_renumbered_node_trips_nothing(pair: Any) -> None:
    renamed = {name: f"{name}_{i + 3}" for i, name in enumerate(BASE)}
    check = pair(measured("base", BASE), measured("head", BASE, renamed=renamed), "cosine >= base", "coverage >= base")
    assert check.state == "passed"
    assert not found(check, "note")


@pytest.mark.parametrize(
    ("head", "without", "rule", "reason"),
    [
        (dict(BASE, relu=NAN), (), "cosine >= 0.5", "NaN appeared"),
        (dict(BASE, relu=-math.inf), (), "cosine >= base", "infinite appeared"),
        (dict(BASE, relu=None), (), "cosine >= 0.5", "vanished: not executed"),
        ({n: v for n, v in BASE.items() if n != "relu"}, ("relu",), "cosine >= 0.5", "vanished: no data"),
    ],
)
def test_broken_and_vanished_values_trip(
    pair: Any, head: dict[str, float], without: tuple[str, ...], rule: str, reason: str
) -> None:
    assert found(pair(measured("base", BASE), measured("head", head, without), rule), "tripped") == {"relu": reason}


def test_a_metric_that_is_gone_altogether_trips_once(pair: Any) -> None:
    check = pair(measured("base", BASE), run({"edge": line(list(BASE))}, name="head"), "cosine >= 0.5")
    assert list(found(check, "tripped").values()) == ["cosine vanished: no node has it, 6 had in the base"]


def test_nan_in_both_is_no_change_but_keeps_no_number(pair: Any) -> None:
    broken = dict(BASE, relu=NAN)
    assert pair(measured("base", broken), measured("head", broken), "cosine >= base").state == "passed"
    assert found(pair(measured("base", broken), measured("head", broken), "cosine >= 0.5"), "tripped") == {
        "relu": "is NaN"
    }


def test_coverage_as_a_share(pair: Any) -> None:
    """Three of seven operators are measured."""
    names = ["sin", "cos", "tanh", "relu", "exp", "neg", "add"]
    some = {"sin": 0.9, "tanh": 0.6, "exp": 0.9}
    head = measured("head", some, [n for n in names if n not in some])
    assert pair(measured("base", some), head, "coverage >= 40%").state == "passed"
    assert pair(measured("base", some), head, "coverage >= 0.5").tripped


def timed(
    name: str, nodes: Mapping[str, Sequence[float]], tags: dict[str, str] | None = None, what: str = "latency"
) -> Any:
    rows = [
        {**metric(f"edge:{n}", what, value), "sample": i}
        for n, values in nodes.items()
        for i, value in enumerate(values)
    ]
    return run({"edge": line(list(nodes))}, name=name, overlays=[overlay("times", rows, "latency", "lower")], tags=tags)


def nights() -> dict[str, list[dict[str, float]]]:
    """30 nights of 20 nodes with noise and outliers: A nothing, B two nights on a slow runner, C one node slower."""
    rng = random.Random(7)
    base = {f"n{i}": rng.uniform(0.05, 2) for i in range(20)}
    cases: dict[str, list[dict[str, float]]] = {}
    for case in "ABC":
        cases[case] = []
        for night in range(30):
            slow = 1.4 if case == "B" and night >= 28 else 1.0
            one: dict[str, float] = {}
            for name, value in base.items():
                worse = 1.5 if case == "C" and name == "n7" and night >= 21 else 1.0
                noise = (1 + abs(rng.gauss(0, 0.08))) * (3 if rng.random() < 0.01 else 1)
                one[name] = value * slow * worse * noise
            cases[case].append(one)
    return cases


@pytest.mark.parametrize(("case", "tripped", "slow"), [("A", set(), False), ("B", set(), True), ("C", {"n7"}, False)])
def test_noise_trips_no_gate_on_times(case: str, tripped: set[str], slow: bool) -> None:
    with connect(":memory:") as store:
        for night, values in enumerate(nights()[case]):
            when = "base" if night < 20 else "head" if night >= 25 else "between"
            store.commit(timed(f"{night}", {n: [v] for n, v in values.items()}, {"part": when}, "time_ms"))
        check = store.check("tag:part=base~20", "tag:part=head~5", ["time_ms <= 1.15 * base"])
    assert set(found(check, "tripped")) == tripped
    notes = [row["reason"] for row in check.rows() if row["state"] == "note"]
    assert len(notes) == slow
    if slow:
        assert "the runner was slow: 1.4" in notes[0]
        assert "in 2 of 5 runs" in notes[0]
    assert check.state == ("tripped" if tripped else "passed")


def test_percentiles_come_from_the_samples_of_one_run(pair: Any) -> None:
    rng = random.Random(1)
    names = [f"n{i}" for i in range(8)]

    def samples(factor: float = 1.0) -> list[float]:
        return [2e6 * factor * (1 + rng.uniform(0, 0.04)) for _ in range(20)]

    base = timed("base", {n: samples() for n in names})
    head = timed("head", {n: samples(1.5 if n == "n3" else 1.0) for n in names})
    check = pair(base, head, "p90_ms <= 1.1 * base")
    assert set(found(check, "tripped")) == {"n3"}
    (row,) = [row for row in check.rows() if row["state"] == "tripped"]
    assert row["base_value"] == pytest.approx(2.07, rel=0.02)


def test_too_few_samples_are_a_state_of_their_own(pair: Any) -> None:
    base, head = timed("base", {"a": [1.0], "b": [1.0]}), timed("head", {"a": [9.0], "b": [1.0]})
    check = pair(base, head, "p90_ms <= 1.1 * base")
    assert [row["reason"] for row in check.rows()] == ["2 nodes: 1 sample, 5 are needed"]
    assert (check.state, check.tripped) == ("not enough data", False)


def lowered(name: str, outside: Sequence[str], inside: Sequence[str]) -> RunRecord:
    call = node("call", op_type="executorch_call_delegate", role="delegate", backend="Xnnpack")
    names = ["x", *outside, "call", "output"]
    top = graph([node("x", "placeholder"), *outside, call, node("output", "output")], chain(*names))
    body = ["a", *inside, "out"]
    inner = graph([node("a", "placeholder"), *inside, node("out", "output")], chain(*body), path="lowered_module_0",
                  parent=("", "call"))  # fmt: skip
    return run({"lowered": [top, inner]}, name=name)


@pytest.mark.parametrize(
    ("outside", "inside", "tripped"),
    [
        (["softmax"], ["conv", "relu"], {}),
        (["softmax_9"], ["conv", "relu"], {}),
        (["softmax", "relu"], ["conv"], {"relu": "relu: taken by Xnnpack in the base"}),
        (["softmax", "erf"], ["conv", "relu"], {"erf": "erf: new, and no backend took it"}),
        ([], ["conv", "relu", "softmax"], {}),
    ],
)
def test_new_fallback(pair: Any, outside: list[str], inside: list[str], tripped: dict[str, str]) -> None:
    check = pair(lowered("base", ["softmax"], ["conv", "relu"]), lowered("head", outside, inside), "no new fallback")
    assert found(check, "tripped") == tripped


def test_an_unknown_metric_and_no_rule_are_told(pair: Any) -> None:
    with pytest.raises(QueryError, match="neither run has the metric 'cosin'") as error:
        pair(measured("base", BASE), measured("head", BASE), "cosin >= 1")
    assert error.value.hint is not None
    assert "'cosine'" in error.value.hint
    with pytest.raises(UsageError, match="no rule"):
        pair(measured("base", BASE), measured("head", BASE))


HOSTILE = "re]]>lu\x00\x1b<b>%::error::"


def test_reports_hold_hostile_names(pair: Any) -> None:
    head = {HOSTILE: 0.1, "conv": 0.99}
    check = pair(
        measured("base", {HOSTILE: 0.99, "conv": 0.99}), measured("head", head), "cosine >= 0.5", "coverage >= 1"
    )
    root = ET.fromstring(check.junit())
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "0")
    (failure,) = root.iter("failure")
    assert "0.1 against 0.5" in str(failure.get("message"))
    (command,) = check.annotations()
    assert command.startswith("::error file=/src/m.py,line=3,title=fxstore%3A cosine >= 0.5::edge/re")
    assert "\n" not in command
    assert command.count("%25") == 1


def test_the_verb_exits_with_3_and_writes_what_it_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with connect("runs") as store:
        store.commit(measured("base", BASE))
        store.commit(measured("head", dict(BASE, gelu=NAN)))
    (tmp_path / "rules.toml").write_text('rules = ["cosine >= base"]')
    asked = ["check", "base", "head", "--store", "runs", "--rules", "rules.toml"]
    assert (
        fxstore([*asked, "--rule", "coverage >= base", "--junit", "out.xml", "--annotations", "--compare", "p.html"])
        == 3
    )
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("tripped,cosine >= base,edge,gelu,NaN,0.998,")
    assert "1 tripped, 1 passed" in err
    assert "edge introduced the error: cosine first falls to 0.97 at conv" in err
    assert "edge introduced the error" in str(ET.parse("out.xml").getroot()[0].findtext("system-out"))
    assert "::error file=/src/m.py,line=3,title=fxstore%3A cosine >= base::edge/gelu: NaN appeared" in err
    assert ET.parse("out.xml").getroot()[0].get("failures") == "1"
    assert (tmp_path / "p.html").read_text("utf-8").startswith("<!doctype html>")
    assert fxstore(["check", "base", "base", "--store", "runs", "--rule", "cosine >= base"]) == 0
    assert fxstore([*asked, "--junit", "out.xml"]) == 2


def test_the_verdict_of_a_check_goes_by_the_rule_that_tripped() -> None:
    with connect(":memory:") as store:
        store.commit(measured("base", BASE))
        store.commit(measured("head", dict(BASE, gelu=0.995)))
        found = store.check("base", "head", ["coverage >= base", "cosine >= 0.9975"]).why()
        assert found is not None
        assert (found.metric, found.threshold, found.stage) == ("cosine", 0.9975, "edge")
        assert f"In the base base ({store.committed_runs()[0].run_id}): 0.97 there." in found.text
        passed = store.check("base", "head", ["cosine >= 0.5"]).why()
        assert passed is not None
        assert (passed.level, passed.threshold) == ("warn", 0.99)


def several(name: str, **overlays: Mapping[str, float]) -> RunRecord:
    """A run of two stages: each overlay is ``stage_than`` and holds cosines on nodes of that stage."""
    rows = {
        said: [metric(f"{said.partition('_')[0]}:{n}", "cosine", v) for n, v in values.items()]
        for said, values in overlays.items()
    }
    stages = {stage: line(["conv", "relu"]) for stage in ("quantized", "runtime")}
    return run(stages, name=name, overlays=[overlay(said, held) for said, held in rows.items()])


def test_a_rule_is_about_every_overlay_that_holds_the_metric(pair: Any) -> None:
    """The quantised stage lost accuracy against float; the runtime, measured last, is true to the quantised stage."""
    good, bad, true = {"conv": 0.999, "relu": 0.999}, {"conv": 0.999, "relu": 0.9}, {"conv": 1.0, "relu": 1.0}
    base = several("base", quantized_float=good, runtime_quantized=true)
    head = several("head", quantized_float=bad, runtime_quantized=true)
    check = pair(base, head, "cosine >= 0.98")
    rows = [row for row in check.rows() if row["state"] == "tripped"]
    assert [(row["stage"], row["name"], row["overlay"], row["value"]) for row in rows] == [
        ("quantized", "relu", "quantized_float", 0.9)
    ]
    assert "quantized/relu: 0.9 against 0.98 (quantized_float)" in check.junit()
    assert pair(base, head, "cosine >= 0.98 in runtime").state == "passed"
    assert pair(base, head, "cosine >= 0.98 in quantized").tripped
    assert pair(base, head, "cosine >= 0.98 in nowhere").state == "not enough data"


def test_two_overlays_on_one_node_are_compared_each_with_itself(pair: Any) -> None:
    """Against float the runtime was worse all along; against the quantised stage it lost."""
    base = several("base", runtime_float={"conv": 0.9}, runtime_quantized={"conv": 0.99})
    head = several("head", runtime_float={"conv": 0.9}, runtime_quantized={"conv": 0.95})
    check = pair(base, head, "cosine >= base")
    rows = [row for row in check.rows() if row["state"] == "tripped"]
    assert [(row["overlay"], row["base_value"], row["value"]) for row in rows] == [("runtime_quantized", 0.99, 0.95)]


def test_an_overlay_that_vanished_trips_and_one_that_was_named_anew_does_not(pair: Any) -> None:
    values = {"conv": 0.99, "relu": 0.99}
    base = several("base", quantized_float=values, runtime_float=values)
    check = pair(base, several("head", runtime_float=values), "cosine >= 0.98")
    assert [row["overlay"] for row in check.rows() if row["state"] == "tripped"] == ["quantized_float"]
    assert (
        pair(base, several("head", quantized_nightly=values, runtime_float=values), "cosine >= base").state == "passed"
    )
