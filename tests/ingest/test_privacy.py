"""The profile ``public``: every byte that is produced is searched for what must not be in it (case 53)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import fxstore
from fxstore.ingest.adapters import Ingested
from fxstore.ingest.build import GraphBuilder, Place, Value
from fxstore.ingest.overlays import NodeOverlay
from fxstore.privacy import attributes, plain
from fxstore.records import Stage
from tests.render.unpacking import payload_of

SECRETS = (
    "/home/alice", "alice", "secret_model.py", "y = self.proprietary(x)", "sk-live-4f3a", "hunter2", "0.0173210",
    "Traceback", "acme.internal", "12.3456", "C:\\build",
)  # fmt: skip


def source(name: str = "net") -> Ingested:
    """Two stages whose rows hold a secret wherever a row can."""
    stages = []
    for number, stage in enumerate(("float", "quantized")):
        builder = GraphBuilder("forward", identities=[number])
        x = builder.node("x", "placeholder", "x", "input", values=[Value("float32", ("1", "s0"), "cpu")])
        place = Place("block.conv", "acme.internal.secret.Conv2d", 1, "/home/alice/secret_model.py", 7, SECRETS[3])
        args = {"1": 3, "2": [1, 2], "3": 0.0173210, "4": "sk-live-4f3a", "dtype": "torch.int8", "5": True}
        conv = builder.node(
            "conv", "call_function", "aten.conv2d.default", "op", place=place,
            values=[Value("float32", ("1", "8"), "cpu")], attrs={"args": args, "custom": {"owner": "hunter2"}},
        )  # fmt: skip
        quantise = {"args": {"1": 0.0173210, "2": 77}, "quantisation": {"scale": 0.0173210}}
        q = builder.node("q", "call_function", "quantized_decomposed.quantize_per_tensor.default", "op", attrs=quantise)
        out = builder.node("output", "output", "output", "output")
        for src, dst in ((x, conv), (conv, q), (q, out)):
            builder.use(src, 0, dst, "0")
        builder.origin(conv, 0, [("conv", "<function f at C:\\build>", 5, "/home/alice/pass.py", "create")])
        note = "Traceback: /home/alice/secret_model.py failed" if number else None
        stages.append(Stage(stage, (builder.finish(),), "graph", "complete", note))
    rows = [{"stage": "quantized", "node": "conv", "metric": "cosine", "value": 12.3456}]
    accuracy = NodeOverlay.of("accuracy", "accuracy", rows, source="/home/alice/run", better="higher")
    statistics = NodeOverlay.of("ranges", "statistics", [{**rows[0], "metric": "max"}])
    times = [
        {"stage": "quantized", "node": "conv", "metric": "latency", "value": 90.0, "text": "native_call_conv.out"},
        {"stage": "quantized", "node": "q", "metric": "latency", "reason": "failed: /home/alice/x", "text": None},
    ]
    return Ingested(tuple(stages), (accuracy, statistics, NodeOverlay.of("latency", "latency", times)), "partial")


def found_in(folder: Path) -> set[str]:
    """Returns the secrets that any byte under a folder holds, Parquet and pages unpacked."""
    texts = []
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        texts += [str(path.relative_to(folder)), path.read_bytes().decode("latin-1")]
        if path.suffix == ".parquet":
            texts.append(json.dumps(pq.read_table(path).to_pylist(), default=str))
        elif path.suffix == ".html":
            page = payload_of(path.read_text())
            texts.append(json.dumps([page.header, {k: c.tolist() for k, c in page.columns.items()}], default=str))
    whole = "\n".join(texts)
    return {secret for secret in SECRETS if secret in whole or json.dumps(secret)[1:-1] in whole}


def test_without_the_profile_everything_is_there(tmp_path: Path) -> None:
    with fxstore.connect(tmp_path / "store") as store:
        store.ingest(source(), name="net")
    assert {"/home/alice", SECRETS[3], "sk-live-4f3a", "hunter2", "12.3456"} <= found_in(tmp_path)


@pytest.mark.parametrize("way", ["ingest", "record"])
def test_a_public_store_and_its_page_hold_no_secret(tmp_path: Path, way: str) -> None:
    tags = {"soc": "sm8650", "from": "/home/alice/build"}
    with fxstore.connect(tmp_path / "store") as store:
        if way == "ingest":
            store.ingest(source(), name="net", tags=tags, model="/home/alice/net", privacy="public")
        else:
            with store.record("net", tags=tags, privacy="public") as rec:
                rec._open.take(source())
                rec.stage("broken", Path("/home/alice/missing.pte"))
        rows = store.sql("SELECT name, target, module_path, module_type, shape, attrs FROM nodes WHERE name = 'conv'")
        row = rows.fetchall()[0]
        assert row[:5] == ("conv", "aten.conv2d.default", "block.conv", "Conv2d", ["1", "8"])
        assert json.loads(str(row[5])) == {"args": {"1": 3, "2": [1, 2], "dtype": "torch.int8", "5": True}}
        kinds = {row[0] for row in store.sql("SELECT kind FROM overlays").fetchall()}
        assert "latency" in kinds
        assert kinds <= {"latency", "static", "category"}
        assert store.sql("SELECT value FROM metrics WHERE metric = 'latency' AND value > 0").fetchall() == [(90.0,)]
        assert store.sql("SELECT tags FROM runs").fetchall() == [({"soc": "sm8650"},)]
        assert store.sync("float", "conv").fetchall()
        store.compare().save(tmp_path / "page.html")
    assert found_in(tmp_path) == set()


def test_a_public_page_of_a_full_store_holds_no_secret(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with fxstore.connect(tmp_path / "store") as store:
        store.ingest(source(), name="net", tags={"from": "/home/alice/build"})
        answer = store.sql("SELECT nid, name, source_file, source_code FROM nodes WHERE name = 'conv'")
        store.compare(highlight=answer, privacy="public").save(tmp_path / "out" / "page.html")
        with pytest.raises(fxstore.UsageError, match="no privacy 'pubic'"):
            store.compare(privacy="pubic")
    assert found_in(tmp_path / "out") == set()


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fxstore.cli import run
    from fxstore.ingest import adapters

    made: Any = lambda *_: source()  # noqa: E731
    monkeypatch.setattr(adapters, "read", made)
    monkeypatch.setattr(adapters, "takes", lambda *_: {})
    where = ["--store", str(tmp_path / "store")]
    assert run(["ingest", *where, "--privacy", "public", "net.any"]) == 0
    assert run(["compare", *where, "--privacy", "public", "-o", str(tmp_path / "page.html")]) == 0
    assert found_in(tmp_path) == set()


def test_only_what_is_listed_is_kept() -> None:
    assert plain("lowered_module_0") == "lowered_module_0"
    assert plain("/etc/passwd") == plain("x.py") == plain("a\nb") == "<private>"
    assert attributes(None, "add") is None
    assert attributes('{"custom": 1, "flag": "x", "new": "y"}', "add") is None
    assert attributes('{"args": {"0": "s0 + 1", "alpha": 2.5, "1": [1, "x"]}}', "add") == '{"args": {"0": "s0 + 1"}}'
