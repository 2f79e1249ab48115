"""Graphs of real models: the guarantees, and the figures that the drawings must keep."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

from fxstore.layout.align import align
from tests.layout.edits import beside, inserted, moved, shared_heights
from tests.layout.laws import longest_path, violations
from tests.layout.real import NAMES, load, names, part


@pytest.mark.parametrize("name", NAMES)
def test_real_graphs_obey_the_laws_with_a_straight_spine(name: str) -> None:
    graph = load(name)
    drawing = graph.draw()
    assert violations(graph, drawing) == []
    steps = np.diff(drawing.x[longest_path(len(graph.sizes), graph.edges)])
    assert np.mean(np.abs(steps) < 2) >= 0.99


@pytest.mark.parametrize(("name", "first"), [("bert-core", 300), ("swin-core", 0), ("swin-core", 900)])
def test_the_neighbourhood_of_an_answer_is_drawn_at_once(name: str, first: int) -> None:
    graph = part(name, first, first + 500)
    seconds = []
    for _ in range(3):
        began = time.process_time()
        drawing = graph.draw()
        seconds.append(time.process_time() - began)
    assert violations(graph, drawing) == []
    assert min(seconds) < 0.15  # three times what it may take on a machine that does nothing else


@pytest.mark.parametrize("name", ["mobilenet", "bert-core", "unet", "llama-core", "swin-core"])
def test_a_quantise_dequantise_pair_moves_few_nodes_sidewards(name: str) -> None:
    graph, rnd, shares = load(name), random.Random(0), []
    before = graph.draw()
    for edge in rnd.sample(range(len(graph.edges)), 12):
        after, place = inserted(graph, edge)
        shares.append(moved(before, beside(graph, before, after, place), place).mean())
    assert np.mean(shares) <= 0.05


@pytest.mark.parametrize(
    "stages", [("mobilenet", "mobilenet-prepared", "mobilenet-quantized"), ("unet", "unet-quantized")], ids=str
)
def test_nodes_of_one_name_stand_at_one_height_in_all_stages(stages: tuple[str, ...]) -> None:
    numbers: dict[str, int] = {}
    panes = []
    for stage in stages:
        keys = [numbers.setdefault(name, len(numbers)) for name in names(stage)]
        panes.append(dict(zip(keys, load(stage).draw().y.tolist(), strict=True)))
    assert shared_heights(panes, align(panes)) >= 0.95
