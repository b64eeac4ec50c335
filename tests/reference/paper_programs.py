"""The programs and streams of papers 001 and 003, and a short way to write facts."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tidalog.lang import parse
from tidalog.model.program import Program
from tidalog.model.terms import Integer, Term
from tidalog.reference import Fact, Maintenance, Update, evaluate

STREAMS = Path(__file__).resolve().parent.parent / "data" / "marking"


def program(text: str) -> Program:
    return parse(text, "test")


def facts(text: str) -> set[Fact]:
    """`facts("edge(a, b). edge(b, c).")`"""
    return {(fact.predicate, fact.arguments) for fact in program(text).facts}


def fact(text: str) -> Fact:
    (only,) = facts(text)
    return only


def from_scratch(rules: Program, explicit: Iterable[Fact]) -> set[Fact]:
    given: dict[str, set[tuple[Term, ...]]] = {}
    for predicate, row in explicit:
        given.setdefault(predicate, set()).add(row)
    return {(predicate, row) for predicate, rows in evaluate(rules, given).items() for row in rows}


def run(algorithm: Maintenance, stream: list[Update], *, look_ahead: bool = True) -> Maintenance:
    for number, update in enumerate(stream):
        algorithm.apply(update, stream[number + 1 : number + 2] if look_ahead else ())
    return algorithm


@cache
def stream_of(name: str) -> list[Update]:
    updates: dict[int, tuple[list[Fact], list[Fact]]] = {}
    with gzip.open(STREAMS / f"{name}.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):
            arguments = tuple(Integer(int(row[f"arg{n}"])) for n in (1, 2, 3) if row.get(f"arg{n}"))
            deletions, insertions = updates.setdefault(int(row["update"]), ([], []))
            (deletions if row["op"] == "-" else insertions).append((row["predicate"], arguments))
    return [updates[number] for number in sorted(updates)]


# Paper 001, Figures 1 and 2.
TRANS = program("path(?x, ?y) :- edge(?x, ?y). path(?x, ?z) :- edge(?x, ?y), path(?y, ?z).")
SEQ = program("""
    edge1(?x, ?y) :- edge(?x, ?y).   edge2(?x, ?y) :- edge1(?x, ?y).
    edge3(?x, ?y) :- edge2(?x, ?y).  edge4(?x, ?y) :- edge3(?x, ?y).
""")
MAP = program("""
    connection(?v, ?w) :- nextInWay(?x, ?a, ?v), nextInWay(?x, ?b, ?w), ?v != ?w .
    connection(?v, ?w) :- nextInWay(?x, ?a, ?v), nextInWay(?b, ?x, ?w), ?v != ?w .
    connection(?v, ?w) :- nextInWay(?a, ?x, ?v), nextInWay(?x, ?b, ?w), ?v != ?w .
    connection(?v, ?w) :- nextInWay(?a, ?x, ?v), nextInWay(?b, ?x, ?w), ?v != ?w .
    connection(?u, ?w) :- connection(?u, ?v), connection(?v, ?w) .
""")
# Paper 001, Examples 1 to 3.
EXAMPLE_1 = program("q(?x) :- p1(?x), p2(?x).")
EXAMPLE_2 = program("q(?x) :- p1(?x), p2(?x). q(?x) :- p3(?x). r(?x) :- q(?x).")
EXAMPLE_3 = program("""
    q(?x) :- p1(?x), p2(?x). q(?x) :- p3(?x). r(?x) :- q(?x). s(?x) :- q(?x), p4(?x).
""")
# Paper 003, Table 1.
TUTORS = program("""
    ta(?x) :- person(?x), tutor(?x, ?y), course(?y).
    person(?x) :- ta(?x).
    person(?x) :- tutor(?x, ?y).
    course(?y) :- tutor(?x, ?y).
""")
E1, E2, E3 = map(fact, ("tutor(john, math).", "tutor(peter, math).", "tutor(john, phys)."))
I1, I2, I3 = map(fact, ("person(peter).", "ta(peter).", "course(math)."))
I4, I5, I6 = map(fact, ("person(john).", "ta(john).", "course(phys)."))


def chain(length: int) -> Program:
    """Paper 003, rules (1) to (3)."""
    links = "".join(f"c{n}(?x) :- c{n - 1}(?x). " for n in range(2, length + 1))
    return program(f"c1(?x) :- a(?x). c1(?x) :- b(?x). {links}")
