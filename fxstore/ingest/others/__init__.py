"""Graphs that other tools wrote: Model Explorer, TorchLens, the fx_viewer."""
