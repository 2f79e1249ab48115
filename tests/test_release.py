"""What a release is made of: a wheel with everything in it, a site of the docs, a changelog."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_wheel_holds_each_file_of_the_package(tmp_path: Path) -> None:
    for package in ("build", "hatchling"):
        pytest.importorskip(package)
    if not (ROOT / "fxstore").exists():
        pytest.skip("needs the sources")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"fxstore-{PROJECT['version']}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("fxstore/")}
        metadata = archive.read(f"fxstore-{PROJECT['version']}.dist-info/METADATA").decode()
        entries = archive.read(f"fxstore-{PROJECT['version']}.dist-info/entry_points.txt").decode()
    files = {p.relative_to(ROOT).as_posix() for p in (ROOT / "fxstore").rglob("*") if p.is_file()}
    expected = {name for name in files if "__pycache__" not in name}
    assert held == expected
    assert {"fxstore/py.typed", "fxstore/query/sql/macros/worst.sql"} <= held
    assert any(name.endswith(".js") for name in held)
    assert any(name.endswith(".schema.json") for name in held)
    assert f"Requires-Python: {PROJECT['requires-python']}" in metadata
    assert "fxstore = fxstore.cli:main" in entries


def test_the_base_install_is_six_packages() -> None:
    names = {requirement.partition(">")[0] for requirement in PROJECT["dependencies"]}
    assert names == {"click", "duckdb", "fast-sugiyama", "numpy", "pyarrow", "sqlglot"}


def test_the_docs_make_a_site_without_a_broken_link(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} | {"CONTRIBUTING", "CHANGELOG", "bench"}
    assert {path.parent.name for path in (tmp_path / "site").glob("*/index.html")} == pages
    assert (tmp_path / "site" / "index.html").read_text("utf-8").count("demo.png") == 1


def test_every_page_is_in_the_sites_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f": {page.name}\n" not in menu] == []


def test_the_changelog_tells_of_this_version() -> None:
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
