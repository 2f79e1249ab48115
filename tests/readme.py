"""Runs the README's console blocks; ``python -m tests.readme DIR`` writes their real output into the README.

DIR is an empty directory.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = README.parent / "examples"
WIDTH = "118"
_PYTHON = re.compile(r"```python\n(.*?)```", re.S)
_BLOCK = re.compile(r"```console\n(.*?)```", re.S)


def blocks(page: Path = README) -> list[tuple[str, str]]:
    """Returns command and shown output of each console block of a page."""
    return [_split(block) for block in _BLOCK.findall(page.read_text("utf-8"))]


def python_blocks() -> list[str]:
    """Returns the code of each Python block."""
    return _PYTHON.findall(README.read_text("utf-8"))


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


def comparable(text: str) -> list[str]:
    """Returns what must not change: without frames, ids, times, sizes, last digits and where a cell is cut."""
    text = re.sub(r"\b\d{14,17}\b", "NID", text)
    text = re.sub(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8}\b", "RUN", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[ T][\d:.]+", "TIME", text)
    text = re.sub(r"\[ *[\d.]+ s\]", "[T s]", text)
    text = re.sub(r"\([\d.]+ [KM]?B\)", "(SIZE)", text)
    text = re.sub(r"…[^\s│]*/", "…/", text)
    text = re.sub(r"[^\s│]*…|[^\s│]{40,}", "…", text)
    text = re.sub(r"\d+\.\d+(e-?\d+)?", lambda m: f"{float(m[0]):.4f}", text)
    lines = [re.sub(r"[│ ]+", " ", line).strip() for line in text.splitlines()]
    return [line for line in lines if line and not set(line) <= set("┌┬┐├┼┤└┴┘─")]


def update(folder: Path, page: Path = README) -> None:
    """Writes the real output of each block into a page."""

    def real(match: re.Match[str]) -> str:
        command, _ = _split(match[1])
        return f"```console\n$ {command}\n{run(command, folder)}```"

    page.write_text(_BLOCK.sub(real, page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    update(Path(sys.argv[1]))
