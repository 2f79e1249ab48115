"""Programs run for real on this machine's runtime: values on the right port of the right node, times, and failures."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("executorch.exir")

from fxstore.ingest.executorch.etdump import MISSING_BUFFER, read_etdump  # noqa: E402
from fxstore.ingest.measure import runtime  # noqa: E402
from fxstore.ingest.measure.qparams import quantised_ports  # noqa: E402
from fxstore.ingest.measure.runtime import DeviceError, run_pte  # noqa: E402
from fxstore.ingest.measure.values import capture_values  # noqa: E402
from fxstore.metrics import compare  # noqa: E402
from tests.ingest.lowering import Lowered, lower  # noqa: E402

nn, F = torch.nn, torch.nn.functional


class SkipOutput(nn.Module):
    """A delegate that gives an intermediate value as well as its last one."""

    def __init__(self) -> None:
        super().__init__()
        self.l1, self.l2 = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        h = torch.relu(self.l1(x))
        return h, torch.softmax(self.l2(h), -1)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n, self.q = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        y = self.n(x)
        q = self.q(y)
        return F.gelu(F.scaled_dot_product_attention(q, q, y)).std(-1)


class Ports(nn.Module):
    """Operators with several outputs of one shape, and a kernel between two delegates."""

    def __init__(self) -> None:
        super().__init__()
        self.l1, self.l2 = nn.Linear(8, 12), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        a, b, c = torch.split(self.l1(x), 4, dim=1)
        values, indices = torch.topk(a, 2)
        return self.l2(torch.cumsum(b, 0)), values, indices, c.reshape(4, 2)


class Block(nn.Module):
    """Two delegates around a kernel; the first also gives the second the codes of the residual."""

    def __init__(self) -> None:
        super().__init__()
        self.l1, self.l2, self.n = nn.Linear(8, 8), nn.Linear(8, 8), nn.LayerNorm(8)

    def forward(self, x: Any) -> Any:
        return self.l2(self.n(F.gelu(self.l1(x)))) + x


class Flow(nn.Module):
    """Instructions of a branch lie between those of the top graph."""

    def __init__(self) -> None:
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.l(torch.cond(x.sum() > 0, lambda x: torch.sin(x) + 1, lambda x: torch.cos(x) * 2, (x,)))


def made(model: Any, *shape: int, **options: Any) -> Lowered:
    torch.manual_seed(0)
    return lower(model(), (torch.randn(*shape),), **options)


@pytest.fixture(scope="module")
def skip_output() -> Lowered:
    return made(SkipOutput, 2, 8)


@pytest.fixture(scope="module")
def attention() -> Lowered:
    return made(Attention, 2, 4, 8, partition=False)


@pytest.fixture(scope="module")
def ports() -> Lowered:
    return made(Ports, 2, 8)


@pytest.fixture(scope="module")
def block() -> Lowered:
    return made(Block, 4, 8, quantise=True)


def getitems(lowered: Lowered, values: dict[Any, Any]) -> list[Any]:
    return [v for (_, name, _), v in sorted(values.items()) if name.startswith("getitem")]


def test_a_delegates_intermediate_output_is_on_its_own_port(skip_output: Lowered) -> None:
    with torch.no_grad():
        expected = skip_output.exported.module()(*skip_output.inputs)
    values = skip_output.values()
    for port, want in enumerate(expected):
        got = values["", "executorch_call_delegate", port]
        assert compare(want, got, ["mse"])["mse"].value < 1e-12
    assert [
        np.array_equal(a, b) for a, b in zip(getitems(skip_output, values), skip_output.run.outputs[0], strict=True)
    ] == [
        True,
        True,
    ]


@pytest.mark.parametrize("name", ["skip_output", "attention", "ports", "block"])
def test_every_value_equals_the_same_graph_run_eagerly(name: str, request: pytest.FixtureRequest) -> None:
    lowered: Lowered = request.getfixturevalue(name)
    eager = capture_values(lowered.runtime, lowered.inputs).values
    codes = quantised_ports(lowered.graphs)
    values = lowered.values()
    assert len(values) >= 4
    for key, value in values.items():
        numbers = compare(
            eager[key], value, ["cosine", "max_abs"], qparams=codes.get(key), reference_qparams=codes.get(key)
        )
        assert numbers["cosine"].value is not None, (key, numbers)
        assert numbers["cosine"].value > 0.9999, (key, numbers)


@pytest.mark.parametrize("name", ["skip_output", "attention", "ports", "block"])
def test_every_instruction_and_event_is_accounted_for(name: str, request: pytest.FixtureRequest) -> None:
    lowered: Lowered = request.getfixturevalue(name)
    attached = lowered.attached()
    events = read_etdump(lowered.run.etdump, lowered.run.debug).executions[0].events
    timed = [event for event in events if event.duration_ns is not None]
    assert len(attached.latency) == len(timed)
    assert not attached.unmatched
    assert not attached.missing
    names = set(lowered.graphs[0].nodes["name"].to_pylist())
    assert not {event.name for event in timed} & names
    own = [e for e in attached.latency if e.metric == "latency"]
    assert len({e.position for e in own}) == len(own)
    (whole,) = [e for e in attached.latency if e.name == "Method::execute"]
    assert whole.position is None
    assert sum(e.duration_ns for e in own) <= whole.duration_ns


def test_a_kernels_time_is_on_its_node_and_inner_events_on_their_delegate(ports: Lowered) -> None:
    names = ports.graphs[0].nodes["name"].to_pylist()
    where: dict[str, set[str]] = {}
    for event in ports.attached().latency:
        if event.position is not None:
            where.setdefault(f"{event.metric}:{event.name}", set()).add(names[event.position])
    assert where["latency:native_call_cumsum.out"] == {"aten_cumsum_default"}
    assert where["latency:DELEGATE_CALL"] == {n for n in names if n.startswith("executorch_call_delegate")}
    inner = [key for key in where if key.startswith("latency_inner")]
    assert inner
    assert all(w.startswith("executorch_call_delegate") for key in inner for w in where[key])


def test_ports_of_equal_shape_are_not_mixed_up(ports: Lowered) -> None:
    with torch.no_grad():
        parts = torch.split(ports.exported.module()(*ports.inputs)[0].new_tensor(_first_linear(ports)), 4, dim=1)
    values = ports.values()
    for port, part in enumerate(parts):
        assert np.allclose(values["", "aten_split_with_sizes_copy_default", port], part, atol=1e-6)


def _first_linear(lowered: Lowered) -> Any:
    return capture_values(lowered.exported, lowered.inputs).values["", "linear", 0]


def test_codes_of_a_delegate_are_measured_through_their_scale(block: Lowered) -> None:
    codes = {key: params for key, params in quantised_ports(block.graphs).items() if key[0] == ""}
    values = block.values()
    integers = {key for key, value in values.items() if value.dtype == np.int8}
    assert integers
    assert integers == set(codes) & set(values)


def test_portable_attention_has_its_numbers(attention: Lowered) -> None:
    reference = capture_values(attention.exported, attention.inputs).values
    values = attention.values()
    for theirs, ours in (("gelu", "aten_gelu_default"), ("layer_norm", "aten_native_layer_norm_default")):
        assert compare(reference["", theirs, 0], values["", ours, 0])["cosine"].value >= 0.999999
    assert np.allclose(attention.run.outputs[0][0], reference["", "std", 0], atol=1e-5)


def test_instructions_of_a_branch_are_on_no_other_node() -> None:
    torch.manual_seed(0)
    flow = lower(Flow(), (torch.randn(2, 4).abs(),), partition=False)
    eager, attached, names = (
        capture_values(flow.runtime, flow.inputs).values,
        flow.attached(),
        flow.graphs[0].nodes["name"],
    )
    values = flow.values()
    assert len(values) >= 4
    for key, value in values.items():
        assert np.allclose(value, eager[key], atol=1e-6), key
    assert {names[position].as_py() for position, _ in attached.missing} == {"cond", "getitem"}
    assert {e.name for e in attached.unmatched if e.kind == "kernel"} >= {"native_call_sin.out"}


def test_without_the_buffer_there_are_times_but_no_values(skip_output: Lowered) -> None:
    attached = skip_output.attached(buffer=False)
    assert attached.values == {}
    assert set(attached.missing.values()) == {MISSING_BUFFER}
    assert [e for e in attached.latency if e.metric == "latency"]


def test_methods_outputs_are_logged_too(ports: Lowered) -> None:
    logged = [item.array for item in ports.attached().outputs]
    assert all(np.array_equal(a, b) for a, b in zip(logged, ports.run.outputs[0], strict=True))


def test_a_buffer_that_is_too_small_grows_and_nothing_leaks(
    ports: Lowered, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    other = tuple(torch.ones_like(x) for x in ports.inputs)
    run = run_pte(ports.program, [("forward", ports.inputs), ("forward", other)], debug_buffer_bytes=300)
    assert run.methods == ("forward", "forward")
    assert len(run.outputs) == 2
    dump = read_etdump(run.etdump, run.debug)
    assert len(dump.executions) == 2
    assert dump.used_bytes == len(run.debug)
    for block, outputs in zip(dump.executions, run.outputs, strict=True):
        logged = [item.array for event in block.events if event.kind == "output" for item in event.values]
        assert all(np.array_equal(a, b) for a, b in zip(logged, outputs, strict=True))
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())


def test_the_largest_buffer_is_the_end(ports: Lowered, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "_LARGEST_BUFFER", 100)
    with pytest.raises(DeviceError, match="GiB"):
        run_pte(ports.program, [("forward", ports.inputs)], debug_buffer_bytes=100)


@pytest.mark.parametrize(
    ("program", "method", "message"),
    [
        (None, "backward", "backward"),
        (b"junk", "forward", "runtime failed"),
        (Path("none.pte"), "forward", "cannot read"),
    ],
)
def test_failures_say_what_failed(
    ports: Lowered, program: Any, method: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DeviceError, match=message):
        run_pte(program if program is not None else ports.program, [(method, ports.inputs)])
    assert capfd.readouterr() == ("", "")


def test_a_run_that_takes_too_long_is_ended(ports: Lowered) -> None:
    with pytest.raises(DeviceError, match="longer than"):
        run_pte(ports.program, [("forward", ports.inputs)], timeout_s=0.05)
