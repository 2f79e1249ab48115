"""Stores whose rows are as odd as rows can be, for engines that must all read them alike."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

from fxstore import connect
from fxstore.records import RunRecord
from tests.store.records import chain, graph, metric, node, overlay, run

# Quotes, a backslash, a line break, a NUL, an emoji, right to left, a combining mark, patterns, parameters, nothing.
TEXTS = (
    "it's",
    'a "b"',
    "c:\\d",
    "two\nlines",
    "nul\0",
    "\U0001f525",
    "שלום",
    "\u0301",
    "%_*[]{}",
    "$x :y ?",
    "NULL",
    "",
)
NUMBERS = (math.nan, math.inf, -math.inf, None, 0.0, -0.0, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 1.0)


def night(number: int, *, values: tuple[float | None, ...] = NUMBERS, texts: tuple[str, ...] = TEXTS) -> RunRecord:
    """A run with a nested graph that a delegate takes, origins, handles, links of each evidence, several overlays."""
    named = [node(f"n{i}{text}", target=text, op_type=text or "none", source_code=text, module_path=text or None,
                  attrs=json.dumps({"text": text}), shape=[text, "s0", "1"] if i % 3 else None, dtype=None)
             for i, text in enumerate(texts)]  # fmt: skip
    names = [row["name"] for row in named]
    call = node("call", role="delegate", op_type="executorch_call_delegate", backend="XnnpackBackend")
    lone = node("lone", role="delegate", op_type="executorch_call_delegate", backend=None)
    named[-1]["role"] = "recomputed"
    kept = node("kept", "placeholder", role="saved")
    first = graph([node("x", "placeholder"), *named, node("out", "output")], chain("x", *names, "out"))
    last = graph(
        [node("x", "placeholder"), kept, *named, call, lone, node("out", "output")],
        [*chain("x", *names, "call", "out"), ("kept", names[0]), ("call", "lone"), ("call", "lone")],
        origins={name: [(names[-1], "SecondPass"), (name, "FirstPass"), *[("deep", "dynamo")] * i]
                 for i, name in enumerate(names)},
        handles={name: [i, i + 1, 2**40 + i] for i, name in enumerate(names)},
    )  # fmt: skip
    inner = graph(
        [node("a", "placeholder"), "conv2d", "relu", node("b", "output")],
        chain("a", "conv2d", "relu", "b"),
        path="lowered_module_0",
        parent=("", "call"),
        handles={"conv2d": [9, 3], "relu": [3, 11]},
    )
    evidence = ("identity", "from_node", "handle", "signature", "delegate", "observer", "structure", "name")
    measured = [
        {**metric(f"last:{name}", kind, values[(i + number) % len(values)], reason=texts[-i] or None), "sample": sample}
        for i, name in enumerate(names)
        for kind in ("cosine", "mse")
        for sample in (0, 1, None)
    ]
    scoped = [metric(f"last:{name}", "cosine", 1 - number / 10 - i / 100, scope="local", ref=f"first:{name}")
              for i, name in enumerate(names)]  # fmt: skip
    times = [metric(f"last:{name}", "latency", 1e3 * (1 + number) * (i + 1), unit="ns", threshold=2e3, verdict="fail")
             for i, name in enumerate(names)]  # fmt: skip
    categories = [metric(f"last:{name}", "part", None, text=name, status="ok") for name in names[::2]]
    saved = [metric(f"first:{names[0]}", "saved_bytes", 32.0),
             metric(f"first:{names[0]}", "new_bytes", 0.0, text=f"view of {names[-1]}")]  # fmt: skip
    prompts = [{**metric("", "sample_name", None, text=text, status="ok"), "sample": i} for i, text in enumerate(texts)]
    costs = [metric(f"first:{names[-1]}", "flops", 64.0)]
    made = run(
        {"first": first, "last": [last, inner]},
        name=f"night {number} {texts[number % len(texts)]}",
        links=[(f"first:{n}", f"last:{n}", evidence[i % len(evidence)]) for i, n in enumerate(names)]
        + [(f"first:{names[0]}", "last:kept", "signature")],
        sync=[[f"first:{n}*", f"last:{n}*!", *([f"last:{names[0]}"] if i else [])] for i, n in enumerate(names)],
        values=[[f"first:{n}", f"last:{n}"] for n in names[::2]],
        unmatched=[("last:lone", "first", text) for text in texts],
        ancestors=[("last", 0, f"first:{names[0]}")],
        overlays=[
            overlay("accuracy", [*measured, metric("", "load_ms", 3.0), *prompts]),
            overlay("of its own", scoped),
            overlay("device", times, "latency", "lower"),
            overlay("parts", categories, "category", None),
            overlay("saved", saved, "static", None),
            overlay("costs", costs, "static", None),
        ],
        status="partial" if number == 1 else "complete",
        tags=dict(zip(texts, reversed(texts), strict=True)) if number else None,
    )
    sources = {"saved": "forward graph", "costs": "shapes"}
    return replace(
        made, overlays=tuple(replace(one, source=sources.get(one.name, one.source)) for one in made.overlays)
    )


def make(path: Path, runs: int = 3) -> Path:
    """Writes a store of odd runs, one of them tagged later, one of them damaged, and returns its path."""
    with connect(path) as store:
        ids = [store.commit(night(number)) for number in range(runs + 1)]
        store.tag(ids[0], {"green": "it's"})
    (path / "runs" / f"run_id={ids[-1]}" / "run.json").write_text("{")
    return path
