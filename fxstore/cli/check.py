"""The verb ``check``."""

from __future__ import annotations

from pathlib import Path

import click

from fxstore.cli import limits, options
from fxstore.errors import UsageError

_TRIPPED = 3


@click.command(cls=limits.Limited)
@limits.limited
@options.store
@click.option("--rule", "rules", multiple=True, help='Such as "cosine >= 0.99"; may be given several times.')
@click.option(
    "--rules", "file", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Read rules from a TOML file."
)
@click.option("--junit", type=click.Path(path_type=Path), metavar="OUT.xml", help="Also write JUnit XML.")
@click.option("--annotations", is_flag=True, help="Print GitHub annotations on standard error.")
@click.option("--tag", "tags", multiple=True, metavar="K=V", help="Tag HEAD with this when no rule trips.")
@options.result_output
@click.argument("base")
@click.argument("head")
def check(
    store_path: str,
    rules: tuple[str, ...],
    file: Path | None,
    junit: Path | None,
    annotations: bool,
    tags: tuple[str, ...],
    form: str | None,
    raw: bool,
    page: Path | None,
    force: bool,
    base: str,
    head: str,
) -> int:
    """Check rules on the run HEAD against BASE, and exit with 3 when one trips.

    BASE and HEAD are runs by id or name, or the last complete ones with a tag: tag:branch=main~20. Rules compare a
    metric with a number or with the base: "cosine >= 0.99", "p90_ms <= 1.1 * base", "coverage >= base",
    "no new fallback".

    Example: fxstore check monday tuesday --rule "cosine >= 0.99" --rule "no new fallback"
    """
    from fxstore.query.gates.rules import read
    from fxstore.query.text import visible

    for output in filter(None, (junit, page)):
        if output.exists() and not force:
            raise UsageError(f"{output} exists", hint="pass -f to overwrite it")
    tagged = options.pairs("--tag", tags)
    given = [*rules, *(read(file) if file else [])]
    with options.opened(store_path, writable=page is not None or bool(tags)) as store:
        found = store.check(base, head, given)
        options.show(found.result, form, None, force, raw)
        click.echo(found.summary(), err=True)
        verdict = found.why() if found.tripped else None
        if verdict is not None and verdict.metric is not None:
            click.echo("\n".join(visible(str(one)) for one in (verdict.caption, *verdict.sentences)), err=True)
        if junit is not None:
            junit.write_text(found.junit(), "utf-8")
            click.echo(f"Wrote {junit} ({options.size(junit.stat().st_size)})", err=True)
        if annotations:
            click.echo("\n".join(found.annotations()), err=True)
        if page is not None:
            options.save(found.compare(), page, force)
        if tagged and not found.tripped:
            for run in found.heads:
                store.tag(run, tagged)
        return _TRIPPED if found.tripped else 0
