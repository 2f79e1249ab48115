"""The verb ``validate``."""

from __future__ import annotations

from pathlib import Path

import click

from fxstore.cli import limits, options
from fxstore.errors import UsageError

_TRIPPED = 3


@click.command(cls=limits.Limited)
@limits.limited
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option("--ignore", multiple=True, metavar="CHECK", help="Skip this check; may be given several times.")
@click.option("--format", "form", type=click.Choice(options.FORMATS), help="Default: box on a terminal, csv in a pipe.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
def validate(strict: bool, ignore: tuple[str, ...], form: str | None, files: tuple[Path, ...]) -> int:
    """Check Model Explorer files: what the app would refuse, drop, change or not show.

    Each FILE holds graphs, node data or a sync file; data is checked against the graphs of the other files given, where
    a sync file's left pane shows the first. Exits with 0 where the app loses nothing, 3 where a check finds an error,
    1 where a file cannot be read.

    Example: fxstore validate graphs.json node_data.json
    """
    from fxstore.cli.validating import checked
    from fxstore.errors import nearest
    from fxstore.model_explorer.validation import CHECKS

    for name in ignore:
        if name not in CHECKS:
            raise UsageError(f"there is no check {name!r}", hint=nearest(name, CHECKS))
    result, errors, warnings = checked(files, strict, frozenset(ignore))
    options.show(result, form, None, False)
    click.echo(f"{errors} errors, {warnings} warnings", err=True)
    return _TRIPPED if errors else 0
