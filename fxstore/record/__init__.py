"""Records runs: the stages of a compile as they appear, and what is measured on them. Nothing here imports DuckDB."""
