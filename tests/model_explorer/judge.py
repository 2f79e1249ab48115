"""Model Explorer's own code as a judge: what the app holds of a payload, and everything that it lost."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.model_explorer.losses import Loss, lost

HELD: Final = Path(__file__).with_name("held.js")
SECONDS: Final = 60


def worker_path() -> Path:
    """Returns the worker of the installed app; skips the test, with the reason, where it or Node is missing."""
    if shutil.which("node") is None:
        pytest.skip("the judge needs node")
    package = importlib.util.find_spec("model_explorer")
    if package is None:
        pytest.skip("the judge needs ai-edge-model-explorer")
    found = [
        path for root in package.submodule_search_locations or [] for path in Path(root, "web_app").glob("worker-*.js")
    ]
    if len(found) != 1:
        pytest.skip(f"the judge knows an app with one worker, this one has {len(found)}")
    return found[0]


class Judge:
    """One Node process with the worker in it; ask it as often as needed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def held(self, payload: Any, **settings: Any) -> dict[str, Any]:
        """Returns what the app holds of a payload (a document, or its text), as ``held.js`` describes it."""
        return self._ask(payload, {"settings": settings})

    def node_data(self, payload: Any, data: Any) -> list[dict[str, Any]]:
        """Returns, graph by graph, what the app makes of node data: by node id the value, its text and its colours."""
        return [dict(graph["nodeData"]) for graph in self.with_node_data(payload, data)["graphs"]]

    def with_node_data(self, payload: Any, data: Any) -> dict[str, Any]:
        """Returns what the app holds of a payload once it has read node data; a graph may have thrown on it."""
        return self._ask(payload, {"nodeData": json.dumps(data)})

    def synced(self, data: Any, left: list[str], right: list[str]) -> dict[str, dict[str, list[str] | None]]:
        """Returns where a sync file leads from each of the given nodes of the left and of the right pane."""
        answer = self._ask(data, {"sync": {"left": left, "right": right}})
        return {side: dict(answer[side]) for side in ("left", "right")}

    def _ask(self, payload: Any, asked: dict[str, Any]) -> dict[str, Any]:
        text = payload if isinstance(payload, str) else json.dumps(payload)
        timer = threading.Timer(SECONDS, self._process.kill)
        timer.start()
        try:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps({"text": text, **asked}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        assert line, f"the worker ended or took more than {SECONDS} s"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def losses(self, payload: Any, **settings: Any) -> list[Loss]:
        """Returns everything of a payload that the app does not hold, draw or place; an empty list is a pass."""
        document = json.loads(payload) if isinstance(payload, str) else payload
        answer = self.held(payload, **settings)
        if "refused" in answer:
            return [Loss("refused", "", None, answer["refused"])]
        graphs = [(graph, {str(one.get("id")) for one in group}) for group in _collections(document) for graph in group]
        return [
            loss for (graph, ids), app in zip(graphs, answer["graphs"], strict=True) for loss in lost(graph, app, ids)
        ]


@contextmanager
def judge(milliseconds: int = 50_000) -> Iterator[Judge]:
    """Gives a judge, and ends its process; what takes the app longer than that is a loss."""
    command = ["node", "--stack-size=900", str(HELD), str(worker_path()), "--serve", str(milliseconds)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    try:
        yield Judge(process)
    finally:
        process.kill()
        process.communicate()


def _collections(document: Any) -> list[list[dict[str, Any]]]:
    if isinstance(document, dict):
        return [document["graphs"]]
    if "subgraphs" in document[0]:
        return [collection["subgraphs"] for collection in document]
    return [document]
