"""What each part of a rule becomes in normal form, and which rules are refused as unsafe."""

from __future__ import annotations

import pytest
from analysis_programs import analysed, errors_of, normal

from tidalog.analysis import AggregateColumn, Computation, NormalAtom, analyse
from tidalog.lang import parse
from tidalog.model.errors import ProgramError
from tidalog.model.program import Call, Variable
from tidalog.model.terms import IRI, Integer

X, Y, Z = Variable("x"), Variable("y"), Variable("z")


def plus(left: Variable, number: int) -> Call:
    return Call("+", (left, Integer(number)))


def test_an_expression_in_the_head_is_computed() -> None:
    rule = normal("p(?x + 1) :- q(?x).")
    (computation,) = rule.computations
    assert computation.expression == plus(X, 1)
    assert rule.head == NormalAtom("p", (computation.variable,))


def test_an_expression_in_a_positive_atom_is_a_test_by_value() -> None:
    rule = normal("p(?x) :- q(?x), r(?x + 1).")
    fresh = rule.atoms[1].arguments[0]
    assert rule.computations == ()
    assert rule.tests == (Call("=", (fresh, plus(X, 1))),)


def test_an_expression_in_a_negated_atom_is_computed_first() -> None:
    rule = normal("p(?x) :- q(?x), ~r(?x + 1).")
    (computation,) = rule.computations
    assert rule.negations == (NormalAtom("r", (computation.variable,)),)


def test_the_same_expression_is_computed_once() -> None:
    rule = normal("p(?x + 1, ?x + 1) :- q(?x), ~r(?x + 1).")
    assert len(rule.computations) == 1


def test_an_equation_for_an_unbound_variable_computes_it_whichever_side_it_stands_on() -> None:
    for text in ("p(?y) :- q(?x), ?y = ?x + 1.", "p(?y) :- ?x + 1 = ?y, q(?x)."):
        assert normal(text).computations == (Computation(Y, plus(X, 1)),)


def test_an_equation_between_bound_variables_is_a_test() -> None:
    rule = normal("p(?x) :- q(?x, ?y), ?x = ?y, ?x = 3.")
    assert rule.computations == ()
    assert len(rule.tests) == 2


def test_computations_follow_the_order_of_what_they_need() -> None:
    rule = normal("p(?z) :- ?z = ?y * 2, ?y = ?x + 1, q(?x).")
    assert [computation.variable for computation in rule.computations] == [Y, Z]


def test_of_two_equations_for_one_variable_the_simpler_computes_it() -> None:
    for text in ("p(?y) :- q(?x), ?y = ?x + 1, ?y = 3.", "p(?y) :- q(?x), ?y = 3, ?y = ?x + 1."):
        rule = normal(text)
        assert rule.computations == (Computation(Y, Integer(3)),)
        assert rule.tests == (Call("=", (Y, plus(X, 1))),)


def test_an_aggregate_has_a_variable_of_its_own_and_computed_arguments() -> None:
    rule = normal("total(?x, #sum(?y * 2, ?z)) :- item(?x, ?y, ?z).")
    (computation,) = rule.computations
    assert rule.aggregates == (AggregateColumn(1, "sum", (computation.variable, Z)),)
    assert rule.head is not None
    assert rule.head.arguments[1] not in rule.atoms[0].variables


def test_several_heads_become_several_rules_with_names_that_tell() -> None:
    analysis = analysed("r1: both(?x), also(?x) :- p(?x). q(?x) :- p(?x).")
    assert [rule.name for rule in analysis.rules] == ["r1", "r1#2", "r2"]
    assert analysis.rules[0].origin is analysis.rules[1].origin is analysis.program.rules[0]


def test_a_constraint_has_no_head_and_belongs_to_no_component() -> None:
    analysis = analysed(":- p(?x), ~q(?x).")
    assert [rule.head for rule in analysis.constraints] == [None]
    assert all(not component.rules for component in analysis.components)


def test_a_number_given_to_a_rule_never_takes_a_name_that_the_author_gave() -> None:
    analysis = analysed("r2: p(?x) :- q(?x). s(?x) :- q(?x).")
    assert len({rule.name for rule in analysis.rules}) == 2


def test_a_parameter_given_from_outside_goes_before_the_declared_one() -> None:
    program = parse("@parameter $limit = 2 * 5 .\nlarge(?x) :- size(?x, ?n), ?n > $limit.")
    declared = analyse(program).rules[0].tests
    given = analyse(program, {"limit": IRI("a")}).rules[0].tests
    assert declared == (Call(">", (Variable("n"), Integer(10))),)
    assert given == (Call(">", (Variable("n"), IRI("a"))),)


def test_registered_functions_are_known_in_any_letter_case_and_their_arguments_counted() -> None:
    program = parse("p(?y) :- q(?x), ?y = myDistance(?x, 2).")
    analyse(program, functions=["myDistance"])
    analyse(program, functions={"MYDISTANCE": (1, 2)})
    with pytest.raises(ProgramError, match="T019"):
        analyse(program, functions={"myDistance": (3, None)})


@pytest.mark.parametrize(
    "text",
    [
        "p(?x) :- q(?x, ?y), ~r(?y, ?z).",
        "p(?x) :- q(?x), ~r(?z, ?z).",
        "p(?x) :- ?x = 3.",
        "p() :- ~q().",
        "p(?y) :- q(?x), ?y = ?x, ~r(?y).",
        "p(a) :- q(_), ~r(_, _).",
        "p(?x) :- ~q(?x), ?x = 1 + 2.",
    ],
)
def test_safe_rules_are_accepted(text: str) -> None:
    assert errors_of(text) == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("p(?x, ?z) :- q(?x).", ["T012"]),
        ("p(?x, _) :- q(?x).", ["T012"]),
        ("p(?x) :- ~q(?x).", ["T012"]),
        ("p(?x), r(?x, ?z) :- q(?x).", ["T012"]),
        (":- q(?x), ?y < ?x.", ["T014"]),
        ("p(?x) :- q(?x), ~r(?y), ?y != 3.", ["T014"]),
        ("p(?z) :- q(?x), ?z = ?y + 1.", ["T014"]),
        ("p(?z) :- q(?x), ?z = ?z + 1.", ["T012"]),
        ("p(?x) :- q(?x), ~r(?y), ~s(?y).", ["T013"]),
        ("p(?x, #sum(?v)) :- q(?x).", ["T016"]),
    ],
)
def test_unsafe_rules_are_refused_once_for_each_variable_at_the_root(text: str, numbers: list[str]) -> None:
    assert errors_of(text) == numbers
