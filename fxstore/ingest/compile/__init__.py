"""torch.compile: structured traces, graphs that were printed as text, training graphs."""
