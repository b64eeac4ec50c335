"""Generated programs over RDF triples; stratified because only rules above the triples negate or count."""

from __future__ import annotations

from hypothesis import strategies as st

from generators.datalog import VARIABLES
from tidalog.model.program import Aggregate, Atom, Expression, Fact, Negation, Program, Rule, Variable
from tidalog.model.terms import IRI, RDF_TYPE, Integer, Term

EX = "http://example.org/"
PROPERTIES = tuple(IRI(EX + name) for name in "pqr")
CLASSES = tuple(IRI(EX + name) for name in "CD")
TYPE = IRI(RDF_TYPE)


@st.composite
def triple_programs(draw: st.DrawFn) -> Program:
    """Rules over triples, by named properties, classes and variables in their place, written as patterns or
    as atoms; above them rules that negate or count triples."""
    subjects = tuple(map(IRI, "abcd"))
    objects = st.sampled_from((*subjects, Integer(1)))  # rules may turn it into a subject
    verbs = st.one_of(st.tuples(st.sampled_from(PROPERTIES), objects), _kinds())
    facts = draw(st.lists(st.tuples(st.sampled_from(subjects), verbs), min_size=6, max_size=14))
    about = draw(st.lists(st.tuples(*[st.sampled_from(PROPERTIES)] * 2), max_size=2))
    rows = [(s, p, o) for s, (p, o) in facts] + [(p, IRI(EX + "under"), q) for p, q in about]
    rules = draw(st.lists(_triple_rule(), min_size=1, max_size=4))
    x, y, p = VARIABLES[0], VARIABLES[1], Variable("p")
    places: list[Expression] = [PROPERTIES[0], TYPE, p]
    above = draw(st.sampled_from(places))
    rules.append(Rule((Atom("n", (x, Aggregate("count", (y,)))),), (Atom("triple", (x, above, y)),)))
    verbs_below: list[Expression] = [*PROPERTIES, Variable("_#1")]
    verb = draw(st.sampled_from(verbs_below))
    negated = Negation(Atom("triple", (y, verb, x)))
    rules.append(Rule((Atom("m", (x, y)),), (Atom("triple", (x, PROPERTIES[0], y)), negated)))
    return Program(tuple(rules), tuple(Fact("triple", row) for row in dict.fromkeys(rows)))


def _kinds() -> st.SearchStrategy[tuple[Term, Term]]:
    return st.tuples(st.just(TYPE), st.sampled_from(CLASSES))


@st.composite
def _triple_rule(draw: st.DrawFn) -> Rule:
    """A positive rule whose head has no variable that its body lacks."""
    x, y, z, p, q = (*VARIABLES[:3], Variable("p"), Variable("q"))
    c, d = draw(st.sampled_from(CLASSES)), draw(st.sampled_from(CLASSES))
    named = st.sampled_from(PROPERTIES)
    a, b, under = draw(named), draw(named), IRI(EX + "under")

    def triple(*arguments: Expression) -> Atom:
        return Atom("triple", arguments)

    shapes: tuple[Rule, ...] = (
        Rule((triple(x, b, y),), (Atom(a.value, (x, y)),)),
        Rule((triple(y, a, x),), (triple(x, b, y),)),
        Rule((Atom(c.value, (x,)),), (triple(x, a, Variable("_#1")),)),
        Rule((Atom(c.value, (x,)), Atom(d.value, (y,))), (Atom(a.value, (x, y)),)),
        Rule((triple(x, TYPE, d),), (triple(x, TYPE, c),)),
        Rule((triple(x, a, z),), (triple(x, a, y), triple(y, a, z))),
        Rule((triple(y, TYPE, z),), (triple(x, a, y), triple(x, TYPE, z))),
        Rule((triple(x, q, y),), (triple(p, under, q), triple(x, p, y))),
        Rule((triple(x, p, z),), (triple(x, p, y), triple(y, a, z))),
        Rule((Atom("used", (p,)),), (triple(Variable("_#1"), p, Variable("_#2")),)),
    )
    return draw(st.sampled_from(shapes))
