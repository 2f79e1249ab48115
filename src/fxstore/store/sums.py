"""Digests of files, by which damage is found: each directory of immutable files says what they must be.

A run's ``run.json`` and a segment's ``runs.json`` hold the digests of the files beside them; graphs and structures have
them in ``SHA256SUMS``, as ``sha256sum -c`` reads it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from fxstore.store import parquet, sealing

NAME: Final = "SHA256SUMS"
DESCRIPTIONS: Final = ("run.json", "runs.json")


def of(path: Path) -> str:
    """Returns the SHA-256 of a file, as hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def of_files(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Returns the digests of some files of a directory, by their names."""
    return {name: of(folder / name) for name in sorted(names)}


def write(folder: Path, names: Iterable[str]) -> None:
    """Writes the digests of some files of a directory beside them."""
    lines = [f"{digest}  {name}\n" for name, digest in of_files(folder, names).items()]
    parquet.write_text("".join(lines), folder / NAME)


def said(folder: Path) -> dict[str, str]:
    """Returns the digests that a directory says its files have; none where it says nothing.

    Raises:
        ValueError: What says it cannot be read.
        OSError: The same.
    """
    for name in DESCRIPTIONS:
        if (folder / name).is_file():
            found = json.loads(sealing.checked((folder / name).read_text("utf-8")))
            files = found.get("files", {}) if isinstance(found, dict) else {}
            return {str(key): str(value) for key, value in files.items()}
    if not (folder / NAME).is_file():
        return {}
    pairs = [line.split("  ", 1) for line in (folder / NAME).read_text("utf-8").splitlines()]
    return {name: digest for digest, name in pairs}


def damage(path: Path) -> str | None:
    """Returns what is wrong with a file of a store; None where it is as its directory says."""
    try:
        digest = said(path.parent).get(path.name)
        if digest is not None:
            return None if of(path) == digest else "its bytes are not those that were written"
        return _unread(path)
    except FileNotFoundError:
        return "it is missing"
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"
    except (ValueError, AttributeError) as error:
        return f"what describes it cannot be read: {error}"


def _unread(path: Path) -> str | None:
    """Returns why a Parquet file that has no digest cannot be read; None where it can."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        pq.read_table(path, partitioning=None)
    except (pa.ArrowException, ValueError) as error:
        return f"it cannot be read: {error}"
    return None
