"""``fxstore validate``: exit codes, several files, and files that are made to hurt."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from fxstore.cli import run as fxstore
from fxstore.errors import SourceError
from fxstore.model_explorer import CHECKS
from tests import pages
from tests.model_explorer.payloads import graph, item, node, with_rows


def write(path: Path, document: Any) -> str:
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    return str(path)


def rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = write(tmp_path / "good.json", with_rows(graph(node("x"))))
    odd = write(tmp_path / "odd.json", with_rows(graph(node("x", label=""))))
    bad = write(tmp_path / "bad.json", with_rows(graph(node("x", "gone"))))
    assert fxstore(["validate", good]) == 0
    assert fxstore(["validate", odd]) == 0
    assert fxstore(["validate", odd, "--strict"]) == 3
    assert fxstore(["validate", odd, "--strict", "--ignore", "empty_label"]) == 0
    assert fxstore(["validate", bad]) == 3
    assert fxstore(["validate", good, bad]) == 3
    assert fxstore(["validate", str(tmp_path / "none.json")]) == 1
    assert fxstore(["validate", write(tmp_path / "cut.json", b"[{")]) == 1
    capsys.readouterr()
    assert fxstore(["validate", bad, "--ignore", "unresolved_edges"]) == 2
    assert "unresolved_edge" in capsys.readouterr().err
    assert fxstore(["validate"]) == 2


def test_findings_are_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = b'[{"id": "g", "nodes": [{"id": "\\ud800\\n", "label": "x", "label": "y", "namespace": "", "attrs": NaN}]}]'
    path = write(tmp_path / "g.json", text)
    assert fxstore(["validate", path, "--format", "jsonl"]) == 3
    found = rows(capsys)
    assert [(row["check"], row["node"]) for row in found] == [
        ("repeated_key", None), ("non_finite", None), ("shape", "\\ud800\n"), ("missing_group_rows", None),
    ]  # fmt: skip
    assert {row["file"] for row in found} == {path}
    for form in ("box", "csv", "json", "markdown"):
        assert fxstore(["validate", path, "--format", form]) == 3


def test_data_is_checked_against_the_other_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = write(tmp_path / "left.json", with_rows(graph(node("a"))))
    right = write(tmp_path / "right.json", with_rows(graph(node("b"), name="h")))
    data = write(tmp_path / "data.json", {"h": {"results": {"a": {"value": 1}, "b": {"value": 2}}}})
    sync = write(tmp_path / "sync.json", {"mapping": {"a": "b"}})
    assert fxstore(["validate", left, right, data, sync, "--format", "jsonl"]) == 3
    assert [(row["check"], row["node"]) for row in rows(capsys)] == [("unknown_node", "a")]
    assert fxstore(["validate", right, left, sync, "--format", "jsonl"]) == 3
    assert [(row["check"], row["node"]) for row in rows(capsys)] == [("unknown_node", "a"), ("unknown_node", "b")]
    assert fxstore(["validate", data, sync]) == 0


HOSTILE = {
    "deep": b'[{"id": "g", "nodes": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]",
    "huge number": b'[{"id": "g", "nodes": [], "x": ' + b"9" * 100_000 + b"}]",
    "no UTF-8": b'[{"id": "\xff\xfe", "nodes": []}]',
    "many": b'[{"id": "g", "nodes": [' + b"{}," * 2_000_000 + b"{}]}]",
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_files_are_refused_in_time(name: str, tmp_path: Path) -> None:
    from fxstore.cli.validating import checked

    path = tmp_path / "g.json"
    path.write_bytes(HOSTILE[name])
    begun = time.process_time()
    with pytest.raises(SourceError):
        checked([path], False, ())
    assert time.process_time() - begun < 2
    assert fxstore(["validate", str(path)]) == 1


WIDE = {
    "a hub": [node("x"), node("y", *["x"] * 50_000)],
    "a long namespace": [node("x", namespace="/".join("a" * 500_000))],
    "deep namespaces": [node(f"n{i}", namespace=f"{i}/" + "/".join("a" * 900)) for i in range(1000)],
    "a long chain": [node(f"n{i}", f"n{i - 1}") for i in range(20_000)],
    "many layers": [node(f"n{i}", namespace=f"{i}") for i in range(20_000)],
    "attributes of one key": [node("x", attrs=[item("k", "v")] * 100_000)],
    "a list of lists": [[[[]]]] * 100_000,
    "nested in nodes": [node("x", attrs=[item("k", json.loads("[" * 900 + "]" * 900))])],
}


@pytest.mark.parametrize("name", sorted(WIDE))
def test_files_that_are_large_in_one_way_take_their_time_only(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "g.json", [{"id": "g", "nodes": WIDE[name]}])
    begun = time.process_time()
    assert fxstore(["validate", path]) == 3
    assert time.process_time() - begun < 20


def test_the_documentation_names_every_check() -> None:
    page = pages.page("model_explorer.md").read_text("utf-8")
    told = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    table = [row for row in told if len(row) == 3 and row[1] in ("error", "warning")]
    assert table == [[f"`{check.name}`", check.severity, check.says] for check in CHECKS.values()]
