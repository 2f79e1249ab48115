"""Every reader refuses what is made to hurt, in time and in memory: all files go through one fresh process."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

SECONDS = 2.0
MEGABYTES = 500
CHILD = """
import json, sys, time
from pathlib import Path
from fxstore.errors import SourceError
from fxstore.ingest import adapters

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024

for name, options in json.loads(sys.stdin.read()):
    begun = time.process_time()
    try:
        found = adapters.read(Path(name), options)
        how = found.status if any(stage.graphs for stage in found.stages) else f"{found.status}, no graph"
    except SourceError as error:
        how = "refused"
    print(json.dumps([Path(name).name, how, time.process_time() - begun, peak()]), flush=True)
"""


def archive(entries: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as written:
        for name, content in entries.items():
            written.writestr(name, content)
    return target.getvalue()


def bombs() -> dict[str, bytes]:
    """ZIP archives that unpack to a thousand times their size, that are nested deeply, or leave their place."""
    many = b'{"graph_module": [' + b"[]," * (40 << 20) + b"[]]}"
    return {
        "zeros": archive({"exported_program": bytes(300 << 20)}),
        "many values": archive({"exported_program": many}),
        "deep": archive({"exported_program": b"[" * 1_000_000}),
        "escape": archive({"../../etc/passwd": b"{}", "exported_program": b"{}"}),
        "no archive": b"PK" + bytes(1 << 20),
    }


def parquet_bomb() -> bytes:
    target = io.BytesIO()
    text = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), 200_000), ["x" * 20_000])
    parquet.write_table(pa.table({"node": text, "value": pa.repeat(1.0, len(text))}), target, compression="zstd")
    return target.getvalue()


def contents() -> Iterator[tuple[str, bytes]]:
    """Yields file names and contents, for each reader some."""
    for kind, data in bombs().items():
        yield f"{kind}.etrecord", data
        yield f"{kind}.pt2", data
    for kind, size in (("all ones", 1 << 20), ("large", 60 << 20)):
        yield f"{kind}.pte", b"\x08\0\0\0ET12" + b"\xff" * size
        yield f"{kind}.etdp", b"\x08\0\0\0ED00" + b"\xff" * size
        yield f"{kind} offsets.etdp", (b"\x08\0\0\0ED00" + b"\x04\0\0\0" * (size // 4))
    yield "deep.json", b'[{"id": "g", "nodes": [{"incomingEdges": ' + b"[" * 5_000_000
    yield "many.json", b'[{"id": "g", "nodes": [{"incomingEdges": [' + b"{}," * 20_000_000 + b"{}]}]}]"
    yield "deep payload.json", b'{"base": {"edges": [], "nodes": [' + b'{"id": [' * 100_000
    yield "wide.csv", b"node," + b"a," * 5_000_000 + b"b\n"
    yield "long.csv", b"node,value\n" + b"a,1\n" * 20_000_000
    yield "quote.csv", b'node,value\n"' + b"x" * (100 << 20)
    yield "text.parquet", parquet_bomb()
    yield "cut.parquet", parquet_bomb()[:2000]
    yield "ones.parquet", b"PAR1" + b"\xff" * (1 << 20) + b"PAR1"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_hostile_files_of_every_reader_are_refused_in_time_and_in_memory(tmp_path: Path) -> None:
    jobs: list[tuple[str, dict[str, str]]] = []
    for name, data in contents():
        (tmp_path / name).write_bytes(data)
        jobs.append((str(tmp_path / name), {}))
    for name in ("sparse.json", "sparse.csv", "sparse.etdp", "sparse.pte", "sparse.etrecord", "sparse.parquet"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(3 << 30)
        jobs.append((str(tmp_path / name), {}))
    jobs.append((str(tmp_path / "all ones.etdp"), {"debug_buffer": str(tmp_path / "sparse.csv")}))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "dedicated_log_torch_trace_1.log").write_bytes(
        b"V1129 18:03:36.001000 1 a.py:1] {" * 2_000_000
    )
    jobs.append((str(tmp_path / "logs"), {}))
    done = subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps(jobs), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(jobs)
    harmless = ("logs", *(row[0] for row in found if row[0].endswith("offsets.etdp")))  # read as a dump of no run
    assert [row for row in found if row[1] != "refused" and row[0] not in harmless] == []
    assert all(row[1].endswith("no graph") for row in found if row[1] != "refused")
    assert [row for row in found if row[2] > SECONDS] == []
    assert [row for row in found if row[3] > MEGABYTES] == []
