"""What an ontology and data mean: the generic rules of a profile, by the naive evaluator."""

from __future__ import annotations

from collections.abc import Iterable

import tidalog
from tidalog.model.program import Program
from tidalog.model.terms import IRI, OWL, BlankNode, Term
from tidalog.owl.profiles import is_of_equality, profile_named
from tidalog.owl.vocabulary import Triple
from tidalog.reference import evaluate, violations

SAME_AS = IRI(OWL + "sameAs")
NOTHING = IRI(OWL + "Nothing")


def meaning(triples: Iterable[Triple], profile: str, *, equality: bool) -> set[Triple]:
    """All triples that hold.  Without `equality`, the rules eq-* are left out: nothing is the same as another
    thing."""
    rules = [r for r in profile_named(profile).rules if equality or not is_of_equality(r)]
    model = evaluate(Program(rules=tuple(rules)), {"triple": set(triples)})
    return set(model["triple"])


def contradictions(triples: Iterable[Triple], profile: str) -> set[str]:
    """The names of the constraints that these triples, which are closed under the rules, violate."""
    chosen = profile_named(profile)
    program = Program(rules=(*chosen.rules, *chosen.checks))
    model = evaluate(Program(rules=chosen.rules), {"triple": set(triples)})
    return {str(found.rule.name) for found in violations(program, model)}


def triples_of(kb: tidalog.KnowledgeBase, *, explicit: bool | None = None) -> set[Triple]:
    found = kb.id_rows("triple", explicit)
    columns = [list(map(kb.dictionary.term, column.tolist())) for column in found.columns]
    return set(zip(*columns, strict=True))


def visible(triples: Iterable[Triple]) -> set[Triple]:
    """Without members of classes that have no name and pairs of properties that have none, which compiled
    rules keep to themselves."""
    return {triple for triple in triples if not isinstance(triple[1], BlankNode) and not _is_unnamed(triple)}


def _is_unnamed(triple: Triple) -> bool:
    _, property_, object_ = triple
    return property_ == IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type") and isinstance(
        object_, BlankNode
    )


def shown(triples: Iterable[tuple[Term, ...]]) -> list[str]:
    return sorted(" ".join(map(str, triple)) for triple in triples)
