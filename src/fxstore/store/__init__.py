"""The store: a directory of immutable Parquet files, committed by one atomic rename."""

from fxstore.store.catalog import Catalog
from fxstore.store.commit import write_run
from fxstore.store.directory import MEMORY, Directory, may_write, open_directory, private_copy
from fxstore.store.runs import CommittedRun
from fxstore.store.tagging import add as add_tags

__all__ = [
    "MEMORY",
    "Catalog",
    "CommittedRun",
    "Directory",
    "add_tags",
    "may_write",
    "open_directory",
    "private_copy",
    "write_run",
]
