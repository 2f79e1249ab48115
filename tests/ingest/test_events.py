"""ETDumps on the nodes of a run: each event where it belongs, none twice, none silently lost."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fxstore
from fxstore.ingest.executorch.inner_events import agrees, align
from tests.ingest.etdump_writer import dump, profile

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")


class TestAlignment:
    def test_fused_operators_have_no_event(self) -> None:
        kinds = ["convert", "fully_connected", "convert", "gelu", "convert", "fully_connected", "add", "convert"]
        events = [
            "Convert (NC) #1", "Fully Connected (NC, QS8, QC8W) GEMM #1", "Invalid Unary Op #1",
            "Fully Connected (NC, QS8, QC8W) GEMM #2", "Add (ND) #1", "Convert (NC) #2",
        ]  # fmt: skip
        assert align(kinds, events) == [0, 1, 3, 5, 6, 7]

    def test_what_could_be_either_is_neither(self) -> None:
        assert align(["static_reshape", "static_reshape", "add"], ["Static Reshape (NC) #1", "Add (ND) #1"]) == [
            None,
            2,
        ]
        assert align(["add"], ["Add (ND) #1", "Add (ND) #2"]) == [None, None]
        assert align([], ["Add (ND) #1"]) == [None]

    @pytest.mark.parametrize(
        ("kind", "event", "same"),
        [
            ("conv2d", "Convolution (NHWC, QC8) IGEMM #1", True),
            ("depthwise_conv2d", "Convolution (NHWC, F32) DWConv #1", True),
            ("static_transpose", "Transpose (ND, X8) #1", True),
            ("concatenate5", "Copy (NC, X32) #1", True),
            ("sin", "Sine (NC) #1", True),
            ("add", "Abs (NC) #1", False),
            ("multiply", "Fully Connected (NC, F32) GEMM #1", False),
            ("static_reshape", "Static Constant Pad #1", False),
        ],
    )
    def test_kinds_and_kernels(self, kind: str, event: str, same: bool) -> None:
        assert agrees(kind, event) is same

    @given(st.lists(st.sampled_from(["add", "sin", "convert", "static_reshape"]), max_size=8), st.data())
    def test_law_an_assignment_keeps_order_and_kind(self, kinds: list[str], data: st.DataObject) -> None:
        names = {
            "add": "Add (ND)",
            "sin": "Sine (NC)",
            "convert": "Convert (NC)",
            "static_reshape": "Static Reshape (NC)",
        }
        kept = [k for k in kinds if data.draw(st.booleans())]
        found = align(kinds, [names[k] for k in kept])
        told = [i for i in found if i is not None]
        assert told == sorted(set(told))
        assert all(kinds[i] == kept[j] for j, i in enumerate(found) if i is not None)
        if kept == kinds:
            assert found == list(range(len(kinds)))


@pytest.fixture
def store() -> Iterable[fxstore.Store]:
    with fxstore.connect(":memory:") as opened:
        yield opened


EVENTS = (
    "SELECT n.name, n.path, m.metric, m.text, m.sample, m.reason, m.value, n.op_type, n.stage "
    "FROM metrics m "
    "JOIN overlays o USING (overlay_id) LEFT JOIN nodes n USING (nid) WHERE o.kind = 'latency'"
)


def lines(store: fxstore.Store, metric: str, sample: int | None = 0) -> list[tuple[Any, ...]]:
    chosen = "" if sample is None else f" AND m.sample = {sample}"
    return store.sql(f"{EVENTS} AND m.metric = '{metric}'{chosen}").fetchall()


@pytest.mark.parametrize("kind", ["live", "pte"])
def test_every_event_is_on_its_operator(store: fxstore.Store, compiled: dict[str, Any], kind: str) -> None:
    source = compiled["program"] if kind == "live" else compiled["folder"] / "net.pte"
    run = store.ingest({"runtime": source, "latency": compiled["folder"] / "net.etdp"})
    assert (run.status, run.notes) == ("complete", ())
    own = lines(store, "latency")
    assert sorted({row[3] for row in own if row[3] != "DELEGATE_CALL"}) == ["native_call_cumsum.out"]
    assert [row[7] for row in own if row[3] == "native_call_cumsum.out"] == ["cumsum"]
    assert len([row for row in own if row[3] == "DELEGATE_CALL"]) == 2
    inner = lines(store, "latency_inner")
    assert inner
    assert all(row[1].startswith("lowered_module") and row[5] is None for row in inner), inner
    by_event = {row[3].partition(" (")[0]: row[7] for row in inner}
    assert {"Fully Connected", "Sigmoid", "TanH", "Add"} <= by_event.keys()
    assert by_event["Sigmoid"] == "sigmoid"
    assert by_event["TanH"] == "tanh"
    assert by_event["Add"] == "add"
    assert len({row[0] + row[1] for row in inner}) == len(inner)


def test_times_add_up_to_the_execution_and_none_counts_twice(store: fxstore.Store, compiled: dict[str, Any]) -> None:
    store.ingest({"runtime": compiled["program"], "latency": compiled["folder"] / "net.etdp"})
    for sample in (0, 1):
        (whole,) = [r[6] for r in lines(store, "latency_framework", sample) if r[3] == "Method::execute"]
        assert 0 < sum(row[6] for row in lines(store, "latency", sample)) <= whole
    dispatched = lines(store, "latency_dispatch")
    assert {row[3] for row in dispatched} == {"OPERATOR_CALL"}
    assert all(row[0] is None for row in lines(store, "latency_framework", None))


def test_a_record_has_its_times_by_handle_and_shared_ones_say_so(
    store: fxstore.Store, compiled: dict[str, Any]
) -> None:
    store.ingest(compiled["folder"] / "net.etrecord", etdump=compiled["folder"] / "net.etdp")
    own = lines(store, "latency")
    assert [(row[3], row[7]) for row in own] == [("native_call_cumsum.out", "cumsum")]
    shared = lines(store, "latency_shared")
    assert {row[7] for row in shared} >= {"sigmoid", "tanh"}
    assert all("XnnpackBackend" in row[5] for row in shared)


def test_events_of_another_program_are_listed_and_lie_nowhere(
    store: fxstore.Store, compiled: dict[str, Any], tmp_path: Path
) -> None:
    events = [profile("native_call_gelu.out", 0, 0, 5), profile("OPERATOR_CALL", 0, 0, 6)]
    (tmp_path / "other.etdp").write_bytes(dump(events))
    run = store.ingest({"runtime": compiled["program"], "latency": tmp_path / "other.etdp"})
    assert run.notes == ("latency: execution 0 of the dump fits no method of this run",)
    rows = store.sql(f"{EVENTS}").fetchall()
    assert [(row[0], row[2], row[3], row[5]) for row in rows] == [
        (None, "latency_unplaced", "native_call_gelu.out", "fits no method of this run"),
        (None, "latency_unplaced", "OPERATOR_CALL", "fits no method of this run"),
    ]


def _emitted(net: Any, path: Path) -> None:
    exir = pytest.importorskip("executorch.exir")
    program = exir.to_edge(torch.export.export(net, (torch.randn(4),))).to_executorch()
    path.write_bytes(bytes(program.buffer))


class _Two(torch.nn.Module):
    def __init__(self, last: Any, *more: Any) -> None:
        super().__init__()
        self.steps = [torch.relu, last, *more]

    def forward(self, x: Any) -> Any:
        for step in self.steps:
            x = step(x)
        return x


@pytest.mark.parametrize("other", [_Two(torch.tanh), _Two(torch.sigmoid, torch.exp)], ids=["other", "longer"])
def test_a_dump_lies_on_the_program_whose_operators_it_names(store: fxstore.Store, tmp_path: Path, other: Any) -> None:
    _emitted(_Two(torch.sigmoid), tmp_path / "a.pte")
    _emitted(other, tmp_path / "b.pte")
    names = ["native_call_relu.out", "native_call_sigmoid.out"]
    events = [*(profile(name, i, i, 5) for i, name in enumerate(names)), profile("Method::execute", 0, 0, 9)]
    (tmp_path / "a.etdp").write_bytes(dump(events))
    both = {"b": tmp_path / "b.pte", "a": tmp_path / "a.pte"}
    for sources in (both, dict(reversed(both.items()))):
        store.ingest(sources, etdump=tmp_path / "a.etdp")
        assert {(row[7], row[8]) for row in lines(store, "latency")} == {("relu", "a"), ("sigmoid", "a")}
    alone = store.ingest(tmp_path / "b.pte", etdump=tmp_path / "a.etdp")
    assert alone.notes == ("latency: execution 0 of the dump fits no method of this run",)


def test_where_two_programs_fit_a_dump_the_stage_is_asked_for(store: fxstore.Store, tmp_path: Path) -> None:
    for name in "ab":
        _emitted(_Two(torch.sigmoid), tmp_path / f"{name}.pte")
    names = ["native_call_relu.out", "native_call_sigmoid.out"]
    (tmp_path / "x.etdp").write_bytes(dump([profile(name, i, i, 5) for i, name in enumerate(names)]))
    sources = {"a": tmp_path / "a.pte", "b": tmp_path / "b.pte"}
    with pytest.raises(fxstore.UsageError, match="the dump fits the stages a and b") as raised:
        store.ingest(sources, etdump=tmp_path / "x.etdp")
    assert raised.value.hint == "say which one ran: stage='a'"
    store.ingest(sources, etdump=tmp_path / "x.etdp", stage="b")
    assert {row[8] for row in lines(store, "latency")} == {"b"}
    with pytest.raises(fxstore.UsageError, match="stage 'c' is not in this run"):
        store.ingest(sources, etdump=tmp_path / "x.etdp", stage="c")


def test_what_is_not_told_stays_on_the_call_with_the_reason(
    store: fxstore.Store, compiled: dict[str, Any], tmp_path: Path
) -> None:
    events = [
        profile("Sigmoid (NC) #1", 0, 0, 1, delegate_id=7),
        profile("Sigmoid (NC) #2", 0, 1, 2, delegate_id=8),
        profile("DELEGATE_CALL", 0, 0, 3),
    ]
    (tmp_path / "odd.etdp").write_bytes(dump(events))
    store.ingest({"runtime": compiled["program"], "latency": tmp_path / "odd.etdp"})
    inner = lines(store, "latency_inner")
    assert {(row[7], row[5]) for row in inner} == {
        ("executorch_call_delegate", "could be several operators of the delegate, or none")
    }


class TestBackends:
    QUERY = (
        "SELECT n.stage, n.name, n.op_type, m.text, m.status, m.reason FROM metrics m JOIN overlays o USING "
        "(overlay_id) JOIN nodes n USING (nid) WHERE o.name = 'backend' AND o.kind = 'category'"
    )

    def test_each_operator_of_what_is_lowered_has_an_owner(
        self, store: fxstore.Store, compiled: dict[str, Any]
    ) -> None:
        store.ingest({"edge": compiled["folder"] / "net.etrecord", "runtime": compiled["program"]})
        rows = store.sql(self.QUERY).fetchall()
        for stage in ("edge/edge", "runtime"):
            owners = {(row[2], row[3]) for row in rows if row[0] == stage}
            assert ("cumsum", "portable") in owners
            assert {("sigmoid", "XnnpackBackend"), ("tanh", "XnnpackBackend")} <= owners
        assert {row[4] for row in rows} == {"ok"}

    def test_a_handle_that_both_share_tells_nothing(self, store: fxstore.Store, compiled: dict[str, Any]) -> None:
        from fxstore.ingest import adapters
        from fxstore.ingest.executorch.etrecord import read_etrecord
        from fxstore.ingest.executorch.handles import Maps
        from fxstore.records import Delegate

        (edge,) = (s for s in read_etrecord(compiled["folder"] / "net.etrecord").stages if s.name == "edge")
        rows = edge.graphs[0].tables["handles"].to_pylist()
        at = edge.graphs[0].nodes["op_type"].to_pylist().index("sigmoid")
        handle = next(r["handle"] for r in rows if (r["position"], r["namespace"]) == (at, "debug_handle"))
        maps = Maps({"forward": {90: (handle,), 91: (handle,)}}, {"forward": {90: Delegate("MadeUpBackend")}})
        store.ingest(adapters.Ingested((maps.on(edge),)))
        reasons = {row[5] for row in store.sql(self.QUERY).fetchall() if row[4] == "not_measured"}
        assert any("MadeUpBackend and portable" in str(reason) for reason in reasons), reasons

    def test_a_run_without_delegates_has_none(self, store: fxstore.Store, compiled: dict[str, Any]) -> None:
        from tests.ingest.traced import Net

        store.ingest(torch.export.export(Net().eval(), compiled["inputs"]))
        assert store.sql(self.QUERY).fetchall() == []


@pytest.fixture(scope="module")
def stages(compiled: dict[str, Any]) -> dict[str, Any]:
    """Live stages of the network."""
    return {"edge": compiled["program"]._etrecord.edge_dialect_program, "runtime": compiled["program"]}


def traced(compiled: dict[str, Any]) -> dict[str, Any]:
    return {"etdump": compiled["folder"] / "net.etdp", "debug_buffer": compiled["folder"] / "net.bin"}


VALUES = (
    "SELECT n.name, n.op_type, m.port, m.metric, m.value, m.status, m.reason, m.sample, o.source, n.stage "
    "FROM metrics m JOIN overlays o USING (overlay_id) JOIN nodes n USING (nid) WHERE o.name = 'runtime values'"
)


@pytest.mark.parametrize("kind", ["program", "net.pte", "net.etrecord"])
def test_values_of_files_have_statistics_and_the_reason_why_they_are_not_compared(
    store: fxstore.Store, compiled: dict[str, Any], kind: str
) -> None:
    source = compiled["program"] if kind == "program" else compiled["folder"] / kind
    run = store.ingest(source, inputs=[compiled["inputs"]] * 2, **traced(compiled))
    assert run.status == "complete"
    assert any("no stage can be run" in note for note in run.notes)
    rows = store.sql(VALUES).fetchall()
    assert all("compared with nothing: no stage can be run" in row[8] for row in rows)
    means = {row[4] for row in rows if (row[1], row[3]) == ("cumsum", "mean")}
    weights = compiled["program"]._etrecord.exported_program.state_dict
    first = torch.nn.functional.linear(compiled["inputs"][0], weights["first.weight"], weights["first.bias"])
    wanted = torch.cumsum(torch.sigmoid(first) + 1.5, 1).mean().item()
    assert [pytest.approx(wanted, rel=1e-5)] == list(means)
    if kind == "net.etrecord":
        assert {row[6] for row in rows if row[5] == "not_measured"} == {
            "a delegate's outputs: only the emitted program tells which node each one is"
        }


def test_values_are_compared_with_a_stage_that_can_be_run(
    store: fxstore.Store, compiled: dict[str, Any], stages: dict[str, Any]
) -> None:
    given = [compiled["inputs"]] * 2
    run = store.ingest(stages, inputs=given, **traced(compiled))
    assert (run.status, run.notes) == ("complete", ())
    found = store.sql("SELECT name, value FROM worst('cosine', overlay := 'runtime vs edge', n := 99)").fetchall()
    assert len(found) > 3
    assert all(value > 0.9999 for _, value in found)
    assert {row[8] for row in store.sql(VALUES)} == {"ETDump and debug buffer; compared with edge"}
    wrong = store.ingest(stages, inputs=[(torch.ones(2, 4) * 9,)] * 2, **traced(compiled))
    least = store.sql(f"SELECT min(value) FROM worst('cosine', run := '{wrong.run_id}', n := 99)").fetchall()
    assert least[0][0] < 0.999


def test_a_live_record_is_its_own_reference(store: fxstore.Store, compiled: dict[str, Any]) -> None:
    record = compiled["program"].get_etrecord()
    run = store.ingest(record, inputs=[compiled["inputs"]] * 2, **traced(compiled))
    assert run.notes == ()
    found = store.sql("SELECT name, value FROM worst('cosine', overlay := 'edge vs exported', n := 99)").fetchall()
    assert {name for name, _ in found} >= {"aten_cumsum_default"}
    assert all(value > 0.9999 for _, value in found)


def test_as_many_inputs_as_executions(store: fxstore.Store, compiled: dict[str, Any], stages: dict[str, Any]) -> None:
    run = store.ingest(stages, inputs=compiled["inputs"], **traced(compiled))
    assert run.notes == ("runtime values: compared with nothing: 2 executions are in the dump, and 1 inputs are given",)
    with pytest.raises(fxstore.FxstoreError, match="is not in this run"):
        store.ingest(stages, inputs=compiled["inputs"], reference="flaot", **traced(compiled))


def test_a_broken_dump_costs_the_run_nothing_else(
    store: fxstore.Store, compiled: dict[str, Any], tmp_path: Path
) -> None:
    bad = tmp_path / "bad.etdp"
    bad.write_bytes((compiled["folder"] / "net.etdp").read_bytes()[:100])
    for path in (bad, tmp_path / "none.etdp"):
        run = store.ingest(compiled["program"], etdump=path)
        assert run.status == "partial"
        assert "the traced run is not read" in run.notes[0]
        assert store.sql(f"SELECT count(*) FROM nodes WHERE run_id = '{run.run_id}'").fetchall()[0][0] > 5
        ((status, note),) = store.sql(f"SELECT status, note FROM stages WHERE run_id = '{run.run_id}'").fetchall()
        assert (status, "the traced run is not read" in note) == ("partial", True)
        with pytest.raises(fxstore.FxstoreError):
            store.ingest(compiled["program"], etdump=path, strict=True)


def test_on_the_command_line(compiled: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fxstore.cli import run

    torch.save([compiled["inputs"]] * 2, tmp_path / "inputs.pt")
    folder, where = compiled["folder"], str(tmp_path / "store")
    arguments = ["ingest", "--store", where, str(folder / "net.pte"), "--etdump"]
    values = ["--debug-buffer", str(folder / "net.bin"), "--inputs", str(tmp_path / "inputs.pt")]
    assert run([*arguments, str(folder / "net.etdp"), *values]) == 0
    assert "no stage can be run" in capsys.readouterr().err
    (tmp_path / "bad.etdp").write_bytes(b"nothing")
    assert run([*arguments, str(tmp_path / "bad.etdp")]) == 0
    assert "partial: the traced run is not read" in capsys.readouterr().err


def test_times_of_a_run_on_the_device_lie_on_the_operators_inside_its_delegates(
    store: fxstore.Store, compiled: dict[str, Any], stages: dict[str, Any]
) -> None:
    with store.record("device", strict=True) as rec:
        for name, source in stages.items():
            rec.stage(name, source)
        rec.device([compiled["inputs"]] * 2, reference="edge")
    inner = lines(store, "latency_inner", None)
    assert {row[4] for row in inner} == {0, 1}
    assert all(row[1].startswith("lowered_module") for row in inner)
    assert {"sigmoid", "tanh"} <= {row[7] for row in inner}
    found = store.sql("SELECT name, value FROM worst('cosine', overlay := 'runtime vs edge', n := 99)").fetchall()
    assert len(found) > 3
    assert all(value > 0.9999 for _, value in found)
