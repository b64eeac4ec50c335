"""Queries on the engine leave no trace, do not disturb each other, and answer as rules would."""

from __future__ import annotations

import random

import numpy as np
import pytest

from engine_harness import Model, loaded, model_of
from tidalog.analysis import Analysis, analyse, analyse_query
from tidalog.engine.engine import EmbeddedEngine
from tidalog.lang import parse, parse_query
from tidalog.maintain.answer import answer
from tidalog.maintain.materialise import materialise
from tidalog.reference import evaluate

PEOPLE = """
    knows(ann, bob). knows(bob, cid). knows(cid, ann). name(ann, "Ann"). name(bob, "Bob"). age(ann, 7).
    shout(?y) :- name(?x, ?n), ?y = UCASE(?n).
    reach(?x, ?y) :- knows(?x, ?y).
    reach(?x, ?z) :- reach(?x, ?y), knows(?y, ?z).
    friends(?x, #count(?y)) :- knows(?x, ?y), ?x != ?y.
"""
QUERIES = {
    "?x :- reach(?x, ann)": 3,
    "?z :- name(?x, ?n), ?z = LCASE(?n)": 2,
    "?z :- name(?x, ?n), name(?y, ?m), ?z = CONCAT(?n, ?m)": 4,
    "?x, #count(?y) :- reach(?x, ?y)": 3,
    "#sum(?l) :- name(?x, ?n), ?l = STRLEN(?n)": 1,
    "?x :- knows(?x, ?y), ~name(?x, ?n)": 1,
    "?x :- age(?x, ?n), ?n > 100": 0,
    "?m :- age(?x, ?n), ?m = ?n * 1000 + 1": 1,
}


def state(engine: EmbeddedEngine, analysis: Analysis) -> tuple[int, list[tuple[str, int]], Model]:
    counts = [(name, engine.count(name)) for name in engine.names if engine.count(name)]
    return len(engine.store), counts, model_of(engine, analysis)


@pytest.mark.parametrize("seed", range(5))
def test_queries_leave_no_trace_and_do_not_disturb_each_other(seed: int) -> None:
    analysis = analyse(parse(PEOPLE, "people"))
    engine = loaded(analysis)
    materialise(engine, analysis)
    before = state(engine, analysis)
    for text in random.Random(seed).choices(list(QUERIES), k=20):
        found = answer(engine, analyse_query(analysis, parse_query(text)))
        assert found.rows == QUERIES[text] == len(set(zip(*(c.tolist() for c in found.columns), strict=True)))
        assert state(engine, analysis) == before
    materialise(engine, analysis)
    assert state(engine, analysis)[2] == before[2]


def test_a_query_is_answered_as_a_rule_of_the_program_would_be() -> None:
    """Also where a rule of the program calls Python under the name that the query's rule would get."""
    analysis = analyse(parse(PEOPLE, "people"))
    engine = loaded(analysis)
    materialise(engine, analysis)
    query = "?z :- name(?x, ?n), ?z = CONCAT(LCASE(?n), ?n)"
    found = answer(engine, analyse_query(analysis, parse_query(query)))
    as_rule = parse(f"{PEOPLE} wanted(?z) :- {query.partition(':-')[2]}.", "people")
    wanted = evaluate(as_rule)["wanted"]
    assert {(engine.dictionary.term(int(i)),) for i in found.columns[0]} == wanted
    assert np.array_equal(np.unique(found.columns[0]), np.sort(found.columns[0]))
