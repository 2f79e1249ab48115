"""The adapter for what ``TORCH_TRACE`` makes torch.compile write; needs no torch."""

from __future__ import annotations

from pathlib import Path

from fxstore.ingest.adapters import Ingested


class TorchTraceAdapter:
    """A directory that ``TORCH_TRACE`` was set to, or a log in it: a stage per kind of graph."""

    endings = (".log", ".jsonl", ".txt")

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a log, or a directory that holds one."""
        from fxstore.ingest.torch_trace import logs

        return isinstance(source, Path) and bool(logs(source))

    def read(self, source: Path) -> Ingested:
        """Reads every graph of every compile, by rank or process."""
        from fxstore.ingest.torch_trace import read_trace
        from fxstore.ingest.torch_trace_stages import stages_of

        trace = read_trace(source)
        stages, overlays = stages_of(trace)
        status = "partial" if any(stage.status != "complete" for stage in stages) else "complete"
        return Ingested(tuple(stages), tuple(overlays), status, trace.versions)
