"""The store: a directory of immutable Parquet files, committed by one atomic rename."""

from fxstore.store import integrity, reading
from fxstore.store.catalog import Catalog
from fxstore.store.collection import Collected, collect
from fxstore.store.compaction import GRACE_S, Compacted, compact
from fxstore.store.directory import MEMORY, RELATIONS, Directory, may_write, open_directory, unreadable
from fxstore.store.merging import Merged, merge
from fxstore.store.publishing import write_run
from fxstore.store.runs import CommittedRun
from fxstore.store.runs import add as add_tags
from fxstore.store.verification import Verified, private_copy, verify

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
    "integrity",
    "may_write",
    "merge",
    "open_directory",
    "private_copy",
    "reading",
    "unreadable",
    "verify",
    "write_run",
]
