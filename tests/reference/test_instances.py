"""Rule instances: which there are, how they are found from a head or a body fact, and what is refused."""

from collections import Counter

import pytest
from paper_programs import E1, E2, E3, TRANS, TUTORS, fact, facts, from_scratch, program

from tidalog.reference import DRed, NotPositive, PositiveProgram
from tidalog.reference.fact_sets import Difference, FactSet

A, B, C = map(fact, ("edge(a, b).", "edge(b, c).", "edge(c, a)."))
NON_LINEAR = program("t(?x, ?z) :- t(?x, ?y), t(?y, ?z).")


def test_rho_holds_every_instance_with_its_body_among_the_facts() -> None:
    given = FactSet({A, B, fact("path(b, c).")})
    found = [(instance.body, instance.head) for instance in PositiveProgram(TRANS).rho(given)]
    assert Counter(found) == Counter(
        [
            ((A,), fact("path(a, b).")),
            ((B,), fact("path(b, c).")),
            ((A, fact("path(b, c).")), fact("path(a, c).")),
        ]
    )


def test_repeated_variables_constants_and_tests_restrict_instances() -> None:
    rules = PositiveProgram(
        program("p(?x) :- e(?x, ?x). q(?x) :- e(?x, b). r(?x, ?y) :- e(?x, ?y), ?x != ?y.")
    )
    found = {instance.head for instance in rules.rho(FactSet(facts("e(a, a). e(a, b). e(b, c).")))}
    assert found == facts("p(a). q(a). r(a, b). r(b, c).")


def test_match_head_binds_the_body_and_leaves_it_whole() -> None:
    rules = PositiveProgram(TRANS)
    matches = list(rules.match_head(fact("path(a, c).")))
    assert [len(match.query) for match in matches] == [1, 2]
    assert not any(atom.annotated for match in matches for atom in match.query)
    given = FactSet({A, B, C, fact("path(b, c).")})
    assert [i.body for i in rules.deriving(given, fact("path(a, c)."))] == [(A, fact("path(b, c)."))]


def test_match_head_of_a_computed_value_compares_it_once_the_body_is_known() -> None:
    rules = PositiveProgram(program("next(?x, ?m) :- n(?x), ?m = ?x + 1. twice(?x * 2) :- n(?x)."))
    given = FactSet(facts("n(1). n(2)."))
    assert [i.body for i in rules.deriving(given, fact("next(1, 2)."))] == [(fact("n(1)."),)]
    assert [i.body for i in rules.deriving(given, fact("twice(4)."))] == [(fact("n(2)."),)]
    assert not list(rules.deriving(given, fact("next(1, 3).")))
    assert not list(rules.deriving(given, fact("twice(3).")))


def test_match_body_annotates_the_atoms_before_the_pivot() -> None:
    matches = list(PositiveProgram(NON_LINEAR).match_body(fact("t(a, b).")))
    assert [[atom.annotated for atom in match.query] for match in matches] == [[False], [True]]


def test_a_fact_that_matches_two_atoms_meets_the_instance_once_unless_nothing_is_excluded() -> None:
    rules, loop = PositiveProgram(NON_LINEAR), fact("t(a, a).")
    given = FactSet([loop])
    assert len(list(rules.using(given, loop))) == 1
    assert len(list(rules.using(given, loop, ()))) == 2


def test_eval_looks_in_a_difference_and_keeps_annotated_atoms_out_of_a_set() -> None:
    rules = PositiveProgram(NON_LINEAR)
    ab, bc, cd = map(fact, ("t(a, b).", "t(b, c).", "t(c, d)."))
    given = FactSet([ab, bc, cd])
    (first, second) = rules.match_body(bc)
    assert [i.head for i in rules.instances(given, first, ())] == [fact("t(b, d).")]
    assert [i.head for i in rules.instances(given, second, ())] == [fact("t(a, c).")]
    assert not list(rules.instances(given, second, {ab}))
    assert not list(rules.instances(Difference(given, {cd}), first, ()))


def test_a_fact_set_forgets_what_is_discarded_everywhere() -> None:
    given = FactSet([A, B])
    assert given.discard(A) and not given.discard(A)
    assert list(given) == [B] and len(given) == 1
    assert given.add(A) and not given.add(A)
    assert list(given) == [B, A]
    assert [i.body for i in PositiveProgram(TRANS).rho(given)] == [(B,), (A,)]


def test_rules_with_several_heads_are_several_rules() -> None:
    rules = PositiveProgram(program("p(?x), q(?x) :- e(?x)."))
    assert {instance.head for instance in rules.rho(FactSet(facts("e(1).")))} == facts("p(1). q(1).")


def test_heads_of_rules_without_atoms_are_always_true() -> None:
    rules = program("p(?x) :- ?x = 1 + 1. q(?x) :- p(?x).")
    algorithm = DRed(rules)
    assert algorithm.program.axioms == facts("p(2).")
    algorithm.apply((facts("p(2)."), ()))
    assert algorithm.materialisation == facts("p(2). q(2).")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("alone: p(?x) :- e(?x), ~f(?x).", "rule alone has a negated atom"),
        ("p(?x, #count(?y)) :- e(?x, ?y).", "a rule has an aggregate"),
    ],
)
def test_negation_and_aggregates_are_refused_by_name(text: str, reason: str) -> None:
    with pytest.raises(NotPositive, match=reason):
        PositiveProgram(program(text))


def test_the_start_is_materialised_with_the_facts_of_the_text() -> None:
    rules = program("edge(a, b). path(?x, ?y) :- edge(?x, ?y).")
    start = DRed(rules, [fact("edge(b, c).")])
    assert start.explicit == facts("edge(a, b). edge(b, c).")
    assert start.materialisation == facts("edge(a, b). edge(b, c). path(a, b). path(b, c).")
    assert set(start.totals.values()) == {0}


def test_table_1_of_paper_003_materialises_to_six_derived_facts() -> None:
    start = DRed(TUTORS, [E1, E2, E3])
    assert start.materialisation == from_scratch(TUTORS, [E1, E2, E3])
    assert len(start.materialisation) == 9
