"""Recording and ingesting from Python: what is kept, what is refused, what is only logged."""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fxstore

torch = pytest.importorskip("torch")
from torch import fx, nn  # noqa: E402


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        return self.second(torch.relu(self.first(x)))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[fxstore.Store]:
    with fxstore.connect(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def inputs() -> tuple[Any, ...]:
    return (torch.linspace(-1, 1, 8).reshape(2, 4),)


@pytest.fixture
def program(inputs: tuple[Any, ...]) -> Any:
    torch.manual_seed(0)
    return torch.export.export(Net().eval(), inputs)


def stages(store: fxstore.Store) -> list[tuple[object, ...]]:
    return store.sql("SELECT stage, status, note FROM stages ORDER BY stage_index").fetchall()


def test_a_dict_of_stages_is_one_run(store: fxstore.Store, program: Any) -> None:
    run = store.ingest({"float": program, "core": program.run_decompositions({})}, name="two", tags={"k": "v"})
    assert (run.name, run.status, run.stages) == ("two", "complete", ("float", "core"))
    assert store.sql("SELECT name, tags['k'] FROM runs").fetchall() == [("two", "v")]
    assert store.sync("float", "linear").fetchall()


@pytest.mark.parametrize("source", [{}, None, 3, nn.Linear(2, 2), {"float": None}, "nowhere.etrecord"])
def test_what_cannot_be_read_is_refused_and_nothing_is_stored(store: fxstore.Store, source: object) -> None:
    with pytest.raises(fxstore.FxstoreError):
        store.ingest(source)
    assert len(store.runs()) == 0


def test_an_exception_leaves_what_was_recorded_as_partial(store: fxstore.Store, program: Any) -> None:
    def build() -> None:
        with store.record("broken") as rec:
            rec.stage("float", program)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        build()
    assert store.sql("SELECT name, status FROM runs").fetchall() == [("broken", "partial")]


def test_a_stage_that_cannot_be_read_never_breaks_the_compile(
    store: fxstore.Store, program: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "fxstore"), store.record("run") as rec:
        rec.stage("float", program)
        rec.stage("odd", object())
    assert "odd" in caplog.text
    assert stages(store)[1][:2] == ("odd", "failed")
    assert store.sql("SELECT status FROM runs").fetchall() == [("partial",)]
    rec = store.record("strict", strict=True)
    with pytest.raises(fxstore.SourceError):
        rec.stage("odd", object())


def test_equal_content_is_said_so(store: fxstore.Store, program: Any) -> None:
    with store.record("run") as rec:
        rec.stage("float", program)
        rec.stage("again", program)
    assert stages(store)[1][2] == "content equals stage float"


@pytest.mark.parametrize("name", ["", "float"])
def test_each_stage_needs_a_name_of_its_own(store: fxstore.Store, program: Any, name: str) -> None:
    rec = store.record("run")
    rec.stage("float", program)
    with pytest.raises(fxstore.UsageError, match="cannot be called"):
        rec.stage(name, program)


def test_the_result_of_each_pass_is_a_stage(store: fxstore.Store, program: Any) -> None:
    def drop_relu(module: fx.GraphModule) -> fx.GraphModule:
        for node in list(module.graph.nodes):
            if "relu" in node.name:
                node.replace_all_uses_with(node.args[0])
                module.graph.erase_node(node)
        return module

    module = program.module()
    with store.record("passes") as rec:
        rec.stage("module", module)
        for one in rec.passes([drop_relu, drop_relu]):
            module = one(module)
    assert [row[0] for row in stages(store)] == ["module", "drop_relu", "drop_relu#2"]
    removed = store.sql("SELECT name, towards, reason FROM unmatched WHERE name = 'relu'").fetchall()
    assert removed == [("relu", "drop_relu", "removed by the pass drop_relu: nothing in drop_relu names it")]


def test_numbers_of_ones_own_are_an_overlay(store: fxstore.Store, program: Any) -> None:
    with store.record("own") as rec:
        rec.stage("float", program)
        rec.overlay("mine", {"linear": math.nan, "relu": {"value": 0.5, "loss": 2.0}}, stage="float", better="higher")
        with pytest.raises(fxstore.UsageError, match="'flat' is not in this run") as error:
            rec.overlay("wrong", {"relu": 1.0}, stage="flat")
        assert "float" in (error.value.hint or "")
    rows = store.worst("value").fetchall()
    assert [row[2] for row in rows] == ["linear", "relu"]


def test_ids_that_match_nothing_are_counted_and_reported_with_the_nearest_names(
    store: fxstore.Store, program: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "fxstore"), store.record("own") as rec:
        rec.stage("float", program)
        rec.overlay("mine", {"relo": 1.0, "linear": 0.5, "zzz": 2.0}, stage="float")
    line = (
        "overlay mine: 2 ids lie on no node: 'relo' names no node of stage float; did you mean 'relu'?; "
        "'zzz' names no node of stage float"
    )
    assert rec.run is not None
    assert rec.run.notes == (line,)
    assert line in caplog.text
    lost = store.sql("SELECT text, value, reason FROM metrics WHERE nid IS NULL ORDER BY text").fetchall()
    assert [row[:2] for row in lost] == [("relo", 1.0), ("zzz", 2.0)]
    assert "'relu'" in str(lost[0][2])
    assert store.sql("SELECT name FROM metrics JOIN nodes USING (nid) WHERE metric = 'value'").fetchall() == [
        ("linear",)
    ]


class TestMeasure:
    def test_a_copy_is_exactly_equal(self, store: fxstore.Store, program: Any, inputs: tuple[Any, ...]) -> None:
        with store.record("exact") as rec:
            rec.stage("float", program)
            rec.stage("core", program.run_decompositions({}))
            rec.measure(inputs)
        rows = store.sql("SELECT DISTINCT value FROM metrics WHERE metric = 'mse' AND value IS NOT NULL").fetchall()
        assert rows == [(0.0,)]
        assert (
            store.sql("SELECT count(*) FROM metrics WHERE metric = 'mse' AND value IS NOT NULL").fetchall()[0][0] >= 4
        )

    def test_an_injected_fault_is_named_first(
        self, store: fxstore.Store, program: Any, inputs: tuple[Any, ...]
    ) -> None:
        broken = copy.deepcopy(program).run_decompositions({})  # the copy: the two would share their weights
        with torch.no_grad():
            broken.state_dict["first.weight"] *= -1
        with store.record("fault") as rec:
            rec.stage("float", program)
            rec.stage("broken", broken)
            rec.measure(inputs, metrics=["cosine"])
        (first,) = store.first_bad("cosine", 0.999).arrow().to_pylist(maps_as_pydicts="strict")
        assert first["counterparts"]["float"] == "linear"

    def test_a_weight_that_was_edited_later_is_noticed(
        self, store: fxstore.Store, program: Any, inputs: tuple[Any, ...]
    ) -> None:
        rec = store.record("edited")
        rec.stage("float", program)
        rec.stage("core", program.run_decompositions({}))
        program.state_dict["first.weight"].data.mul_(-3)
        with pytest.raises(
            fxstore.UsageError, match=r"'float' were changed in place after it was recorded: first\.weight"
        ):
            rec.measure(inputs)

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"reference": "flaot"}, "is not in this run"),
            ({"reference": "core"}, "no stage after 'core' can be measured"),
            ({"stages": ["nothing"]}, "is not in this run"),
            ({"metrics": ["cosin"]}, "no metric 'cosin'"),
            ({"method": "decode"}, "no method 'decode'"),
        ],
    )
    def test_a_mistake_is_an_error_and_not_an_empty_answer(
        self, store: fxstore.Store, program: Any, inputs: tuple[Any, ...], options: dict[str, Any], says: str
    ) -> None:
        rec = store.record("mistakes")
        rec.stage("float", program)
        rec.stage("core", program.run_decompositions({}))
        with pytest.raises(fxstore.UsageError, match=says):
            rec.measure(inputs, **options)

    def test_an_input_that_does_not_fit_is_said_so(self, store: fxstore.Store, program: Any) -> None:
        rec = store.record("misfit")
        rec.stage("float", program)
        rec.stage("core", program.run_decompositions({}))
        with pytest.raises(fxstore.UsageError, match="the reference failed on this input"):
            rec.measure((torch.ones(3, 7),))
        with pytest.raises(fxstore.UsageError):
            rec.measure((torch.ones(2, 4), torch.ones(2, 4)))

    def test_graphs_without_any_provenance_are_compared_by_name(
        self, store: fxstore.Store, inputs: tuple[Any, ...]
    ) -> None:
        module = fx.symbolic_trace(Net().eval())
        edited = copy.deepcopy(module)
        with torch.no_grad():
            edited.second.weight.mul_(-1)
        with store.record("bare") as rec:
            rec.stage("float", module)
            rec.stage("edited", edited)
            rec.measure(inputs, metrics="cosine")
        (first,) = store.first_bad("cosine", 0.999).fetchall()
        assert first[2] == "second"

    def test_keyword_inputs(self, store: fxstore.Store) -> None:
        class Scaled(nn.Module):
            def forward(self, x: Any, *, scale: Any, offset: Any) -> Any:
                return x * scale - offset

        given = {"offset": torch.ones(3), "scale": torch.full((3,), 2.0)}
        program = torch.export.export(Scaled(), (torch.ones(3),), given)
        with store.record("keywords") as rec:
            rec.stage("float", program)
            rec.stage("core", program.run_decompositions({}))
            rec.measure((torch.ones(3),), given, metrics="max_abs")
        rows = store.sql("SELECT DISTINCT value FROM metrics WHERE metric = 'max_abs' AND value IS NOT NULL").fetchall()
        assert rows == [(0.0,)]

    def test_further_inputs_are_further_samples(
        self, store: fxstore.Store, program: Any, inputs: tuple[Any, ...]
    ) -> None:
        with store.record("twice") as rec:
            rec.stage("float", program)
            rec.stage("core", program.run_decompositions({}))
            rec.measure([inputs, (inputs[0] * 3,)], metrics=["mse<=1", "cosine"])
            rec.measure((inputs[0] * 5,), metrics=["mse<=1", "cosine"])
        counts = store.sql(
            "SELECT o.name, count(DISTINCT m.sample) FROM overlays AS o JOIN metrics AS m USING (overlay_id) "
            "WHERE o.name LIKE 'core vs%' GROUP BY ALL ORDER BY 1"
        )
        assert counts.fetchall() == [("core vs float", 3), ("core vs float over 3 samples", 0)]
        worst = store.sql(
            "SELECT DISTINCT value, verdict FROM metrics WHERE metric = 'mse.worst' AND value IS NOT NULL"
        )
        assert worst.fetchall() == [(0.0, "pass")]
        assert len(store.worst("cosine", n=99)) == len({row[0] for row in store.worst("cosine", n=99).fetchall()})


def test_several_methods_are_one_stage(store: fxstore.Store, program: Any, inputs: tuple[Any, ...]) -> None:
    other = torch.export.export(nn.ReLU(), inputs)
    methods = {"prefill": program, "decode": other}
    with store.record("methods") as rec:
        rec.stage("float", methods)
        rec.stage("core", {name: one.run_decompositions({}) for name, one in methods.items()})
        rec.measure(inputs, method="decode")
    assert store.sql("SELECT DISTINCT method FROM graphs ORDER BY method").fetchall() == [("decode",), ("prefill",)]
    assert store.sql("SELECT name FROM overlays WHERE kind = 'accuracy'").fetchall() == [("core vs float (decode)",)]
    crossing = store.sql(
        "SELECT count(*) FROM links JOIN nodes a ON a.nid = src_nid JOIN nodes b ON b.nid = dst_nid "
        "WHERE a.method <> b.method"
    )
    assert crossing.fetchall() == [(0,)]


@pytest.mark.parametrize("options", [{"name": 5}, {"model": 7}])
def test_a_name_is_a_text(store: fxstore.Store, program: Any, options: dict[str, Any]) -> None:
    with pytest.raises(fxstore.UsageError, match="are texts"):
        store.ingest(program, **options)
    assert len(store.runs()) == 0
