"""Nodes by name, names completed in the shell, other words for a verb, and the order of a verb's options."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from fxstore import connect
from fxstore.cli import _Verbs, fxstore
from fxstore.cli import run as command
from tests.query.conftest import nid, tiny
from tests.store.records import chain, graph, run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with connect(tmp_path / "fxstore-runs") as store:
        store.commit(tiny())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FXSTORE_STORE", raising=False)
    return tmp_path


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = command([*arguments, "--format", "csv"])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("verb", ["ancestors", "descendants", "neighbourhood"])
def test_one_node_by_name_is_the_node_of_that_nid(place: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    with connect("fxstore-runs") as store:
        number = nid(store, "edge:relu_1")
    by_name = asked(capsys, verb, "edge", "relu_1")
    assert by_name[0] == 0
    assert len(by_name[1].splitlines()) > 1
    assert by_name == asked(capsys, verb, str(number)) == asked(capsys, verb, "edge", "relu_1", "--run", "tiny")


@pytest.mark.parametrize("verb", ["between", "shortest-path", "common-ancestors", "nodes_between"])
def test_two_nodes_by_name_are_the_nodes_of_those_nids(
    place: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    with connect("fxstore-runs") as store:
        a, b = nid(store, "float:conv2d"), nid(store, "float:mean")
    by_name = asked(capsys, verb, "float", "conv2d", "mean")
    assert by_name[0] == 0
    assert by_name == asked(capsys, verb, str(a), str(b))


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (["ancestors", "edge", "relu"], "stage 'edge' of run 'tiny' has no node 'relu'", "stage 'float' has it"),
        (["ancestors", "relu_1"], "'relu_1' is no nid", "give the stage, too"),
        (["ancestors", "a", "b", "c"], "a node is a nid, or a stage and a name", "fxstore ancestors"),
        (["between", "float", "relu"], "'float' is no nid", "give the stage, too"),
        (["between", "float"], "two nodes are two nids, or a stage and two names", "fxstore between"),
        (["ancestors", "9" * 30], "no node has the nid", "SELECT nid"),
    ],
)
def test_what_names_no_node_is_told(
    place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str, hint: str
) -> None:
    code, _, err = asked(capsys, *arguments)
    assert code in (1, 2)
    assert said in err
    assert hint in err


def test_a_name_of_several_nodes_asks_for_one(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [graph(["x", "y"], chain("x", "y"), method=method) for method in ("prefill", "decode")]
    with connect("fxstore-runs") as store:
        store.commit(run({"s": parts}, name="methods"))
    code, _, err = asked(capsys, "ancestors", "s", "y", "--run", "methods")
    assert code == 2
    assert "2 nodes of stage 's' are called 'y'" in err
    assert "(prefill)" in err
    assert "(decode)" in err


@pytest.mark.parametrize(
    ("words", "begun", "names"),
    [
        (["worst"], "co", ["cosine"]),
        (["worst", "--run"], "ti", ["tiny"]),
        (["worst", "cosine", "--overlay"], "", ["acc"]),
        (["worst", "cosine", "--stage"], "e", ["edge"]),
        (["sync"], "", ["float", "edge"]),
        (["sync", "float"], "c", ["conv2d"]),
        (["ancestors"], "fl", ["float"]),
        (["ancestors", "edge"], "re", ["relu_1"]),
        (["between", "float", "conv2d"], "me", ["mean"]),
        (["subgraph"], "", ["c"]),
        (["schema"], "value", ["value_pairs"]),
        (["why"], "ti", ["tiny"]),
        (["diff"], "ti", ["tiny"]),
        (["metrics"], "ti", ["tiny"]),
        (["worst", "--store", "nowhere"], "co", []),
        ([], "stage-", ["stage-errors"]),
    ],
)
def test_names_are_completed(place: Path, words: list[str], begun: str, names: list[str]) -> None:
    found = ShellComplete(fxstore, {}, "fxstore", "_FXSTORE_COMPLETE").get_completions(words, begun)
    assert [item.value for item in found] == names


def test_help_lists_a_verbs_own_options_before_those_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["worst", "--help"]) == 0
    text = capsys.readouterr().out
    assert text.index("--stage") < text.index("--store") < text.index("--timeout")


@pytest.mark.parametrize("verb", _Verbs.homes)
def test_every_verb_says_what_it_does_with_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command([verb, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"Example: fxstore {verb}" in text
    first = text.split("\n\n")[1].split()[0]
    assert first.istitle()
    assert not first.endswith(("s", "ed", "ing"))  # what to do, not what it does
    shown = " ".join(text.split())
    for old in ("Render it, too", "take in", "Takes ", "Tells ", "how-manieth", "what is that near"):
        assert old not in shown
