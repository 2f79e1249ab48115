"""The command line: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any, ClassVar, Final

import click

from fxstore.errors import FxstoreError, UsageError, nearest

_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class _Verbs(click.Group):
    """Loads a verb's module only when that verb is asked for."""

    homes: ClassVar = {
        "adapters": "listings",
        "ancestors": "questions",
        "between": "questions",
        "check": "check",
        "common-ancestors": "questions",
        "compact": "maintain",
        "compare": "compare",
        "demo": "demo",
        "descendants": "questions",
        "diff": "questions",
        "dump-diff": "dump_diff",
        "export": "export",
        "fallback": "questions",
        "first-bad": "questions",
        "first-broken": "questions",
        "gc": "maintain",
        "history": "questions",
        "ingest": "ingest",
        "match": "questions",
        "mcp": "mcp",
        "measure": "measure",
        "merge": "maintain",
        "metric-diff": "questions",
        "metrics": "listings",
        "model-explorer": "model_explorer",
        "neighbourhood": "questions",
        "op-counts": "questions",
        "overlays": "listings",
        "runs": "listings",
        "same-operator": "questions",
        "schema": "listings",
        "shortest-path": "questions",
        "sql": "questions",
        "stage-errors": "questions",
        "stages": "listings",
        "subgraph": "questions",
        "sync": "questions",
        "tag": "listings",
        "trace": "questions",
        "validate": "validate",
        "verify": "maintain",
        "why": "questions",
        "worst": "questions",
    }

    others: ClassVar = {"run-diff": "diff", "nodes-between": "between"}
    """Other words for a verb."""

    sections: ClassVar = {
        "Record and import": ["demo", "ingest", "measure", "tag", "adapters"],
        "Numbers": ["why", "worst", "first-bad", "stage-errors", "history", "first-broken", "fallback"],
        "Counterparts": ["sync", "trace"],
        "Graphs": [
            "match", "ancestors", "descendants", "between", "shortest-path", "common-ancestors", "neighbourhood",
            "subgraph", "op-counts", "same-operator",
        ],
        "Runs against runs": ["diff", "metric-diff", "check", "dump-diff"],
        "Show": ["compare", "export", "model-explorer", "validate"],
        "SQL and listings": ["sql", "schema", "runs", "stages", "metrics", "overlays", "mcp"],
        "Maintain": ["merge", "compact", "gc", "verify"],
    }  # fmt: skip

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        verb = args[0]
        if verb not in self.homes:
            # Python's name of a question is understood, too.
            verb = verb.replace("_", "-")
            verb = self.others.get(verb, verb)
            args = [verb, *args[1:]] if verb in self.homes else args
        verb = args[0]
        if verb not in self.homes and not verb.startswith("-"):
            hint = nearest(verb.replace("_", "-"), self.homes) or "fxstore --help lists the verbs"
            raise UsageError(f"there is no verb {verb!r}", hint=hint)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.homes)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, verbs in self.sections.items():
            commands = {verb: self.get_command(ctx, verb) for verb in verbs if verb in self.homes}
            rows = [(verb, command.get_short_help_str(1000)) for verb, command in commands.items() if command]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=18)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        from importlib import import_module

        if name not in self.homes:
            return None
        command = getattr(import_module(f"fxstore.cli.{self.homes[name]}"), name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fxstore")
def fxstore() -> None:
    """Every graph of a PyTorch or ExecuTorch compile in one store: query it, compare its stages, render the answer."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits: 0 done, 1 error, 2 wrong usage, 3 a gate has tripped."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None, within: object = None) -> int:
    """Runs the command line and returns its exit code; an error is one line on standard error, and a hint.

    Args:
        within: Says that this process is the one that limits hold for (:mod:`fxstore.cli.limits`).
    """
    try:
        given = None if arguments is None else list(arguments)
        with _warnings_in_one_line():
            code = fxstore.main(args=given, standalone_mode=False, obj=within)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except FxstoreError as error:
        _say(str(error), error.hint, error.exit_code, arguments)
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        _say(error.format_message(), f"see: {context.command_path} --help" if context else None, 2, arguments)
        return 2
    except (click.Abort, KeyboardInterrupt):
        if within is None:
            click.echo("fxstore: interrupted", err=True)
        return 1
    except BrokenPipeError:
        _drop_output()
        return 1
    except OSError as error:
        _drop_output()
        where = f": {error.filename}" if error.filename else ""
        click.echo(f"fxstore: {_one_line(error.strerror or str(error))}{_one_line(where)}", err=True)
        return 1


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Tells our own warnings as errors are told, without a line of our code; those of others stay as they are."""
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], filename: str, *place: Any, **more: Any) -> None:
            if category is UserWarning and filename.startswith(_PACKAGE):
                click.echo(f"fxstore: {_one_line(str(message))}", err=True)
            else:
                shown(message, category, filename, *place, **more)

        warnings.showwarning = show
        yield


def _say(message: str, hint: str | None, code: int, arguments: Sequence[str] | None) -> None:
    """Writes an error: a line and its hint, or one JSON object where the answer was asked for as JSON."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    asked = [value for name, value in pairwise(given) if name == "--format"]
    asked += [one.partition("=")[2] for one in given if one.startswith("--format=")]
    if asked[-1:] in (["json"], ["jsonl"]):
        click.echo(json.dumps({"error": _one_line(message), "hint": hint, "exit_code": code}), err=True)
        return
    click.echo(f"fxstore: {_one_line(message)}", err=True)
    if hint:
        click.echo(f"  {_one_line(hint)}", err=True)


def _drop_output() -> None:
    """Sends what is still buffered nowhere, so that Python does not fail on it again when it exits."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(text: str) -> str:
    """Returns a text as one line in which nothing moves the cursor or reorders what follows."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
