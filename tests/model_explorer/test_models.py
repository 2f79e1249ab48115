"""Real graphs of many kinds: each export passes the app's worker, and reads back as the graph that it was."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fxstore import Store, connect
from fxstore.model_explorer import validate
from tests.model_explorer.judge import Judge

torch = pytest.importorskip("torch")


class Block(torch.nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.fc(x).relu()


class Shared(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Two instances in a list, one of them called twice, and module names that mean something to the app."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(), Block()])
        self.odd = torch.nn.ModuleDict({"a/b|c;d%": Block(), "__proto__": Block(), "Inputs": Block()})

    def forward(self, x: Any) -> Any:
        x = self.layers[1](self.layers[0](self.layers[0](x)))
        for one in self.odd.values():
            x = x + one(x)
        return x


class Decoder(torch.nn.Module):  # type: ignore[misc,name-defined]
    """The next token of a small model, three times."""

    def __init__(self) -> None:
        super().__init__()
        self.model = torch.nn.Sequential(torch.nn.Embedding(16, 4), Block(), torch.nn.Linear(4, 16))

    def forward(self, tokens: Any) -> Any:
        for _ in range(3):
            tokens = torch.cat([tokens, self.model(tokens)[:, -1:].argmax(-1)], 1)
        return tokens


class Branches(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Nested graphs, several outputs, a value used twice, keyword arguments."""

    def forward(self, x: Any) -> Any:
        y = torch.cond(x.sum() > 0, lambda v: v.sin() + v, lambda v: v.cos(), (x,))
        first, second = torch.split(y, 2, dim=-1)
        values, indices = torch.max(first, dim=-1)
        return torch.add(second, second, alpha=2), values, indices, y.mean(dtype=torch.float64)


def exported(module: Any, *inputs: Any) -> Callable[[], Any]:
    return lambda: {
        "float": (program := torch.export.export(module.eval(), inputs)),
        "core": program.run_decompositions(),
    }


def joint() -> Any:
    from fxstore.ingest import capture_joint

    return capture_joint(torch.nn.Sequential(Block(), torch.nn.Linear(4, 2)), (torch.ones(2, 4),))


def executed() -> Any:
    lens = pytest.importorskip("torchlens")
    return lens.trace(Decoder().eval(), torch.zeros(1, 2, dtype=torch.int64))


MODELS: dict[str, Callable[[], Any]] = {
    "shared": exported(Shared(), torch.ones(1, 4)),
    "decoder": exported(Decoder(), torch.zeros(1, 2, dtype=torch.int64)),
    "branches": exported(Branches(), torch.ones(1, 4)),
    "traced": lambda: torch.fx.symbolic_trace(Block()),
    "joint": joint,
    "executed": executed,
}


STEPPED = ("decoder", "executed")


@pytest.fixture(scope="module", params=list(MODELS))
def held(request: pytest.FixtureRequest) -> Any:
    with warnings.catch_warnings(), connect(":memory:") as store:
        warnings.simplefilter("ignore")
        store.ingest(MODELS[request.param](), name=request.param)
        yield store


def test_every_export_passes(app: Judge, held: Store, tmp_path: Path) -> None:
    folder = held.export("model-explorer", tmp_path / "out")
    written = [path for path in folder.glob("*.json") if path.name != "manifest.json"]
    documents = [json.loads(path.read_text("utf-8")) for path in written]
    assert [validate(one, strict=True) for one in documents] == [[] for _ in documents]
    collections = [one for one in documents if "graphs" in one]
    assert collections
    for payload in collections:
        assert app.losses(payload) == []
    assert len(list(folder.glob("steps-*.json"))) == len(held.existing_run().stages) * (
        held.existing_run().name in STEPPED
    )
    main = json.loads((folder / "graphs.json").read_text("utf-8"))
    plain = [graph for graph in main["graphs"] if not graph["id"].endswith("(rolled)")]
    nodes, edges = (held.sql(f"SELECT count(*) FROM {relation}").fetchall()[0][0] for relation in ("nodes", "edges"))
    assert sum(len(graph["nodes"]) for graph in plain) == nodes
    assert sum(len(node.get("incomingEdges", [])) for graph in plain for node in graph["nodes"]) == edges


def test_an_export_reads_back_as_the_modules_calls_and_edges_that_it_was(held: Store, tmp_path: Path) -> None:
    first = held.existing_run()
    payload = held.model_explorer()
    payload["graphs"] = [graph for graph in payload["graphs"] if not graph["id"].endswith("(rolled)")]
    (tmp_path / "graphs.json").write_text(json.dumps(payload))
    with connect(":memory:") as other:
        other.ingest(tmp_path / "graphs.json", name="back")
        for question in (
            "SELECT module_path, coalesce(module_call, 1), dtype, shape FROM nodes WHERE run_id = ? "
            "AND op NOT IN ('placeholder', 'get_attr', 'output') AND module_path <> ''",
            "SELECT src_port, dst_arg FROM edges WHERE run_id = ?",
        ):
            there, here = (
                Counter(map(str, store.sql(question, [run.run_id]).fetchall()))
                for store, run in ((held, first), (other, other.existing_run()))
            )
            assert here == there
