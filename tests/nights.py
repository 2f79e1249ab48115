"""The store that most commands in docs/ are asked of.

Three nights of a small network: on Wednesday a pass takes gelu for relu, and names are
counted anew; the softmax runs on the CPU each night.
"""

from __future__ import annotations

import re
from pathlib import Path

from fxstore import connect
from fxstore.records import RunRecord
from tests.store.records import chain, graph, metric, node, overlay, run

_JSON = re.compile(r"```json\n(.*?)```", re.S)
_EXPLORER = Path(__file__).parents[1] / "docs" / "model_explorer.md"


def make(folder: Path) -> None:
    """Writes the store ``fxstore-runs`` into a folder, and the broken file that ``model_explorer.md`` shows."""
    shown = _JSON.search(_EXPLORER.read_text("utf-8"))
    assert shown is not None
    (folder / "broken.json").write_text(shown[1], "utf-8")
    with connect(folder / "fxstore-runs") as store:
        for name, cosine, slow in (("monday", 0.9999, 1.0), ("tuesday", 0.9998, 1.1), ("wednesday", 0.93, 1.0)):
            run_id = store.commit(night(name, cosine, slow))
            if name != "wednesday":
                store.tag(run_id, {"green": "true"})


def night(name: str, cosine: float, slow: float) -> RunRecord:
    """``softmax(linear(relu(conv2d(x))))`` as float and lowered, where a backend takes all but the softmax."""
    edited = name == "wednesday"
    act, last = ("gelu", "softmax_1") if edited else ("relu", "softmax")
    call = node("call", role="delegate", op_type="executorch_call_delegate", backend="XnnpackBackend")
    taken = [node("conv2d_1", module_path="c", source_file="net.py", source_line=12),
             node(f"{act}_1", module_path="act", source_file="net.py", source_line=13),
             node("linear_1", module_path="fc", source_file="net.py", source_line=14)]  # fmt: skip
    names = ["x", "conv2d", act, "linear", "softmax", "output"]
    float_ = graph([node("x", "placeholder"), *names[1:-1], node("output", "output")], chain(*names))
    lowered = graph([node("x", "placeholder"), call, node(last, op_type="softmax", module_path="head"),
                     node("output", "output")], chain("x", "call", last, "output"))  # fmt: skip
    inner = graph([node("a", "placeholder"), *taken, node("out", "output")],
                  chain("a", "conv2d_1", f"{act}_1", "linear_1", "out"),
                  path="lowered_module_0", parent=("", "call"))  # fmt: skip
    pairs = [("conv2d", "conv2d_1"), (act, f"{act}_1"), ("linear", "linear_1"), ("softmax", last)]
    numbers = [metric(f"lowered:{there}", "cosine", value, ref=f"float:{here}")
               for (here, there), value in zip(pairs, (1.0, cosine, cosine, cosine), strict=True)]  # fmt: skip
    times = [{**metric(f"lowered:{there}", "latency", slow * 1000 * n * (1 + 0.001 * sample)), "sample": sample,
              "unit": "ns"} for n, (_, there) in enumerate(pairs, 1) for sample in range(6)]  # fmt: skip
    return run(
        {"float": float_, "lowered": [lowered, inner]},
        name=name,
        links=[(f"float:{here}", f"lowered:{there}", "from_node") for here, there in pairs],
        sync=[[f"float:{here}*", f"lowered:{there}*"] for here, there in pairs],
        overlays=[overlay("accuracy", numbers), overlay("device", times, "latency", "lower")],
        tags={"branch": "main"},
    )
