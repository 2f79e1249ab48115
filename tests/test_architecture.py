"""The architecture, as a machine checks it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_import_is_light() -> None:
    heavy = {"torch", "executorch", "pandas", "duckdb", "pyarrow", "numpy"}
    code = f"import sys, fxstore; print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_import_contracts_hold() -> None:
    pytest.importorskip("importlinter")
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as c; c()",
            "--config",
            str(ROOT / "pyproject.toml"),
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_a_store_is_queried_and_rendered_without_torch(tmp_path: Path) -> None:
    """Runs in a process where importing torch and executorch fails."""
    code = (
        "import sys\n"
        "for name in ('torch', 'executorch', 'torchao'): sys.modules[name] = None\n"
        "from tests.runs import example_run\n"
        "import fxstore\n"
        f"with fxstore.connect({str(tmp_path / 'store')!r}) as store:\n"
        "    store.commit(example_run())\n"
        "    page = store.worst('cosine').compare()\n"
        f"    page.save({str(tmp_path / 'page.html')!r})\n"
        "    print(store.sql('select count(*) from nodes').fetchall()[0][0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) > 0
    assert (tmp_path / "page.html").stat().st_size > 10_000
