"""Raw values on demand, by node, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fxstore
from fxstore.errors import UsageError

torch = pytest.importorskip("torch")


class Net(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(2))

    def forward(self, x: Any) -> Any:
        self.seen.add_(x.sum(0))
        low, high = torch.split(torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,)), 1)
        return low + high + self.seen


@pytest.fixture
def recorder() -> Any:
    program = torch.export.export(Net().eval(), (torch.ones(2, 2),))
    with fxstore.connect(":memory:") as store, store.record("net", strict=True) as rec:
        rec.stage("float", program)
        rec.stage("core", program.run_decompositions({}))
        yield rec


SAMPLES = [(torch.ones(2, 2),), (-torch.ones(2, 2),)]


def test_by_node_of_nested_graphs_and_ports_too(recorder: Any, tmp_path: Path, caplog: Any) -> None:
    path = recorder.tensors(SAMPLES, tmp_path / "out.npz", nodes=["sin", "split", "true_graph_0/sin"], stages="float")
    with np.load(path) as found:
        assert set(found.files) == {
            "float/0/true_graph_0/sin/0",
            *(f"float/{sample}/split/{port}" for sample in (0, 1) for port in (0, 1)),
        }
        assert found["float/0/true_graph_0/sin/0"].tolist() == torch.sin(torch.ones(2, 2)).tolist()
        assert found["float/1/split/1"].tolist() == torch.cos(torch.ones(1, 2)).tolist()


def test_everything_of_every_stage_and_steps_carry_their_buffers(recorder: Any, tmp_path: Path) -> None:
    path = recorder.tensors([SAMPLES[0]] * 2, tmp_path / "all.npz", carry_state=True)
    with np.load(path) as found:
        assert {name.split("/")[0] for name in found.files} == {"float", "core"}
        results = [name for name in found.files if name.startswith("core/1/add") and found[name].shape == (1, 2)]
        last = max(results, key=found.files.index)
        assert found[last].tolist() == (2 * torch.sin(torch.ones(1, 2)) + 4).tolist()


def test_safetensors(recorder: Any, tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy", reason="the extra 'tensors' is not installed")
    path = recorder.tensors(SAMPLES, tmp_path / "out.safetensors", nodes="x")
    found = numpy.load_file(str(path))
    top = {f"{stage}/{sample}/x/0" for stage in ("float", "core") for sample in (0, 1)}
    assert set(found) > top
    assert found["core/1/x/0"].tolist() == [[-1.0, -1.0]] * 2


def test_what_is_refused_leaves_no_file(recorder: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no node 'spilt'") as error:
        recorder.tensors(SAMPLES, tmp_path / "out.npz", nodes=["spilt"])
    assert "split" in str(error.value.hint)
    with pytest.raises(UsageError, match="npz or"):
        recorder.tensors(SAMPLES, tmp_path / "out.csv")
    with pytest.raises(UsageError, match="not in this run"):
        recorder.tensors(SAMPLES, tmp_path / "out.npz", stages="edge")
    (tmp_path / "mine.npz").write_text("mine")
    with pytest.raises(UsageError, match="exists"):
        recorder.tensors(SAMPLES, tmp_path / "mine.npz")
    assert [one.name for one in tmp_path.iterdir()] == ["mine.npz"]


def test_a_public_run_writes_none(tmp_path: Path) -> None:
    with fxstore.connect(":memory:") as store, store.record("net", privacy="public") as rec:
        rec.stage("float", torch.export.export(torch.nn.ReLU(), (torch.ones(2),)))
        with pytest.raises(UsageError, match="public"):
            rec.tensors((torch.ones(2),), tmp_path / "out.npz")
