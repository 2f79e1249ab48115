"""The adapter for ``.etrecord`` files; needs neither torch nor executorch."""

from __future__ import annotations

from pathlib import Path

from fxstore.ingest.adapters import Ingested


class EtRecordFileAdapter:
    """A ``.etrecord`` file: the stages that it holds."""

    endings = (".etrecord",)

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a path that ends in ``.etrecord``."""
        return isinstance(source, Path) and source.suffix in self.endings

    def read(self, source: Path) -> Ingested:
        """Reads the record with zipfile and json alone."""
        from fxstore.ingest.etrecord import read_etrecord
        from fxstore.ingest.handles import Maps, counts

        record = read_etrecord(source)
        maps = Maps(record.debug_handle_map, record.delegate_map)
        stages = tuple(maps.on(stage) for stage in record.stages)
        return Ingested(stages, counts(record.num_outs), record.status)
