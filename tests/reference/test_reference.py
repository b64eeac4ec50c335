"""The reference on programs small enough to see the answer."""

import pytest

from tidalog.model.program import (
    Aggregate,
    Atom,
    BodyLiteral,
    Call,
    Condition,
    Expression,
    Fact,
    Negation,
    Parameter,
    Program,
    Rule,
    Variable,
)
from tidalog.model.terms import IRI, RDF_TYPE, Double, Integer, String, Term
from tidalog.reference import NotEvaluable, evaluate, violations

X, Y, Z, N, M = map(Variable, "xyznm")
ONE, TWO, THREE = map(Integer, (1, 2, 3))
A, B, C, D = map(IRI, "abcd")
EX = "http://example.org/"


def atom(predicate: str, *arguments: Expression | Aggregate) -> Atom:
    return Atom(predicate, arguments)


def rule(head: Atom, *body: BodyLiteral) -> Rule:
    return Rule((head,), body)


def model(rules: list[Rule], facts: dict[str, set[tuple[Term, ...]]]) -> dict[str, set[tuple[Term, ...]]]:
    return {name: set(rows) for name, rows in evaluate(Program(rules=tuple(rules)), facts).items()}


EDGES = {"edge": {(A, B), (B, C), (C, A), (C, D)}}
CLOSURE = [
    rule(atom("path", X, Y), atom("edge", X, Y)),
    rule(atom("path", X, Z), atom("path", X, Y), atom("path", Y, Z)),
]


def test_closure_of_a_cycle_with_a_tail() -> None:
    expected = {(x, y) for x in (A, B, C) for y in (A, B, C, D)}
    assert model(CLOSURE, EDGES)["path"] == expected


def test_negation_sees_the_finished_stratum_below() -> None:
    node = [rule(atom("node", X), atom("edge", X, Variable("_#1")))]
    node.append(rule(atom("node", X), atom("edge", Variable("_#1"), X)))
    apart = rule(atom("apart", X, Y), atom("node", X), atom("node", Y), Negation(atom("path", X, Y)))
    result = model([apart, *CLOSURE, *node], EDGES)
    assert result["apart"] == {(D, A), (D, B), (D, C), (D, D)}


def test_a_variable_of_one_negated_atom_is_local_to_it() -> None:
    sink = rule(atom("sink", X), atom("edge", Variable("_#1"), X), Negation(atom("edge", X, Y)))
    assert model([sink], EDGES)["sink"] == {(D,)}


def test_a_repeated_local_variable_asks_for_equal_arguments() -> None:
    free = rule(atom("free", X), atom("p", X), Negation(atom("q", X, Y, Y)))
    facts = {"p": {(A,), (B,)}, "q": {(A, ONE, ONE), (B, ONE, TWO)}}
    assert model([free], facts)["free"] == {(B,)}


@pytest.mark.parametrize(
    "rules",
    [
        [rule(atom("p", X), atom("e", X), Negation(atom("p", X)))],
        [
            rule(atom("p", X), atom("e", X), Negation(atom("q", X))),
            rule(atom("q", X), atom("e", X), atom("p", X)),
        ],
        [rule(atom("p", X, Aggregate("count", (Y,))), atom("p", X, Y))],
    ],
)
def test_negation_or_aggregation_in_a_cycle_is_refused(rules: list[Rule]) -> None:
    with pytest.raises(NotEvaluable):
        model(rules, {})


@pytest.mark.parametrize(
    "unsafe",
    [
        rule(atom("p", X, Y), atom("e", X)),
        rule(atom("p", X), atom("e", X), Condition(Call("<", (X, Y)))),
        rule(atom("p", X), atom("e", X), Negation(atom("q", Y)), Negation(atom("r", Y))),
        rule(atom("p", X), atom("e", X), Condition(Call("=", (Y, Call("+", (Z, ONE)))))),
        rule(atom("p", X), atom("e", X), Negation(atom("q", Call("+", (Y, ONE))))),
        rule(atom("p", X), atom("e", X), Condition(Call("NOSUCH", (X,)))),
        rule(atom("p", X), atom("e", X), Condition(Call("=", (X, Call("ABS", (X, X)))))),
        rule(atom("p", Parameter("none")), atom("e", X)),
    ],
)
def test_what_has_no_meaning_is_refused_whatever_the_data(unsafe: Rule) -> None:
    with pytest.raises(NotEvaluable):
        model([unsafe], {})


def test_equations_bind_in_any_order_and_direction() -> None:
    chain = rule(
        atom("p", X, Z),
        Condition(Call("=", (Call("*", (Y, TWO)), Z))),
        Condition(Call("=", (Y, Call("+", (X, ONE))))),
        atom("e", X),
    )
    assert model([chain], {"e": {(ONE,), (A,)}})["p"] == {(ONE, Integer(4))}


def test_an_expression_in_a_body_atom_is_compared_by_value_and_a_constant_by_identity() -> None:
    facts: dict[str, set[tuple[Term, ...]]] = {"n": {(ONE,)}, "q": {(TWO,), (Double(2.0),), (THREE,)}}
    by_value = rule(atom("v", X, Y), atom("n", X), atom("q", Y), atom("q", Call("+", (X, ONE))))
    counted = rule(
        atom("w", Aggregate("count", (Y,))), atom("n", X), atom("q", Y), Condition(Call("=", (Y, TWO)))
    )
    by_identity = rule(atom("i"), atom("q", Double(3.0)))
    result = model([by_value, counted, by_identity], facts)
    assert result["v"] == {(ONE, y) for (y,) in facts["q"]}
    assert result["w"] == {(TWO,)}
    assert result["i"] == set()


def test_a_head_that_cannot_be_computed_derives_nothing_and_leaves_other_heads_alone() -> None:
    both = Rule((atom("p", Call("/", (ONE, X))), atom("q", X)), (atom("e", X),))
    result = model([both], {"e": {(Integer(0),), (TWO,)}})
    assert result["p"] == {(Double(0.5),)}
    assert result["q"] == {(Integer(0),), (TWO,)}


def test_a_negated_atom_that_cannot_be_computed_is_false() -> None:
    clause = rule(atom("p", X), atom("e", X), Negation(atom("q", Call("/", (ONE, X)))))
    assert model([clause], {"e": {(Integer(0),), (ONE,), (TWO,)}, "q": {(ONE,)}})["p"] == {(TWO,)}


def test_aggregates_run_over_distinct_tuples_in_each_group() -> None:
    item: set[tuple[Term, ...]] = {
        (A, ONE, TWO),
        (A, TWO, TWO),
        (B, ONE, THREE),
        (B, TWO, String("no number")),
    }
    totals = rule(
        atom("t", Aggregate("sum", (Y,)), X, Aggregate("sum", (Y, N)), Aggregate("count", (N,))),
        atom("item", X, N, Y),
    )
    assert model([totals], {"item": item})["t"] == {
        (TWO, A, Integer(4), TWO),
        (THREE, B, THREE, TWO),
    }


def test_no_match_is_no_group() -> None:
    assert model([rule(atom("n", Aggregate("count", (X,))), atom("e", X))], {})["n"] == set()


def test_constraints_report_each_match_once() -> None:
    constraint = Rule((), (atom("edge", X, Variable("_#1")), Condition(Call("!=", (X, A)))), "no_others")
    program = Program(rules=(constraint,))
    found = violations(program, evaluate(program, EDGES))
    assert {v.bindings for v in found} == {(("x", B),), (("x", C),)}
    assert len(found) == 2


def test_parameters_come_from_outside_or_from_the_program() -> None:
    program = Program(
        rules=(rule(atom("p", X), atom("e", X), Condition(Call("<", (X, Parameter("limit"))))),),
        parameters={"limit": Call("+", (Parameter("base"), ONE)), "base": ONE},
    )
    facts: dict[str, set[tuple[Term, ...]]] = {"e": {(ONE,), (TWO,), (THREE,)}}
    assert evaluate(program, facts)["p"] == {(ONE,)}
    assert evaluate(program, facts, parameters={"base": TWO})["p"] == {(ONE,), (TWO,)}


def test_registered_functions_are_found_by_any_case_of_their_name() -> None:
    program = Program(rules=(rule(atom("p", Call("TWICE", (X,))), atom("e", X)),))

    def twice(value: int) -> int:
        return 2 * value

    assert evaluate(program, {"e": {(TWO,), (A,)}}, functions={"twice": twice})["p"] == {(Integer(4),)}


def test_a_program_that_grows_without_end_is_stopped() -> None:
    grow = rule(atom("n", Call("+", (X, ONE))), atom("n", X))
    with pytest.raises(OverflowError):
        evaluate(Program(rules=(grow,)), {"n": {(ONE,)}}, max_facts=100)


def test_rdf_shorthand_and_variable_properties_meet_in_triple() -> None:
    program = Program(
        rules=(
            rule(atom(EX + "Person", X), atom(EX + "knows", X, Variable("_#1"))),
            rule(atom("used", N), atom("triple", Variable("_#1"), N, Variable("_#2"))),
        ),
        facts=(Fact(EX + "knows", (A, B)),),
    )
    result = evaluate(program)
    knows, kind = IRI(EX + "knows"), IRI(RDF_TYPE)
    assert result["triple"] == {(A, knows, B), (A, kind, IRI(EX + "Person"))}
    assert result["used"] == {(knows,), (kind,)}


def test_one_property_may_be_negated_while_another_recurs() -> None:
    p, q = IRI(EX + "p"), IRI(EX + "q")
    negates = rule(atom("triple", X, q, Y), atom("triple", X, p, Y), Negation(atom("triple", Y, p, X)))
    facts: dict[str, set[tuple[Term, ...]]] = {"triple": {(A, p, B), (B, p, A), (B, p, C)}}
    assert (B, q, C) in model([negates], facts)["triple"]
    derives_any = rule(atom("triple", X, N, Y), atom("triple", Y, N, X))
    with pytest.raises(NotEvaluable):
        model([negates, derives_any], facts)
