"""The whole main job on the demo network: compile, record, measure, run, ask, render."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fxstore.api import Store, connect
from fxstore.errors import MissingExtraError
from fxstore.query.text import box
from fxstore.record.recorder import Run

Say = Callable[[str], None]


def run_demo(store_path: str, page: Path, *, say: Say, out: Say) -> Run:
    """Runs the demo and returns its run.

    Args:
        store_path: The store to add the run to.
        page: The page to write; an earlier one is replaced.
        say: Gets one line per step.
        out: Gets the result.

    Raises:
        MissingExtraError: torch or executorch is not installed.
    """
    for name in ("torch", "executorch"):
        if importlib.util.find_spec(name) is None:
            raise MissingExtraError("the demo", "executorch")
    start = time.monotonic()

    def step(text: str) -> None:
        say(f"[{time.monotonic() - start:5.1f} s] {text}")

    with connect(store_path) as store:
        step("loading torch and executorch")
        with _quiet() as told:
            run = _record(store, lambda text: told(lambda: step(text)))
        step(f"run {run.name} ({run.run_id}) is in {store_path}: {', '.join(run.stages)}")
        _report(store, run, out)
        shown = store.worst("cosine", n=20, run=run.run_id, overlay="quantized vs float")
        shown.compare(run=run.run_id, title="fxstore demo: float to device").save(page, overwrite=True)
    step(f"Wrote {page} ({page.stat().st_size / 1024:.0f} KB): open it in a browser")
    return run


def _record(store: Store, step: Say) -> Run:
    from fxstore.ingest.demo.network import demo_network
    from fxstore.ingest.demo.pipeline import compile_network

    network, inputs = demo_network()
    with store.record("demo", model="DemoNet", strict=True) as recorder:

        def stage(name: str, source: object) -> None:
            recorder.stage(name, source)
            step(f"{name}: {recorder._open.nodes(name)} nodes")

        step("exporting, quantising and lowering DemoNet")
        compile_network(network, inputs, stage)
        step("running the program with tracing, comparing it with quantized")
        recorder.device(inputs, stage="runtime", reference="quantized", inside=False)
        step("running quantized, comparing it with float")
        recorder.measure(inputs, reference="float", stages=["quantized"])
    return recorder.finish()


def _report(store: Store, run: Run, out: Say) -> None:
    for stage, reference in (("quantized", "float"), ("runtime", "quantized")):
        worst = store.worst("cosine", n=5, run=run.run_id, overlay=f"{stage} vs {reference}")
        rows = [
            (row["name"], row["value"], row["counterparts"].get(reference), _place(row))
            for row in worst.arrow().to_pylist(maps_as_pydicts="strict")
        ]
        out(f"Worst nodes of {stage} by cosine against {reference}:")
        out(box(["node", "cosine", f"in {reference}", "source"], rows))
        out(f"{worst.coverage}\n")


def _place(row: dict[str, object]) -> str:
    if row["source_file"] is None:
        return ""
    return f"{Path(str(row['source_file'])).name}:{row['source_line']}"


@contextmanager
def _quiet() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Keeps what torch and executorch write to standard error out of sight, unless the block fails.

    Yields a function that runs another one with standard error as it was.
    """
    sys.stderr.flush()
    real = os.dup(2)
    with tempfile.TemporaryFile() as hidden, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.dup2(hidden.fileno(), 2)

        def told(say: Callable[[], None]) -> None:
            sys.stderr.flush()
            os.dup2(real, 2)
            try:
                say()
            finally:
                sys.stderr.flush()
                os.dup2(hidden.fileno(), 2)

        try:
            yield told
        except BaseException:
            os.dup2(real, 2)
            hidden.seek(0)
            sys.stderr.write(hidden.read().decode("utf-8", "replace"))
            raise
        finally:
            sys.stderr.flush()
            os.dup2(real, 2)
            os.close(real)
