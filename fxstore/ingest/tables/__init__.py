"""Numbers that a user brings: mappings, DataFrames, CSV and Parquet files."""
