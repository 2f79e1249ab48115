"""What Inspector and the debuggers on top of it give, made by the real ones."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import fxstore

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")
from tests.ingest.traced import inspector  # noqa: E402

EVENTS = (
    "SELECT n.name, n.path, m.metric, m.text, m.sample, m.reason, m.value, n.op_type FROM metrics m "
    "JOIN overlays o USING (overlay_id) LEFT JOIN nodes n USING (nid) WHERE o.kind = 'latency'"
)


@pytest.fixture
def store() -> Iterable[fxstore.Store]:
    with fxstore.connect(":memory:") as opened:
        yield opened


def test_an_inspector_gives_the_same_times_as_its_file(store: fxstore.Store, compiled: dict[str, Any]) -> None:
    both = {}
    for name, source in (("file", compiled["folder"] / "net.etdp"), ("live", inspector(compiled))):
        store.ingest({"runtime": compiled["program"], "latency": source}, name=name)
        rows = store.sql(f"{EVENTS} AND m.run_id = (SELECT run_id FROM runs WHERE name = '{name}')").fetchall()
        both[name] = sorted(
            (row[0] or "", row[2], row[3], row[4] or 0, round(row[6])) for row in rows if row[2] != "latency_framework"
        )
    assert [row[:4] for row in both["live"]] == [row[:4] for row in both["file"]]
    assert max(abs(a[4] - b[4]) for a, b in zip(both["live"], both["file"], strict=True)) <= 1


LOGGED = (
    "SELECT n.stage, n.name, m.port, m.metric, m.value, m.status, m.sample FROM metrics m JOIN overlays o "
    "USING (overlay_id) JOIN nodes n USING (nid) WHERE o.name = 'runtime values' AND o.run_id = '{}' ORDER BY ALL"
)


def test_an_inspector_gives_the_same_values_as_its_files(store: fxstore.Store, compiled: dict[str, Any]) -> None:
    buffer = str(compiled["folder"] / "net.bin")
    file = store.ingest(
        {"runtime": compiled["program"]}, name="file", etdump=compiled["folder"] / "net.etdp", debug_buffer=buffer
    )
    live = store.ingest({"runtime": compiled["program"], "run": inspector(compiled, debug_buffer_path=buffer)})
    told = store.sql(LOGGED.format(live.run_id)).fetchall()
    assert told == store.sql(LOGGED.format(file.run_id)).fetchall()
    assert {row[1] for row in told if row[4] is not None} >= {"aten_cumsum_default"}
    assert {row[6] for row in told} == {0, 1}


def test_an_inspector_with_its_record_is_compared_like_its_files(
    store: fxstore.Store, compiled: dict[str, Any]
) -> None:
    folder = compiled["folder"]
    seen = inspector(compiled, debug_buffer_path=str(folder / "net.bin"), etrecord=compiled["program"].get_etrecord())
    run = store.ingest(seen, inputs=[compiled["inputs"]] * 2)
    assert [stage for stage in run.stages if stage in ("exported", "edge")] == ["exported", "edge"]
    found = store.sql("SELECT name, value FROM worst('cosine')").fetchall()
    assert found
    assert all(value == pytest.approx(1.0, abs=1e-5) for _, value in found)


def test_an_inspector_without_a_buffer_has_no_values_not_zeros(store: fxstore.Store, compiled: dict[str, Any]) -> None:
    store.ingest({"runtime": compiled["program"], "run": inspector(compiled)})
    assert store.sql("SELECT count(*) FROM overlays WHERE name = 'runtime values'").fetchall() == [(0,)]


def test_a_public_run_of_an_inspector_has_times_alone(store: fxstore.Store, compiled: dict[str, Any]) -> None:
    seen = inspector(compiled, debug_buffer_path=str(compiled["folder"] / "net.bin"))
    store.ingest({"runtime": compiled["program"], "run": seen}, privacy="public")
    assert {kind for (kind,) in store.sql("SELECT DISTINCT kind FROM overlays").fetchall()} <= {
        "latency",
        "static",
        "category",
    }
    assert store.sql("SELECT count(*) FROM nodes WHERE source_file IS NOT NULL").fetchall() == [(0,)]


@pytest.fixture(scope="module")
def gap(compiled: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The frame of a real ``calculate_numeric_gap``."""
    pytest.importorskip("pandas")
    record = compiled["program"].get_etrecord()
    record.update_representative_inputs([compiled["inputs"]])
    path = str(tmp_path_factory.mktemp("gap") / "net.etrecord")  # of a live record it resolves no handle
    record.save(path)
    seen = inspector(compiled, debug_buffer_path=str(compiled["folder"] / "net.bin"), etrecord=path)
    return seen.calculate_numeric_gap("MSE")


ROWS = "SELECT n.name, m.metric, m.value, m.text, m.reason FROM metrics m JOIN overlays o USING (overlay_id) "
ROWS += "JOIN nodes n USING (nid) WHERE o.name = '{}' ORDER BY n.nid"


def test_the_real_frame_of_calculate_numeric_gap(store: fxstore.Store, compiled: dict[str, Any], gap: Any) -> None:
    run = store.ingest({"record": compiled["program"].get_etrecord(), "gap": gap})
    assert run.notes == ()
    found = store.sql(ROWS.format("gap")).fetchall()
    assert [(name, text) for name, _, _, text, _ in found] == [
        (ops[-1], ", ".join(ops) if len(ops) > 1 else None) for ops in gap["aot_ops"]
    ]
    assert [value for _, _, value, _, _ in found] == [gaps[0] for gaps in gap["gap"]]
    assert {reason for *_, reason in found} == {None}


def test_the_same_frame_as_a_file_says_what_it_measured(
    store: fxstore.Store, compiled: dict[str, Any], gap: Any, tmp_path: Path
) -> None:
    gap.to_csv(tmp_path / "gap.csv")
    record = compiled["program"].get_etrecord()
    store.ingest({"record": record, "frame": gap, "gap": tmp_path / "gap.csv"}, metric="MSE")
    numbers = [[row[:4] for row in store.sql(ROWS.format(name)).fetchall()] for name in ("frame", "gap")]
    assert numbers[0] == numbers[1]
    assert numbers[0]
    worst = store.worst("MSE").fetchall()
    assert [row[3] for row in worst] == sorted((row[3] for row in worst), reverse=True)


@pytest.mark.parametrize("form", ["frame", "tsv"])
def test_the_events_of_a_real_inspector(
    store: fxstore.Store, compiled: dict[str, Any], gap: Any, tmp_path: Path, form: str
) -> None:
    path = str(tmp_path / "net.etrecord")
    compiled["program"].get_etrecord().save(path)
    seen = inspector(compiled, etrecord=path)
    frame: Any = seen.to_dataframe()
    kept = [raw for raw, names in zip(frame["raw"], frame["stack_traces"], strict=True) if names for _ in names]
    if form == "tsv":
        frame.to_csv(tmp_path / "times.tsv", sep="\t")
        frame = tmp_path / "times.tsv"
    store.ingest({"record": compiled["program"].get_etrecord(), "times": frame}, stage="record/edge")
    rows = store.sql(
        "SELECT n.stage, m.metric, m.value FROM metrics m JOIN overlays o USING (overlay_id) "
        "JOIN nodes n USING (nid) WHERE o.name = 'times'"
    ).fetchall()
    assert {stage for stage, *_ in rows} == {"record/edge"}
    assert sorted(value for *_, value in rows) == pytest.approx(sorted(1e6 * time for raw in kept for time in raw))
    assert {metric for _, metric, _ in rows} <= {"latency", "latency_shared", "latency_inner", "latency_dispatch"}


class Comparator:
    def metric_name(self) -> str:
        return "mse"

    def is_valid_score(self, score: float) -> bool:
        return score < 1e-6


def test_the_real_csv_of_the_qnn_debugger(
    store: fxstore.Store, compiled: dict[str, Any], gap: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pydot", types.ModuleType("pydot"))  # of its drawings, which are not asked for
    from executorch.backends.qualcomm.debugger.format_outputs import export_csv

    program = compiled["program"].get_etrecord().edge_dialect_program
    export_csv("debug", str(tmp_path), program, gap.set_index("runtime_debug_handle"), Comparator())
    run = store.ingest({"edge": program, "debug": tmp_path / "debug.csv"})
    assert run.notes == ()
    found = {row[:2]: row[2:] for row in store.sql(ROWS.format("debug")).fetchall()}
    (kernel,) = (gaps[0] for gaps, ops in zip(gap["gap"], gap["aot_ops"], strict=True) if list(ops) == ["cumsum"])
    assert found["aten_cumsum_default", "mse"] == (kernel, None, None)
    assert found["aten_cumsum_default", "is_valid_score"] == (None, "valid", None)
    assert found["aten_sigmoid_default", "mse"] == (None, None, "the debugger has no match between device and CPU")
