"""fxstore speaks to no network: every verb of the command line, in a process where sockets are forbidden."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import nights

FORBIDDING = """
import json, sys

def watch(event, arguments):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.gethostname"):
        print(event, arguments, file=sys.stderr)
        import os
        os._exit(99)

sys.addaudithook(watch)
from fxstore.cli import run
for arguments in json.loads(sys.argv[1]):
    code = run(arguments)
    assert code in (0, 3), (arguments, code)
from fxstore import connect
with connect("fxstore-runs") as store:
    page = store.worst("cosine", run="monday").compare()
    assert page.html() and page._repr_html_()
    settings = store.duckdb().execute(
        "SELECT name, value FROM duckdb_settings() WHERE name LIKE 'auto%known_extensions'").fetchall()
    assert {value for _, value in settings} == {"false"}, settings
"""
VERBS = [
    ["runs"], ["stages"], ["schema"], ["adapters"], ["sql", "SELECT count(*) FROM nodes"], ["worst", "cosine"],
    ["first-bad", "cosine", "--threshold", "0.99"], ["sync", "float", "conv2d"], ["trace", "float", "conv2d"],
    ["match", "conv2d -> relu", "--run", "monday"], ["diff", "monday", "tuesday"],
    ["metric-diff", "monday", "wednesday", "cosine"], ["check", "monday", "wednesday", "--rule", "cosine >= 0.99"],
    ["compare", "-o", "page.html"], ["compare", "--run", "monday", "--run", "wednesday", "-o", "two.html"],
    ["export", "duckdb", "-o", "one.duckdb"], ["export", "json", "-o", "all.json"],
    ["export", "debugger", "-o", "debugger"], ["export", "model-explorer", "monday", "-o", "collections"],
    ["model-explorer", "monday", "--compare", "float", "lowered", "-o", "compared"],
    ["ingest", "numbers.json", "--name", "given"],
]  # fmt: skip
GRAPH = {"label": "net", "graphs": [{"id": "g", "nodes": [{"id": "a", "label": "relu", "namespace": ""}]}]}


def command(verbs: list[list[str]]) -> list[str]:
    return [sys.executable, "-c", FORBIDDING, json.dumps(verbs)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    nights.make(tmp_path)
    (tmp_path / "numbers.json").write_text(json.dumps(GRAPH))
    return tmp_path


def run(arguments: list[str], place: Path) -> subprocess.CompletedProcess[str]:
    # FXSTORE_STORE would be another store; the proxies would be somebody's network.
    kept = {
        name: value for name, value in os.environ.items() if "proxy" not in name.lower() and name != "FXSTORE_STORE"
    }
    return subprocess.run(arguments, cwd=place, env=kept, capture_output=True, text=True, check=False)


def test_no_verb_touches_a_socket(place: Path) -> None:
    done = run(command(VERBS), place)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_watch_sees_a_socket() -> None:
    asking = "import socket; socket.getaddrinfo('localhost', 80)"
    watch = FORBIDDING.split("from fxstore.cli")[0]
    assert subprocess.run([sys.executable, "-c", watch + asking], capture_output=True, check=False).returncode == 99


def test_every_verb_works_where_there_is_no_network(place: Path) -> None:
    apart = ["unshare", "--user", "--map-root-user", "--net"]
    try:
        possible = subprocess.run([*apart, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        possible = False
    if not possible:
        pytest.skip("needs unshare and the right to make network namespaces")
    done = run([*apart, *command(VERBS)], place)
    assert done.returncode == 0, done.stderr[-2000:]
