"""One ``compact`` or ``gc`` at a time. Writers and readers take no lock."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from fxstore.errors import StoreError
from fxstore.store.directory import FOLDERS, Directory
from fxstore.store.failing import read_only, unwritable

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
