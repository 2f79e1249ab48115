"""The verdict on a run: the right stage, node, reach and level, in words and as facts."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from fxstore import Store, connect
from fxstore.cli import run as command
from fxstore.errors import QueryError, UsageError
from fxstore.records import RunRecord
from tests.conftest import Demo
from tests.store.records import chain, graph, metric, node, overlay, run

STAGES = ("float", "quantized", "lowered", "runtime")
Numbers = dict[str, tuple[float | None, float | None]]


def build(numbers: Numbers, *, name: str = "cosine", run_name: str = "tiny", better: str = "higher") -> RunRecord:
    """``tanh(mul(x))`` in four stages, with the metric of both nodes against float, of runtime against lowered."""
    nodes = [node("mul", source_file="/home/me/net.py", source_line=7, module_path="body.scale"), "tanh",
             node("output", "output")]  # fmt: skip
    graphs = {stage: graph(nodes, chain("mul", "tanh", "output")) for stage in STAGES}
    against = {"quantized": "float", "lowered": "float", "runtime": "lowered"}
    overlays = [
        overlay(
            f"{stage} vs {against[stage]}",
            [metric(f"{stage}:{of}", name, value, ref=f"{against[stage]}:{of}", reason=None if value else "no buffer",
                    unit="dB" if name == "sqnr" else None)
             for of, value in zip(("mul", "tanh"), values, strict=True)],
            better=better,
        )
        for stage, values in numbers.items()
    ]  # fmt: skip
    made = run(graphs, name=run_name, overlays=overlays)
    kinds = dict(zip(STAGES, ("exported", "graph", "lowered", "runtime"), strict=True))
    return replace(made, stages=tuple(replace(one, kind=kinds[one.name]) for one in made.stages))


@pytest.fixture
def store() -> Store:
    return connect(":memory:")


def test_an_error_that_reaches_the_output_is_named_with_its_stage_node_and_line(store: Store) -> None:
    store.commit(build({"quantized": (0.5, 0.8), "lowered": (0.5, 0.8), "runtime": (1.0, 0.9999)}))
    found = store.why()
    assert (found.level, found.stage, found.metric, found.threshold) == ("bad", "quantized", "cosine", 0.99)
    assert store.sql("SELECT stage, name FROM nodes WHERE nid = ?", [found.nid]).fetchall() == [("quantized", "mul")]
    origin, output = map(str, found.sentences)
    assert origin == (
        "quantized introduced the error: cosine against float first falls to 0.5 at mul (net.py:7, module body.scale), "
        "and 2 of its 2 measured nodes are below 0.99."
    )
    assert output == (
        "It reaches the output of quantized: 0.8 there; lowered still has it (worst 0.5 against float); "
        "the device (runtime) adds none (worst 0.9999 against lowered)."
    )
    assert found.defaults == ("metric", "threshold")
    assert "cosine >= 0.99, metric and threshold by default" in found.caption
    assert "/home" not in found.text


def test_an_error_that_stays_inside_is_a_warning(store: Store) -> None:
    store.commit(build({"quantized": (0.5, 0.999)}))
    found = store.why()
    assert found.level == "warn"
    assert "and 1 of its 2 measured nodes is below 0.99." in found.text
    assert "It does not reach the output of quantized: 0.999 there." in found.text
    assert "Not measured: lowered and runtime" in found.text


def test_an_output_that_was_not_measured_is_not_taken_for_good(store: Store) -> None:
    store.commit(build({"quantized": (0.5, None)}))
    found = store.why()
    assert found.level == "bad"
    assert "What quantized returns was not measured." in found.text


def test_the_device_has_an_error_of_its_own(store: Store) -> None:
    store.commit(build({"quantized": (1.0, 0.999), "lowered": (1.0, 0.999), "runtime": (1.0, math.nan)}))
    found = store.why()
    assert (found.level, found.stage) == ("bad", "runtime")
    assert "runtime introduced the error: cosine against lowered first becomes NaN at tanh" in found.text


def test_a_second_error_is_told_after_the_first(store: Store) -> None:
    store.commit(build({"quantized": (0.9, 0.9), "lowered": (0.9, 0.9), "runtime": (0.4, 0.3)}))
    assert "; the device (runtime) adds an error of its own against lowered, from 0.4 at mul." in store.why().text


def test_no_error_names_the_worst_number(store: Store) -> None:
    store.commit(build({"quantized": (0.9999, 0.995), "runtime": (1.0, 1.0)}))
    found = store.why()
    assert (found.level, found.stage, found.nid) == ("good", None, None)
    assert found.text.startswith(
        "Within limits: every number in the 2 measured stages holds cosine >= 0.99; the worst is 0.995, quantized "
        "against float at tanh."
    )


def test_without_numbers_it_says_that_nothing_is_known(store: Store) -> None:
    store.commit(build({}))
    found = store.why()
    assert (found.level, found.metric) == ("warn", None)
    assert found.text.startswith("No stage was compared with another, so nothing is known of the accuracy")


def test_sqnr_goes_before_cosine_since_it_sees_a_scaled_tensor(store: Store) -> None:
    made = build({"quantized": (6.0, 6.0)}, name="sqnr")
    store.commit(replace(made, overlays=(*made.overlays, *build({"quantized": (1.0, 1.0)}).overlays)))
    assert store.why().metric == "sqnr"
    assert store.why(metric="cosine").level == "good"
    assert "first falls to 6 dB at mul" in store.why().text


def test_a_stage_with_another_metric_is_judged_by_that_one(store: Store) -> None:
    """A green verdict by the metric of one stage said nothing of a stage that holds another metric."""
    quantized = build({"quantized": (40.0, 41.0)}, name="sqnr")
    store.commit(replace(quantized, overlays=(*quantized.overlays, *build({"lowered": (0.1, 0.2)}).overlays)))
    found = store.why()
    assert (found.level, found.stage, found.metric, found.threshold) == ("bad", "lowered", "cosine", 0.99)
    assert found.limits == ("sqnr >= 20 dB", "cosine >= 0.99")
    assert "lowered introduced the error: cosine against float first falls to 0.1 at mul" in found.text
    assert "lowered" not in found.facts["not_measured"]["stages"]
    good = replace(quantized, overlays=(*quantized.overlays, *build({"lowered": (1.0, 0.995)}).overlays))
    store.commit(replace(good, name="good"))
    assert store.why("good").text.startswith(
        "Within limits: every number in quantized holds sqnr >= 20 dB; the worst is 40 dB, quantized against float at "
    )
    assert "; every number in lowered holds cosine >= 0.99; the worst is 0.995" in store.why("good").text


def test_an_error_of_a_stage_before_is_inherited_whatever_metric_tells_it(store: Store) -> None:
    quantized = build({"quantized": (6.0, 6.0)}, name="sqnr")
    store.commit(replace(quantized, overlays=(*quantized.overlays, *build({"lowered": (0.1, 0.2)}).overlays)))
    found = store.why()
    assert [row["introduced"] for row in found.facts["stages"]] == [True, False]
    assert "; lowered still has it (worst cosine 0.1 against float)" in found.text


def test_numbers_that_nothing_was_judged_by_are_said_and_not_taken_for_good(store: Store) -> None:
    quantized = build({"quantized": (40.0, 41.0)}, name="sqnr")
    odd = build({"lowered": (0.5, 0.5)}, name="mse", better="lower").overlays
    store.commit(replace(quantized, overlays=(*quantized.overlays, *odd)))
    found = store.why()
    assert found.level == "warn"
    assert "Not judged: lowered (it has mse); --metric and --threshold say by what." in found.text
    assert store.why(metric="mse", threshold=0.1).stage == "lowered"
    assert "Not judged: quantized (it has sqnr)" in store.why(metric="mse", threshold=0.9).text


def test_the_sample_that_shows_the_error_is_named(store: Store) -> None:
    made = build({"quantized": (1.0, 1.0)})
    (one,) = made.overlays
    rows = [{**row, "sample": sample, "value": row["value"] if sample == 0 else 0.5}
            for sample in (0, 1) for row in one.metrics.to_pylist()]  # fmt: skip
    store.commit(replace(made, overlays=(replace(one, metrics=pa.Table.from_pylist(rows, one.metrics.schema)),)))
    assert "falls to 0.5 at mul (net.py:7, module body.scale) in sample 1, and 2 of its 2" in store.why().text


def test_lower_may_be_better_and_a_metric_without_a_default_asks_for_a_threshold(store: Store) -> None:
    store.commit(build({"quantized": (1e-6, 0.5)}, name="mse", better="lower"))
    with pytest.raises(QueryError, match="none of the metrics of run 'tiny' has a default threshold") as refused:
        store.why()
    assert refused.value.hint == "name one with its threshold: --metric mse --threshold NUMBER"
    with pytest.raises(UsageError, match="mse has no default threshold"):
        store.why(metric="mse")
    found = store.why(metric="mse", threshold=1e-3)
    assert "mse against float first rises to 0.5" in found.text


def test_the_last_good_run_is_named_or_the_base(store: Store) -> None:
    store.commit(build({"quantized": (0.999, 0.999)}, run_name="monday"))
    store.commit(build({"quantized": (0.6, 0.999)}, run_name="tuesday"))
    store.commit(build({"quantized": (0.5, 0.8)}, run_name="wednesday"))
    monday, tuesday, _ = (one.run_id for one in store.committed_runs())
    assert f"It was last good in run monday ({monday}): 0.999 there." in store.why().text
    found = store.why("wednesday", base="tuesday")
    assert f"In the base tuesday ({tuesday}): 0.6 there." in found.text
    assert found.facts["base"]["value"] == 0.6


def test_misspelt_names_are_refused(store: Store) -> None:
    store.commit(build({"quantized": (0.5, 0.8)}))
    for asked in ({"run": "tinny"}, {"metric": "cosin"}, {"base": "tinny"}):
        with pytest.raises(QueryError, match=r"tinny|cosin"):
            store.why(**asked)  # type: ignore[arg-type]


def test_as_json_it_holds_the_facts(store: Store) -> None:
    store.commit(build({"quantized": (0.5, math.nan)}))
    found = store.why()
    read = json.loads(found.json())
    assert (read["level"], read["stage"], read["nid"], read["text"]) == ("bad", "quantized", found.nid, found.text)
    assert read["sentences"][0]["nodes"] == [{"name": "mul", "nid": found.nid}]
    assert read["facts"]["stages"][0]["worst"] == "NaN"
    assert read["facts"]["not_measured"]["stages"] == ["lowered", "runtime"]


def test_the_verb_prints_sentences_and_the_caption_beside_them(demo: Demo, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(Path(demo.folder) / "work" / "fxstore-runs")
    assert command(["why", "demo", "--store", path]) == 0
    said = capsys.readouterr()
    assert said.out.startswith(
        "Within limits: every number in the 2 measured stages holds sqnr >= 20 dB; the worst is "
    )
    assert "operators run outside of every backend" in said.out
    assert said.err.endswith(", sqnr >= 20 dB, metric and threshold by default\n")
    assert (
        command(["why", "demo", "--store", path, "--metric", "cosine", "--threshold", "0.9999", "--format", "json"])
        == 0
    )
    assert json.loads(capsys.readouterr().out)["stage"] == "quantized"
