"""What is inconsistent, with the axioms and the facts that cause it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidalog.model.program import Atom, BodyLiteral, Call, Condition, Rule, Variable, variables
from tidalog.model.term_text import TermWriter
from tidalog.model.terms import Term
from tidalog.owl.vocabulary import Triple, is_axiom
from tidalog.rdf.layout import TRIPLE


@dataclass(frozen=True)
class Inconsistency:
    """`rule` is the name of the W3C's rule.  The triples that it needs: those of the ontology, and the
    others."""

    rule: str
    axioms: tuple[Triple, ...]
    triples: tuple[Triple, ...]

    @property
    def key(self) -> tuple[object, ...]:
        """Equal if the same triples cause it."""
        return self.rule, frozenset(self.axioms), frozenset(self.triples)


def triples_of(literals: Iterable[BodyLiteral], of: Mapping[Variable, Term]) -> tuple[Triple, ...]:
    """The atoms of triples among literals, with values for their variables."""
    found: dict[Triple, None] = {}
    for literal in literals:
        if isinstance(literal, Atom) and literal.predicate == TRIPLE:
            subject, property_, object_ = (
                of.get(a, a) if isinstance(a, Variable) else a for a in literal.arguments
            )
            if isinstance(subject, Term) and isinstance(property_, Term) and isinstance(object_, Term):
                found[subject, property_, object_] = None
    return tuple(found)


def inconsistency(rule: str, literals: Iterable[BodyLiteral], of: Mapping[Variable, Term]) -> Inconsistency:
    triples = triples_of(literals, of)
    axioms = tuple(triple for triple in triples if is_axiom(triple))
    return Inconsistency(rule, axioms, tuple(triple for triple in triples if triple not in axioms))


def shown_triples(triples: Iterable[Triple], writer: TermWriter) -> str:
    return ", ".join(" ".join(map(writer.term, triple)) for triple in triples)


def as_query(rule: Rule) -> tuple[tuple[Variable, ...], Rule]:
    """The variables of a constraint, and a rule without a head that is the body of a query: one without
    variables gets one."""
    found = tuple(dict.fromkeys(v for literal in rule.body for v in variables(literal)))
    if found:
        return found, rule
    first = next(literal for literal in rule.body if isinstance(literal, Atom))
    new = Variable("subject")
    equal = Condition(Call("=", (new, first.arguments[0])))
    asked = Atom(first.predicate, (new, *first.arguments[1:]))
    return (new,), Rule((), (asked, equal, *(literal for literal in rule.body if literal is not first)))
