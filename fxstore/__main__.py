"""``python -m fxstore`` is the command line."""

from fxstore.cli import main

main()
