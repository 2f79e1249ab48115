"""A run served through the installed app; the app's own server opens what is written, too."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pytest

from fxstore import connect
from fxstore.cli import run as command
from fxstore.errors import MissingExtraError, UsageError
from fxstore.model_explorer import serving
from tests.query.conftest import tiny

SECONDS = 60
SERVER_NEEDS = ("dacite", "flask", "packaging", "portpicker", "requests", "termcolor", "watchdog")
# It imports torch where there is one, which takes longer than all the rest.
SERVER = "import sys; sys.modules['torch'] = None; from model_explorer.cmdline import main; main()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two stages beside each other, in a folder whose name the app's addresses must not trip over."""
    with connect(":memory:") as store:
        store.commit(tiny())
        path = tmp_path_factory.mktemp("me") / "a b&c#d%41"
        return store.export("model-explorer", path, compare_with=((None, "float"), (None, "edge")))


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, str]]:
    """Gives the base and the whole address of our own server."""
    found = serving.server(folder, port=0)
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    try:
        whole = serving.address(found, folder)
        yield whole.partition("/?")[0], whole
    finally:
        found.shutdown()
        found.server_close()
        thread.join()


def get(url: str, **headers: str) -> tuple[int, bytes]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def need_app() -> None:
    if importlib.util.find_spec("model_explorer") is None:
        pytest.skip("serving needs ai-edge-model-explorer")


def test_only_the_written_files_and_the_apps_pages_are_served(folder: Path) -> None:
    need_app()
    with served(folder) as (base, _):
        _, body = get(f"{base}/api/v1/read_text_file?path=left.json")
        assert json.loads(json.loads(body)["content"]) == json.loads((folder / "left.json").read_text("utf-8"))
        for path in ("/etc/passwd", "../left.json", quote(str(folder / "left.json")), ""):
            assert "error" in json.loads(get(f"{base}/api/v1/read_text_file?path={path}")[1])
        for path in ("/../server.py", "/%2e%2e/server.py", "/static_files/../../server.py", "/nothing", "/left.json"):
            assert get(base + path)[0] == 404
        assert get(f"{base}/check_health")[1] == b"model_explorer_ok"
        assert get(f"{base}/apistream/server_director")[0] == 204
        index = get(f"{base}/")[1].decode()
        assert "fonts.gstatic.com" not in index
        assert get(f"{base}/", Host="elsewhere.example")[0] == 403
        assert get(f"{base}/static_files/favicon.svg")[0] == 200
        assert json.loads(get(f"{base}/api/v1/check_new_version")[1])["version"] == ""
        assert serving.address_at(base, folder).startswith(f"{base}/?data=")
    with pytest.raises(UsageError, match="no Model Explorer answers"):
        serving.address_at(base, folder)


def test_a_port_that_is_taken_is_one_clear_line(folder: Path) -> None:
    need_app()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match="nothing can be served at") as refused:
            serving.server(folder, port=taken.getsockname()[1])
        assert refused.value.hint == "--port 0 takes a free one"


def test_without_the_app_a_line_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError):
        serving.web_app()
    with connect(tmp_path / "store") as store:
        store.commit(tiny())
    assert command(["model-explorer", "--store", str(tmp_path / "store")]) == 1
    said = capsys.readouterr()
    assert 'pip install "fxstore[model-explorer]"' in said.err
    assert command(["model-explorer", "--store", str(tmp_path / "store"), "-o", str(tmp_path / "out")]) == 0


@contextmanager
def verb(tmp_path: Path, *options: str) -> Iterator[str]:
    """Runs the verb until it is interrupted, and gives the address that it prints; it must leave no file behind."""
    need_app()
    with connect(tmp_path / "store") as store:
        store.commit(tiny())
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    arguments = ["model-explorer", "tiny", "--store", str(tmp_path / "store"), "--no-open", *options]
    # A shell that starts the tests in the background makes its children ignore the interrupt.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += f"from fxstore.cli import main; main({arguments!r})"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0
    finally:
        process.kill()
        process.communicate()
    assert list(temporary.iterdir()) == []


def test_the_verb_serves_until_it_is_interrupted_and_leaves_nothing(tmp_path: Path) -> None:
    with verb(tmp_path, "--port", "0") as address:
        _, body = get(f"{address.partition('/?')[0]}/api/v1/read_text_file?path=graphs.json")
        assert json.loads(json.loads(body)["content"])["label"] == "tiny"


def test_the_verb_opens_in_a_server_that_runs_already(tmp_path: Path, folder: Path) -> None:
    need_app()
    with served(folder) as (base, _), verb(tmp_path, "--server", base) as address:
        assert address.startswith(f"{base}/?data=")
        (model,) = json.loads(parse_qs(urlsplit(address).query)["data"][0])["models"]
        assert json.loads(Path(unquote(model["url"])).read_text("utf-8"))["label"] == "tiny"


class Opened:
    """The app in a page: what it asked for, and what its address says of its panes."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.asked: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(address)

    def panes(self) -> list[dict[str, Any]]:
        found = json.loads(parse_qs(urlsplit(self.page.url).query)["data"][0])
        panes: list[dict[str, Any]] = (found.get("uiState") or {}).get("paneStates", [])
        return panes

    def until(self, reached: Any) -> None:
        """Waits until the address says so."""
        end = time.monotonic() + SECONDS
        while not reached():
            assert time.monotonic() < end, (self.page.url, self.errors)
            self.page.wait_for_timeout(100)

    def select(self, node: str) -> None:
        self.page.evaluate("id => postMessage({cmd: 'model-explorer-select-node-by-node-id', nodeId: id}, '*')", node)


def shows_both(opened: Opened) -> bool:
    drawn = opened.page.locator("canvas").count() >= 2
    return drawn and [pane["selectedGraphId"] for pane in opened.panes()] == ["float", "edge"]


def test_two_panes_open_synced_by_the_sync_file_and_ask_nobody_else(browser: Any, folder: Path) -> None:
    need_app()
    with served(folder) as (base, address):
        page = browser.new_page(viewport={"width": 1400, "height": 800})
        opened = Opened(page, address)
        opened.until(lambda: shows_both(opened) and page.get_by_text("acc: cosine").count())
        opened.until(lambda: opened.select("conv2d|1") or opened.panes()[1]["selectedNodeId"] == "c/convolution|1")
        assert opened.panes()[0]["selectedNodeId"] == "conv2d|1"
        page.close()
    assert opened.errors == []
    assert [url for url in opened.asked if not url.startswith((base, "data:", "blob:"))] == []


@contextmanager
def model_explorer(folder: Path) -> Iterator[str]:
    """Starts the app's own server; skips where the app, or what it needs, is not installed."""
    need_app()
    missing = [name for name in SERVER_NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"the app's own server needs {', '.join(missing)}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, "--host", "127.0.0.1", "--port", str(port), "--no_open_in_browser"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    base = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + SECONDS
        while process.poll() is None and time.monotonic() < end:
            try:
                if get(f"{base}/check_health")[0] == 200:
                    break
            except OSError:
                time.sleep(0.2)
        assert process.poll() is None, "the app's own server ended"
        yield base
    finally:
        process.kill()
        process.wait()


def test_the_apps_own_server_opens_two_panes_by_address_without_a_click(browser: Any, folder: Path) -> None:
    with model_explorer(folder) as base:
        page = browser.new_page(viewport={"width": 1400, "height": 800})
        opened = Opened(page, serving.address_at(base, folder))
        opened.until(lambda: shows_both(opened) and page.get_by_text("acc: cosine").count())
        opened.until(lambda: opened.select("relu|1") or opened.panes()[1]["selectedNodeId"] == "relu|1")
        page.close()
    assert opened.errors == []
