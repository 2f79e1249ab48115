"""Inspector's rows beside ours: ``python -m bench.gaps [MODEL…]``.

For each row of ``Inspector.calculate_numeric_gap`` (MSE) on a model of :mod:`bench.numbers`, our MSE of the same
operator, on the device against the same exported program. Rows that differ by more than a hundredth and by more than
1e-9 are shown.
"""

from __future__ import annotations

import copy
import tempfile
import warnings
from pathlib import Path
from typing import Any

warnings.filterwarnings("ignore")

import torch  # noqa: E402

import fxstore  # noqa: E402
from bench.arguments import one_of, options  # noqa: E402
from bench.numbers import MODELS  # noqa: E402
from fxstore.ingest.demo.pipeline import compile_network  # noqa: E402
from fxstore.ingest.measure.runtime import run_pte  # noqa: E402


def compared(name: str, quantise: bool) -> tuple[list[tuple[str, float, float | None]], dict[str, float]]:
    """Returns Inspector's rows (operator, its MSE, ours or None) and all of ours by operator."""
    torch.manual_seed(0)
    network, inputs = MODELS[name]()
    live: dict[str, Any] = {}
    keep = lambda stage, source: live.update({stage: copy.copy(source) if stage == "lowered" else source})  # noqa: E731
    program = compile_network(network, inputs[0], keep, quantise=quantise)
    record = program.get_etrecord()
    base = record.exported_program
    with fxstore.connect(":memory:") as store:
        with store.record(name, strict=True) as rec:
            rec.stage("exported", base)
            rec.stage("edge", live["edge"])
            rec.stage("runtime", program)
            rec.device(inputs[:1], reference="exported", metrics=["mse"])
        ours = dict(
            store.sql(
                "SELECT r.name, max(m.value) FROM metrics AS m JOIN nodes AS r ON r.nid = m.ref_nid "
                "WHERE m.metric = 'mse' AND m.value IS NOT NULL GROUP BY 1"
            ).fetchall()
        )
    rows = [(ops[-1], float(gaps[0]), ours.get(ops[-1])) for ops, gaps in inspector_rows(program, record, inputs[0])]
    return rows, ours


def inspector_rows(program: Any, record: Any, inputs: tuple[Any, ...]) -> list[tuple[list[str], list[float]]]:
    """Returns operators and MSE of each row."""
    from executorch.devtools import Inspector
    from executorch.devtools.etrecord import parse_etrecord

    run = run_pte(bytes(program.buffer), [("forward", list(inputs))])
    record._representative_inputs = list(inputs)
    with tempfile.TemporaryDirectory() as folder:
        paths = {key: str(Path(folder) / key) for key in ("etdump_path", "debug_buffer_path")}
        Path(paths["etdump_path"]).write_bytes(run.etdump)
        Path(paths["debug_buffer_path"]).write_bytes(run.debug)
        record.save(str(Path(folder) / "model.etrecord"))
        read = parse_etrecord(str(Path(folder) / "model.etrecord"))
        read._representative_inputs = list(inputs)
        frame = Inspector(etrecord=read, **paths).calculate_numeric_gap(distance="MSE")
    return list(zip(map(list, frame["aot_ops"]), map(list, frame["gap"]), strict=True))


def main(names: list[str]) -> None:
    for name in names or list(MODELS):
        for quantise in (False, True):
            form = "quantised" if quantise else "float"
            try:
                rows, ours = compared(name, quantise)
            except Exception as error:
                print(
                    f"{name} {form}: Inspector raises {type(error).__name__}: {str(error).splitlines()[0][:100]}",
                    flush=True,
                )
                continue
            wrong = [(op, gap, own) for op, gap, own in rows if own is None or abs(gap - own) > max(1e-9, 0.01 * own)]
            about = f"{len(rows)} rows, {len(wrong)} not as ours; ours {len(ours)}, worst {max(ours.values()):.3g}"
            print(f"{name} {form}: {about}", flush=True)
            for op, gap, own in wrong:
                print(f"  {op}: Inspector {gap:.3g}, ours {'none' if own is None else format(own, '.3g')}", flush=True)


if __name__ == "__main__":
    parser = options(__file__, __doc__)
    parser.add_argument("models", metavar="MODEL", nargs="*", type=one_of(MODELS), help=f"of {', '.join(MODELS)}")
    main(parser.parse_args().models)
