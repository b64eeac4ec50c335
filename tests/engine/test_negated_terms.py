"""Negation over one column: a set of terms from scratch, the facts themselves once some are gone."""

from __future__ import annotations

import tidalog
from engine_harness import evaluate_engine
from tidalog.lang import parse
from tidalog.reference import evaluate

COMPUTED = """
r(3). r(?y) :- r(?x), ?x < 40, ?y = ?x + 9.
q(1). q(2). q(?y) :- q(?x), ?x < 60, ?y = ?x + 1.
out(?y) :- q(?x), ?y = ?x + 1000, ~r(?y).
small(?y) :- q(?x), ?y = ?x + 1, ~r(?y).
pair(?x, ?y) :- q(?x), q(?y), ?y < 4, ~r(?x), ~big(?y, _).
big(2, 2). big(100, 1).
"""


def test_terms_that_come_after_the_set_was_made_are_not_in_it() -> None:
    program = parse(COMPUTED)
    model, _ = evaluate_engine(program)
    assert model == {name: rows for name, rows in evaluate(program).items() if rows}


def test_a_fact_that_is_gone_no_longer_negates() -> None:
    with tidalog.open() as kb:
        kb.load("e(1). e(2). r(1). r(2). p(?x) :- e(?x), ~r(?x).")
        assert kb.facts("p").to_rows() == []
        kb.delete("r", [(1,)])
        assert kb.facts("p").to_rows() == [(1,)]
        assert kb.query("?x :- e(?x), ~r(?x)").to_rows() == [(1,)]
        kb.insert("r", [(1,)])
        assert kb.facts("p").to_rows() == []
        assert kb.query("?x :- e(?x), ~r(?x)").to_rows() == []
