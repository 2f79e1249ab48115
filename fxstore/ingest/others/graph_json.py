"""The adapter for graphs and overlays that others wrote as JSON."""

from __future__ import annotations

from pathlib import Path

from fxstore.errors import SourceError
from fxstore.ingest.adapters import Ingested
from fxstore.records import Stage

_HINT = "it should be Model Explorer's graphs or node data, or an fx_viewer payload"
_SIGNS = (b'"incomingEdges"', b'"subgraphs"', b'"graphs"', b'"graphCollections"', b'"nodes"', b'"results"', b'"base"')


class GraphJsonAdapter:
    """Model Explorer's graphs and node data, and payloads of the fx_viewer."""

    options = frozenset({"better"})
    endings = (".json",)

    def accepts(self, source: object) -> bool:
        """Tells whether the source is a ``.json`` file of one of these shapes."""
        from fxstore.ingest.json_input import head, read_json

        if not isinstance(source, Path) or source.suffix.lower() != ".json":
            return False
        start = head(source)
        if not start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
            return False
        if len(start) < 1 << 16 and not any(sign in start for sign in _SIGNS):
            return False
        try:
            return _shape(read_json(source, _HINT)) is not None
        except SourceError:
            return b'"incomingEdges"' in start

    def read(self, source: Path, *, better: str | None = None) -> Ingested:
        """Reads the graphs, or the overlays.

        Args:
            better: ``higher`` or ``lower``, of the numbers; default: each metric's own, where its name is known.

        Raises:
            SourceError: It is none of these.
            UsageError: There is no such direction.
        """
        from fxstore.ingest.tables.metric_rows import About

        About(better=better)
        from fxstore.ingest.json_input import Malformed, read_json
        from fxstore.ingest.others import fx_viewer_payload, model_explorer
        from fxstore.ingest.others.model_explorer import NodeData

        document = read_json(source, _HINT)
        shape = _shape(document)
        try:
            if shape == "graphs":
                return _ingested(model_explorer.stages_of(document))
            fx_viewer_payload.check_version(document)
            if shape == "payload":
                stage = fx_viewer_payload.stage_of(document)
                return _ingested([stage]).with_overlays(fx_viewer_payload.overlays_of(document, None, better))
            if shape == "payloads":
                payloads = fx_viewer_payload.several(document)
                stages = [fx_viewer_payload.stage_of(payload, name) for name, payload in payloads.items()]
                overlays = [one for n, p in payloads.items() for one in fx_viewer_payload.overlays_of(p, n, better)]
                return _ingested(stages).with_overlays(overlays)
            if shape == "node data":
                return Ingested(overlays=(NodeData(document, source.stem, better),))
        except Malformed as error:
            raise SourceError(f"{source}: {error}", hint=_HINT) from error
        except RecursionError:
            raise SourceError(f"{source}: is nested too deeply", hint=_HINT) from None
        raise SourceError(f"{source}: is no graph", hint=_HINT)


def _ingested(stages: list[Stage]) -> Ingested:
    partial = any(stage.status != "complete" for stage in stages)
    return Ingested(tuple(stages), status="partial" if partial else "complete")


def _shape(document: object) -> str | None:
    from fxstore.ingest.others import fx_viewer_payload, model_explorer
    from fxstore.ingest.others.model_explorer import is_node_data

    if fx_viewer_payload.is_payload(document):
        return "payload"
    if fx_viewer_payload.several(document):
        return "payloads"
    if model_explorer.is_graphs(document):
        return "graphs"
    return "node data" if is_node_data(document) else None
