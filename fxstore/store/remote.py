"""A store at an fsspec URL: what is asked of it is brought into a directory of this machine first.

Everything in a store but its listing is immutable, so a file that was brought once is right for ever. Listings are
taken anew before a question, at most every few seconds; a file is brought, whole, when a statement is about to open it.
DuckDB only ever sees local files.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fxstore.errors import MissingExtraError, StoreError
from fxstore.store import integrity, segments
from fxstore.store.directory import RUN_PREFIX, Directory, check_format

_ADVICE: Final = "see whether the URL is right, and whether what it needs (network, credentials) is there"
LISTED_S: Final = 5.0
"""Seconds for which a listing is taken as it is."""
# Of runs, tags and segments. A server may list anything, and what it lists is made here.
_NAME: Final = re.compile(r"[\w%=~-][\w%=~.-]{0,254}", re.ASCII)
_DESCRIBES: Final = {"runs": "run.json", "segments": segments.DESCRIPTION}


@dataclass(frozen=True, eq=False)
class Mirror(Directory):
    """A directory that holds what was brought of a store elsewhere; it goes away with the store that opened it.

    Attributes:
        files: The fsspec file system.
        base: The store's path in it.
    """

    files: Any = None
    base: str = ""
    _looked: list[float] = field(default_factory=list)

    def update(self, again: bool = False) -> None:
        """Takes the names of runs, tags and segments over, and forgets those that are gone."""
        if not again and self._looked and time.monotonic() - self._looked[0] < LISTED_S:
            return
        self._looked[:] = [time.monotonic()]
        for kind in ("runs", "segments"):  # in the order in which a catalog looks
            there = self._names(kind)
            here = set(os.listdir(self.root / kind))
            for name in here - there:
                path = self.root / kind / name
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            for name in there - here:
                path = self.root / kind / name
                path.touch() if name.startswith("_tag.") else path.mkdir()
        self._describe()

    def fetch(self, files: Iterable[str | Path]) -> None:
        """Brings files that are not here yet, and what says their digests; one that is not there is left out."""
        wanted = dict.fromkeys(Path(file) for file in files)
        folders = dict.fromkeys(path.parent for path in wanted if path.parent.parent != self.root)
        self._bring([folder / name for folder in folders for name in (_digests(folder, self.root),) if name])
        self._bring(list(wanted))

    def _names(self, kind: str) -> set[str]:
        place = f"{self.base}/{kind}"
        try:
            self.files.invalidate_cache(place)
            found = self.files.ls(place, detail=False)
        except FileNotFoundError:
            return set()
        except Exception as error:  # of whatever library the file system needs
            raise unreachable(self.url, error) from error
        names = (str(name).rstrip("/").rpartition("/")[2] for name in found)
        return {name for name in names if _NAME.fullmatch(name) and name != kind}

    def _describe(self) -> None:
        """Brings the manifest, and what describes runs and segments that are not in it."""
        manifest = self.manifest
        wanted = [self.segment(name) / segments.DESCRIPTION for name in os.listdir(self.segments)]
        runs = [name for name in os.listdir(self.runs) if name.startswith(RUN_PREFIX)]
        if len(runs) > 1 and not manifest.exists():
            wanted.append(manifest)
        self._bring(wanted)
        from fxstore.store.manifest import load

        known = load(self) if manifest.exists() else {}
        new = [self.runs / name for name in runs if name.removeprefix(RUN_PREFIX) not in known]
        self._bring([path / "run.json" for path in new])
        for path in new:
            if not (path / "run.json").exists():  # it is not all there yet: the next look may find it
                path.rmdir()

    def _bring(self, paths: list[Path]) -> None:
        missing = [path for path in paths if not path.exists()]
        if not missing:
            return
        places = [f"{self.base}/{path.relative_to(self.root).as_posix()}" for path in missing]
        try:
            contents = self.files.cat(places, on_error="return") if len(places) > 1 else self._one(places[0])
        except Exception as error:
            raise unreachable(self.url, error) from error
        for path, place in zip(missing, places, strict=True):
            content = contents.get(place)
            if isinstance(content, FileNotFoundError):
                continue
            if not isinstance(content, bytes):
                raise unreachable(self.url, content)
            self._put(path, content)

    def _one(self, place: str) -> dict[str, Any]:
        try:
            return {place: self.files.cat_file(place)}
        except FileNotFoundError as error:
            return {place: error}

    def _put(self, path: Path, content: bytes) -> None:
        staged = self.staging / secrets.token_hex(8)
        staged.write_bytes(content)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(staged, path)


def _digests(folder: Path, root: Path) -> str:
    """Returns the name of the file that says the digests of a directory's files."""
    return _DESCRIBES.get(folder.relative_to(root).parts[0], integrity.NAME)


def open_mirror(url: str) -> Mirror:
    """Opens the store at a URL, for reading.

    Raises:
        MissingExtraError: fsspec is not installed, or what it needs for such a URL.
        StoreError: There is no store, or it cannot be reached.
    """
    files, base = _file_system(url)
    root = Path(tempfile.mkdtemp(prefix="fxstore-")).resolve()
    mirror = Mirror(root, read_only=True, temporary=True, url=url, files=files, base=base.rstrip("/"))
    for name in ("runs", "segments", ".staging"):
        (root / name).mkdir()
    try:
        mirror._bring([root / "FORMAT"])
        if not (root / "FORMAT").exists():
            raise StoreError(f"no store at {url!r}: it has no FORMAT file", hint=_ADVICE)
        check_format(root / "FORMAT", url)
    except BaseException:
        with suppress(OSError):
            mirror.remove()
        raise
    return mirror


def _file_system(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise MissingExtraError("a store at a URL", "remote") from error
    try:
        files, base = url_to_fs(url)
    except ImportError as error:  # fsspec says which package it is
        if url.startswith(("s3://", "s3a://")):
            raise MissingExtraError("a store at an S3 URL", "remote") from error
        raise StoreError(f"cannot open {url!r}: {error}", hint="install the package that it names") from error
    except Exception as error:
        raise unreachable(url, error) from error
    return files, str(base)


def unreachable(url: str, error: object) -> StoreError:
    """Returns the error of a store elsewhere that does not answer."""
    said = " ".join(str(error).split()) or type(error).__name__
    return StoreError(f"cannot read the store {url!r}: {said}", hint=_ADVICE)
