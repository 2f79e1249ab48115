"""Runs what the README and docs/ show; ``python -m tests.pages DIR [PAGE…]`` writes the real output into the pages.

DIR is an empty directory. A ``console`` block is one shell command and what it shows on a terminal; a ``python`` block
runs as it stands. Where a page's commands run, and which names its Python takes from the reader, is said once, in
:data:`FOLDERS` and in :mod:`tests.page_scopes`.
"""

from __future__ import annotations

import itertools
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests import nights

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
EXAMPLES: Final = ROOT / "examples"
WIDTH: Final = "118"
_PYTHON = re.compile(r"```python\n(.*?)```", re.S)
_BLOCK = re.compile(r"```console\n(.*?)```", re.S)


def page(name: str) -> Path:
    """Returns the file of a page."""
    return ROOT / name if name == "README.md" else DOCS / name


def empty(folder: Path) -> None:
    """Makes nothing: the page's own commands make what they need."""


def demo(folder: Path) -> None:
    """Makes the store that the demo leaves."""
    run("fxstore demo", folder)


def payload(folder: Path) -> None:
    """Makes the file that docs/fx_viewer.md opens."""
    import torch

    from fxstore.fx_viewer import FXGraphCompareExporter, FXGraphExporter

    module = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))
    FXGraphCompareExporter({"a": FXGraphExporter(module)}).export_json(folder / "compare.json")


FOLDERS: Final[dict[str, Callable[[Path], None]]] = {
    "README.md": demo,
    "tour.md": empty,
    "tutorial.md": empty,
    "fx_viewer.md": payload,
    **dict.fromkeys(("store.md", "query.md", "diff.md", "gates.md", "pictures.md", "model_explorer.md"), nights.make),
}
"""What makes the folder in which the commands of a page run, in order."""
TORCH: Final = {"README.md", "tour.md", "tutorial.md", "fx_viewer.md"}
"""Pages whose commands need torch and executorch."""
OF_DEMO: Final = {"README.md", "tour.md"}
"""Pages whose commands run where the demo ran."""


def blocks(path: Path) -> list[tuple[str, str]]:
    """Returns command and shown output of each console block of a page."""
    return [_split(block) for block in _BLOCK.findall(path.read_text("utf-8"))]


def python_blocks(path: Path) -> list[str]:
    """Returns the code of each Python block of a page."""
    return _PYTHON.findall(path.read_text("utf-8"))


def _split(block: str) -> tuple[str, str]:
    """Returns the command, which may go on over lines that end in a backslash, and what stands under it."""
    lines = block.splitlines(keepends=True)
    end = next(i for i, line in enumerate(lines) if not line.endswith("\\\n")) + 1
    return "".join(lines[:end]).removeprefix("$ ").rstrip("\n"), "".join(lines[end:])


def run(command: str, folder: Path) -> str:
    """Runs a shell command on a terminal of a fixed width, beside the examples, and returns what it shows."""
    if not (folder / EXAMPLES.name).exists():
        (folder / EXAMPLES.name).symlink_to(EXAMPLES)
    main, terminal = pty.openpty()
    environment = {**os.environ, "COLUMNS": WIDTH, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment.pop("FXSTORE_STORE", None)
    with subprocess.Popen(
        command, shell=True, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal
    ) as process:
        os.close(terminal)
        shown = b""
        while True:
            try:
                part = os.read(main, 65536)
            except OSError:  # the terminal's other end is closed
                break
            if not part:
                break
            shown += part
        os.close(main)
    assert process.returncode == 0, f"{command}\n{shown.decode()}"
    return shown.decode().replace("\r\n", "\n")


def comparable(text: str) -> list[list[str]]:
    """Returns the cells of each line without what may change: frames, ids, times, shares, sizes, last digits."""
    text = re.sub(r"\b\d{14,17}\b", "NID", text)
    text = re.sub(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8}\b", "RUN", text)
    text = re.sub(r"\b(?=[0-9a-f]*\d)[0-9a-f]+…", "…", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[ T][\d:.]+", "TIME", text)
    text = re.sub(r"\[ *[\d.]+ s\]", "[T s]", text)
    text = re.sub(r"\([\d.]+ [KM]?B\)", "(SIZE)", text)
    text = re.sub(r"\d+ % of the measured time", "N % of the measured time", text)
    text = re.sub(r"\d+\.\d+(e-?\d+)?", lambda m: f"{float(m[0]):.4f}", text)
    lines = [[" ".join(cell.split()) for cell in line.strip("│ ").split("│")] for line in text.splitlines()]
    return [cells for cells in lines if any(cells) and not set("".join(cells)) <= set("┌┬┐├┼┤└┴┘─ ")]


def differing(shown: str, real: str) -> list[tuple[list[str], list[str]]]:
    """Returns the lines of a page, each with that of a run, where the two do not say the same."""
    pairs = itertools.zip_longest(comparable(shown), comparable(real), fillvalue=["(no line)"])
    return [(one, other) for one, other in pairs if len(one) != len(other) or not all(map(_alike, one, other))]


def _alike(one: str, other: str) -> bool:
    """Compares two cells; where a cell is cut hangs on the digits of a run, so only what both show must agree."""
    if "…" not in one + other:
        return one == other
    (begins, _, _), (starts, _, _) = one.partition("…"), other.partition("…")
    (_, _, ends), (_, _, stops) = one.rpartition("…"), other.rpartition("…")
    heads, tails = sorted((begins, starts), key=len), sorted((ends, stops), key=len)
    return heads[1].startswith(heads[0]) and tails[1].endswith(tails[0])


def update(name: str, folder: Path) -> None:
    """Writes the real output of each block into a page."""
    FOLDERS[name](folder)

    def real(match: re.Match[str]) -> str:
        command, _ = _split(match[1])
        return f"```console\n$ {command}\n{run(command, folder)}```"

    path = page(name)
    path.write_text(_BLOCK.sub(real, path.read_text("utf-8")), "utf-8")


def main(where: Path, names: list[str]) -> None:
    """Updates these pages, or all of them, each in a folder of its own."""
    for name in names or FOLDERS:
        folder = where / name
        folder.mkdir(parents=True)
        update(name, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
