"""Builds what a compare page shows from a store: options, graphs, colours, drawings, alignment."""
