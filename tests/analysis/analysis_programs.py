"""Programs for the tests of analysis: from text, and generated without any care for safety."""

from __future__ import annotations

from hypothesis import strategies as st

from tidalog.analysis import Analysis, NormalRule, analyse
from tidalog.errors import ProgramError
from tidalog.lang import parse
from tidalog.program import Atom, BodyLiteral, Call, Condition, Expression, Negation, Program, Rule, Variable
from tidalog.terms import Double, Integer

ARITIES = {"p": 1, "q": 2, "r": 2, "s": 1, "t": 3}


def analysed(text: str) -> Analysis:
    return analyse(parse(text, "test.rls"))


def normal(text: str) -> NormalRule:
    """The normal form of the only rule of a text."""
    (rule,) = analysed(text).rules
    return rule


def errors_of(text: str) -> list[str]:
    return verdict(parse(text, "test.rls"))


def verdict(program: Program) -> list[str]:
    """The numbers of the errors of a program, sorted; empty if it is accepted."""
    try:
        analyse(program)
    except ProgramError as refused:
        return sorted(diagnostic.number for diagnostic in refused.diagnostics)
    return []


def names(analysis: Analysis) -> list[tuple[str, ...]]:
    return [component.predicates for component in analysis.components]


_variables = st.sampled_from([Variable(name) for name in "xyzw"])
_constants = st.sampled_from([Integer(1), Integer(2), Double(1.0)])
_simple = st.one_of(_variables, _constants)


@st.composite
def _expressions(draw: st.DrawFn) -> Expression:
    if draw(st.booleans()):
        return draw(_simple)
    return Call(draw(st.sampled_from(["+", "*"])), (draw(_simple), draw(_simple)))


@st.composite
def _atoms(draw: st.DrawFn, arguments: st.SearchStrategy[Expression] = _simple) -> Atom:
    predicate = draw(st.sampled_from(sorted(ARITIES)))
    return Atom(predicate, tuple(draw(arguments) for _ in range(ARITIES[predicate])))


@st.composite
def _literals(draw: st.DrawFn) -> BodyLiteral:
    kind = draw(st.integers(0, 9))
    if kind < 5:
        return draw(_atoms())
    if kind < 6:
        return Negation(draw(_atoms(_expressions())))
    if kind < 7:
        return draw(_atoms(_expressions()))
    operator = draw(st.sampled_from(["=", "=", "=", "<", "!="]))
    return Condition(Call(operator, (draw(_expressions()), draw(_expressions()))))


@st.composite
def any_programs(draw: st.DrawFn) -> Program:
    """Programs of a few rules, safe or not, stratified or not."""
    count = draw(st.integers(1, 5))
    rules = []
    for number in range(count):
        head = draw(_atoms(_expressions()))
        body = tuple(draw(st.lists(_literals(), min_size=1, max_size=5)))
        if draw(st.integers(0, 3)):
            body += (Atom("t", (Variable("x"), Variable("y"), Variable("z"))),)
        rules.append(Rule((head,), body, f"n{number}"))
    return Program(rules=tuple(rules))
