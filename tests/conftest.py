"""Fixtures that are made once per session: a real compile takes half a minute."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Machines are shared and noisy: how long an example takes says nothing about a law.
settings.register_profile("fxstore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fxstore")
CHROMIUM = Path(os.environ.get("FXSTORE_CHROMIUM", "/usr/bin/chromium"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests that take more than a minute, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--slow"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))


@pytest.fixture(autouse=True, scope="module")
def _torch_as_it_was() -> Iterator[None]:
    """Takes back what torchlens puts around torch's functions: no other module's compile may meet it."""
    yield
    if wrappers := sys.modules.get("torchlens.backends.torch.wrappers"):
        wrappers.unwrap_torch()


@dataclass
class Compiled:
    """One real compile: each stage's snapshot and values, taken as it appeared, and the live objects."""

    inputs: tuple[Any, ...]
    stages: list[Any] = field(default_factory=list)
    sources: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    program: Any = None
    record: Any = None

    def __getitem__(self, name: str) -> Any:
        return next(stage for stage in self.stages if stage.name == name)


@pytest.fixture(scope="session")
def demo_compile() -> Compiled:
    """The demo network through every stage; nothing in it may be edited."""
    pytest.importorskip("executorch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from fxstore.ingest import adapters
        from fxstore.ingest.demo.network import demo_network
        from fxstore.ingest.demo.pipeline import compile_network
        from fxstore.ingest.measure.values import capture_values

        network, inputs = demo_network()
        compiled = Compiled(inputs)

        def stage(name: str, source: Any) -> None:
            (snapshot,) = adapters.read(source).stages
            compiled.stages.append(replace(snapshot, name=name))
            compiled.sources[name] = source
            if name != "runtime":
                program = source.exported_program() if hasattr(source, "to_executorch") else source
                compiled.values[name] = capture_values(program, inputs).values

        compiled.program = compile_network(network, inputs, stage)
        compiled.record = compiled.program.get_etrecord()
    return compiled


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One Chromium for all tests: Debian's, or the one that FXSTORE_CHROMIUM names."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
    if not CHROMIUM.exists():
        pytest.skip(f"the browser tests need Chromium at {CHROMIUM} (FXSTORE_CHROMIUM)")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield chromium
        chromium.close()


OFFLINE = (
    "import socket\n"
    "def refuse(*a, **k): raise OSError('the demo used the network')\n"
    "socket.socket.connect = socket.socket.connect_ex = refuse\n"
    "socket.getaddrinfo = refuse\n"
    "from fxstore.cli import main\n"
    "main(['demo'])\n"
)


@dataclass(frozen=True)
class Demo:
    folder: Path
    out: str
    err: str
    cpu_s: float
    left: tuple[str, ...]


def run_demo(folder: Path) -> Demo:
    for name in ("home", "tmp"):
        (folder / name).mkdir(exist_ok=True)
    environment = {**os.environ, "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")}
    environment.pop("FXSTORE_STORE", None)
    (folder / "work").mkdir(exist_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE],
        cwd=folder / "work",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr[-3000:]
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    left = tuple(sorted(str(path.relative_to(folder)) for path in _left(folder)))
    return Demo(folder, done.stdout, done.stderr, cpu_s, left)


def _left(folder: Path) -> Iterator[Path]:
    """Yields what lies in the demo's directory, and each file in its home and its temporary directory."""
    yield from (folder / "work").iterdir()
    yield from (path for name in ("home", "tmp") for path in (folder / name).rglob("*") if path.is_file())


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """One run of the demo, shared by all tests; nothing in its folder may be edited."""
    pytest.importorskip("executorch")
    return run_demo(tmp_path_factory.mktemp("demo"))
