"""Cases that once went wrong, as small as they get; each under every strategy."""

from __future__ import annotations

import pytest
from maintained import CONFIGURATIONS, Maintained, Scenario, check_scenario, scenario, updates_of

from tidalog.analysis.query import analyse_query
from tidalog.lang import parse, parse_query
from tidalog.maintain.answer import answer


def twelve_layers_moved_below_one() -> Scenario:
    """Every fact of twelve components gets a new id, and then a check looks at all of them."""
    layers = "".join(f"p{k}(?x) :- e(?x), ~g(?x). " for k in range(12))
    body = ", ".join(f"p{k}(?x)" for k in range(12))
    facts = "".join(f"e({i}). h({i}). k({i}). " for i in range(30))
    rules = f"q(?x) :- {body}, h(?x). q(?x) :- {body}, k(?x). "
    return scenario(layers + rules + facts, "+g(77). " + "".join(f"-h({i}). " for i in range(30)))


CASES = {
    "a rule without atoms derives a fact that was explicit too": scenario(
        "q(?m) :- ?m = 0 + 1. q(1).", "-q(1). commit."
    ),
    "what a component below has checked is checked again above": scenario(
        "p(?x) :- e(?x). p(?x) :- f(?x). q(?x) :- p(?x). q(?x) :- h(?x). e(a). f(a). h(a).",
        "-e(a). -h(a). commit.",
    ),
    "two components read the same deleted fact": scenario(
        "p(?x) :- e(?x, ?y). q(?x) :- e(?x, ?y). e(a, a). e(a, b).", "-e(a, a). commit."
    ),
    "a predicate that no rule names comes with an update": scenario(
        "p(?x) :- e(?x). e(a).",
        "+e(b). commit. +new(a). +e(c). commit. +newer(). -e(a). commit. -new(a).",
    ),
    "a body holds a fact twice": scenario(
        "p(?x, b) :- r(?x, ?y), r(?x, ?y).", "+r(a, a). commit. -r(a, a). commit. +r(a, a). commit."
    ),
    "a group that is collected in a hidden relation goes": scenario(
        "n(#count(a), ?x) :- e(?x). e(a).", "-e(a). commit. +e(a). +e(b). commit."
    ),
    "the log holds facts under their old ids and their new ones": twelve_layers_moved_below_one(),
}


@pytest.mark.parametrize("name", CASES)
def test_it_went_wrong_once(name: str) -> None:
    check_scenario(CASES[name], CONFIGURATIONS[::3])


def test_a_query_does_not_see_what_was_deleted() -> None:
    kept = Maintained(parse("p(?x) :- e(?x, ?y). e(a, b). e(b, c). e(c, d)."))
    kept.apply(updates_of("-e(b, c).")[0])
    for text, rows in (("?x, ?y :- e(?x, ?y)", 2), ("?x :- p(?x)", 2), ("?x :- p(?x), e(?x, ?y)", 2)):
        assert answer(kept.engine, analyse_query(kept.analysis, parse_query(text))).rows == rows


def test_a_query_does_not_see_what_was_deleted_from_a_long_run() -> None:
    """Ids stay in long runs of an index for a while after their facts are gone."""
    facts = "".join(f"e(a, {i}). " for i in range(3000))
    kept = Maintained(parse(f"p(?x) :- e(a, ?x), f(?x). f(2999). {facts}"))
    query = analyse_query(kept.analysis, parse_query("?x :- e(a, ?x), f(?y)"))
    assert answer(kept.engine, query).rows == 3000
    for number in range(10):
        kept.apply(updates_of(f"-e(a, {number}). +f({number}).")[0])
        kept.apply(updates_of(f"-f({number}).")[0])
    assert answer(kept.engine, query).rows == 2990
