"""Golden folders: a program, its data, and every fact that must come out, thought through by hand.

    tests/golden/NAME/program.rls
                     expected/PREDICATE.csv      rows as in a table (LANGUAGE, section 2)
                     expected/PREDICATE.txt      facts in the main dialect, where a table reads badly
                     expected/violations.txt     the constraints that are violated, and by which values
                     expected/refused.txt        the number of the error that refuses the program

Every predicate that a rule derives has an expected file, or the program names its outputs and those have.
The first comment of a program says what the folder is about.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import tidalog
from golden_data import FOLDERS, Row, imported_facts
from tidalog.errors import ProgramError, RunError
from tidalog.lang import parse, parse_file
from tidalog.program import Program
from tidalog.reference import NotEvaluable, evaluate, violations
from tidalog.reference.clauses import uses_triples
from tidalog.termtext import parse_any, term_text


@dataclass(frozen=True)
class Outcome:
    """What an evaluator says of a program."""

    facts: Mapping[str, frozenset[Row]]
    violated: frozenset[str] = frozenset()
    """The names of the constraints that do not hold; there need be no facts then."""


# --- evaluators -------------------------------------------------------------------------------------


def by_reference(folder: Path) -> Outcome:
    program = parse_file(folder / "program.rls")
    model = evaluate(program, imported_facts(folder, program))
    return Outcome(model, frozenset(str(v.rule.name) for v in violations(program, model)))


def by_knowledge_base(folder: Path) -> Outcome:
    """The way of a user: the program and its imports as they stand."""
    with tidalog.open() as kb:
        try:
            kb.load(folder / "program.rls")
            facts = {name: frozenset(kb.facts(name).to_terms()) for name in kb.predicates}
        except RunError as error:
            return Outcome({}, frozenset(str(d.values["rule"]) for d in error.diagnostics))
    return Outcome(facts)


EVALUATORS: dict[str, Callable[[Path], Outcome]] = {
    "reference": by_reference,
    "knowledge base": by_knowledge_base,
}


# --- the tests --------------------------------------------------------------------------------------


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_golden(folder: Path, evaluator: str) -> None:
    expected = folder / "expected"
    if (expected / "refused.txt").exists():
        with pytest.raises((NotEvaluable, ProgramError)):
            EVALUATORS[evaluator](folder)
        return
    outcome = EVALUATORS[evaluator](folder)
    assert outcome.violated == {line.partition(":")[0] for line in _lines(expected / "violations.txt")}
    for predicate, rows in _expected(expected):
        assert outcome.facts.get(predicate, frozenset()) == rows, predicate


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_violation_is_expected(folder: Path) -> None:
    if (folder / "expected" / "refused.txt").exists():
        return
    program = parse_file(folder / "program.rls")
    found = violations(program, evaluate(program, imported_facts(folder, program)))
    lines = [f"{v.rule.name}: {', '.join(f'?{n} = {term_text(t)}' for n, t in v.bindings)}" for v in found]
    assert sorted(lines) == sorted(_lines(folder / "expected" / "violations.txt"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_derived_predicate_is_expected(folder: Path) -> None:
    if (folder / "expected" / "refused.txt").exists():
        return
    program = parse_file(folder / "program.rls")
    assert program.source is None or program.source.text.lstrip().startswith("%")
    named = {predicate for predicate, _ in _expected(folder / "expected")}
    assert named == set(program.outputs) or (not program.outputs and named >= _derived(program))


def test_there_are_enough_folders() -> None:
    assert len(FOLDERS) >= 65


def _derived(program: Program) -> set[str]:
    heads = {head.predicate for rule in program.rules for head in rule.heads}
    return {"triple" if uses_triples(program) and ":" in predicate else predicate for predicate in heads}


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _expected(folder: Path) -> Iterator[tuple[str, frozenset[Row]]]:
    for path in sorted(folder.iterdir()):
        if path.suffix == ".csv":
            rows = [tuple(map(parse_any, row)) for row in csv.reader(path.open(newline=""))]
        elif path.stem not in ("violations", "refused"):
            rows = [fact.arguments for fact in parse(path.read_text(), path.name).facts]
        else:
            continue
        assert len(rows) == len(set(rows)), f"{path} says something twice"
        yield path.stem, frozenset(rows)
