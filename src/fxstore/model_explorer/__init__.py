"""Model Explorer's files: collections of graphs, node data and sync files; built from plain data, checked, served."""
