"""What a TorchLens trace measured: time, FLOPs, bytes, non-finite values, magnitudes, gradients, and any field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from fxstore.errors import UsageError
from fxstore.ingest.others.torchlens import names_of
from fxstore.ingest.overlays import NodeOverlay

Read = str | Callable[[Any], Any]
Row = dict[str, object]


def overlays_of(trace: Any, fields: Iterable[Read] | Mapping[str, Read] = ()) -> list[NodeOverlay]:
    """Returns the overlays of a trace; one that holds no number is left out.

    ``time`` has ``time`` (ns). ``flops`` has ``flops_forward``, ``flops_backward``, ``macs_forward``; ``bytes`` has
    ``activation_bytes``, ``bytes_read``, ``bytes_written``. ``non-finite`` counts NaN and infinite elements
    (``non_finite``) and tells whether there are any (``has_non_finite``). ``magnitude`` has ``mean_abs``, ``max_abs``
    and ``l2_norm`` of values, ``gradient norm`` has ``gradient_l2_norm``. What was not saved has the reason why.

    Args:
        fields: Names of fields of TorchLens's records, or functions of a record, each a metric of its own; a mapping
            gives the metrics' names. Numbers are values, anything else is text; None is left out.

    Raises:
        UsageError: A field is unknown, or a function fails on a record.
    """
    known = names_of(trace)
    ops = [(known[str(op.label)], op) for op in trace.ops if not op.is_output]
    run = [(name, op) for name, op in ops if not (op.is_input or op.is_buffer)]
    found = [
        _overlay("time", "latency", _numbers(run, {"time": _nanoseconds}), "ns", "lower"),
        _overlay("flops", "static", _numbers(run, {k: _field(k) for k in _FLOPS}), better="lower"),
        _overlay("bytes", "static", _numbers(run, {k: _field(v) for k, v in _BYTES.items()}), "B", "lower"),
        _overlay("non-finite", "statistics", _non_finite(ops, trace), better="lower"),
        _overlay("magnitude", "statistics", _of_values(ops, _magnitudes, "out", _UNSAVED, "has_saved_activation")),
        _overlay("gradient norm", "statistics", _of_values(ops, _gradient, "grad", _NO_GRADIENT, "has_grad")),
    ]
    named = fields.items() if isinstance(fields, Mapping) else [(_name(one), one) for one in fields]
    found += [_given(name, read, ops) for name, read in named]
    return [overlay for overlay, has_number in found if has_number]


_FLOPS: Final = ("flops_forward", "flops_backward", "macs_forward")
_BYTES: Final = {"activation_bytes": "activation_memory", "bytes_read": "bytes_read", "bytes_written": "bytes_written"}
_UNSAVED: Final = "its value was not saved"
_NO_GRADIENT: Final = "no gradient was recorded"


def _overlay(
    name: str, kind: str, rows: Iterable[Row], unit: str | None = None, better: str | None = None
) -> tuple[NodeOverlay, bool]:
    kept = list(rows)
    some = any(row.get("value") is not None or row.get("text") is not None for row in kept)
    return NodeOverlay.of(name, kind, kept, source="TorchLens", unit=unit, better=better), some


def _row(node: str, metric: str, value: object = None, reason: str | None = None, text: str | None = None) -> Row:
    return {"node": node, "metric": metric, "value": value, "reason": reason, "text": text}


def _numbers(ops: Iterable[tuple[str, Any]], reads: Mapping[str, Callable[[Any], float | None]]) -> Iterator[Row]:
    for name, op in ops:
        for metric, read in reads.items():
            value = read(op)
            yield _row(name, metric, value, None if value is not None else "TorchLens does not know it")


def _field(name: str) -> Callable[[Any], float | None]:
    def read(op: Any) -> float | None:
        value = getattr(op, name, None)
        return None if value is None else float(value)

    return read


def _nanoseconds(op: Any) -> float | None:
    return None if op.func_duration is None else float(op.func_duration) * 1e9


def _of_values(
    ops: Iterable[tuple[str, Any]], measure: Callable[[Any], dict[str, float]], part: str, why: str, has: str
) -> Iterator[Row]:
    """Yields what is measured of each saved value or gradient; the reason where there is none."""
    for name, op in ops:
        tensor = getattr(op, part) if getattr(op, has) else None
        if tensor is None:
            yield from (_row(name, metric, None, why) for metric in _METRICS[part])
            continue
        yield from (_row(name, metric, value) for metric, value in measure(tensor).items())


_METRICS: Final = {"out": ("mean_abs", "max_abs", "l2_norm"), "grad": ("gradient_l2_norm",)}


def _magnitudes(tensor: Any) -> dict[str, float]:
    sizes = _sizes(tensor)
    if not sizes.numel():
        return {}
    return {
        "mean_abs": float(sizes.mean()),
        "max_abs": float(sizes.max()),
        "l2_norm": float(sizes.square().sum().sqrt()),
    }


def _gradient(tensor: Any) -> dict[str, float]:
    return {"gradient_l2_norm": float(_sizes(tensor).square().sum().sqrt())}


def _sizes(tensor: Any) -> Any:
    """Returns the absolute values of a tensor's elements in double precision."""
    import torch

    dense = tensor.detach().cpu()
    dense = dense.dequantize() if dense.is_quantized else dense.to_dense() if dense.is_sparse else dense
    return dense.to(torch.complex128).abs() if dense.is_complex() else dense.to(torch.float64).abs()


def _non_finite(ops: Iterable[tuple[str, Any]], trace: Any) -> Iterator[Row]:
    """Yields counts for what was saved; whether there are any also for what TorchLens looked at while it ran."""
    tracked = bool(getattr(trace, "track_nonfinite", False))
    bad = {str(label) for label in trace.nonfinite_ops} if tracked else set()
    for name, op in ops:
        if op.has_saved_activation and op.out is not None:
            count = int((~_sizes(op.out).isfinite()).sum())
            yield _row(name, "non_finite", count)
            yield _row(name, "has_non_finite", int(count > 0))
            continue
        yield _row(name, "non_finite", None, _UNSAVED)
        if tracked and not (op.is_input or op.is_buffer):
            yield _row(name, "has_non_finite", int(str(op.label) in bad))
        else:
            yield _row(name, "has_non_finite", None, _UNSAVED)


def _name(read: Read) -> str:
    return read if isinstance(read, str) else getattr(read, "__name__", "value")


def _given(name: str, read: Read, ops: list[tuple[str, Any]]) -> tuple[NodeOverlay, bool]:
    rows = []
    for node, op in ops:
        if isinstance(read, str) and not hasattr(type(op), read) and not hasattr(op, read):
            raise UsageError(f"TorchLens's records have no field {read!r}", hint="see dir(trace.ops[0])")
        try:
            value = getattr(op, read) if isinstance(read, str) else read(op)
        except Exception as error:
            if isinstance(read, str):  # a field that this record cannot give, such as a value that was not saved
                rows.append(_row(node, name, None, type(error).__name__))
                continue
            raise UsageError(f"{name!r} fails on {node}: {type(error).__name__}: {error}"[:300]) from error
        number = _number(value)
        if number is not None:
            rows.append(_row(node, name, number))
        elif value is not None:
            rows.append(_row(node, name, text=str(value)[:200]))
    is_text = all(row["value"] is None for row in rows)
    return _overlay(name, "category" if is_text else "statistics", rows)


def _number(value: object) -> float | None:
    """Returns a number, or a tensor of one element, or a quantity of TorchLens's as a number; None for all else."""
    if isinstance(value, str | bytes | bool) or value is None:
        return None
    one = value.detach() if hasattr(value, "detach") else value
    try:
        return float(one)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError):
        return None
