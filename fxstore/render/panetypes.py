"""Pane types of other packages: panes of a compare that show the same nodes in a way of their own.

The entry-point group ``fxstore.pane_types`` names functions without arguments that return a JavaScript expression: the
function that ``FXGraphCompare.registerPaneType`` takes.
"""

from __future__ import annotations

import json
import re
from typing import Final

from fxstore import extensions
from fxstore.errors import UsageError

_UNSAFE: Final = re.compile(r"</script|<!--|<script", re.IGNORECASE)


def registration(name: str) -> str:
    """Returns the statement that registers an installed pane type.

    Raises:
        UsageError: There is none of that name, or its script cannot stand in a page.
    """
    give = extensions.load("pane-types", name)
    try:
        code = give()
    except Exception as error:  # the package's own function
        raise UsageError(f"pane type {name!r} gives no script: {extensions.brief(error)}") from error
    if not isinstance(code, str) or not code.strip():
        raise UsageError(
            f"pane type {name!r} gives no script", hint="its function returns a JavaScript function's text"
        )
    if found := _UNSAFE.search(code):
        raise UsageError(f"the script of pane type {name!r} is not safe inside a page: {found[0]!r}")
    return f"window.FXGraphCompare.registerPaneType({json.dumps(name)}, ({code.strip()}\n));"
