"""The values of a dump as files, with an index of what each is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fxstore
from fxstore.errors import SourceError, UsageError

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")
from tests.ingest.dumping import Three, lowered, values_of  # noqa: E402


@pytest.fixture
def store() -> Iterable[fxstore.Store]:
    with fxstore.connect(":memory:") as opened:
        yield opened


def index(folder: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((folder / "index.json").read_text())
    assert {row["file"] for kind in ("values", "unplaced") for row in found[kind]} == {
        path.name for path in folder.glob("*.npy")
    }
    for row in [*found["values"], *found["unplaced"]]:
        array = np.load(folder / row["file"], allow_pickle=False)
        assert (list(array.shape), str(array.dtype)) == (row["shape"], row["dtype"])
    return found


@pytest.mark.parametrize("named", ["run", "record run", "program", "pte", "etrecord"])
def test_a_real_dump(store: fxstore.Store, compiled: dict[str, Any], tmp_path: Path, named: str) -> None:
    folder, out = compiled["folder"], tmp_path / "out"
    source = {"program": compiled["program"], "pte": folder / "net.pte", "etrecord": folder / "net.etrecord"}.get(named)
    if source is None:
        stages = {"runtime": compiled["program"]} if named == "run" else {"record": folder / "net.etrecord"}
        store.ingest(stages, etdump=folder / "net.etdp")
    files = {"etdump": folder / "net.etdp", "debug_buffer": folder / "net.bin"}
    assert store.export("tensors", out, source=source, **files) == out
    found = index(out)
    right = values_of(compiled["program"].get_etrecord().exported_program, compiled["inputs"])
    (row,) = (row for row in found["values"] if "cumsum" in row["node"] and row["execution"] == 0 and row["path"] == "")
    assert np.allclose(np.load(out / row["file"]), right["cumsum"], atol=1e-6)
    assert {row["execution"] for row in found["values"]} == {0, 1}
    if named == "run":
        live = tmp_path / "live"
        store.export("tensors", live, source=compiled["program"], **files)
        rows = [[{**row, "stage": ""} for row in index(one)["values"]] for one in (out, live)]
        assert rows[0] == rows[1]


def test_what_delegates_logged_and_its_layout(store: fxstore.Store, tmp_path: Path) -> None:
    logs = lowered(Three(), (torch.randn(1, 3, 8, 8),))
    logs.right = values_of(logs.stages["float"], logs.inputs)
    at, name, handle = logs.node("convolution")
    last = np.ascontiguousarray(logs.right["conv2d"].transpose(0, 2, 3, 1))
    logs.log(at, handle, last.transpose(0, 3, 1, 2))
    logs.log(at, "no/body ../..", last)
    logs.log(at, logs.node("relu")[2], np.array(2.5, np.float32))
    files = logs.write(tmp_path)
    store.ingest(logs.stages)
    store.export("tensors", tmp_path / "out", **files)
    found = index(tmp_path / "out")
    (row,) = (row for row in found["values"] if row["node"] == name)
    assert row["dim_order"] == [0, 2, 3, 1]
    assert np.array_equal(np.load(tmp_path / "out" / row["file"]), logs.right["conv2d"])
    (lost,) = found["unplaced"]
    assert (lost["delegate_id"], lost["instruction"]) == ("no/body ../..", at)
    assert lost["reason"] == "no node has this name"
    assert np.array_equal(np.load(tmp_path / "out" / lost["file"]), last)
    assert any(row["reason"] for row in found["missing"])
    with pytest.raises(UsageError, match="exists"):
        store.export("tensors", tmp_path / "out", **files)


def test_what_it_needs_is_said(store: fxstore.Store, compiled: dict[str, Any], tmp_path: Path) -> None:
    store.ingest({"runtime": compiled["program"]})
    with pytest.raises(UsageError, match="a store keeps no values") as caught:
        store.export("tensors", tmp_path / "out")
    assert "--etdump" in (caught.value.hint or "")
    with pytest.raises(SourceError, match="debug buffer missing"):
        store.export("tensors", tmp_path / "out", etdump=compiled["folder"] / "net.etdp")
    assert not list(tmp_path.iterdir())


def test_on_the_command_line(compiled: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fxstore.cli import run

    folder = compiled["folder"]
    dump = ["--etdump", str(folder / "net.etdp"), "--debug-buffer", str(folder / "net.bin")]
    command = ["export", "tensors", *dump, "-o", str(tmp_path / "out"), "--store", str(tmp_path / "none")]
    assert run(command) != 0
    assert run([*command, "--source", str(folder / "net.pte")]) == 0
    assert "Wrote" in capsys.readouterr().err
    assert index(tmp_path / "out")["values"]
