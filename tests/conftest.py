"""Fixtures that are made once per session: a real compile takes half a minute."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests that take more than a minute, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--slow"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))


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
        from fxstore.ingest.values import capture_values

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
