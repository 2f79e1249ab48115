"""Serves written files through the installed app: its pages as they are, and of this machine only those files.

The app's own server asks two hosts for newer versions, and gives any file of the machine to whoever asks it. This one
does neither, and its pages may load nothing from elsewhere.
"""

from __future__ import annotations

import importlib.util
import json
import mimetypes
import re
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from fxstore.errors import MissingExtraError, UsageError
from fxstore.model_explorer.export import BY_NODE_ID, BY_SYNC_FILE, MANIFEST, query_of

HOST: Final = "127.0.0.1"
PORT: Final = 8080
_HEALTHY: Final = "model_explorer_ok"
_POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; connect-src 'self' data: blob:"
)
_SYNC: Final = "/fxstore-sync.js"
# Of two copies of each font, one that would be fetched from elsewhere.
_ELSEWHERE: Final = re.compile(r"@font-face\s*\{[^}]*https?://[^}]*\}|<link[^>]*https?://[^>]*>")
_ANSWERS: Final[dict[str, Any]] = {
    "/api/v1/get_extensions": [
        {
            "id": "builtin_json",
            "name": "JSON",
            "description": "Graphs that are written already.",
            "source_repo": "",
            "fileExts": ["json"],
            "type": "adapter",
        }
    ],
    "/api/v1/check_new_version": {"version": "", "runningVersion": "", "releaseUrl": "", "desktopAppUrl": ""},
    "/api/v1/notify_user_provided_model_path": {"status": "ok"},
}


def web_app() -> Path:
    """Returns the folder of the installed app's pages.

    Raises:
        MissingExtraError: It is not installed.
    """
    found = importlib.util.find_spec("model_explorer")
    for place in (found.submodule_search_locations or ()) if found else ():
        pages = Path(place) / "web_app"
        if (pages / "index.html").is_file():
            return pages
    raise MissingExtraError("serving a run in Model Explorer", "model-explorer")


def server(folder: Path, host: str = HOST, port: int = PORT) -> ThreadingHTTPServer:
    """Returns a server of a folder of written files, not yet running.

    Args:
        port: 0 takes any that is free.

    Raises:
        MissingExtraError: The app is not installed.
        UsageError: Nothing can be served there.
    """
    pages = web_app()
    files = {file.name: file for file in folder.iterdir() if file.is_file()}

    class Handler(_Handler):
        app, written, loopback = pages, files, host in ("localhost", "127.0.0.1", "::1")

    try:
        return _Server((host, port), Handler)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"nothing can be served at {host}:{port}: {reason}", hint="--port 0 takes a free one"
        ) from error


def address(served: ThreadingHTTPServer, folder: Path) -> str:
    """Returns the address that opens a served folder."""
    host, port = str(served.server_address[0]), served.server_address[1]
    manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    mode = BY_SYNC_FILE if manifest.get("sync") else BY_NODE_ID
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/?{query_of(manifest, sync_mode=mode)}"


def address_at(running: str, folder: Path) -> str:
    """Returns the address that opens a folder in an app that runs already, on this machine.

    Raises:
        UsageError: No app answers there.
    """
    base = running.rstrip("/") if "://" in running else f"http://{running.rstrip('/')}"
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{base}/check_health", timeout=5) as answer:
            healthy = answer.read(100).decode("utf-8", "replace").strip() == _HEALTHY
    except (OSError, ValueError, urllib.error.URLError):
        healthy = False
    if not healthy:
        raise UsageError(f"no Model Explorer answers at {base}", hint="start it: model-explorer --port 8080")
    manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    return f"{base}/?{query_of(manifest, f'{folder.resolve().as_posix()}/')}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True


class _Handler(BaseHTTPRequestHandler):
    app: Path
    written: dict[str, Path]
    loopback: bool

    def do_GET(self) -> None:
        """Answers what the app's pages ask for."""
        if self.loopback and not self._own_host():
            return self.send_error(403)
        asked = urlsplit(self.path)
        if asked.path == "/":
            return self._index()
        if asked.path == _SYNC:
            return self._send(self._sync_script().encode(), "text/javascript; charset=utf-8")
        if asked.path == "/check_health":
            return self._send(_HEALTHY.encode(), "text/plain")
        if asked.path == "/api/v1/read_text_file":
            return self._json(self._file(parse_qs(asked.query).get("path", [""])[0]))
        if asked.path in _ANSWERS:
            return self._json(_ANSWERS[asked.path])
        if asked.path.startswith("/apistream/"):
            # The app's pages listen for directives; without content they stop.
            self.send_response(204)
            return self.end_headers()
        return self._static(unquote(asked.path))

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""

    def _own_host(self) -> bool:
        """Tells whether the page that asks was opened at this machine: another name may lead here as well."""
        name = (self.headers.get("Host") or "").rpartition(":")[0] or (self.headers.get("Host") or "")
        return name.strip("[]") in ("localhost", "127.0.0.1", "::1")

    def _index(self) -> None:
        text = _ELSEWHERE.sub("", (self.app / "index.html").read_text("utf-8"))
        if "sync.json" in self.written:
            text = text.replace("<head>", f'<head><script src="{_SYNC}"></script>', 1)
        self._send(text.encode(), "text/html; charset=utf-8")

    def _sync_script(self) -> str:
        """Returns what gives the page the sync file, as its setting that has no address of its own."""
        sync = self.written["sync.json"].read_text("utf-8") if "sync.json" in self.written else "undefined"
        settings = f"{{value: JSON.parse({json.dumps(sync)}), writable: true, configurable: true}}"
        return f"Object.defineProperty(Object.prototype, 'syncNavigationData', {settings});\n"

    def _file(self, name: str) -> dict[str, str]:
        file = self.written.get(name)
        return {"content": file.read_text("utf-8")} if file else {"error": "no such file was written"}

    def _static(self, path: str) -> None:
        file = (self.app / path.lstrip("/")).resolve()
        if not file.is_file() or not file.is_relative_to(self.app.resolve()):
            return self.send_error(404)
        self._send(file.read_bytes(), mimetypes.guess_type(file.name)[0] or "application/octet-stream")

    def _json(self, value: Any) -> None:
        self._send(json.dumps(value).encode(), "application/json")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)
