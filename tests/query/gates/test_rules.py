"""The grammar of rules, and the runs that a base may be."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fxstore import connect
from fxstore.errors import FxstoreError, QueryError, UsageError
from fxstore.query.gates.check import select
from fxstore.query.gates.rules import parse, read
from tests.store.records import chain, graph, run


@pytest.mark.parametrize(
    ("text", "subject", "base", "limit", "stage"),
    [
        ("cosine >= 0.99", "cosine", None, 0.99, None),
        (" cosine>=.5 ", "cosine", None, 0.5, None),
        ("coverage >= 90%", "coverage", None, 0.9, None),
        ("p90_ms <= 1.1 * base", "p90_ms", 10.0, 11.0, None),
        ("p90_ms <= base * 1.1", "p90_ms", 10.0, 11.0, None),
        ("cosine >= base - 0.01 in edge", "cosine", 1.0, 0.99, "edge"),
        ("mse < 2 * base + 1e-3 in my stage", "mse", 0.0, 1e-3, "my stage"),
        ("coverage >= base", "coverage", 6.0, 6.0, None),
        ("no new fallback", "fallback", None, 0.0, None),
        ("no  new fallback in lowered", "fallback", None, 0.0, "lowered"),
    ],
)
def test_what_a_rule_says(text: str, subject: str, base: float | None, limit: float, stage: str | None) -> None:
    rule = parse(text)
    assert (rule.subject, rule.stage) == (subject, stage)
    assert rule.limit(base) == pytest.approx(limit)


@pytest.mark.parametrize(
    ("sign", "kept"), [(">=", (False, True, True)), ("<=", (True, True, False)), (">", (False, False, True))]
)
def test_comparisons(sign: str, kept: tuple[bool, ...]) -> None:
    rule = parse(f"mse {sign} 1")
    assert tuple(rule.keeps(value, 1.0) for value in (0.5, 1.0, 1.5)) == kept


@pytest.mark.parametrize(
    "text",
    ["", "cosine", "cosine >= ", "cosine = 1", "cosine >= bas", "2 * cosine >= 1", "x >= 1 * base * 1", "no old"],
)
def test_what_is_no_rule_is_told_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"is no (rule|limit)") as error:
        parse(text)
    assert error.value.hint is not None
    assert "cosine >= 0.99" in error.value.hint


@given(st.text(max_size=30))
def test_any_text_is_a_rule_or_one_clear_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert parse(text).text == " ".join(text.split())


def test_rules_of_a_file(tmp_path: Path) -> None:
    good, bad, worse = (tmp_path / name for name in ("good.toml", "bad.toml", "worse.toml"))
    good.write_text('rules = ["cosine >= 0.99", "no new fallback"]\n')
    assert read(good) == ["cosine >= 0.99", "no new fallback"]
    bad.write_text("rules = [")
    worse.write_text('rules = "cosine >= 1"\n')
    for path in (bad, worse):
        with pytest.raises(UsageError, match=path.name):
            read(path)


def test_the_last_runs_with_a_tag() -> None:
    one = graph(["x"], chain("x"))
    with connect(":memory:") as store:
        for i in range(5):
            tags = {"branch": "main" if i != 2 else "other", "green": str(i != 3).lower()}
            store.commit(run({"float": one}, name=f"r{i}", tags=tags))
        store.commit(run({"float": one}, name="r5", tags={"branch": "main"}, status="partial"))

        def names(text: str) -> list[str]:
            return [found.name for found in select(store, text)]

        assert names("r2") == ["r2"]
        assert names("tag:branch=main~2") == ["r3", "r4"]
        assert names("tag:branch=main,green=true~20") == ["r0", "r1", "r4"]
        assert names("tag:main") == ["r4"]
        for text, kind in (("tag:branch=man", QueryError), ("tag:branch=main~0", UsageError), ("tag:", UsageError)):
            with pytest.raises(kind) as error:
                names(text)
            assert isinstance(error.value, FxstoreError)
            assert error.value.hint
