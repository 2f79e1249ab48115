"""What the command line can run: stages from a Python function or from a trusted file, and inputs from a file."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fxstore.errors import SourceError, UsageError
from fxstore.metrics import Asked, resolve

_FILES = (".etrecord", ".pt2")


def stages(source: str, trust: bool) -> dict[str, object]:
    """Returns live sources by stage name.

    Args:
        source: ``module:function``, called without arguments, that returns a dict from stage names to sources, or one
            source; or an ``.etrecord`` or ``.pt2`` file.
        trust: The file may run code: its program is read by pickle and by evaluating text.

    Raises:
        UsageError: It is none of these, or a file without trust.
        SourceError: It cannot be read.
    """
    path = Path(source)
    if path.suffix in _FILES:
        if not path.exists():
            raise SourceError(f"cannot read {source}: no such file")
        if not trust:
            raise UsageError(
                f"to be run, the program in {source} must be loaded, and loading it can run code in it",
                hint="pass --trust for a file of your own, or measure module:function, which returns the stages",
            )
        return _loaded(path)
    module, colon, name = source.partition(":")
    if not colon:
        raise UsageError(
            f"{source!r} cannot be run: a stored run holds graphs, not weights",
            hint="measure its .etrecord with --trust, or module:function, which returns {stage: source}",
        )
    return _called(module, name)


def metrics(asked: Sequence[str]) -> tuple[Asked, ...] | None:
    """Returns the metrics that are named, the defaults where none is; ``module:function`` may be of this directory.

    Raises:
        UsageError: There is no such metric.
    """
    with _this_directory():
        return resolve(list(asked)) if asked else None


@contextmanager
def _this_directory() -> Iterator[None]:
    """Lets modules be imported from the current directory."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def _called(module: str, name: str) -> dict[str, object]:
    with _this_directory():
        try:
            found = getattr(importlib.import_module(module), name)
        except Exception as error:  # whatever importing a module of the user's raises
            what = f"cannot import {module}:{name}: {type(error).__name__}: {error}"
            raise UsageError(what, hint="write module:function") from error
    given = found() if callable(found) else found
    if isinstance(given, Mapping) and all(isinstance(key, str) for key in given):
        return dict(given)
    return {"float": given}


def _loaded(path: Path) -> dict[str, object]:
    try:
        if path.suffix == ".pt2":
            import torch

            return {"exported": torch.export.load(path)}
        from executorch.devtools.etrecord import parse_etrecord

        record = parse_etrecord(str(path))
    except Exception as error:  # whatever the loaders raise
        raise SourceError(f"cannot load {path}: {type(error).__name__}: {error}") from error
    found: dict[str, object] = {}
    if record.exported_program is not None:
        found["exported"] = record.exported_program
    for key, program in (record.graph_map or {}).items():
        name, _, method = key.rpartition("/")
        found.setdefault(name or key, {})[method if name else "forward"] = program  # type: ignore[index]
    if record.edge_dialect_program is not None:
        found["edge"] = record.edge_dialect_program
    return found


def inputs(path: Path) -> tuple[Any, Any]:
    """Returns inputs and keyword inputs from a file.

    Args:
        path: ``.npz``: one input, its arrays in order; ``.pt``: what :meth:`fxstore.Recorder.measure` takes, or a dict
            with ``args`` and ``kwargs``. Nothing in the file can run.

    Raises:
        SourceError: It cannot be read.
    """
    import torch

    given = _tensors(path, "inputs", "torch.save((x,), 'inputs.pt'), or numpy.savez")
    if path.suffix == ".npz":
        return tuple(map(torch.from_numpy, given.values())), None
    if isinstance(given, dict):
        return given.get("args", ()), given.get("kwargs")
    return ((given,) if isinstance(given, torch.Tensor) else given), None


def values(path: Path) -> Any:
    """Returns values by debug handle from a file: ``.npz`` with handles as names, or ``.pt`` with a dict of tensors.

    Raises:
        SourceError: It cannot be read.
    """
    return _tensors(path, "values", "torch.save({handle: tensor}, 'values.pt'), or numpy.savez")


def _tensors(path: Path, what: str, hint: str) -> Any:
    """Returns what a file of tensors holds, of ``.npz`` a dict of arrays; nothing in it can run."""
    import numpy as np
    import torch

    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        return torch.load(path, weights_only=True)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # whatever a file that is none of these makes of them
        raise SourceError(f"{path} holds no {what}", hint=hint) from error
