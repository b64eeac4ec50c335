"""Generated programs and updates in which terms become equal and stop being equal.

Terms are few, so that classes merge, fall apart and hang together in circles: through keys, functional
relations, explicit equalities, rules that read the equality, constants, and facts about members of classes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tidalog.lang import parse
from tidalog.model.terms import IRI, Integer, Term
from tidalog.reference import evaluate

Row = tuple[Term, ...]
Rows = Mapping[str, frozenset[Row]]
SAME = "same"
ARITIES = {SAME: 2, "p": 1, "q": 2, "r": 2, "k": 2, "t": 3}
INDIVIDUALS: tuple[Term, ...] = tuple(map(IRI, "abcdef"))
VALUES: tuple[Term, ...] = (Integer(1), Integer(2))
RULES = (
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
)


def facts(rng: random.Random, count: int) -> Iterator[tuple[str, Row]]:
    for _ in range(count):
        name = rng.choice(("same", "p", "q", "q", "r", "r", "k", "k", "t"))
        row = [rng.choice(INDIVIDUALS) for _ in range(ARITIES[name])]
        if name == "k":
            row[1] = rng.choice(VALUES)
        yield name, tuple(row)


def program(rules: Mapping[str, str]) -> str:
    declared = [
        f"@declare {name}({', '.join('any' for _ in range(arity))}) ." for name, arity in ARITIES.items()
    ]
    return "\n".join([*declared, "@equality same .", *(f"{name}: {text}" for name, text in rules.items())])


@dataclass
class Oracle:
    """What is true, by the rules for equality."""

    rules: dict[str, str] = field(default_factory=dict)
    given: dict[str, set[Row]] = field(default_factory=dict)

    def true(self) -> dict[str, frozenset[Row]]:
        found = evaluate(parse(program(self.rules)), {name: set(rows) for name, rows in self.given.items()})
        return {name: found.get(name, frozenset()) for name in ARITIES}


@dataclass(frozen=True)
class Step:
    """An update: facts to delete and to insert, names of rules that go, rules that come."""

    deletions: tuple[tuple[str, Row], ...] = ()
    insertions: tuple[tuple[str, Row], ...] = ()
    removed: tuple[str, ...] = ()
    added: tuple[tuple[str, str], ...] = ()


def steps(rng: random.Random, oracle: Oracle, count: int, *, edits: bool = True) -> Iterator[Step]:
    """Updates of what the oracle holds, which follows them."""
    number = 0
    for _ in range(count):
        known = [(name, row) for name, rows in sorted(oracle.given.items()) for row in sorted(rows, key=str)]
        gone = rng.sample(known, min(len(known), rng.choice((0, 1, 1, 2, 5))))
        came = list(facts(rng, rng.choice((0, 1, 1, 2)) if len(known) > 14 else rng.choice((0, 1, 2, 6))))
        if rng.random() < 0.1:
            gone += list(facts(rng, 1))
        if gone and rng.random() < 0.1:
            came.append(gone[0])
        removed: tuple[str, ...] = ()
        added: tuple[tuple[str, str], ...] = ()
        if edits and rng.random() < 0.15:
            if oracle.rules and rng.random() < 0.6:
                removed = (rng.choice(sorted(oracle.rules)),)
            free = [text for text in RULES if text not in oracle.rules.values()]
            if free and rng.random() < 0.6:
                number += 1
                added = ((f"n{number}", rng.choice(free)),)
        yield Step(tuple(gone), tuple(came), removed, added)
        for name, row in gone:
            oracle.given.get(name, set()).discard(row)
        for name, row in came:
            oracle.given.setdefault(name, set()).add(row)
        for rule in removed:
            del oracle.rules[rule]
        oracle.rules.update(added)
