"""Values of chosen nodes as they are, in a file: NumPy's ``.npz`` or ``.safetensors``."""

from __future__ import annotations

import os
import secrets
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from fxstore.errors import UsageError, nearest
from fxstore.ingest.measure.pairing import Key, Nodes
from fxstore.ingest.measure.samples import Given
from fxstore.ingest.measure.stages import Side, State
from fxstore.records import Structure

if TYPE_CHECKING:
    from fxstore.ingest.measure.interpreter import Give

Array = npt.NDArray[Any]

_COMPUTED = frozenset({"input", "op", "symint", "delegate"})


class _Writer(Protocol):
    """Takes arrays by name; a context manager, whose file is whole when it ends."""

    def put(self, name: str, array: Array) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


def write_tensors(
    structure: Structure, sides: Sequence[Side], given: Given, nodes: Sequence[str] | None, path: Path
) -> Mapping[str, str]:
    """Runs stages on each sample and writes what their nodes give, as ``stage/sample/node/port``.

    A node in a nested graph is ``path/name``. Half, bfloat16 and float8 are written as float32, a quantised tensor
    dequantised; codes stay codes. Into ``.npz`` one value at a time, into ``.safetensors`` all at once.

    Args:
        nodes: Names, or ``path/name``; None for all that is computed.

    Returns:
        Reasons of values that there are not, by the names that they would have.

    Raises:
        UsageError: No stage has a node, or the file cannot be of that form.
    """
    wanted = {side.stage: _chosen(structure, side.stage, given.method, nodes) for side in sides}
    _check_all_found(structure, wanted, given.method, nodes)
    missing: dict[str, str] = {}
    staged = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with _writer(path, staged) as writer:
            for side in sides:
                missing |= _write_stage(side, given, wanted[side.stage], writer)
        os.replace(staged, path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        staged.unlink(missing_ok=True)
    return missing


def _write_stage(side: Side, given: Given, wanted: set[tuple[str, str]], writer: _Writer) -> dict[str, str]:
    from fxstore.ingest.measure.values import stream_values

    missing: dict[str, str] = {}
    state: State = {}
    for number, sample in enumerate(given.samples):
        if number == 0 or not sample.continues:
            state = dict(side.written)

        def take(key: Key, give: Give, size: int) -> None:
            writer.put(_name(side.stage, number, key), give())  # noqa: B023 - used up within this turn

        def keep(key: Key) -> bool:
            return key[:2] in wanted

        graph = side.graph(given.method)
        reasons = stream_values(graph, sample.args, sample.kwargs, take, keep, state=state)
        missing |= {_name(side.stage, number, key): reason for key, reason in reasons.items() if keep(key)}
    return missing


def _name(stage: str, sample: int, key: Key) -> str:
    path, node, port = key
    return "/".join(part for part in (stage, str(sample), path, node, str(port)) if part)


def _chosen(structure: Structure, stage: str, method: str, nodes: Sequence[str] | None) -> set[tuple[str, str]]:
    known = Nodes(structure, stage, method)
    if nodes is None:
        return {key for node, key in known.key.items() if known.role[node] in _COMPUTED}
    return {key for key in known.key.values() if key[1] in nodes or "/".join(filter(None, key)) in nodes}


def _check_all_found(
    structure: Structure, wanted: Mapping[str, set[tuple[str, str]]], method: str, nodes: Sequence[str] | None
) -> None:
    found = {text for keys in wanted.values() for key in keys for text in (key[1], "/".join(filter(None, key)))}
    for name in nodes or ():
        if name not in found:
            known = {key[1] for stage in wanted for key in Nodes(structure, stage, method).key.values()}
            raise UsageError(f"no node {name!r} in {', '.join(wanted)}", hint=nearest(name, sorted(known)))


def _writer(path: Path, staged: Path) -> _Writer:
    if path.suffix == ".npz":
        return _Npz(staged)
    if path.suffix == ".safetensors":
        return _Safetensors(staged)
    raise UsageError(f"raw tensors go to .npz or .safetensors, not to {path.name!r}")


class _Npz:
    """Members as :func:`numpy.savez` writes them, one by one."""

    def __init__(self, path: Path) -> None:
        self._file = zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._taken: set[str] = set()

    def put(self, name: str, array: Array) -> None:
        """Writes an array; of a node that runs several times, the first."""
        if name in self._taken:
            return
        self._taken.add(name)
        with self._file.open(f"{name}.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array(member, array, allow_pickle=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


class _Safetensors:
    """The arrays of one file of the library ``safetensors``."""

    def __init__(self, path: Path) -> None:
        try:
            from safetensors.numpy import save_file
        except ImportError as error:
            hint = "pip install safetensors, or write .npz"
            raise UsageError("the library safetensors is not installed", hint=hint) from error
        self._save = save_file
        self._path = path
        self._arrays: dict[str, Array] = {}

    def put(self, name: str, array: Array) -> None:
        """Keeps an array until the file is written."""
        self._arrays.setdefault(name, array)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self._save(self._arrays, str(self._path))
