"""Printed graph modules, against the live graphs that they were printed from."""

from __future__ import annotations

import contextlib
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fxstore.errors import SourceError
from fxstore.ingest.compile.printed_modules import build, parse
from fxstore.ingest.compile.printed_statements import annotation
from fxstore.records import Graph

VALUES = ["op", "dtype", "shape", "device"]
SAMPLE = """class <lambda>(torch.nn.Module):
    def forward(self, x: "f32[4]", s: "Sym(s0)", *args):
        x_1 = x
        gt: "b8[]" = x_1 > 0
        abs_1: "f32[4]" = x_1.abs();  x_1 = None
        w = self.layers
        y: "f32[4]" = getattr(self.blocks, "0").lin(abs_1, w, scale = [1, 2.5], dev = device(type='cuda', index=1))
        y[0] = gt;  setitem = y
        y += 1e400;  iadd = y
        size = y.shape
        k = torch.ops.aten.slice.Tensor(y, 0, -1, slice(None, s, None));  y = gt = None
        e = torch.float32
        out = foo.bar({'a': k, 'b': [k, 3]}, "x  # y")
        return {'r': (out, k)}
"""


def edges(graph: Graph) -> list[tuple[str, int, str, str]]:
    names = graph.nodes["name"].to_pylist()
    return [(names[e["src"]], e["src_port"], names[e["dst"]], e["dst_arg"]) for e in graph.edges.to_pylist()]


def values(graph: Graph) -> dict[str, list[object]]:
    return {row["name"]: [row[column] for column in VALUES] for row in graph.nodes.to_pylist()}


def test_every_form_that_fx_prints() -> None:
    (graph,) = build(parse(SAMPLE), "m")
    rows = {row["name"]: row for row in graph.nodes.to_pylist()}
    assert list(rows)[:4] == ["x_1", "s", "args", "gt"]
    assert rows["y"]["op"] == "call_module"
    assert rows["y"]["target"] == "blocks.0.lin"
    assert '"scale": [1, 2.5]' in rows["y"]["attrs"]
    assert '"dev": "cuda:1"' in rows["y"]["attrs"]
    assert rows["setitem"]["target"] == "_operator.setitem"
    assert rows["iadd"]["target"] == "_operator.iadd"
    assert '"1": "inf"' in rows["iadd"]["attrs"]
    assert rows["size"]["target"] == "builtins.getattr"
    assert rows["abs_1"]["op"] == "call_method"
    found = edges(graph)
    assert ("s", 0, "k", "3.stop") in found
    assert [(s, a) for s, _, d, a in found if d == "out"] == [("k", "0.a"), ("k", "0.b[0]")]
    assert [(s, a) for s, _, d, a in found if d == "output"] == [("out", "0.r[0]"), ("k", "0.r[1]")]


def test_annotations() -> None:
    assert annotation("f32[4, Max(1, s0)][s0, 1]cuda:0").value.shape == ("4", "Max(1, s0)")
    assert annotation("bf16[]cpu").value == annotation("bf16[][]cpu").value
    assert annotation("DTensor(f32[2, 3][3, 1]cpu, RS)").value.dtype == "float32"
    assert annotation("Sym(2*s1)").symint
    assert annotation("whatever").value.dtype is None


HEAD = "class G(torch.nn.Module):\n    def forward(self, x):\n        "


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("a = b(", "no graph code"),
        (
            "class G(torch.nn.Module):\n    def forward(self):\n        a = " + "(" * 5000 + "1" + ")" * 5000,
            "no graph code",
        ),
        ("a = " + "-" * 100_000 + "1", "no graph code"),
        ("a = x" + ".b" * 100_000, "no graph code"),
        ("a = f(" + "1," * 300_000 + ")", "longer than"),
        ("a = x + 1\n        a = x + 2", "again"),
        ("x[0] = 1", "without giving the result a name"),
    ],
)
def test_hostile_text_is_refused_in_time(code: str, says: str) -> None:
    begun = time.process_time()
    with pytest.raises(SourceError, match=says):
        build(parse(HEAD + code), "m")
    assert time.process_time() - begun < 2


@given(st.text(alphabet="ab().=,:[]{}'\"#\n -+@", max_size=60))
def test_any_line_is_read_or_refused(line: str) -> None:
    text = f"class G(torch.nn.Module):\n    def forward(self, a, b):\n        {line}\n        return (a,)\n"
    with contextlib.suppress(SourceError):
        build(parse(text), "m")


def test_nothing_is_executed(tmp_path: Path) -> None:
    (graph,) = build(parse(f"{HEAD}a = __import__('os').mkdir({str(tmp_path / 'x')!r})\n"), "m")
    assert graph.nodes["name"].to_pylist() == ["x", "a"]
    assert list(tmp_path.iterdir()) == []


def test_text_without_a_class_is_no_graph() -> None:
    with pytest.raises(SourceError, match="no graph module"):
        parse("x = 1")


def test_printed_graphs_have_the_edges_of_the_live_ones() -> None:
    torch = pytest.importorskip("torch")
    from fxstore.ingest.export.capture import capture_module

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 8, 3)
            self.norm = torch.nn.BatchNorm2d(8)

        def forward(self, x: torch.Tensor, i: torch.Tensor, scale: float = 2.0) -> tuple[torch.Tensor, ...]:
            h = self.norm(self.conv(x)).relu()
            first, second = torch.split(h.mean(1), [2, 4], 1)
            both = torch.cat([first, second, first], 1)[:, i, None].squeeze(2)
            out, state = torch.max(both, 1, keepdim=True)
            return (
                out + out,
                state,
                torch.cond(out.sum() > 0, lambda t: t.sin(), lambda t: t.cos(), (out,)),
                h[..., ::2],
            )

    inputs = (torch.randn(2, 3, 8, 8), torch.tensor([0, 2, 4]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about its tracing of cond
        exported = torch.export.export(Net().eval(), inputs, strict=False)
    for module in (exported.graph_module, exported.run_decompositions().graph_module, exported.module()):
        text = module.print_readable(print_output=False, include_stride=True, include_device=True)
        live, printed = capture_module(module), build(parse(text), "forward")
        assert [one.path for one in live] == [one.path for one in printed]
        for a, b in zip(live, printed, strict=True):
            assert sorted(edges(a)) == sorted(edges(b))
            assert values(a) == values(b)  # of inputs that others stand before the text does not tell the place
