"""Programs for the tests of analysis: from text, and generated without any care for safety."""

from __future__ import annotations

from hypothesis import strategies as st

from tidalog.analysis import Analysis, NormalRule, analyse
from tidalog.lang import parse
from tidalog.model.errors import ProgramError
from tidalog.model.program import (
    Aggregate,
    Atom,
    BodyLiteral,
    Call,
    Condition,
    Expression,
    Fact,
    Negation,
    Program,
    Rule,
    Variable,
    variables,
)
from tidalog.model.terms import IRI, RDF_TYPE, Double, Integer

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


# --- triples ----------------------------------------------------------------------------------------

EX = "http://e.org/"
_subjects = st.sampled_from([IRI(EX + name) for name in "abc"])
_properties = st.sampled_from([IRI(EX + "p"), IRI(EX + "q"), IRI(RDF_TYPE)])
_objects = st.sampled_from([*(IRI(EX + name) for name in "abCD"), Integer(1)])
_s, _p, _o = Variable("s"), Variable("p"), Variable("o")


@st.composite
def _triple_atoms(draw: st.DrawFn, wild: int) -> Atom:
    """A pattern over ?s and ?o; `wild` of ten have a variable for the property or the class."""
    subject, object_ = draw(st.sampled_from([(_s, _o), (_o, _s), (_s, _s)]))
    kind = draw(st.integers(0, 9))
    if kind < wild:
        return Atom("triple", (subject, _p, object_))
    if kind == 9:
        return Atom("triple", (subject, IRI(RDF_TYPE), object_))
    if kind >= 6:
        return Atom(EX + draw(st.sampled_from("CD")), (subject,))
    return Atom(EX + draw(st.sampled_from("pq")), (subject, object_))


def _replaced(atom: Atom, bound: set[Variable], substitute: Expression) -> Atom:
    """The atom with something else for its variables that nothing binds."""
    unbound = set(variables(atom)) - bound
    return Atom(atom.predicate, tuple(substitute if a in unbound else a for a in atom.arguments))


@st.composite
def rdf_programs(draw: st.DrawFn) -> Program:
    """Safe rules over triples, with variable properties and classes, negation and counting."""
    base = Atom("base", (_s, _p, _o))
    rules = []
    for number in range(draw(st.integers(1, 4))):
        body: list[BodyLiteral] = [base] if draw(st.booleans()) else []
        body += draw(st.lists(_triple_atoms(2), min_size=0 if body else 1, max_size=2))
        if draw(st.integers(0, 2)) == 0:
            body.append(Negation(draw(_triple_atoms(1))))
        bound = {v for literal in body if isinstance(literal, Atom) for v in variables(literal)}
        head = draw(st.one_of(_triple_atoms(2), st.just(Atom("found", (_s,)))))
        safe = _replaced(head, bound, IRI(EX + "p"))
        body = [
            Negation(_replaced(literal.atom, bound, Variable("local")))
            if isinstance(literal, Negation)
            else literal
            for literal in body
        ]
        rules.append(Rule((safe,), tuple(body), f"n{number}"))
    if draw(st.booleans()):
        counted = Atom("count", (_p, Aggregate("count", (_s, _o))))
        rules.append(Rule((counted,), (Atom("triple", (_s, _p, _o)),), "counting"))
    triples = draw(st.lists(st.tuples(_subjects, _properties, _objects), max_size=6))
    facts = [Fact("triple", row) for row in triples]
    facts += [
        Fact("base", row) for row in draw(st.lists(st.tuples(_subjects, _properties, _objects), max_size=2))
    ]
    # At least one mention of `triple` makes the shorthands mean triples.
    facts.append(Fact("triple", (IRI(EX + "a"), IRI(EX + "p"), IRI(EX + "b"))))
    return Program(rules=tuple(rules), facts=tuple(facts))
