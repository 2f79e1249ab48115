"""Every reader on files that were real and have been changed: what comes out is read, or one typed refusal, in time."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from fxstore.errors import FxstoreError, SourceError, UsageError
from fxstore.ingest import adapters
from fxstore.render import embedded, saved_payload
from tests.ingest import trace_writer

pytest.importorskip("executorch")
from tests.ingest.test_etrecord_hostile import change, packed

SECONDS = 2.0
KINDS = ("net.pte", "net.etdp", "net.bin", "graph.json", "viewer.json", "numbers.csv", "numbers.parquet", "trace.log")
ARCHIVES = ("net.etrecord", "net.pt2")
INTERESTING = st.sampled_from(
    [b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\xff" * 8, b"\0" * 8, b"\x01\0\0\0", b'"', b"{", b"]"]
)
PIECES = st.binary(max_size=8) | INTERESTING
EDITS = st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 8), PIECES), min_size=1, max_size=5)
VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just([[]]) | st.just({"": {}})
)
SHARES = st.floats(0, 0.999)
ACTIONS = st.sampled_from(["set", "drop", "swap", "cut"])
CHANGES = st.lists(st.tuples(ACTIONS, SHARES, SHARES, VALUES), min_size=1, max_size=4)
LIMITS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


class Seeds(dict[str, bytes]):
    """Files by name; hypothesis shows its arguments."""

    def __repr__(self) -> str:
        return "seeds"


@pytest.fixture(scope="module")
def seeds(compiled: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Seeds:
    """A real file of each kind, by name."""
    import torch

    from fxstore.fx_viewer import FXGraphExporter

    folder = tmp_path_factory.mktemp("seeds")
    program = compiled["program"]
    exported = torch.export.export(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), (torch.ones(2, 4),))
    torch.export.save(exported, folder / "net.pt2")
    program.get_etrecord().save(folder / "net.etrecord")
    numbers = pa.table({"node": ["a", "b"], "value": [0.5, float("nan")], "reason": [None, "not run"]})
    table = io.BytesIO()
    parquet.write_table(numbers, table)
    node = {"id": "a", "label": "conv", "namespace": "m", "incomingEdges": []}
    after = {
        "id": "b",
        "label": "relu",
        "namespace": "",
        "incomingEdges": [{"sourceNodeId": "a", "sourceNodeOutputId": "0"}],
    }
    graphs = {"label": "net", "graphs": [{"id": "g", "nodes": [node, after]}]}
    return Seeds(
        {
            "net.pte": bytes(program.buffer),
            "net.etdp": (compiled["folder"] / "net.etdp").read_bytes(),
            "net.bin": (compiled["folder"] / "net.bin").read_bytes(),
            "net.pt2": (folder / "net.pt2").read_bytes(),
            "net.etrecord": (folder / "net.etrecord").read_bytes(),
            "graph.json": json.dumps(graphs).encode(),
            "viewer.json": json.dumps(FXGraphExporter(exported.graph_module).generate_json_payload()).encode(),
            "numbers.csv": b"node,value,reason\na,0.5,\nb,,not run\n",
            "numbers.parquet": table.getvalue(),
            "trace.log": trace_writer.VERSION + trace_writer.graph("aot_forward_graph", trace_writer.printed("relu")),
        }
    )


def edited(content: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    """Returns a content with some pieces replaced: (share of the length, bytes taken out, bytes put in)."""
    changed = bytearray(content)
    for share, taken, piece in edits:
        at = int(share * len(changed))
        changed[at : at + taken] = piece
    return bytes(changed)


def read(folder: Path, name: str, content: bytes, seeds: Seeds) -> None:
    """Reads a file, whatever kind it is; anything but a result or a SourceError fails the test."""
    options: dict[str, str] = {}
    path = folder / name
    if name.endswith(".log"):
        folder.joinpath("logs").mkdir(exist_ok=True)
        path = folder / "logs" / "dedicated_log_torch_trace_1.log"
    path.write_bytes(content)
    if name == "net.bin":
        options["debug_buffer"] = str(path)
        path = folder / "net.etdp"
        path.write_bytes(seeds["net.etdp"])
    begun = time.process_time()
    try:
        adapters.read(path.parent if name.endswith(".log") else path, options)
    except (SourceError, UsageError) as error:
        assert error.hint  # noqa: PT017 - both ways are right
    assert time.process_time() - begun < SECONDS


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_themselves_are_read(kind: str, seeds: Seeds, tmp_path: Path) -> None:
    read(tmp_path, kind, seeds[kind], seeds)
    if kind != "net.bin":
        path = tmp_path / "logs" if kind.endswith(".log") else tmp_path / kind
        found = adapters.read(path)
        assert found.stages or found.overlays


@pytest.mark.parametrize("kind", KINDS)
@LIMITS
@given(edits=EDITS, keep=SHARES | st.just(1.0))
def test_changed_bytes(
    kind: str, seeds: Seeds, tmp_path: Path, edits: list[tuple[float, int, bytes]], keep: float
) -> None:
    content = edited(seeds[kind], edits)
    read(tmp_path, kind, content[: int(keep * len(content))], seeds)


@pytest.mark.parametrize("kind", ARCHIVES)
@LIMITS
@given(data=st.data(), edits=EDITS)
def test_changed_entries_of_archives(
    kind: str, seeds: Seeds, tmp_path: Path, data: st.DataObject, edits: list[tuple[float, int, bytes]]
) -> None:
    with zipfile.ZipFile(io.BytesIO(seeds[kind])) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    name = data.draw(st.sampled_from(sorted(entries)))
    entries[name] = edited(entries[name], edits)
    read(tmp_path, kind, packed(entries), seeds)


def document_readers() -> dict[str, Callable[[Path, Any, Seeds], None]]:
    """What reads JSON documents: two adapters, and the page of a saved payload."""

    def adapter(name: str) -> Callable[[Path, Any, Seeds], None]:
        return lambda folder, document, seeds: read(folder, name, json.dumps(document).encode(), seeds)

    def page(folder: Path, document: Any, seeds: Seeds) -> None:
        path = folder / "saved.json"
        path.write_text(json.dumps(document))
        try:
            embedded.PayloadPage(saved_payload.read(path), "saved").html()
        except FxstoreError as error:
            assert error.hint or str(error)  # noqa: PT017

    return {"graph.json": adapter("graph.json"), "viewer.json": adapter("viewer.json"), "payload": page}


@pytest.mark.parametrize("reader", document_readers())
@LIMITS
@given(changes=CHANGES)
def test_changed_documents(
    reader: str, seeds: Seeds, tmp_path: Path, changes: list[tuple[str, float, float, Any]]
) -> None:
    document = json.loads(seeds["graph.json" if reader == "graph.json" else "viewer.json"])
    for step in changes:
        change(document, *step)
    document_readers()[reader](tmp_path, document, seeds)
