"""The store: a directory of immutable Parquet files, committed by one atomic rename."""

from fxstore.store import reading, shapes, sums
from fxstore.store.catalog import Catalog
from fxstore.store.collecting import Collected, collect
from fxstore.store.commit import write_run
from fxstore.store.compacting import GRACE_S, Compacted, compact
from fxstore.store.copying import private_copy
from fxstore.store.directory import MEMORY, RELATIONS, Directory, may_write, open_directory
from fxstore.store.failing import unreadable
from fxstore.store.merging import Merged, merge
from fxstore.store.runs import CommittedRun
from fxstore.store.tagging import add as add_tags
from fxstore.store.verifying import Verified, verify

__all__ = [
    "GRACE_S",
    "MEMORY",
    "RELATIONS",
    "Catalog",
    "Collected",
    "CommittedRun",
    "Compacted",
    "Directory",
    "Merged",
    "Verified",
    "add_tags",
    "collect",
    "compact",
    "may_write",
    "merge",
    "open_directory",
    "private_copy",
    "reading",
    "shapes",
    "sums",
    "unreadable",
    "verify",
    "write_run",
]
