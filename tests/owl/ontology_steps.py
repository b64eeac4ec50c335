"""Mixed steps of data and axioms, one update each, over a knowledge base with an ontology."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ontology_generator import Generator

from tidalog.owl.vocabulary import Triple


@dataclass
class Step:
    deleted: list[Triple] = field(default_factory=list)
    inserted: list[Triple] = field(default_factory=list)


def steps(generator: Generator, count: int, *, equality: bool) -> Iterator[Step]:
    """Axioms come whole; whole ones, single triples of them and data go."""
    random = generator.random
    groups: list[list[Triple]] = []
    facts: list[Triple] = []
    for _ in range(count):
        match random.randrange(12):
            case 0 | 1 | 2:
                group = generator.axiom()
                groups.append(group)
                yield Step(inserted=group)
            case 3 if groups:
                yield Step(deleted=groups.pop(random.randrange(len(groups))))
            case 4 if groups:
                yield Step(deleted=[random.choice(random.choice(groups))])
            case 5 if groups:
                old = groups.pop(random.randrange(len(groups)))
                group = generator.axiom()
                groups.append(group)
                fact = generator.fact()
                facts.append(fact)
                yield Step(old, [*group, fact])
            case 6 if facts:
                yield Step(deleted=[facts.pop(random.randrange(len(facts)))])
            case 7 if equality and random.random() < 0.3:
                fact = generator.equality()
                facts.append(fact)
                yield Step(inserted=[fact])
            case _:
                new = [generator.fact() for _ in range(random.randint(1, 3))]
                facts += new
                yield Step(inserted=new)
