"""Reading ETDumps and attaching their events, on files written here."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxstore.errors import SourceError
from fxstore.ingest.executorch.attach import EmittedGraph, attach
from fxstore.ingest.executorch.etdump import MISSING_BUFFER, Block, read_etdump

pytest.importorskip("flatbuffers")
from tests.ingest.etdump_writer import dump, profile, tensor, value

FLOAT, BFLOAT16, LONG = 6, 15, 4


def graph(ports: dict[int, int]) -> EmittedGraph:
    """A graph whose node positions are ten times their instructions."""
    return EmittedGraph({i: 10 * i for i in ports}, {10 * i: n for i, n in ports.items()}, {}, {})


def execution(*events: object, buffer: bytes | None = None) -> Block:
    return read_etdump(dump(events), buffer).executions[0]  # type: ignore[arg-type]


def kernel(instruction: int, start: int = 0, end: int = 5, name: str = "native_call_add.out") -> tuple[object, object]:
    return profile(name, instruction, start, end), profile("OPERATOR_CALL", instruction, start, end + 1)


def test_tensors_are_read_with_their_dtype_and_axes() -> None:
    floats = np.arange(24, dtype=np.float32)
    buffer = floats.tobytes() + np.array([7, -7], np.int64).tobytes() + b"\x80\x3f\x00\x40"
    block = execution(
        value(0, tensor(FLOAT, (1, 2, 3, 4), 0, (24, 1, 8, 2))),  # channels last
        value(0, tensor(LONG, (2,), 96), tensor(BFLOAT16, (2,), 112)),
        value(0, tensor(FLOAT, (), 4)),
        profile("Method::execute", 0, 0, 9, chain=-1),
        buffer=buffer,
    )
    arrays = [logged.array for event in block.events for logged in event.values]
    assert np.array_equal(arrays[0], floats.reshape(1, 3, 4, 2).transpose(0, 3, 1, 2))
    assert arrays[1].tolist() == [7, -7]
    assert arrays[2].tolist() == [1.0, 2.0]
    assert arrays[2].dtype == np.float32
    assert arrays[3].shape == ()
    assert arrays[3] == 1.0


def test_without_a_buffer_there_are_times_and_reasons_but_no_zeros() -> None:
    events = (value(0, tensor(FLOAT, (2,), 48)), *kernel(0))
    found = attach(execution(*events), graph({0: 1}))
    assert found.values == {}
    assert found.missing == {(0, 0): MISSING_BUFFER}
    assert [(e.metric, e.duration_ns) for e in found.latency] == [("latency", 5), ("latency_dispatch", 6)]
    short = attach(execution(*events, buffer=b"\0" * 50), graph({0: 1}))
    assert short.missing == {(0, 0): "no tensor data (debug buffer too short)"}


def test_used_bytes_is_the_end_of_the_last_tensor() -> None:
    assert read_etdump(dump([value(0, tensor(FLOAT, (3,), 100)), *kernel(0)])).used_bytes == 112  # type: ignore[list-item]


def test_what_is_not_logged_has_a_reason() -> None:
    block = execution(
        value(0, tensor(FLOAT, (2,), -1)), *kernel(0), value(1), *kernel(1), value(2, tensor(99, (1,), 0)), *kernel(2),
        *kernel(3), value(4, tensor(FLOAT, (2, 2), 0, (9, 9))), *kernel(4),
        buffer=bytes(64),
    )  # fmt: skip
    found = attach(block, graph({0: 1, 1: 1, 2: 1, 3: 2, 4: 1, 5: 1}))
    assert found.values == {}
    assert found.missing == {
        (0, 0): "no tensor data (not logged)",
        (10, 0): "not a tensor",
        (20, 0): "scalar type 99 is not read",
        (30, 0): "no tensor data (not logged)",
        (30, 1): "no tensor data (not logged)",
        (40, 0): "strides do not fit the sizes",
        (50, 0): "not executed",
    }


def test_a_delegates_outputs_are_the_last_of_its_arguments() -> None:
    buffer = np.arange(3, dtype=np.float32).tobytes()
    arguments = [value(0, tensor(FLOAT, (1,), 4 * i)) for i in range(3)]
    call = profile("DELEGATE_CALL", 0, 0, 50)
    inner = [profile(None, 0, 10 * i, 10 * i + 9, delegate_id="GEMM #1") for i in range(2)]
    found = attach(execution(*inner, *arguments, call, buffer=buffer), graph({0: 2}))
    assert {key: float(array[0]) for key, array in found.values.items()} == {(0, 0): 1.0, (0, 1): 2.0}
    assert [(e.position, e.metric, e.name, e.duration_ns) for e in found.latency] == [
        (0, "latency_inner", "GEMM #1", 9), (0, "latency_inner", "GEMM #1", 9), (0, "latency", "DELEGATE_CALL", 50),
    ]  # fmt: skip
    too_few = attach(execution(arguments[0], call, buffer=buffer), graph({0: 2}))
    assert too_few.values == {}
    assert len(too_few.missing) == 2


def test_a_value_inside_a_delegate_is_not_one_of_its_outputs() -> None:
    buffer = np.arange(2, dtype=np.float32).tobytes()
    block = execution(
        value(0, tensor(FLOAT, (1,), 0)), value(0, tensor(FLOAT, (1,), 4), delegate_id=7),
        profile("DELEGATE_CALL", 0, 0, 5), buffer=buffer,
    )  # fmt: skip
    found = attach(block, graph({0: 1}))
    assert found.values[0, 0].tolist() == [0.0]
    assert [[e.delegate_id for e in events] for events in found.inner.values()] == [[7]]
    assert not found.unmatched


def test_an_instruction_that_ran_several_times_has_no_single_value_but_every_time() -> None:
    buffer = np.arange(2, dtype=np.float32).tobytes()
    events = [e for i in range(2) for e in (value(3, tensor(FLOAT, (1,), 4 * i)), *kernel(3, end=10 + i))]
    found = attach(execution(*events, buffer=buffer), graph({3: 1}))
    assert found.values == {}
    assert found.missing == {(30, 0): "executed 2 times"}
    assert [e.duration_ns for e in found.latency if e.metric == "latency"] == [10, 11]


def test_nested_and_repeated_times_are_told_apart() -> None:
    block = execution(
        profile("native_call_add.out", 0, 2, 4),
        *kernel(0, 0, 10, "native_call_softmax.out"),
        profile("OPERATOR_CALL", 1, 20, 23),
        profile("JF_CALL", 2, 24, 25),
        profile("Method::execute", 0, 0, 30, chain=-1),
    )
    found = attach(block, graph({0: 1, 1: 0, 2: 0}))
    assert [(e.position, e.metric, e.duration_ns) for e in found.latency] == [
        (None, "latency_framework", 30), (0, "latency_inner", 2), (0, "latency", 10), (0, "latency_dispatch", 11),
        (10, "latency", 3), (20, "latency_control", 1),
    ]  # fmt: skip


def test_getitems_and_views_pass_their_value_on() -> None:
    buffer = np.arange(4, dtype=np.float32).tobytes()
    block = execution(value(0, tensor(FLOAT, (2,), 0), tensor(FLOAT, (2,), 8)), *kernel(0), *kernel(1), buffer=buffer)
    aliases = {1: (0, 1), 2: (1, 0), 3: (0, 0), 4: (0, 0), 5: (10, 0)}
    found = attach(block, EmittedGraph({0: 0, 1: 10}, {0: 2, 10: 1}, aliases, {2: (2, 1), 3: None, 4: (3,)}))
    assert found.values[1, 0].tolist() == [2, 3]
    assert found.values[2, 0].tolist() == [[2], [3]]
    assert found.missing == {
        (10, 0): "no tensor data (not logged)",
        (3, 0): "no tensor data (a view of dynamic shape)",
        (4, 0): "shape (2,) does not view as (3,)",
        (5, 0): "no tensor data (not logged)",
    }


def test_events_of_unknown_instructions_are_listed() -> None:
    found = attach(execution(*kernel(5), value(6, tensor(FLOAT, (1,), 0))), graph({0: 1}))
    assert [(e.kind, e.instruction) for e in found.unmatched] == [("kernel", 5), ("operator", 5), ("value", 6)]


def test_outputs_of_the_method_are_kept_apart_from_instruction_0() -> None:
    buffer = np.arange(2, dtype=np.float32).tobytes()
    block = execution(
        value(0, tensor(FLOAT, (1,), 0)), *kernel(0), value(0, tensor(FLOAT, (1,), 4), output=True), buffer=buffer
    )
    found = attach(block, graph({0: 1}))
    assert found.values[0, 0].tolist() == [0.0]
    assert [logged.array.tolist() for logged in found.outputs] == [[1.0]]  # type: ignore[union-attr]


def test_loads_are_no_executions_and_the_prefix_is_optional() -> None:
    blocks = [[profile("Program::load_method", 0, 0, 5, chain=-1)], kernel(0)]
    for prefixed in (True, False):
        read = read_etdump(dump(*blocks, size_prefixed=prefixed))  # type: ignore[arg-type]
        assert [b.is_execution for b in read.blocks] == [False, True]


@pytest.mark.parametrize("data", [b"", b"ED00", b"\0" * 64, b"PK\x03\x04" + b"\0" * 30])
def test_other_files_are_refused_with_what_to_pass(data: bytes) -> None:
    with pytest.raises(SourceError, match="not an ETDump") as caught:
        read_etdump(data)
    assert ".etdp" in (caught.value.hint or "")


WHOLE = dump([value(0, tensor(FLOAT, (2, 2), 16)), value(1, tensor(FLOAT, (1,), 0), tensor(LONG, (1,), 8)), *kernel(0)])  # type: ignore[list-item]


@settings(deadline=None)
@given(st.integers(0, len(WHOLE)), st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=6))
def test_law_a_damaged_file_is_read_or_refused(length: int, changes: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for position, byte in changes:
        data[position] = byte
    try:
        for block in read_etdump(bytes(data[:length]), bytes(64)).blocks:
            attach(block, graph({0: 1, 1: 2}))
    except SourceError:
        pass


def test_neither_torch_nor_executorch_is_imported() -> None:
    code = (
        "import sys, fxstore.ingest.executorch.attach as a; sys.exit(bool({'torch', 'executorch'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_values_that_all_lie_on_one_place_are_not_read_for_ever() -> None:
    same = [value(i, tensor(6, [2], 0)) for i in range(40)]
    found = read_etdump(dump(same), np.ones(2, np.float32).tobytes())
    logged = [one for event in found.blocks[0].events for one in event.values]
    assert [one.array is not None for one in logged] == [True] * 16 + [False] * 24
    assert "another value's" in (logged[-1].reason or "")
