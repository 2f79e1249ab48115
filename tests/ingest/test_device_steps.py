"""Samples and steps of one program on the device; the runtime's errors in words."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import fxstore

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")

from fxstore.ingest.measure.runtime import DeviceError, run_pte  # noqa: E402


class Counter(torch.nn.Module):  # type: ignore[misc]
    """Its buffer is the sum of what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x: Any) -> Any:
        self.seen.add_(x)
        return self.seen * 2


@pytest.fixture(scope="module")
def counter() -> tuple[Any, Any]:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        from executorch.exir import to_edge

        exported = torch.export.export(Counter().eval(), (torch.ones(3),))
        return exported, to_edge(exported).to_executorch()


@pytest.mark.parametrize("steps", [True, False])
def test_steps_carry_the_buffers_and_samples_do_not(counter: tuple[Any, Any], steps: bool) -> None:
    exported, program = counter
    inputs = [(torch.full((3,), value),) for value in (1.0, 2.0, 4.0)]
    with fxstore.connect(":memory:") as store:
        with store.record("counter", strict=True) as rec:
            rec.stage("float", exported)
            rec.stage("runtime", program)
            rec.device(inputs, reference="float", metrics=["max_abs"], carry_state=steps)
        numbers = store.sql(
            "SELECT m.sample, max(m.value), count(m.value) FROM metrics AS m JOIN overlays AS o USING (overlay_id) "
            "WHERE o.name = 'runtime vs float' GROUP BY 1 ORDER BY 1"
        ).fetchall()
        assert [row[:2] for row in numbers] == [(0, 0.0), (1, 0.0), (2, 0.0)]
        assert all(row[2] > 1 for row in numbers)
        samples = "SELECT count(DISTINCT sample) FROM metrics WHERE metric = 'latency'"
        assert store.sql(samples).fetchall() == [(3,)]


def test_each_prompt_has_a_process_of_its_own(counter: tuple[Any, Any]) -> None:
    exported, program = counter
    prompts = {name: [(torch.full((3,), value),) for value in (1.0, 2.0)] for name in ("first", "second")}
    with fxstore.connect(":memory:") as store:
        with store.record("counter", strict=True) as rec:
            rec.stage("float", exported)
            rec.stage("runtime", program)
            rec.device(prompts, reference="float", metrics=["max_abs"], carry_state=True)
        rows = store.sql("SELECT DISTINCT value FROM metrics WHERE metric = 'max_abs' AND value IS NOT NULL").fetchall()
        assert rows == [(0.0,)], "reference and program begin each prompt alike"
        names = store.sql("SELECT sample, name FROM samples ORDER BY ALL").fetchall()
        assert names == [(0, "first step 0"), (1, "first step 1"), (2, "second step 0"), (3, "second step 1")]


def test_an_error_code_is_told_in_words(counter: tuple[Any, Any]) -> None:
    with pytest.raises(DeviceError, match=r"0x10 \(it does not support this, such as an input of another shape"):
        run_pte(bytes(counter[1].buffer), [("forward", [torch.ones(4, 4)])])
