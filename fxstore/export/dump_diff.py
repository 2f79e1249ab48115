"""Two dumps compared value by value, without a model and without a store.

    phone-a.etdp + phone-a.bin (+ phone-a.pte) ──► a value per node ┐
                                                                    ├─► a row per value: every metric, or a reason
    phone-b.etdp + phone-b.bin (+ phone-b.pte) ──► a value per node ┘

Values are matched by method, graph, node, output and execution; by stage, too, where both dumps have the same stages.
What only one of the two has is a row of its own. Shapes are never broadcast.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fxstore.errors import SourceError, UsageError, path_of
from fxstore.metrics import compare
from fxstore.metrics.definitions import BITWISE, DEFAULT
from fxstore.query.result import KnownNodes, Result

Array = npt.NDArray[Any]
_INDEX: Final = "index.json"
_HINT: Final = (
    "give RUN.etdp with RUN.bin beside it, a folder that `fxstore export tensors` wrote, or .npz, .npy or .safetensors"
)
_PROGRAMS: Final = (".pte", ".etrecord")


class _Key(NamedTuple):
    """What names a value in both dumps."""

    stage: str
    method: str
    path: str
    node: str
    port: int
    execution: int


def dump_diff(
    a: str | os.PathLike[str] | Mapping[str, object],
    b: str | os.PathLike[str] | Mapping[str, object],
    metrics: Sequence[str] | str = (*DEFAULT, BITWISE),
) -> Result:
    """Compares two dumps value by value, a as the reference.

    Args:
        a: An ETDump (``run.etdp``; its debug buffer ``run.bin``, and the program that names its values, ``run.pte`` or
            ``run.etrecord``, stand beside it), a folder that ``export tensors`` wrote, a file of tensors by name
            (``.npz``, ``.npy``, ``.safetensors``), or a dict from names to tensors.
        b: The same.
        metrics: Names as :func:`fxstore.metrics.compare` takes them.

    Returns:
        One row per value, in the order of a: node, port, same (whether every bit is the same; NULL where only one dump
        has the value), a column per metric (NULL where there is no number), reason (why a number is missing, or what
        is to be said of it), a_shape, b_shape, dtype, method, path, stage and execution.

    Raises:
        SourceError: A dump cannot be read or holds no values.
        UsageError: There is no such metric, or nothing in one dump is called as anything in the other.

    Example:
        >>> import numpy as np
        >>> found = dump_diff({"relu": np.array([0.0, 1.0])}, {"relu": np.array([1.0, 0.0])}, "max_abs")
        >>> found.arrow().select(["node", "max_abs", "same"]).to_pylist()
        [{'node': 'relu', 'max_abs': 1.0, 'same': False}]
    """
    left, right = _values(a), _values(b)
    if {key.stage for key in left} != {key.stage for key in right}:
        left, right = _without_stage(left), _without_stage(right)
    if left and right and not left.keys() & right.keys():
        others = ", ".join(repr(key.node) for key in list(right)[:3])
        raise UsageError("no value of one dump is called as any of the other", hint=f"the second one has {others}")
    asked = [metrics] if isinstance(metrics, str) else list(metrics)
    rows = [_row(key, left.get(key), right.get(key), asked) for key in dict.fromkeys([*left, *right])]
    numbers = [(name, pa.float64()) for name in dict.fromkeys(name for row in rows for name in row["metrics"])]
    schema = pa.schema(
        [
            ("node", pa.string()), ("port", pa.int32()), ("same", pa.bool_()), *numbers,
            ("reason", pa.string()), ("a_shape", pa.string()), ("b_shape", pa.string()), ("dtype", pa.string()),
            ("method", pa.string()), ("path", pa.string()), ("stage", pa.string()), ("execution", pa.int32()),
        ]
    )  # fmt: skip
    table = pa.Table.from_pylist([{**row, **row["metrics"]} for row in rows], schema=schema)
    return result_of(table)


def result_of(table: pa.Table) -> Result:
    """Returns rows of a comparison as a result; no column of them holds nodes."""
    none = np.zeros(0, np.int64)
    return Result("dump_diff", lambda: table, lambda: KnownNodes(none, none))


def _row(key: _Key, a: Array | None, b: Array | None, metrics: Sequence[str]) -> dict[str, Any]:
    row: dict[str, Any] = {**key._asdict(), "a_shape": _shape(a), "b_shape": _shape(b), "metrics": {}}
    if a is None or b is None:
        return {
            **row,
            "same": None,
            "dtype": _dtype(a, b),
            "reason": f"only in the {'second' if a is None else 'first'}",
        }
    found = compare(a, b, list(metrics))
    reasons = {name: one.reason for name, one in found.items() if one.reason}
    said = list(dict.fromkeys(reasons.values()))
    same = a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    numbers = {name: one.number for name, one in found.items()}
    return {**row, "metrics": numbers, "same": same, "dtype": _dtype(a, b), "reason": "; ".join(said) or None}


def _shape(array: Array | None) -> str | None:
    return None if array is None else f"[{', '.join(map(str, array.shape))}]"


def _dtype(a: Array | None, b: Array | None) -> str:
    return " against ".join(dict.fromkeys(str(one.dtype) for one in (a, b) if one is not None))


def _without_stage(values: dict[_Key, Array]) -> dict[_Key, Array]:
    """Returns all values under names without a stage: two programs may be called differently.

    All stages of a dump name values of one and the same run; where two name one alike, the later stage's counts.
    """
    return {key._replace(stage=""): value for key, value in values.items()}


def _values(dump: str | os.PathLike[str] | Mapping[str, object]) -> dict[_Key, Array]:
    if isinstance(dump, Mapping):
        return {_named(name): _array(name, value) for name, value in dump.items()}
    path = path_of(dump)
    if path.is_dir():
        return _of_folder(path)
    if not path.is_file():
        raise SourceError(f"no such dump: {path}", hint="check the path")
    if path.suffix == ".etdp":
        return _of_etdump(path)
    return {_named(name): value for name, value in _of_tensors(path).items()}


def _named(name: object) -> _Key:
    return _Key("", "forward", "", str(name), 0, 0)


def _array(name: object, value: object) -> Array:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value  # type: ignore[attr-defined]
    found = np.asarray(value)
    if found.dtype == object:
        raise UsageError(f"{name!r} is a {type(value).__name__}, no tensor", hint="give a dict from names to tensors")
    return found


def _of_tensors(path: Path) -> dict[str, Array]:
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        if path.suffix == ".npy":
            return {path.stem: np.load(path, allow_pickle=False)}
        if path.suffix == ".safetensors":
            from safetensors.numpy import load_file

            return dict(load_file(path))
    except ImportError as error:
        raise SourceError(f"{path}: reading it needs safetensors", hint="pip install safetensors") from error
    except Exception as error:  # whatever a file that is none of these makes of them
        raise SourceError(f"{path} holds no tensors: {type(error).__name__}", hint=_HINT) from error
    raise SourceError(f"{path} is no dump", hint=_HINT)


def _of_etdump(path: Path) -> dict[_Key, Array]:
    from fxstore.export.tensors import write_values

    buffer = path.with_suffix(".bin")
    if not buffer.is_file():
        raise SourceError(f"{path} has no debug buffer beside it: {buffer.name}", hint=_HINT)
    source = next((one for one in map(path.with_suffix, _PROGRAMS) if one.is_file()), None)
    with tempfile.TemporaryDirectory(prefix="fxstore-dump-") as folder:
        write_values(path, buffer, source, Path(folder) / "values")
        return _of_folder(Path(folder) / "values")


def _of_folder(folder: Path) -> dict[_Key, Array]:
    """Returns the values that ``export tensors`` wrote; those on no node go by their event and number."""
    try:
        index = json.loads((folder / _INDEX).read_text("utf-8"))
        rows = [*index["values"], *({**row, "node": row["event"], "port": row["number"]} for row in index["unplaced"])]
        found: dict[_Key, Array] = {}
        for row in rows:
            file = folder / Path(str(row["file"])).name
            key = _Key(
                str(row.get("stage", "")), str(row.get("method", "forward")), str(row.get("path", "")),
                str(row["node"]), int(row["port"]), int(row["execution"]),
            )  # fmt: skip
            found.setdefault(key, np.load(file, allow_pickle=False))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SourceError(f"{folder} is no folder of tensors: {type(error).__name__}", hint=_HINT) from error
    return found
