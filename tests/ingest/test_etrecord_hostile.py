from __future__ import annotations

import copy
import io
import json
import os
import pickle
import struct
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("executorch")

from fxstore.errors import SourceError
from fxstore.ingest import archive
from fxstore.ingest.executorch.etrecord import read_etrecord
from tests.ingest.record_samples import save

EDGE = "edge_dialect_exported_program/forward"
Entries = dict[str, bytes]


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> Entries:
    """A good record with nested graphs and delegates, entry by entry."""
    saved = save("mapped", tmp_path_factory.mktemp("hostile"))
    with zipfile.ZipFile(saved.extras) as source:
        return {name: source.read(name) for name in source.namelist()}


def packed(entries: Entries, compression: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as written:
        for name, content in entries.items():
            written.writestr(name, content)
    return target.getvalue()


def document(entries: Entries, change: Callable[[Any], None], name: str = "exported_program") -> bytes:
    """The record, with its exported program changed."""
    parsed = json.loads(entries[name])
    change(parsed)
    return packed({**entries, name: json.dumps(parsed).encode()})


def node(parsed: Any) -> Any:
    return parsed["graph_module"]["graph"]["nodes"][-1]


def flagged(data: bytes, field: int, value: int) -> bytes:
    """Sets a 16-bit field of the last entry's header in the archive's directory: 8 is the flags, 10 the method."""
    at = data.rindex(b"PK\1\2") + field
    return data[:at] + struct.pack("<H", value) + data[at + 2 :]


def twice(entries: Entries) -> bytes:
    target = io.BytesIO(packed(entries))
    with zipfile.ZipFile(target, "a") as written, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        written.writestr("exported_program", entries["exported_program"])
    return target.getvalue()


def bomb(entries: Entries) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in entries.items():
            with written.open(name, "w") as stream:
                stream.write(content)
                for _ in range(40 if name == EDGE else 0):
                    stream.write(b" " * (1 << 20))
    return target.getvalue()


def lying_bomb(entries: Entries) -> bytes:
    """Claims more packed bytes than the file has, so that the ratio looks harmless."""
    data = bomb(entries)
    at = data.index(b"PK\1\2")
    while data[at + 46 : at + 46 + len(EDGE)] != EDGE.encode():
        at = data.index(b"PK\1\2", at + 4)
    return data[: at + 20] + struct.pack("<I", 1 << 28) + data[at + 24 :]


def endless_directory(entries: Entries) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as written:
        written.writestr("ETRECORD_V0", "")
        for i in range(40_000):
            written.writestr(zipfile.ZipInfo(f"{i:090}"), b"")
    return target.getvalue()


def set_key(owner: Callable[[Any], Any], key: Any, value: Any) -> Callable[[Entries], bytes]:
    def change(parsed: Any) -> None:
        owner(parsed)[key] = value

    return lambda entries: document(entries, change)


HOSTILE: dict[str, tuple[Callable[[Entries], bytes], str]] = {
    "empty": (lambda e: b"", "is empty"),
    "text": (lambda e: b"not a record\n", "not an ETRecord"),
    "truncated": (lambda e: packed(e)[: len(packed(e)) // 2], "not an ETRecord, or cut off"),
    "cut start": (lambda e: packed(e)[100:], "cut off|cannot be read|overlap"),
    "no identifier": (lambda e: packed({k: v for k, v in e.items() if k != "ETRECORD_V0"}), "'ETRECORD_V0' is missing"),
    "no state": (
        lambda e: packed({k: v for k, v in e.items() if k != f"{EDGE}_state_dict"}),
        f"'{EDGE}'.*_state_dict'",
    ),
    "no program": (lambda e: packed({k: v for k, v in e.items() if k != EDGE}), f"belongs to '{EDGE}'"),
    "nothing": (lambda e: packed({"ETRECORD_V0": b""}), "holds no program"),
    "escape": (lambda e: packed({**e, "../../etc/passwd": b""}), "leaves the archive"),
    "absolute": (lambda e: packed({**e, "/etc/passwd": b""}), "leaves the archive"),
    "drive": (lambda e: packed({**e, "C:/x": b""}), "leaves the archive"),
    "backslash": (lambda e: packed({**e, "a\\..\\b": b""}), "leaves the archive"),
    "nul": (lambda e: packed({**e, "ab": b""}).replace(b"ab", b"a\0"), "leaves the archive|cut off"),
    "duplicate": (twice, "'exported_program'.*2 times"),
    "two of a method": (
        lambda e: packed({**e, **{k.replace("/forward", ""): v for k, v in e.items() if k.startswith(EDGE)}}),
        "two programs",
    ),
    "bomb": (bomb, "times its size"),
    "lying bomb": (lying_bomb, "overlap or end after"),
    "endless directory": (endless_directory, "directory is larger"),
    "encrypted": (lambda e: flagged(packed({"x": b"", **e}), 8, 1), "is encrypted"),
    "unknown method": (lambda e: flagged(packed(e), 10, 99), "method 99"),
    "lzma": (lambda e: packed(e, zipfile.ZIP_LZMA), "method 14"),
    "checksum": (lambda e: packed(e).replace(b"map_impl", b"map_IMPL", 1), "cannot be read"),
    "not UTF-8": (lambda e: packed({**e, "exported_program": b'{"a": "\xff"}'}), "not UTF-8 at byte 7"),
    "not JSON": (lambda e: packed({**e, "exported_program": b"{"}), "is not JSON"),
    "deep": (lambda e: packed({**e, "exported_program": b"[" * 200_000 + b"]" * 200_000}), "nested too deeply"),
    "deep chain": (set_key(lambda p: node(p)["metadata"], "from_node", "[" * 100_000), "nested too deeply"),
    "many values": (lambda e: packed({**e, "exported_program": b"[" + b"[]," * 9_000_000 + b"0]"}), "more memory"),
    "huge number": (lambda e: packed({**e, "export_graph_id": b"1" + b"0" * 5000}), "cannot be read|4300"),
    "large number": (lambda e: packed({**e, "export_graph_id": b"1" + b"0" * 50}), "a huge number"),
    "list": (lambda e: packed({**e, "exported_program": b"[]"}), "should be an object, not a list"),
    "null": (lambda e: packed({**e, "exported_program": b"null"}), "not null"),
    "map of lists": (lambda e: packed({**e, "debug_handle_map": b'{"forward": [1]}'}), "'debug_handle_map'.*an object"),
    "map of text": (lambda e: packed({**e, "debug_handle_map": b'{"forward": {"0": "x"}}'}), "whole number"),
    "map of names": (lambda e: packed({**e, "debug_handle_map": b'{"forward": {"x": 1}}'}), "whole number, not 'x'"),
    "no target": (lambda e: document(e, lambda p: node(p).pop("target")), "'target' is missing"),
    "long target": (set_key(node, "target", "aten_" + "a_" * 100_000), "more than 1000 characters"),
    "unknown argument": (set_key(lambda p: node(p)["inputs"][0], "arg", {"as_code": "x"}), "unknown kind 'as_code'"),
    "unknown value": (set_key(lambda p: node(p)["inputs"][0], "arg", {"as_tensor": {"name": "q"}}), "uses 'q'"),
    "unknown dtype": (
        set_key(lambda p: p["graph_module"]["graph"]["tensor_values"]["xs"], "dtype", 99),
        "dtype that is not in the schema",
    ),
    "same name": (set_key(node, "outputs", [{"as_tensor": {"name": "xs"}}]), "gives 'xs'"),
    "surrogate": (set_key(node, "target", "torch.ops.aten.\ud800.default"), "surrogates|utf-8"),
    "line": (
        set_key(lambda p: node(p)["metadata"], "stack_trace", f'File "a", line {9**30}, in f'),
        "exported_program",
    ),
    "module stack": (set_key(lambda p: node(p)["metadata"], "nn_module_stack", "x"), "module stack"),
    "handle": (set_key(lambda p: node(p)["metadata"], "debug_handle", "__import__('os')"), "debug handle"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_one_typed_refusal_within_two_seconds(entries: Entries, case: str, tmp_path: Path) -> None:
    make, cause = HOSTILE[case]
    path = tmp_path / "bad.etrecord"
    path.write_bytes(make(entries))
    start = time.process_time()
    with pytest.raises(SourceError, match=cause) as raised:
        read_etrecord(path)
    assert time.process_time() - start < 2
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)
    assert raised.value.hint
    assert os.listdir(tmp_path) == ["bad.etrecord"]


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is a folder"):
        read_etrecord(tmp_path)
    with pytest.raises(SourceError, match="No such file"):
        read_etrecord(tmp_path / "missing.etrecord")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="not a regular file"):
        read_etrecord(tmp_path / "pipe")
    with pytest.raises(SourceError, match="cannot be opened"):
        read_etrecord("a\0b")


def test_a_re_packed_record_is_read(entries: Entries, tmp_path: Path) -> None:
    """As ``zip -r`` makes it: deflated, with entries for folders."""
    path = tmp_path / "packed.etrecord"
    path.write_bytes(packed({"edge_dialect_exported_program/": b"", **entries}, zipfile.ZIP_DEFLATED))
    assert read_etrecord(path).status == "complete"


class Boom:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("fxstore-was-here",)


def test_nothing_in_a_record_is_executed(entries: Entries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    weights = {name: pickle.dumps(Boom()) for name in entries if name.endswith(("_inputs", "_constants", "_dict"))}
    parsed = json.loads(entries["exported_program"])
    size = "__import__('os').mkdir('fxstore-was-here')"
    parsed["graph_module"]["graph"]["tensor_values"]["xs"]["sizes"][0] = {"as_expr": {"expr_str": size}}
    changed = {
        **entries,
        **weights,
        "representative_inputs": pickle.dumps(Boom()),
        "exported_program": json.dumps(parsed),
    }
    path = tmp_path / "boom.etrecord"
    path.write_bytes(packed(changed))
    graph = read_etrecord(path).stages[0].graphs[0]
    shapes = dict(zip(graph.nodes["name"].to_pylist(), graph.nodes["shape"].to_pylist(), strict=True))
    assert shapes["xs"] == [size, "4"]
    assert os.listdir(tmp_path) == ["boom.etrecord"]


def test_what_is_read_in_all_has_a_limit(entries: Entries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.etrecord"
    path.write_bytes(packed(entries))
    monkeypatch.setattr(archive, "MAX_JSON_BYTES", len(entries["exported_program"]) + 1000)
    with pytest.raises(SourceError, match="those before it unpack to more"):
        read_etrecord(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["as_int", "name", "x"]), inner),
    max_leaves=6,
)
FRACTION = st.floats(0, 1, exclude_max=True)
CHANGES = st.lists(
    st.tuples(st.sampled_from(["set", "drop", "swap", "text"]), FRACTION, FRACTION, JSON), min_size=1, max_size=3
)


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Returns each place in a document, as its container and its key."""
    found = []
    stack = [tree]
    while stack:
        owner = stack.pop()
        for key in owner if isinstance(owner, dict) else range(len(owner)):
            found.append((owner, key))
            if isinstance(owner[key], (dict, list)):
                stack.append(owner[key])
    return found


def change(tree: Any, action: str, where: float, other: float, value: Any) -> None:
    """Changes a document in one place, picked by its share of all places."""
    found = places(tree)
    if not found:
        return
    owner, key = found[int(where * len(found))]
    if action == "set":
        owner[key] = copy.deepcopy(value)
    elif action == "drop":
        del owner[key]
    elif action == "swap":
        source, at = found[int(other * len(found))]
        owner[key] = copy.deepcopy(source[at])
    elif isinstance(owner[key], str):
        cut = int(other * len(owner[key]))
        owner[key] = owner[key][:cut] + str(value) + owner[key][cut + 1 :]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["exported_program", EDGE, "lowered/forward", "debug_handle_map"]),
    changes=CHANGES,
)
def test_any_change_of_the_json_is_read_or_refused(
    entries: Entries, tmp_path: Path, name: str, changes: list[tuple[str, float, float, Any]]
) -> None:
    """Whatever comes out is a record or a SourceError: other exceptions fail the test."""
    parsed = json.loads(entries[name])
    for step in changes:
        change(parsed, *step)
    path = tmp_path / "changed.etrecord"
    path.write_bytes(packed({**entries, name: json.dumps(parsed).encode()}))
    _read_or_refuse(path)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_change_of_the_bytes_is_read_or_refused(entries: Entries, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(packed(entries))
    first = content.index(b"PK\1\2")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(first, len(content) - 1) | st.integers(0, len(content) - 1))
        piece = data.draw(st.binary(max_size=4))
        content[at : at + data.draw(st.integers(0, 8))] = piece
    path = tmp_path / "changed.etrecord"
    path.write_bytes(content)
    _read_or_refuse(path)


def _read_or_refuse(path: Path) -> None:
    refusal = None
    try:
        assert read_etrecord(path).stages
    except SourceError as error:
        refusal = error
    assert refusal is None or (str(refusal).startswith(f"{path}: ") and refusal.hint)
