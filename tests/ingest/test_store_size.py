"""A run of all stages takes a fraction of its record's graphs: what repeats is stored once."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import fxstore
from fxstore.ingest import adapters

pytest.importorskip("executorch")

from tests.conftest import Compiled

WEIGHTS = ("_state_dict", "_constants", "_example_inputs")


def test_a_store_of_all_stages_is_smaller_than_a_third_of_the_record_without_weights(
    demo_compile: Compiled, tmp_path: Path
) -> None:
    demo_compile.record.save(str(tmp_path / "net.etrecord"))
    with zipfile.ZipFile(tmp_path / "net.etrecord") as archive:
        record = sum(i.compress_size for i in archive.infolist() if not i.filename.endswith(WEIGHTS))
    with fxstore.connect(tmp_path / "store") as store:
        run = store.ingest(adapters.Ingested(tuple(demo_compile.stages)))
        assert len(run.stages) == len(demo_compile.stages)
    size = sum(path.stat().st_size for path in (tmp_path / "store").rglob("*") if path.is_file())
    assert 0 < size < record / 3, f"{size / record:.2f} of {record}"
