"""The names of the fx_viewer RFC, over the same ingest, links and page."""
