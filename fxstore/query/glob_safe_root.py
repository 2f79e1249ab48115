"""How DuckDB is told of files whose path it would take for a pattern."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Final

from fxstore.errors import StoreError

_PATTERN: Final = re.compile(r"[*?\[]")


class Reach:
    """A store's files by paths that mean themselves: where the store's own path is a pattern, through a link.

    Attributes:
        root: The store's directory as DuckDB is told of it.
    """

    def __init__(self, root: Path) -> None:
        """Makes a link where it is needed; it goes away with this object.

        Raises:
            StoreError: The path is no text, which DuckDB could not be told of.
        """
        self._own = self.root = str(root)
        try:
            self.root.encode("utf-8")
        except UnicodeEncodeError:
            raise StoreError(f"the path {self.root!r} is not UTF-8", hint="rename it, or give a link to it") from None
        if _PATTERN.search(self.root):
            folder = tempfile.mkdtemp(prefix="fxstore-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self.root = os.path.join(os.path.realpath(folder), "store")
            os.symlink(root, self.root, target_is_directory=True)

    def paths(self, files: list[str]) -> list[str]:
        """Returns files of the store as DuckDB is told of them."""
        if self.root == self._own:
            return files
        return [self.root + file.removeprefix(self._own) for file in files]
