"""Questions to a store, and their answers."""
