"""Runs a compiled program on this machine's ExecuTorch runtime, with tracing, in a process of its own."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fxstore.errors import FxstoreError
from fxstore.ingest.executorch.etdump import Array, Block, Dump, read_etdump
from fxstore.ingest.executorch.executions import Emitted, Method
from fxstore.ingest.executorch.handle_values import Laid
from fxstore.ingest.measure.pairing import Key
from fxstore.ingest.measure.reference_cache import Held
from fxstore.ingest.measure.samples import Given
from fxstore.ingest.measure.stages import Compared, Reference, Side, State, Wanted, graphs_of, top_graph
from fxstore.records import Graph, Structure

if TYPE_CHECKING:
    from fxstore.ingest.measure.added_outputs import Added

_FIRST_BUFFER = 1 << 26
_LARGEST_BUFFER = 1 << 32
_GROWTH = 8
_ERROR_LENGTH = 400
_CAUSE = re.compile(r"\[\w+\.\w+:\d+\] (?!.*cpuinfo)(?=.*(\bfail|not registered|not found))", re.IGNORECASE)
_CAUSES = 3
_CAUSE_LENGTH = 160
_CODE = re.compile(r"error:\s*0x([0-9a-fA-F]+)")
# ``executorch::runtime::Error``.
_MEANINGS = {
    0x01: "an internal error",
    0x02: "the program or method is in a state in which it cannot run",
    0x10: "it does not support this, such as an input of another shape or rank than the program was exported for",
    0x11: "it does not implement this",
    0x12: "an argument does not fit: number, shape or value of the inputs",
    0x13: "an input has another dtype than the program takes",
    0x14: "an operator of the program is not registered in this runtime",
    0x20: "something that the program names is not there",
    0x21: "memory could not be had",
    0x22: "something could not be read",
    0x23: "the program is damaged or of another version",
    0x24: "its external data does not fit the program",
    0x25: "out of resources",
    0x30: "a delegate's data is of a version that this runtime's backend does not take",
    0x31: "a delegate could not get memory",
    0x32: "a delegate's handle is not valid",
}
_CHILD = Path(__file__).with_name("device_child.py")


class DeviceError(FxstoreError):
    """A program that could not be run."""


@dataclass(frozen=True)
class DeviceRun:
    """What a traced run leaves.

    Attributes:
        methods: The method of each execution in ``etdump``, in order: the file itself does not say.
        etdump: Content of the ETDump file.
        debug: The used part of the debug buffer.
        outputs: The outputs of each execution, as the runtime gave them (torch tensors and numbers).
    """

    methods: tuple[str, ...]
    etdump: bytes
    debug: bytes
    outputs: tuple[tuple[Any, ...], ...]


def run_pte(
    program: bytes | Path,
    calls: Sequence[tuple[str, Sequence[object]]],
    *,
    debug_buffer_bytes: int = _FIRST_BUFFER,
    timeout_s: float = 600.0,
) -> DeviceRun:
    """Runs methods of a ``.pte`` one after another, in one process that this one survives.

    Nothing that the runtime writes reaches the standard streams, and no file is left behind. The debug buffer grows
    until the run fits.

    Args:
        program: The program, or the path of its file.
        calls: Method and flat inputs (tensors and numbers) of each execution, in order; state carries over.
        debug_buffer_bytes: Size of the debug buffer to begin with.
        timeout_s: For each attempt.

    Raises:
        DeviceError: If the program cannot be read, fails, takes longer, or its values fit in no buffer.
    """
    with tempfile.TemporaryDirectory(prefix="fxstore-device-") as name:
        folder = Path(name)
        _write_inputs(folder, program, calls)
        size = debug_buffer_bytes
        while (failure := _attempt(folder, size, timeout_s)) is not None:
            if size >= _LARGEST_BUFFER or not _is_too_small(failure):
                raise _device_error(failure)
            size = min(size * _GROWTH, _LARGEST_BUFFER)
        return _read_outputs(folder, tuple(method for method, _ in calls))


def run_delegates(
    programs: Sequence[tuple[bytes, Sequence[Sequence[Any]]]], *, timeout_s: float = 600.0
) -> list[list[list[Any]] | str]:
    """Runs several programs of one method, each on several inputs, without tracing.

    Returns:
        For each program the outputs by input, or why it has none. One that takes the process down costs no other's.
    """
    if not programs:
        return []
    with tempfile.TemporaryDirectory(prefix="fxstore-device-") as name:
        folder = Path(name)
        _write_programs(folder, programs)
        if (failure := _child(folder, {"programs": len(programs)}, timeout_s)) is None:
            return _read_each(folder)
    if len(programs) == 1:
        return [str(_device_error(failure))]
    middle = len(programs) // 2
    halves = (programs[:middle], programs[middle:])
    return [one for half in halves for one in run_delegates(half, timeout_s=timeout_s)]


def _write_programs(folder: Path, programs: Sequence[tuple[bytes, Sequence[Sequence[Any]]]]) -> None:
    import torch

    for number, (program, inputs) in enumerate(programs):
        (folder / f"{number}.pte").write_bytes(program)
        torch.save([list(one) for one in inputs], folder / f"{number}.pt")


def _read_each(folder: Path) -> list[list[list[Any]] | str]:
    import torch

    found = torch.load(folder / "outputs.pt", weights_only=True)
    return [f"{one}{_meaning(one)}" if isinstance(one, str) else one for one in found]


def _write_inputs(folder: Path, program: bytes | Path, calls: Sequence[tuple[str, Sequence[object]]]) -> None:
    import torch

    (folder / "model.pte").write_bytes(program if isinstance(program, bytes) else _read(program))
    plain = [(method, [x.detach() if isinstance(x, torch.Tensor) else x for x in inputs]) for method, inputs in calls]
    torch.save(plain, folder / "calls.pt")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DeviceError(f"cannot read {path}: {error.strerror}", hint="pass the .pte file's path") from error


def _attempt(folder: Path, size: int, timeout_s: float) -> subprocess.CompletedProcess[bytes] | None:
    """Returns None after a run, else the process that failed."""
    return _child(folder, {"debug_buffer_bytes": size}, timeout_s)


def _child(folder: Path, order: dict[str, int], timeout_s: float) -> subprocess.CompletedProcess[bytes] | None:
    """Runs what is in a folder in a process of its own; returns None after a run, else the process that failed."""
    (folder / "order.json").write_text(json.dumps(order))
    command = [sys.executable, "-P", "-W", "ignore", str(_CHILD), str(folder)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise DeviceError(f"the program ran longer than {timeout_s:g} s", hint="allow it more time") from error
    return done if done.returncode else None


def _is_too_small(failure: subprocess.CompletedProcess[bytes]) -> bool:
    return failure.returncode == -signal.SIGABRT and b"debug buffer" in failure.stderr


def _device_error(failure: subprocess.CompletedProcess[bytes]) -> DeviceError:
    if _is_too_small(failure):
        return DeviceError(
            f"the logged values need more than {_LARGEST_BUFFER >> 30} GiB",
            hint="run the methods or samples one by one",
        )
    lines = [line.strip() for line in failure.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    told = lines[-1] if lines else "no message"
    causes = [line for line in lines if _CAUSE.match(line)]
    how = f"signal {-failure.returncode}" if failure.returncode < 0 else f"exit code {failure.returncode}"
    message = f"the runtime failed ({how}): {told[:_ERROR_LENGTH]}{_meaning(told)}"
    return DeviceError("; ".join([message, *(cause[:_CAUSE_LENGTH] for cause in causes[-_CAUSES:])]))


def _meaning(told: str) -> str:
    """Returns what the error code in the runtime's message stands for; nothing where there is none."""
    code = _CODE.search(told)
    meaning = _MEANINGS.get(int(code[1], 16)) if code else None
    return f" ({meaning})" if meaning else ""


def _read_outputs(folder: Path, methods: tuple[str, ...]) -> DeviceRun:
    import torch

    etdump = (folder / "run.etdp").read_bytes()
    with (folder / "debug.bin").open("rb") as file:
        debug = file.read(read_etdump(etdump).used_bytes)
    outputs = torch.load(folder / "outputs.pt", weights_only=True)
    return DeviceRun(methods, etdump, debug, tuple(tuple(one) for one in outputs))


# Runs an emitted program on this machine's runtime, and compares what any run of one logged with a reference.


_INSIDE = "inside a delegate: measured at its outputs"
_NESTED = "inside a nested graph: not told apart in the log"


def dumped(program: Any, inputs: Sequence[Sequence[Any]], given: Given) -> Dump:
    """Runs an emitted program with tracing, once for each sample; steps share one process, others have their own.

    Args:
        program: An ``ExecutorchProgramManager``.
        inputs: The flat inputs of each sample; they are passed as the program lays them out in memory.
    """
    from fxstore.ingest.measure import memory_format
    # MERGED

    places = memory_format.examples(program.exported_program(given.method))
    laid = [[memory_format.like(*pair) for pair in zip(one, places, strict=True)] for one in inputs]
    groups: list[list[Any]] = []
    for sample, flat in zip(given.samples, laid, strict=True):
        if sample.continues and groups:
            groups[-1].append(flat)
        else:
            groups.append([flat])
    blocks: list[Block] = []
    for group in groups:
        run = run_pte(bytes(program.buffer), [(given.method, flat) for flat in group])
        blocks += read_etdump(run.etdump, run.debug).blocks
    return Dump(tuple(blocks), 0)


def logged_values(ran: Method, blocks: Sequence[Block]) -> list[Laid]:
    """Returns what each execution logged."""
    return [ran.values(block) for block in blocks]


def logged_and_added(ran: Emitted, blocks: Sequence[Block], program: Any) -> list[Laid]:
    """Returns the same with the values inside delegates that added outputs tell.

    Args:
        program: The ``ExecutorchProgramManager`` that ran.
    """
    from fxstore.ingest.measure.added_outputs import added_outputs

    attached = [ran.attached(block) for block in blocks]
    added = added_outputs(program.exported_program(ran.name), ran.delegates, attached)
    return [_with(one, more) for one, more in zip(logged_values(ran, blocks), added, strict=True)]


def _with(one: Laid, more: Added) -> Laid:
    """Returns both; what was logged of the shipped program goes first."""
    values = {**more.values, **one.values}
    missing = {key: reason for key, reason in more.missing.items() if key not in values}
    notes = {key: note for key, note in more.notes.items() if key not in one.values}
    return Laid(values, {**missing, **one.missing}, {**notes, **one.notes}, one.unplaced)


def flat_samples(reference: Side, given: Given) -> list[list[Any]]:
    """Returns the flat inputs of each sample, in the order of the reference's graph."""
    from fxstore.ingest.measure.values import flat_inputs

    graph = reference.graph(given.method)
    return [flat_inputs(graph, sample.args, sample.kwargs) for sample in given.samples]


def compare_logged(
    structure: Structure,
    reference: Side,
    stage: str,
    given: Given,
    wanted: Wanted,
    logged: Iterable[Laid],
    untold: str | None = None,
) -> pa.Table:
    """Runs the reference on each sample and compares with it what each execution of a stage logged.

    Args:
        untold: Why there is no value where none was logged; None: what a runtime does not log.

    Returns:
        Rows as :data:`fxstore.ingest.overlays.ROWS`.
    """
    top, _ = top_graph(structure, stage, given.method)
    compared = Compared(structure, reference.stage, stage, given.method)
    needed = {pair.reference for pair in compared.pairs if pair.reference is not None}
    right = Reference(structure, reference, given.method, needed)
    reasons = _missing(structure, stage, given.method, top)
    inputs = flat_samples(reference, given)
    state: State = dict(reference.written)
    found = []
    for number, one in enumerate(logged):
        state = state if given.samples[number].continues else dict(reference.written)
        with Held(wanted.budget_bytes) as held:
            missing = right.hold(given.samples[number], held, state)
            comparison = compared.comparison(held, missing, wanted.metrics, "cumulative", number)
            known = {**(_fed(top, inputs[number]) if untold is None else {}), **one.values}
            for key, value in known.items():
                comparison.take(key, value, one.notes.get(key))
            keys = [pair.value for pair in compared.pairs if pair.value not in known]
            unlogged = {key: untold or reasons[key[0]] for key in keys if key[0] or untold is not None}
            found.append(comparison.rows({**unlogged, **one.missing}))
    return pa.concat_tables(found)


def _missing(structure: Structure, stage: str, method: str, top: Graph) -> Mapping[str, str]:
    """Returns why the values of each nested graph are not logged."""
    roles = top.nodes["role"].to_pylist()
    inside = {
        graph.path
        for graph in graphs_of(structure, stage, method)
        if graph.parent_position is not None and graph.parent_path == top.path
        if roles[graph.parent_position] == "delegate"
    }
    return {graph.path: _INSIDE if graph.path in inside else _NESTED for graph in graphs_of(structure, stage, method)}


def _fed(top: Graph, inputs: Sequence[Any]) -> dict[Key, Array]:
    """Returns what the program was given; the runtime logs of it only what it passes on to a delegate."""
    from fxstore.ingest.measure.values import to_array

    places = {f"input:{i}": value for i, value in enumerate(inputs) if hasattr(value, "detach")}
    return {(top.path, name, 0): to_array(places[key]) for name, key in top.signature.items() if key in places}
