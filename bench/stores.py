"""Synthetic stores: real graphs of one network, repeated over as many runs as asked for.

A run has five stages of about 2,000 nodes each: a deep transformer as ``torch.export`` gives it, exported again,
decomposed, and two further copies of that. There are 100 variants of it (500 distinct graphs); run after run takes the
next one, with an accuracy overlay of its own.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from fxstore import tables
from fxstore.records import Overlay, RunRecord, Stage, Structure
from fxstore.store import CommittedRun, Directory, integrity, manifest, open_directory, parquet, write_run
from fxstore.store.directory import RUN_PREFIX

VARIANTS = 100
STAGES = ("float", "exported", "decomposed", "edge", "lowered")
LAYERS = 52
METRIC_ROWS = 1000
RUNS_OF_A_MODEL = 500
_METRICS = pa.schema([field for field in tables.METRICS if field.name != "overlay"])


def real_stages() -> tuple[Stage, ...]:
    """Returns the five stages of the network, from real exports."""
    import torch

    from bench.models import Encoder
    from fxstore.ingest import adapters

    network = torch.nn.Sequential(*(Encoder(32, 4, before=False) for _ in range(LAYERS))).eval()
    inputs = (torch.randn(1, 8, 32),)
    program = torch.export.export(network, inputs)
    again = torch.export.export(program.module(), inputs)
    decomposed = again.run_decompositions()
    read = [adapters.read(source).stages[0] for source in (program, again, decomposed)]
    return tuple(replace(stage, name=name) for stage, name in zip([*read, read[-1], read[-1]], STAGES, strict=True))


def variant(stages: tuple[Stage, ...], number: int) -> tuple[Stage, ...]:
    """Returns the stages with one constant of each graph changed."""
    return tuple(
        replace(stage, graphs=tuple(_changed(graph, f"{number}/{stage.name}") for graph in stage.graphs))
        for stage in stages
    )


def _changed(graph: object, mark: str) -> object:
    nodes = graph.nodes  # type: ignore[attr-defined]
    attrs = nodes["attrs"].to_pylist()
    attrs[-2] = f'{{"variant": "{mark}"}}'
    place = nodes.schema.get_field_index("attrs")
    nodes = nodes.set_column(place, nodes.schema.field(place), pa.array(attrs, pa.string()))
    return replace(graph, tables={**graph.tables, "nodes": nodes})  # type: ignore[attr-defined, type-var]


def made_stages() -> tuple[Stage, ...]:
    """Returns five stages of as many nodes that nothing exports: made within a second."""
    from bench.link_speed import stages

    return tuple(replace(stage, name=name) for stage, name in zip(stages(5, 2_000), STAGES, strict=True))


def records(count: int, made: Callable[[], tuple[Stage, ...]] = real_stages) -> Iterator[RunRecord]:
    """Yields so many runs, each of another variant.

    Args:
        made: Gives the stages.
    """
    from fxstore.link import structure_of

    stages = made()
    linked = structure_of(stages)
    for number in range(count):
        varied = variant(stages, number)
        graphs = tuple(graph for stage in varied for graph in stage.graphs)
        rows = linked.tables["graphs"]
        place = rows.schema.get_field_index("graph_hash")
        hashes = pa.array([graph.fingerprint() for graph in graphs], pa.string())
        rows = rows.set_column(place, rows.schema.field(place), hashes)
        structure = Structure(graphs, {**linked.tables, "graphs": rows})
        yield RunRecord(
            f"nightly-{number}", varied, structure, (accuracy(0),), model="transformer", tags={"branch": "main"}
        )


def accuracy(seed: int) -> Overlay:
    """Returns an overlay of 1,000 values on the last stage's nodes, one of them NaN."""
    random = np.random.default_rng(seed)
    values = 1 - np.abs(random.normal(0, 1e-3, METRIC_ROWS))
    values[seed % METRIC_ROWS] = math.nan
    status = np.where(np.isnan(values), "non_finite", "ok")
    columns = {
        "ordinal": pa.array(np.arange(8000, 8000 + METRIC_ROWS, dtype=np.int32)),
        "port": pa.array(np.zeros(METRIC_ROWS, np.int32)),
        "metric": pa.array(["cosine"] * METRIC_ROWS),
        "value": pa.array(values),
        "status": pa.array(status.tolist()),
    }
    nothing = {field.name: pa.nulls(METRIC_ROWS, field.type) for field in _METRICS}
    table = pa.table([({**nothing, **columns})[field.name] for field in _METRICS], schema=_METRICS)
    return Overlay("accuracy", "accuracy", "synthetic", table, better="higher")


def make(path: Path, runs: int, made: Callable[[], tuple[Stage, ...]] = real_stages) -> Directory:
    """Returns a store of so many runs at ``path``; an existing one of that size is taken as it is.

    Args:
        made: Gives the stages of which each run has a variant.
    """
    directory = open_directory(path)
    found = sum(entry.name.startswith(RUN_PREFIX) for entry in directory.runs.iterdir())
    if found == runs:
        return directory
    shutil.rmtree(path)
    directory = open_directory(path)
    flush, parquet._flush = parquet._flush, lambda handle: None
    try:
        templates = [_committed(directory, record) for record in records(min(runs, VARIANTS), made)]
        start = datetime(2026, 1, 1, tzinfo=UTC)
        shutil.rmtree(directory.runs)
        directory.runs.mkdir()
        repeated = [_repeat(directory, templates[i % len(templates)], i, start) for i in range(runs)]
        manifest.save(directory, repeated)
    finally:
        parquet._flush = flush
    return directory


def _committed(directory: Directory, record: RunRecord) -> CommittedRun:
    run_id = write_run(directory, record)
    return CommittedRun.from_json((directory.run(run_id) / "run.json").read_text("utf-8"))


def _repeat(directory: Directory, template: CommittedRun, number: int, start: datetime) -> CommittedRun:
    key = (1 << 24) + number * 131
    run = template._replace(
        run_id=f"{key:08x}",
        run_key=key,
        name=f"nightly-{number}",
        model=f"transformer-{number // RUNS_OF_A_MODEL}",
        created_at=(start + timedelta(minutes=number)).isoformat(timespec="microseconds"),
        tags={"branch": "main", "commit": f"{number:040x}"},
    )
    target = directory.run(run.run_id)
    target.mkdir()
    overlay = accuracy(number)
    own = {
        "overlays": pa.table(
            [[0], ["accuracy"], ["accuracy"], ["synthetic"], pa.nulls(1, pa.string()), ["higher"]],
            schema=tables.OVERLAYS,
        ),
        "metrics": overlay.metrics.add_column(0, "overlay", pa.array(np.zeros(METRIC_ROWS, np.int32))),
    }
    own["metrics"] = own["metrics"].select(tables.METRICS.names)
    run = run._replace(content=integrity.of_rows(own))
    for name, table in own.items():
        parquet.write(parquet.with_key(table, "run_key", key, pa.int32()), target / f"{name}.parquet")
    parquet.write_text(
        run.to_json(integrity.of_files(target, [f"{name}.parquet" for name in own])), target / "run.json"
    )
    return run
