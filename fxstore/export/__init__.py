"""A store, or runs of it, in other forms: files of other tools, still pictures, values of a dump."""
