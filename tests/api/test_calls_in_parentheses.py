"""`(name(?x))` in a body: a call where the name is a registered function, else an atom."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidalog


def is_odd(number: int) -> bool:
    return number % 2 == 1


PROGRAM = (
    "p(1). p(2). even(2). lower(?x) :- (p(?x)), (odd(?x)) . upper(?x) :- p(?x), (ODD(?x)), ~(even(?x)) ."
)


def test_a_registered_function_is_a_condition_in_any_case() -> None:
    kb = tidalog.open(functions={"odd": is_odd})
    kb.load(PROGRAM)
    kb.rules.add("added: both(?x) :- (upper(?x)), ((odd(?x)))")
    for predicate in ("lower", "upper", "both"):
        assert kb.facts(predicate).to_rows() == [(1,)]
    assert kb.query("(p(?x)), (odd(?x))").to_rows() == [(1,)]
    assert kb.rules["added"] == "added: both(?x) :- upper(?x), (ODD(?x))."


def test_without_functions_it_is_an_atom() -> None:
    kb = tidalog.open()
    kb.load("p(1). p(2). odd(2). lower(?x) :- (p(?x)), (odd(?x)) .")
    assert kb.facts("lower").to_rows() == [(2,)]


def test_a_store_without_its_functions_is_refused_and_not_read_in_another_way(tmp_path: Path) -> None:
    with tidalog.open(tmp_path / "store", functions={"odd": is_odd}) as kb:
        kb.load(PROGRAM)
        assert kb.facts("lower").to_rows() == [(1,)]
    with pytest.raises(tidalog.StoreError, match="no function ODD"):
        tidalog.open(tmp_path / "store")
    with tidalog.open(tmp_path / "store", functions={"odd": is_odd}) as kb:
        kb.load(PROGRAM)
        assert (len(kb.rules), kb.facts("lower").to_rows()) == (2, [(1,)])
