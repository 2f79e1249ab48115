"""Prints one of the README's commands, as written there: the code block after the comment that names it."""

import re
import sys
from pathlib import Path

text = Path(__file__).parents[1].joinpath("README.md").read_text("utf-8")
match = re.search(rf"<!-- {re.escape(sys.argv[1])} -->\s*```sh\n(.*?)```", text, re.S)
if match is None:
    sys.exit(f"README.md has no command named {sys.argv[1]!r}")
print(match[1], end="")
