"""What is printed when something is typed wrongly: ``mistakes.txt`` holds the whole table, to be read by a person.

After a change that is meant: ``python -m tests.cli.test_mistakes`` writes it anew; read the difference.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import shlex
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fxstore
from fxstore.cli import run
from tests.store.records import chain, graph, metric, overlay
from tests.store.records import run as record

TABLE = Path(__file__).with_name("mistakes.txt")
_HEX = re.compile(r"\b[0-9a-f]{8}\b")


def fill(folder: Path) -> None:
    """Writes the store that the table is asked on, and files that are no good."""
    names = {"float": ["conv2d", "relu", "relu_1"], "edge": ["aten_convolution_default", "aten_relu_default"]}
    stages = {stage: graph(nodes, chain(*nodes)) for stage, nodes in names.items()}
    accuracy = [
        metric(f"edge:{name}", "cosine", value) | {"scope": "cumulative", "sample": 0}
        for name, value in zip(names["edge"], (0.9, 0.5), strict=True)
    ]
    times = [metric("edge:aten_relu_default", "latency", 5.0)]
    monday = [overlay("edge vs float", accuracy), overlay("times", times, "latency", "lower")]
    with fxstore.connect(folder / "store") as store:
        for name, overlays in (("monday", monday), ("tuesday", monday[:1])):
            store.commit(replace(record(stages, name=name, overlays=overlays), model="net"))
    (folder / "notes.xyz").write_text("x")
    (folder / "table.csv").write_text("node,cosine\nrelu,0.5\n")
    (folder / "broken.json").write_text("{")
    (folder / "broken.pte").write_text("not a program")
    (folder / "model.json").write_text(
        '{"label": "m", "graphs": [{"id": "g", "nodes": [{"id": "relu", "label": "relu", "namespace": ""}]}]}'
    )


def typed(line: str) -> str:
    """Returns what a command prints: ``→`` and the exit code, then each line with ``|`` (output) or ``!`` (errors)."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(shlex.split(line))
    said = [f"    → {code}"]
    said += [f"    | {one}" for one in out.getvalue().splitlines()]
    said += [f"    ! {one}" for one in err.getvalue().splitlines()]
    return re.sub(r"see: .* (?=\S+ --help)", "see: fxstore ", _HEX.sub("<id>", "\n".join(said)))


def evaluated(line: str) -> str:
    """Returns the end of the traceback of a Python expression about ``store``; its value where it raises nothing."""
    with fxstore.connect("store") as store:
        try:
            said = [f"    = {eval(line, {'fxstore': fxstore, 'store': store})!r}"]
        except Exception as error:
            lines = "".join(traceback.format_exception_only(error)).splitlines()
            said = [f"    ! {one}" for one in lines]
    return _HEX.sub("<id>", "\n".join(said))


def answer(line: str) -> str:
    """Returns what a line of the table prints."""
    shell, _, command = line.partition("$ fxstore ")
    return evaluated(line.removeprefix(">>> ")) if shell else typed(command)


def entries() -> Iterator[tuple[str, str]]:
    """Yields the lines of the table that are typed, each with what is printed."""
    for block in re.split(r"^(?=\$ fxstore |>>> )", TABLE.read_text("utf-8"), flags=re.M)[1:]:
        line, _, rest = block.partition("\n")
        yield line, "\n".join(one for one in rest.splitlines() if one.startswith("    "))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mistakes")
    fill(made)
    return made


@pytest.mark.parametrize(("line", "printed"), [pytest.param(*entry, id=entry[0]) for entry in entries()])
def test_a_mistake_is_told(line: str, printed: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FXSTORE_STORE", "store")
    assert answer(line) == printed


def test_no_mistake_reads_as_all_is_well() -> None:
    """Only a pattern or condition that finds nothing may exit with 0, and it says so on standard error."""
    table = dict(entries())
    assert len(table) >= 60
    for line, printed in table.items():
        first = printed.splitlines()[0]
        if line.startswith("$"):
            assert first.split()[-1] in ("1", "2") or "    ! fxstore: no row: " in printed, line
        else:
            assert first.startswith("    ! fxstore.errors."), line
        assert "Traceback" not in printed
        assert tempfile.gettempdir() not in printed


def test_an_agent_is_told_as_well(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fxstore.cli import mcp

    def said(answer: Callable[[], Any]) -> str:
        return json.dumps(answer())

    monkeypatch.chdir(folder)
    with fxstore.connect("store") as store:
        tools = {tool.__name__: tool for tool in mcp._questions(store, 60.0, 1024, said)}
        for tool, asked in (("worst", {"metric": "cosin"}), ("sql", {"query": "FROM worst('cosin')"})):
            with pytest.raises(fxstore.QueryError, match="run 'tuesday' has no metric 'cosin'") as refused:
                tools[tool](**asked)
            assert refused.value.hint == "did you mean 'cosine'?"
        empty = json.loads(tools["sql"](query="SELECT name FROM nodes WHERE stage = 'flaot'"))
        assert empty["hint"] == "no stage is 'flaot': did you mean 'float'?"


def test_the_log_says_what_to_do_once(caplog: pytest.LogCaptureFixture, folder: Path) -> None:
    with fxstore.connect(":memory:") as store, store.record("r") as recorder:
        recorder.stage("float", folder / "notes.xyz")
    assert caplog.text.count("files that are read end in") == 1
    with fxstore.connect(folder / "store") as store:
        try:
            store.worst("cosin")
        except fxstore.FxstoreError:
            logging.getLogger("mine").exception("it failed")
    assert caplog.text.count("did you mean 'cosine'?") == 1


def main() -> None:
    """Writes what is printed now for each line that the table types."""
    os.environ["FXSTORE_STORE"] = "store"
    lines = TABLE.read_text("utf-8").splitlines()
    with tempfile.TemporaryDirectory() as made:
        fill(Path(made))
        with contextlib.chdir(made):
            written = [
                f"{line}\n{answer(line)}" if line.startswith(("$ fxstore ", ">>> ")) else line
                for line in lines
                if not line.startswith("    ")
            ]
    TABLE.write_text("\n".join(written) + "\n", "utf-8")


if __name__ == "__main__":
    main()
