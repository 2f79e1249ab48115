"""What a failed write says, and what to do about it."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Final

from fxstore.errors import StoreError

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
