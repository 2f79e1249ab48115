"""Programs whose values lie in memory with channels last: on the device they are the values that they are in Python."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import pytest

import fxstore

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")

from fxstore.ingest.measure import memory_format  # noqa: E402
from fxstore.ingest.measure.runtime import DeviceError, run_pte  # noqa: E402


class Net(torch.nn.Module):  # type: ignore[misc]
    """A delegate, and behind it a kernel that wants another layout."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x: Any) -> Any:
        return torch.cumsum(torch.relu(self.conv(x)).mean((2, 3)), 0)


def inputs() -> tuple[Any, Any]:
    """Returns one value in two layouts, contiguous and with channels last."""
    torch.manual_seed(0)
    x = torch.randn(1, 3, 6, 8)
    return x, x.contiguous(memory_format=torch.channels_last)


def compiled(model: Any, x: Any, partition: bool) -> tuple[Any, Any]:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import to_edge_transform_and_lower

        exported = torch.export.export(model.eval(), (x,))
        partitioner = [XnnpackPartitioner()] if partition else []
        return exported, to_edge_transform_and_lower(exported, partitioner=partitioner).to_executorch()


@pytest.mark.parametrize("last", [False, True], ids=["contiguous", "channels_last"])
def test_a_value_is_passed_in_the_layout_that_the_program_takes(last: bool) -> None:
    x, y = inputs()
    exported, program = compiled(Net(), y if last else x, True)
    with fxstore.connect(":memory:") as store:
        with store.record("layouts", strict=True) as rec:
            rec.stage("float", exported)
            rec.stage("runtime", program)
            rec.device([(x,), (y,)], reference="float", metrics=["max_abs"])
        rows = store.sql(
            "SELECT n.path, n.name, n.op_type, m.value, m.reason FROM metrics AS m JOIN nodes AS n USING (nid) "
            "JOIN overlays AS o USING (overlay_id) WHERE o.kind = 'accuracy' AND n.role = 'op'"
        ).fetchall()
    numbers = {(path, name): value for path, name, _, value, _ in rows if value is not None}
    assert {name for _, name in numbers} >= {"aten_convolution_default", "aten_relu_default", "aten_cumsum_default"}
    assert max(numbers.values()) < 1e-4
    assert not [reason for *_, reason in rows if "something else" in (reason or "")]
    copies = [row for row in rows if row[2] == "_to_dim_order_copy"]
    assert all(value is not None for *_, value, _ in copies)


def test_a_layout_is_an_order_of_axes_and_costs_no_value() -> None:
    x, y = inputs()
    for value, example in ((x, y), (y, x)):
        laid = memory_format.like(value, example)
        assert laid.stride() == example.stride()
        assert torch.equal(laid, value)
    assert memory_format.like(x, x) is x
    assert memory_format.like(3, x) == 3
    assert memory_format.like(x, torch.ones(2)) is x
    assert memory_format.like(x.to_sparse(), y).layout == torch.sparse_coo


def test_what_the_runtime_refuses_says_where() -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), torch.nn.BatchNorm2d(4))
    _, program = compiled(model, inputs()[1], False)
    with pytest.raises(DeviceError) as caught:
        run_pte(bytes(program.buffer), [("forward", [inputs()[1]])])
    assert "KernelCall failed at instruction" in str(caught.value)
    assert "arg 10" not in str(caught.value)


def test_a_backend_that_is_not_on_this_machine_is_named_and_costs_no_other_number() -> None:
    demo = pytest.importorskip("executorch.exir.backend.test.op_partitioner_demo")

    class Product(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return torch.sin(torch.mm(x, x) + x)

    x = torch.ones(2, 2)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        from executorch.exir import to_edge

        exported = torch.export.export(Product(), (x,))
        lowered = to_edge(exported).to_backend(demo.AddMulPartitionerDemo())
        with fxstore.connect(":memory:") as store:
            with store.record("demo") as rec:
                rec.stage("float", exported)
                rec.stage("lowered", copy.deepcopy(lowered.exported_program()))
                rec.stage("runtime", lowered.to_executorch())
                rec.measure((x,), metrics=["max_abs"])
                rec.device((x,), reference="float")
            (note,) = rec.run.notes
            inside = store.sql("SELECT value FROM worst('max_abs', n := 99) WHERE path <> ''").fetchall()
    assert "BackendWithCompilerDemo is not registered" in note
    assert set(inside) == {(0.0,)}


def test_an_input_that_a_trace_was_not_made_with_is_where_the_error_starts(tmp_path: Path) -> None:
    x, _ = inputs()
    exported, program = compiled(Net(), x, True)
    run = run_pte(bytes(program.buffer), [("forward", [x])])
    (tmp_path / "a.etdp").write_bytes(run.etdump)
    (tmp_path / "a.bin").write_bytes(run.debug)
    stages = {"float": exported, "runtime": program}
    with fxstore.connect(":memory:") as store:
        for given, wanted in ((x, []), (x + 1, [("x", 1.0)])):
            run_ = store.ingest(stages, etdump=tmp_path / "a.etdp", debug_buffer=tmp_path / "a.bin", inputs=[(given,)])
            found = store.first_bad("max_abs", 1e-3, run=run_.run_id).arrow().to_pylist(maps_as_pydicts="lossy")
            starts = [(row["name"], pytest.approx(row["value"], rel=1e-5)) for row in found if not row["path"]]
            assert starts == wanted
