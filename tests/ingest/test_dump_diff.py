"""Two dumps by value: what differs is named, what does not is the same, and what cannot be compared says why."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fxstore
from fxstore.cli import run as command
from fxstore.errors import SourceError, UsageError
from tests.query.conftest import tiny


def rows(a: object, b: object, **options: Any) -> dict[str, dict[str, Any]]:
    found = fxstore.dump_diff(a, b, **options).arrow().to_pylist()  # type: ignore[arg-type]
    return {row["node"]: row for row in found}


def test_each_value_has_every_metric_and_a_permuted_one_is_not_the_same() -> None:
    a = {"conv": np.arange(6.0).reshape(2, 3), "relu": np.array([[1.0, 2.0], [3.0, 4.0]]), "gone": np.ones(2)}
    b = {"conv": a["conv"].copy(), "relu": a["relu"].T.copy(), "new": np.ones(2)}
    found = rows(a, b)
    assert list(found) == ["conv", "relu", "gone", "new"]
    assert (found["conv"]["same"], found["conv"]["cosine"], found["conv"]["bitwise"]) == (True, 1.0, 0.0)
    assert found["relu"]["same"] is False
    assert found["relu"]["bitwise"] == 2.0
    assert found["relu"]["max_abs"] == 1.0
    assert (found["gone"]["same"], found["gone"]["cosine"]) == (None, None)
    assert (found["gone"]["reason"], found["new"]["reason"]) == ("only in the first", "only in the second")


def test_shapes_are_never_broadcast_and_signs_of_zero_count() -> None:
    found = rows({"x": np.ones((2, 1)), "z": np.array([0.0])}, {"x": np.ones((2, 2)), "z": np.array([-0.0])})
    assert found["x"]["cosine"] is None
    assert "shape" in found["x"]["reason"]
    assert (found["x"]["a_shape"], found["x"]["b_shape"]) == ("[2, 1]", "[2, 2]")
    assert (found["z"]["same"], found["z"]["bitwise"], found["z"]["max_abs"]) == (False, 1.0, 0.0)


@pytest.mark.parametrize("kind", ["npz", "safetensors"])
def test_files_of_tensors(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = {"conv": np.ones(3, np.float32), "relu": np.array([1, 2, 3], np.float32)}
    for name, by in (("a", 0.0), ("b", 0.5)):
        held = {**values, "relu": values["relu"] + np.float32(by)}
        if kind == "npz":
            np.savez(tmp_path / f"{name}.npz", **held)
        else:
            numpy = pytest.importorskip("safetensors.numpy")
            numpy.save_file(held, tmp_path / f"{name}.safetensors")
    a, b = (tmp_path / f"{name}.{kind}" for name in "ab")
    assert rows(a, b, metrics="max_abs")["relu"]["max_abs"] == 0.5
    assert command(["dump-diff", str(a), str(b), "--differing", "--format", "json", "--metric", "mse"]) == 0
    said = capsys.readouterr()
    (row,) = json.loads(said.out)
    assert (row["node"], row["mse"], row["same"]) == ("relu", 0.25, False)
    assert said.err == "2 values: 1 the same, 1 differ, 0 in one only\n"


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda path: None, "no such dump"),
        (lambda path: path.write_text("x"), "is no dump"),
        (lambda path: path.mkdir(), "is no folder of tensors"),
    ],
)
def test_what_is_no_dump_is_told(made: Any, says: str, tmp_path: Path) -> None:
    made(tmp_path / "dump")
    with pytest.raises(SourceError, match=says):
        fxstore.dump_diff(tmp_path / "dump", {"a": np.ones(1)})


def test_hostile_files_are_refused_and_nothing_outside_is_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "evil.npz", a=np.array([{}], dtype=object))
    with pytest.raises(SourceError, match="holds no tensors"):
        fxstore.dump_diff(tmp_path / "evil.npz", {"a": np.ones(1)})
    folder = tmp_path / "folder"
    folder.mkdir()
    np.save(tmp_path / "secret.npy", np.ones(1))
    row = {"file": "../secret.npy", "node": "a", "port": 0, "execution": 0}
    (folder / "index.json").write_text(json.dumps({"values": [row], "missing": [], "unplaced": []}))
    with pytest.raises(SourceError, match="is no folder of tensors"):
        fxstore.dump_diff(folder, {"a": np.ones(1)})


def test_dumps_without_a_common_name_are_told() -> None:
    with pytest.raises(UsageError, match="no value of one dump is called as any of the other") as refused:
        fxstore.dump_diff({"a": np.ones(1)}, {"b": np.ones(1)})
    assert refused.value.hint == "the second one has 'b'"
    with pytest.raises(UsageError, match="no metric 'cosin'"):
        fxstore.dump_diff({"a": np.ones(1)}, {"a": np.ones(1)}, "cosin")


@pytest.mark.parametrize("stages", [("program", "runtime"), ("program", "program"), ("", "runtime")])
def test_values_are_matched_whatever_the_stages_are_called(stages: tuple[str, str], tmp_path: Path) -> None:
    """Values on no node stand last and name no stage: once they alone were compared."""
    for name, stage in zip("ab", stages, strict=True):
        folder = tmp_path / name
        folder.mkdir()
        np.save(folder / "0.npy", np.ones(2))
        np.save(folder / "1.npy", np.zeros(2))
        about = {"method": "forward", "path": "", "port": 0, "execution": 0, "node": "relu", "file": "0.npy"}
        rest = {"file": "1.npy", "event": "output", "number": 0, "execution": 0}
        index = {"values": [{**about, "stage": stage}], "missing": [], "unplaced": [rest]}
        (folder / "index.json").write_text(json.dumps(index))
    found = rows(tmp_path / "a", tmp_path / "b")
    assert {name: row["same"] for name, row in found.items()} == {"relu": True, "output": True}


def test_a_run_is_not_taken_for_a_dump() -> None:
    with fxstore.connect(":memory:") as store:
        store.commit(tiny("phone A"))
        with pytest.raises(UsageError, match="run 'phone A' keeps no values") as refused:
            store.dump_diff("phone A", {"a": np.ones(1)})
        assert "a.etdp" in str(refused.value.hint)


def test_two_device_runs_by_node(compiled: dict[str, Any], tmp_path: Path) -> None:
    """The traced run against itself is the same everywhere; a value changed in its folder is named, and no other."""
    for name in ("a", "b"):
        for ending in ("etdp", "bin", "pte"):
            shutil.copy(compiled["folder"] / f"net.{ending}", tmp_path / f"{name}.{ending}")
    same = fxstore.dump_diff(tmp_path / "a.etdp", tmp_path / "b.etdp").arrow()
    assert len(same) > 3
    assert set(same["same"].to_pylist()) == {True}
    assert any("cumsum" in name for name in same["node"].to_pylist())
    files = {"etdump": tmp_path / "b.etdp", "debug_buffer": tmp_path / "b.bin"}
    with fxstore.connect(":memory:") as store:
        folder = store.export("tensors", tmp_path / "values", source=tmp_path / "b.pte", **files)
        index = json.loads((folder / "index.json").read_text())
        row = next(row for row in index["values"] if "cumsum" in row["node"])
        np.save(folder / row["file"], np.load(folder / row["file"]) + 1)
        found = store.dump_diff(tmp_path / "a.etdp", folder).arrow().to_pylist()
    differing = [one for one in found if one["same"] is False]
    assert {one["node"] for one in differing} <= {v["node"] for v in index["values"] if v["file"] == row["file"]}
    assert row["node"] in {one["node"] for one in differing}
    assert differing[0]["max_abs"] == pytest.approx(1.0)


def test_a_dump_without_its_buffer_says_what_to_put_beside_it(compiled: dict[str, Any], tmp_path: Path) -> None:
    shutil.copy(compiled["folder"] / "net.etdp", tmp_path / "run.etdp")
    with pytest.raises(SourceError, match=r"has no debug buffer beside it: run\.bin"):
        fxstore.dump_diff(tmp_path / "run.etdp", tmp_path / "run.etdp")
