"""Generated programs and updates in which terms become equal and stop being equal.

Terms are few, so that classes merge, fall apart and hang together in circles: through keys, functional
relations, explicit equalities, rules that read the equality, constants, and facts about members of classes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tidalog.lang import parse
from tidalog.model.program import Program
from tidalog.model.terms import IRI, Integer, Term
from tidalog.reference import evaluate
from tidalog.reference.equality import with_equality_rules

Row = tuple[Term, ...]
Given = tuple[str, Row]
INDIVIDUALS: tuple[Term, ...] = tuple(map(IRI, "abcdef"))
VALUES: tuple[Term, ...] = (Integer(1), Integer(2))
SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


@dataclass(frozen=True)
class Language:
    """What programs and their facts are made of."""

    header: str
    arities: Mapping[str, int]
    """Of the predicates that are looked at."""
    rules: tuple[str, ...]
    kinds: tuple[tuple[str, tuple[tuple[Term, ...], ...]], ...]
    """Facts: a predicate, and for each argument what it may be."""
    queries: tuple[str, ...] = ()

    def program(self, rules: Mapping[str, str]) -> str:
        return "\n".join([self.header, *(f"{name}: {text}" for name, text in rules.items())])

    def by_rules(self, rules: Mapping[str, str]) -> Program:
        """The same program with the rules for equality."""
        return with_equality_rules(parse(self.program(rules)), self.arities.items())

    def facts(self, rng: random.Random, count: int) -> Iterator[Given]:
        for _ in range(count):
            name, arguments = rng.choice(self.kinds)
            yield name, tuple(map(rng.choice, arguments))


PLAIN = Language(
    "@declare same(any, any). @declare p(any). @declare q(any, any). @declare r(any, any).\n"
    "@declare k(any, any). @declare t(any, any, any).\n@equality same .",
    {"same": 2, "p": 1, "q": 2, "r": 2, "k": 2, "t": 3},
    (
        "same(?x, ?y) :- k(?x, ?n), k(?y, ?n).",
        "same(?y, ?z) :- q(?x, ?y), q(?x, ?z).",
        "same(?x, ?y) :- r(?x, ?z), r(?y, ?z), p(?z).",
        "same(?x, <a>) :- r(?x, ?x), p(?x).",
        "same(?x, ?y) :- t(?x, ?z, ?y), p(?z).",
        "q(?x, ?z) :- r(?x, ?y), r(?y, ?z).",
        "r(?x, ?y) :- q(?y, ?x).",
        "r(?x, ?z) :- r(?x, ?y), r(?y, ?z).",
        "p(?x) :- r(?x, <b>).",
        "p(?x) :- same(?x, <c>).",
        "p(<d>) :- p(<a>).",
        "k(?x, ?n) :- k(?y, ?n), r(?x, ?y), p(?y).",
        "k(?x, 1) :- same(?x, ?y), t(?x, ?y, ?z).",
        "t(?x, ?y, <e>) :- q(?x, ?y), p(?y).",
        "t(?x, ?x, ?y) :- same(?x, ?y).",
        "r(?x, ?y) :- same(?x, ?z), q(?z, ?y).",
        "q(<b>, ?x), p(?x) :- t(?x, ?y, ?x).",
        "p(?x) :- q(?x, ?y), ?x = ?y.",
        "p(?x) :- q(?x, ?y), ?y = <f>.",
        "k(?x, ?m) :- k(?x, ?n), p(?x), ?m = ?n + 1, ?m < 4.",
        "r(?x, ?y) :- (q(?x, ?y), p(<a>) ; t(?x, ?y, <b>)).",
    ),
    (
        ("same", (INDIVIDUALS, INDIVIDUALS)),
        ("p", (INDIVIDUALS,)),
        *[(name, (INDIVIDUALS, INDIVIDUALS)) for name in "qqrr"],
        *[("k", (INDIVIDUALS, VALUES))] * 2,
        ("t", (INDIVIDUALS,) * 3),
    ),
    (
        "?x, ?y :- q(?x, ?y)",
        "?x :- q(?x, <a>)",
        "?x, ?x :- p(?x)",
        "<a>, ?y :- r(<b>, ?y), ~q(?y, ?y)",
        "?x, ?z :- q(?x, ?y), r(?y, ?z), k(?z, 1)",
        "?y :- q(?x, ?y), ?x = <c>",
        "?x, ?n :- k(?x, ?n), ?n != 1",
        "q(?x, <a>), same(<a>, <b>)",
    ),
)

_PROPERTIES: tuple[Term, ...] = (IRI("http://e/q"), IRI("http://e/q"), IRI("http://e/r"), IRI("http://e/u"))
TRIPLES = Language(
    "@prefix ex: <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n@equality owl:sameAs .",
    {"triple": 3},
    (
        "owl:sameAs(?x, ?y) :- ex:k(?x, ?n), ex:k(?y, ?n).",
        "owl:sameAs(?y, ?z) :- ex:q(?x, ?y), ex:q(?x, ?z).",
        "owl:sameAs(?x, ?y) :- ex:r(?x, ?z), ex:r(?y, ?z), ex:P(?z).",
        "owl:sameAs(?x, <a>) :- ex:r(?x, ?x), ex:P(?x).",
        "triple(?x, ?p, ?y) :- triple(?p, ex:on, ?x), triple(?p, ex:to, ?y).",
        "triple(?y, ?p, ?x) :- triple(?x, ?p, ?y), ex:Symmetric(?p).",
        "triple(?x, rdf:type, ?d) :- triple(?x, rdf:type, ?c), triple(?c, ex:under, ?d).",
        "ex:P(?x) :- ex:r(?x, <b>).",
        "ex:P(?x) :- owl:sameAs(?x, <c>).",
        "ex:P(<d>) :- ex:P(<a>).",
        "ex:q(?x, ?z) :- ex:r(?x, ?y), ex:r(?y, ?z).",
        "ex:r(?x, ?y) :- ex:q(?y, ?x).",
        "ex:Symmetric(<e>) :- ex:P(<b>).",
        "seen(?x, ?y) :- triple(?x, ?p, ?y), ex:P(?y).",
        "ex:k(?x, 1) :- triple(?x, ?y, ?z), ex:P(?y).",
    ),
    (
        ("triple", (INDIVIDUALS, (IRI(SAME_AS),), INDIVIDUALS)),
        *[("triple", (INDIVIDUALS, _PROPERTIES, INDIVIDUALS))] * 4,
        *[("triple", (INDIVIDUALS, (IRI("http://e/k"),), VALUES))] * 2,
        ("triple", (INDIVIDUALS, INDIVIDUALS, INDIVIDUALS)),
        ("triple", (INDIVIDUALS, (IRI(TYPE),), (*INDIVIDUALS, IRI("http://e/P"), IRI("http://e/Symmetric")))),
        (
            "triple",
            (INDIVIDUALS, tuple(IRI(f"http://e/{name}") for name in ("on", "to", "under")), INDIVIDUALS),
        ),
    ),
    (
        "?x, ?y :- ex:q(?x, ?y)",
        "?x, ?p :- triple(?x, ?p, <a>)",
        "?y :- triple(<b>, <c>, ?y)",
        "?x :- ex:P(?x), ~ex:q(?x, <a>)",
        "?x :- triple(?x, rdf:type, <d>)",
        "?x, ?y :- owl:sameAs(?x, ?y)",
    ),
)


@dataclass
class Oracle:
    """What users gave, and what is true by the rules for equality."""

    language: Language
    rules: dict[str, str] = field(default_factory=dict)
    given: dict[str, set[Row]] = field(default_factory=dict)

    def add(self, facts: Iterator[Given]) -> None:
        for name, row in facts:
            self.given.setdefault(name, set()).add(row)

    def true(self) -> dict[str, frozenset[Row]]:
        given = {name: set(rows) for name, rows in self.given.items()}
        found = evaluate(parse(self.language.program(self.rules)), given)
        return {name: found.get(name, frozenset()) for name in self.language.arities}


def generated(rng: random.Random, language: Language) -> Oracle:
    chosen = rng.sample(language.rules, 7)
    if not any("same" in rule.split(":-")[0] for rule in chosen):
        chosen.append(language.rules[0])
    oracle = Oracle(language, {f"r{number}": text for number, text in enumerate(chosen)})
    oracle.add(language.facts(rng, 10))
    return oracle


@dataclass(frozen=True)
class Step:
    """An update: facts to delete and to insert, names of rules that go, rules that come."""

    deletions: tuple[Given, ...] = ()
    insertions: tuple[Given, ...] = ()
    removed: tuple[str, ...] = ()
    added: tuple[tuple[str, str], ...] = ()


def steps(rng: random.Random, oracle: Oracle, count: int, *, edits: bool = True) -> Iterator[Step]:
    """Updates of what the oracle holds, which follows them."""
    number, language = 0, oracle.language
    for _ in range(count):
        known = [(name, row) for name, rows in sorted(oracle.given.items()) for row in sorted(rows, key=str)]
        gone = rng.sample(known, min(len(known), rng.choice((0, 1, 1, 2, 5))))
        size = rng.choice((0, 1, 1, 2)) if len(known) > 14 else rng.choice((0, 1, 2, 6))
        came = list(language.facts(rng, size))
        if rng.random() < 0.1:
            gone += list(language.facts(rng, 1))
        if gone and rng.random() < 0.1:
            came.append(gone[0])
        removed: tuple[str, ...] = ()
        added: tuple[tuple[str, str], ...] = ()
        if edits and rng.random() < 0.15:
            if oracle.rules and rng.random() < 0.6:
                removed = (rng.choice(sorted(oracle.rules)),)
            free = [text for text in language.rules if text not in oracle.rules.values()]
            if free and rng.random() < 0.6:
                number += 1
                added = ((f"n{number}", rng.choice(free)),)
        yield Step(tuple(gone), tuple(came), removed, added)
        for name, row in gone:
            oracle.given.get(name, set()).discard(row)
        oracle.add(iter(came))
        for rule in removed:
            del oracle.rules[rule]
        oracle.rules.update(added)
