"""A run takes a fraction of its record's graphs: what repeats is stored once."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path

import pytest

import fxstore

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")

WEIGHTS = ("_state_dict", "_constants", "_example_inputs")


def test_a_store_is_smaller_than_a_third_of_the_record_without_weights(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from executorch.devtools.etrecord import ETRecord

        layers = [layer for _ in range(40) for layer in (torch.nn.Linear(4, 4), torch.nn.Hardswish())]
        program = torch.export.export(torch.nn.Sequential(*layers).eval(), (torch.ones(1, 4),))
        record = ETRecord(program, 7, program.run_decompositions(), _debug_handle_map={"forward": {0: [1]}})
        record.save(str(tmp_path / "net.etrecord"))
    with zipfile.ZipFile(tmp_path / "net.etrecord") as archive:
        given = sum(i.compress_size for i in archive.infolist() if not i.filename.endswith(WEIGHTS))
    with fxstore.connect(tmp_path / "store") as store:
        store.ingest(record)
    size = sum(path.stat().st_size for path in (tmp_path / "store").rglob("*") if path.is_file())
    assert 0 < size < given / 3, f"{size / given:.2f} of {given}"
