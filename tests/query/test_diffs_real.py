"""run_diff on graphs that torch exported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from fxstore import Store, connect

torch = pytest.importorskip("torch", reason="exporting needs torch")


def block(width: int) -> Any:
    return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.LayerNorm(width), torch.nn.GELU())


def network(*parts: Any) -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(*parts).eval()


class Wrapped(torch.nn.Module):
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any) -> Any:
        return self.inner(x)


@pytest.fixture
def store() -> Iterator[Store]:
    with connect(":memory:") as opened:
        yield opened


def changes(store: Store, base: Any, head: Any, shape: tuple[int, ...] = (2, 8)) -> dict[str, list[tuple[str, str]]]:
    """The (name, detail) of each change but same."""
    for name, model in (("base", base), ("head", head)):
        store.ingest(
            {"float": torch.export.export(model, (torch.randn(2, 8) if name == "base" else torch.randn(shape),))},
            name=name,
        )
    found: dict[str, list[tuple[str, str]]] = {}
    rows = store.sql("SELECT change, name, detail FROM run_diff('base', 'head') WHERE change <> 'same'").fetchall()
    for change, name, detail in rows:
        found.setdefault(str(change), []).append((str(name), str(detail)))
    return found


def test_a_model_exported_twice_is_the_same(store: Store) -> None:
    assert changes(store, network(block(8), block(8)), network(block(8), block(8))) == {}


def test_an_inserted_layer_is_added_and_the_next_rewired(store: Store) -> None:
    """All later names and module paths shift by one."""
    base = network(*(block(8) for _ in range(6)))
    head = network(*(block(8) for _ in range(3)), torch.nn.Sigmoid(), *(block(8) for _ in range(3)))
    found = changes(store, base, head)
    assert [name for name, _ in found["added"]] == ["sigmoid"]
    assert "removed" not in found
    assert "changed" not in found
    assert len(found["rewired"]) == 1
    assert "-> sigmoid" in found["rewired"][0][1]


def test_one_of_six_equal_layers_is_removed(store: Store) -> None:
    found = changes(store, network(*(block(8) for _ in range(6))), network(*(block(8) for _ in range(5))))
    assert Counter({change: len(rows) for change, rows in found.items()}) == {"removed": 7, "rewired": 1}


def test_a_wrapped_model_is_renamed_only(store: Store) -> None:
    inner = network(block(8), block(8))
    found = changes(store, inner, Wrapped(inner))
    assert set(found) == {"renamed"}


def test_another_batch_changes_shapes_and_nothing_else(store: Store) -> None:
    model = network(block(8), block(8))
    assert set(changes(store, model, model, (5, 8))) == {"changed"}
