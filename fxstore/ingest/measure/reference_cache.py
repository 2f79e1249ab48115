"""Holds the reference's values while others are compared with them: in memory, beyond a budget in files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fxstore.ingest.measure.pairing import Key
from fxstore.metrics import Description

Array = npt.NDArray[Any]

OVER_BUDGET = "over the capture budget"


class Held:
    """Arrays by key; a context manager, whose files are gone when it ends.

    Args:
        budget_bytes: What may stay in memory; the rest goes to the directory for temporary files. What has no room
            there either is not held, and :attr:`missing` says so.
    """

    def __init__(self, budget_bytes: int) -> None:
        self.missing: dict[Key, str] = {}
        self.spilled_bytes = 0
        self._left = budget_bytes
        self._arrays: dict[Key, Array] = {}
        self._files: dict[Key, tuple[Path, np.dtype[Any], tuple[int, ...]]] = {}
        self._descriptions: dict[Key, Description | None] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def put(self, key: Key, array: Array, described: Description | None = None) -> None:
        """Takes an array, and what it is like, where that is known; a view of other memory is copied."""
        self._descriptions[key] = described
        if array.nbytes <= self._left:
            self._left -= array.nbytes
            self._arrays[key] = array if array.flags.owndata else array.copy()
            return
        try:
            path = self._path()
            array.tofile(path)
        except OSError as error:
            self.missing[key] = f"{OVER_BUDGET}, and {error.strerror or error}"
        else:
            self.spilled_bytes += array.nbytes
            self._files[key] = (path, array.dtype, array.shape)

    def get(self, key: Key) -> Array | None:
        """Returns an array, or None where there is none."""
        if key in self._files:
            path, dtype, shape = self._files[key]
            return np.fromfile(path, dtype).reshape(shape)
        return self._arrays.get(key)

    def described(self, key: Key) -> Description | None:
        """Returns what an array is like, or None where that is not known."""
        return self._descriptions.get(key)

    def drop(self, key: Key) -> None:
        """Forgets an array."""
        self._descriptions.pop(key, None)
        array = self._arrays.pop(key, None)
        self._left += 0 if array is None else array.nbytes
        if key in self._files:
            self._files.pop(key)[0].unlink(missing_ok=True)

    def keys(self) -> set[Key]:
        """Returns what is held."""
        return {*self._arrays, *self._files}

    def _path(self) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="fxstore-values-")
        return Path(self._folder.name) / f"{len(self._files)}-{self.spilled_bytes}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._arrays.clear()
        if self._folder is not None:
            self._folder.cleanup()
