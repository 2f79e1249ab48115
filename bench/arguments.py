"""What the scripts of bench have in common on the command line: ``--help`` shows what a script's docstring says."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from pathlib import Path


def options(file: str, doc: str | None) -> argparse.ArgumentParser:
    """Returns a parser that takes nothing yet.

    Args:
        file: The script's ``__file__``.
        doc: The script's docstring.
    """
    name = Path(file).stem
    return argparse.ArgumentParser(
        prog="python -m bench" if name == "__main__" else f"python -m bench.{name}",
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def one_of(known: Collection[str]) -> Callable[[str], str]:
    """Returns what takes a name that is known, and says which are where one is not."""

    def take(text: str) -> str:
        if text not in known:
            raise argparse.ArgumentTypeError(f"there is no {text!r}; there are {', '.join(known)}")
        return text

    return take


def positive(text: str) -> int:
    """Takes a whole number above 0."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def existing(text: str) -> Path:
    """Takes the path of a file or a directory that is there."""
    if not Path(text).exists():
        raise argparse.ArgumentTypeError(f"there is no {text}")
    return Path(text)
