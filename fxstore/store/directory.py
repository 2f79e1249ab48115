"""Where a store's files are, and how a store is opened or created.

::

    FORMAT                                      {"format": 1}
    empty/<relation>.parquet                    one file without rows per relation, so that no list of files is empty
    graphs/<hh>/<graph_hash>/<table>.parquet    content-addressed: nodes (with origins, handles and roles as lists),
                                                edges, sources; each has its file, also without rows
    structures/<hh>/<hash>/<table>.parquet      content-addressed, too
    layouts/v<N>/<hh>/<graph_hash>.npz          drawings of graphs, made when first needed; can be deleted at any time
    runs/run_id=<run_id>/{run.json, overlays.parquet, metrics.parquet}
    runs/_tag.<run_id>.<key>=<value>            a tag that a run got after its commit
    segments/<name>/{runs.json, overlays.parquet, metrics.parquet}
                                                what many run directories hold, after a compaction
    MANIFEST.json                               what most run.json say, in one file; can be deleted at any time
    .staging/                                   what writers have not yet published

Each directory of a graph or structure has SHA256SUMS, too; run.json and runs.json hold the digests of their files, and
say with ``digests`` that those directories have theirs, so that one that is gone is damage.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from fxstore import tables
from fxstore.errors import StoreError, path_of
from fxstore.store import parquet, reading

FORMAT: Final = 1
UPGRADE: Final = "upgrade it: pip install --upgrade fxstore"
MEMORY: Final = ":memory:"
# Engines that read Parquet know this form, and open only the runs that a query asks for.
RUN_PREFIX: Final = "run_id="
# What names begin with, in the staging directory, that a collection has moved aside and may put back.
ASIDE: Final = "aside."

RELATIONS: Final[dict[str, pa.Schema]] = {
    **{name: parquet.keyed(schema, "graph_hash") for name, schema in tables.GRAPH_FILES.items()},
    **{name: parquet.keyed(schema, "structure_hash") for name, schema in tables.STRUCTURE_TABLES.items()},
    **{name: parquet.keyed(schema, "run_key", pa.int32()) for name, schema in tables.RUN_TABLES.items()},
}


@dataclass(frozen=True)
class Directory:
    """An opened store directory; only knows paths.

    Attributes:
        root: Absolute path, without symbolic links.
        read_only: Nothing is ever written when this is true.
        temporary: The directory goes away with the store that opened it.
        url: Where the store is that this directory mirrors; ``''`` where it is the store itself.
    """

    root: Path
    read_only: bool = False
    temporary: bool = False
    url: str = ""

    @property
    def location(self) -> str:
        """The store's path or URL, as it is opened."""
        return self.url or str(self.root)

    @property
    def runs(self) -> Path:
        """The committed runs, one directory each."""
        return self.root / "runs"

    @property
    def segments(self) -> Path:
        """Runs that were compacted, many in each directory."""
        return self.root / "segments"

    def segment(self, name: str) -> Path:
        """Returns the directory of a segment."""
        return self.segments / name

    @property
    def staging(self) -> Path:
        """What is being written."""
        return self.root / ".staging"

    def graph(self, graph_hash: str) -> Path:
        """Returns the directory of a graph's tables."""
        return self.root / "graphs" / graph_hash[:2] / graph_hash

    def structure(self, structure_hash: str) -> Path:
        """Returns the directory of a structure's tables."""
        return self.root / "structures" / structure_hash[:2] / structure_hash

    def run(self, run_id: str) -> Path:
        """Returns the directory of a run."""
        return self.runs / f"{RUN_PREFIX}{run_id}"

    @property
    def manifest(self) -> Path:
        """The file that describes most runs at once."""
        return self.root / "MANIFEST.json"

    @property
    def layouts(self) -> Path:
        """Drawings of graphs: a directory for each version of the layout."""
        return self.root / "layouts"

    def layout(self, version: int, graph_hash: str) -> Path:
        """Returns the file of a graph's drawing, as that version of the layout draws it."""
        return self.layouts / f"v{version}" / graph_hash[:2] / f"{graph_hash}.npz"

    def empty(self, relation: str) -> Path:
        """Returns the file without rows of a relation."""
        return self.root / "empty" / f"{relation}.parquet"

    def update(self, again: bool = False) -> None:
        """Takes in what a store elsewhere lists now; this directory is the store itself."""

    def fetch(self, files: Iterable[str | Path]) -> None:
        """Makes files of a store elsewhere be here; this directory is the store itself."""

    def remove(self) -> None:
        """Deletes a temporary store; does nothing to any other."""
        if self.temporary:
            shutil.rmtree(self.root, ignore_errors=True)


def may_write(path: str | os.PathLike[str]) -> bool:
    """Returns whether there is a store at ``path`` that this process may write."""
    root = Path(path).expanduser()
    return (root / "FORMAT").is_file() and os.access(root, os.W_OK | os.X_OK)


def open_directory(path: str | os.PathLike[str], read_only: bool = False) -> Directory:
    """Opens the store at ``path``, or creates it.

    Args:
        path: A directory, ``":memory:"`` for a store that leaves nothing behind, or the URL of a store elsewhere, as
            fsspec takes it (``s3://bucket/store``), which is for reading only.
        read_only: Never write; then the store must exist.

    Raises:
        StoreError: The path is no store, of a newer format, missing or may not be written; or the URL does not answer.
        MissingExtraError: What a URL needs is not installed.
    """
    if isinstance(path, str) and "://" in path:
        from fxstore.store.remote import open_mirror

        return open_mirror(path)
    if os.fspath(path) == MEMORY:
        return temporary()
    root = path_of(path).expanduser()
    try:
        return _open(Directory(root.resolve(), read_only=read_only), str(root))
    except OSError as error:
        raise StoreError(
            f"cannot open the store {str(root)!r}: {error.strerror or error}",
            hint="see whether that directory may be read, and written where a store is to be made",
        ) from error


def temporary() -> Directory:
    """Makes a store of no run in a temporary directory."""
    directory = Directory(Path(tempfile.mkdtemp(prefix="fxstore-")).resolve(), temporary=True)
    _create(directory)
    return directory


def _open(directory: Directory, shown: str) -> Directory:
    root = directory.root
    if root.exists() and not root.is_dir():
        raise StoreError(f"{shown!r} is a file, not a store", hint="give the directory of a store")
    if (root / "FORMAT").exists():
        check_format(root / "FORMAT", shown)
        if not directory.read_only:  # what copies a store may leave out what is empty
            for name in set(FOLDERS) - set(os.listdir(root)):
                if name != "runs" or not has_content(root):  # runs that were lost are not none
                    (root / name).mkdir(exist_ok=True)
    elif root.is_dir() and any(entry.name not in _BEFORE_FORMAT for entry in root.iterdir()):
        raise StoreError(
            f"{shown!r} is not a store: it has no FORMAT file", hint="give a store, or a path that does not exist yet"
        )
    elif directory.read_only:
        raise StoreError(
            f"no store at {shown!r}", hint="check the path; the first run that is ingested, or merged, makes a store"
        )
    else:
        _create(directory)
    if not directory.read_only and not os.access(root, os.W_OK | os.X_OK):
        raise StoreError(f"the store {shown!r} may not be written", hint="open it with read_only=True")
    return directory


FOLDERS: Final = ("runs", "segments", "graphs", "structures", "empty", ".staging")
"""The directories that every store has."""
# What another process that creates the same store may have made before its FORMAT.
_BEFORE_FORMAT: Final = frozenset(FOLDERS)


def has_content(root: Path) -> bool:
    """Tells whether there are graphs in a store."""
    return (root / "graphs").is_dir() and any((root / "graphs").iterdir())


def check_format(path: Path, shown: str) -> None:
    """Raises where a FORMAT file says that this fxstore cannot read the store.

    Raises:
        StoreError: It is of a newer format, or no store.
    """
    try:
        version = reading.parsed(reading.text(path))["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{shown!r} is not a store: its FORMAT file cannot be read") from error
    if type(version) is not int or not 1 <= version <= FORMAT:
        raise StoreError(
            f"the store {shown!r} has format {version!s:.60}; this fxstore reads up to {FORMAT}",
            hint=UPGRADE,
        )


def _create(directory: Directory) -> None:
    """Makes an empty store; FORMAT comes last, so that what has one is complete. Safe in two processes at once."""
    for name in FOLDERS:
        (directory.root / name).mkdir(parents=True, exist_ok=True)
    for relation, schema in RELATIONS.items():
        replace(directory, directory.empty(relation), lambda path, s=schema: parquet.write(s.empty_table(), path))  # type: ignore[misc]
    text = json.dumps({"format": FORMAT})
    replace(directory, directory.root / "FORMAT", lambda path: parquet.write_text(text, path))
    parquet.sync(directory.root)


def replace(directory: Directory, target: Path, write: parquet.Write) -> None:
    """Puts a file in place at once: readers see the old one or the new one."""
    staged = directory.staging / f"{target.name}.{secrets.token_hex(8)}"
    write(staged)
    os.replace(staged, target)


# What a failed write says, and what to do about it.


_ADVICE: Final = {
    errno.ENOSPC: "free some space (fxstore gc drops what is not needed), and do it again",
    errno.EDQUOT: "free some space (fxstore gc drops what is not needed), and do it again",
    errno.EFBIG: "the file system, or a limit of this process, takes no file of that size",
    errno.EACCES: "give yourself the right to write there, or use another store",
    errno.EPERM: "give yourself the right to write there, or use another store",
    errno.EROFS: "it is mounted for reading only: use another store",
    errno.EIO: "the disk fails: look at the system's log, and run fxstore verify",
    errno.EMFILE: "close files, or raise the limit (ulimit -n), and do it again",
    errno.ENFILE: "close files, or raise the limit, and do it again",
}
_ELSE: Final = "what was stored before is as it was; do it again, or run fxstore verify"


def unwritable(root: Path, error: OSError) -> StoreError:
    """Returns the error of a write to a store that failed."""
    said = f"cannot write to the store {str(root)!r}: {error.strerror or error}"
    return StoreError(said, hint=_ADVICE.get(error.errno or 0, _ELSE))


def unreadable(root: Path, error: OSError) -> StoreError:
    """Returns the error of a look into a store that failed."""
    said = f"cannot read the store {str(root)!r}: {error.strerror or error}"
    return StoreError(said, hint="see whether the directory is still there and may be read; fxstore verify says more")


def read_only(location: str) -> StoreError:
    """Returns the error of a write to a store that was opened for reading."""
    if "://" in location:
        return StoreError("a store at a URL is for reading only", hint="take it into one of your own: fxstore merge")
    return StoreError("the store is open for reading only", hint="open it without read_only")


# One ``compact`` or ``gc`` at a time. Writers and readers take no lock.


NAME = "maintenance.lock"


@contextmanager
def alone(directory: Directory) -> Iterator[None]:
    """Runs a block while no other process compacts or collects; the system frees the lock of one that was killed.

    Raises:
        StoreError: Another one is at work, the store may not be written, or a directory of it is elsewhere.
    """
    if directory.read_only:
        raise read_only(directory.location)
    try:
        _check_own(directory)
        handle = os.open(directory.staging / NAME, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        raise unwritable(directory.root, error) from error
    try:
        if not _locked(handle):
            raise StoreError("another compact or gc is at work in this store", hint="wait for it, and do it again")
        try:
            yield
        except OSError as error:
            raise unwritable(directory.root, error) from error
    finally:
        os.close(handle)


def _check_own(directory: Directory) -> None:
    """Raises where a directory of the store is elsewhere: what would be removed there is not the store's."""
    for name in FOLDERS:
        if (directory.root / name).is_symlink():
            raise StoreError(
                f"{str(directory.root / name)!r} is a symbolic link, and only what stands in the store is touched",
                hint="put the directory itself there",
            )


def _locked(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:
        return _locked_on_windows(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _locked_on_windows(handle: int) -> bool:
    import msvcrt

    try:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True
