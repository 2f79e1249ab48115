"""Case 48: texts of models and files are kept whole, whatever they hold; and logs that are made to hurt."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import fxstore
from fxstore.errors import SourceError
from fxstore.ingest import adapters
from tests.ingest.trace_writer import graph, printed

TEXTS = [
    "a,a->a", "quote \" and ' and `", "pipe | brace { } angle < >", "back\\slash \\n", "line\nbreak\ttab",
    "\u00fcn\u00efc\u00f6d\u00e9 \U0001f525", "x" * 5000, "{{mustache}} ${tpl} <%= %>", "</td></tr>",
]  # fmt: skip


def test_case_48_labels_of_a_live_graph_are_kept_whole() -> None:
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.einsum("a,a->a", [x, x])

    module = torch.fx.symbolic_trace(Model())
    last = next(node for node in module.graph.nodes if node.op == "call_function")
    with module.graph.inserting_after(last):
        for text in TEXTS:
            module.graph.call_function(torch.sin, (last,)).meta["custom"] = {"label": text}
    with fxstore.connect(":memory:") as store:
        store.ingest(module)
        found = store.sql(
            "SELECT json_extract_string(attrs, '$.custom.label') FROM nodes WHERE op_type = 'sin'"
        ).fetchall()
        assert sorted(text for (text,) in found) == sorted(TEXTS)
        assert store.sql(
            "SELECT count(*) FROM nodes WHERE attrs LIKE '%a,a->a%' AND op_type = 'einsum'"
        ).fetchall() == [(1,)]


def test_case_48_names_of_a_file_are_kept_whole(tmp_path: Path) -> None:
    nodes = [{"id": text, "label": text, "incomingEdges": []} for text in TEXTS]
    (tmp_path / "g.json").write_text(json.dumps([{"id": "g", "nodes": nodes}]))
    with fxstore.connect(":memory:") as store:
        store.ingest({"edge": tmp_path / "g.json", "given": {text: float(i) for i, text in enumerate(TEXTS)}})
        rows = store.sql(
            "SELECT n.name, n.target, m.value FROM nodes n JOIN metrics m USING (nid) WHERE m.metric = 'value'"
        ).fetchall()
        assert sorted(rows) == sorted((text, text, float(i)) for i, text in enumerate(TEXTS))


GOOD = graph("aot_inference_graph", printed("cos"))
HEAD = b"V1129 18:03:36.001000 1 a.py:1] "
LOGS = {
    "a long line": HEAD + b'{"dynamo_output_graph": "' + b"x" * (6 << 20) + b'"}\n',
    "a deep header": HEAD + b'{"dynamo_output_graph": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "a huge number": HEAD + b'{"dynamo_output_graph": {}, "rank": ' + b"9" * 100_000 + b"}\n",
    "no text": HEAD + b'{"dynamo_output_graph": \xff\xfe}\n',
    "a payload without end": HEAD + b'{"dynamo_output_graph": {}, "has_payload": "0"}\n' + b"\tx = 1\n" * 5_000_000,
    "a row of no kind": b'{"compile_id": [], "nodes": [{"name": 3}]}\n',
    "a row that uses itself": b'{"compile_id": 0, "nodes": [{"name": "a", "inputs": ["a"]}]}\n',
}


@pytest.mark.parametrize("name", sorted(LOGS))
def test_a_hostile_record_costs_itself_only(name: str, tmp_path: Path) -> None:
    (tmp_path / "t.log").write_bytes(GOOD + LOGS[name])
    begun = time.process_time()
    found = adapters.read(tmp_path / "t.log")
    assert time.process_time() - begun < 2
    assert [stage.name.rpartition("/")[2] for stage in found.stages] == ["aot_inference_graph"]
    assert (found.status, found.stages[0].note is not None) == ("partial", True)
    (tmp_path / "alone.log").write_bytes(LOGS[name])
    with pytest.raises(SourceError):
        adapters.read(tmp_path / "alone.log")


def test_half_a_character_of_a_json_file_is_read_as_its_escape(tmp_path: Path) -> None:
    text = (
        r'[{"id": "g", "nodes": [{"id": "a\ud800", "label": "\\ud83d \ud83d\ude00 \udc00", "namespace": "n\uDFFF"}]}]'
    )
    (tmp_path / "g.json").write_text(text)
    (tmp_path / "d.json").write_text(r'{"g": {"name": "t\ud800", "results": {"a\ud800": {"value": "\udc00"}}}}')
    with fxstore.connect(":memory:") as store:
        store.ingest({"edge": tmp_path / "g.json", "given": tmp_path / "d.json"})
        rows = store.sql(
            "SELECT n.name, n.target, n.module_path, m.metric, m.text FROM nodes n JOIN metrics m USING (nid)"
            " JOIN overlays o USING (overlay_id) WHERE o.kind = 'category'"
        ).fetchall()
    assert rows == [("a\\ud800", "\\ud83d \U0001f600 \\udc00", "n\\uDFFF", "t\\ud800", "\\udc00")]
