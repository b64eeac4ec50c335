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

from golden_data import FOLDERS, Row, imported_facts
from tidalog.lang import parse, parse_file
from tidalog.program import Program
from tidalog.reference import NotEvaluable, evaluate, violations
from tidalog.reference.clauses import uses_triples
from tidalog.termtext import parse_any, term_text


@dataclass(frozen=True)
class Outcome:
    """What an evaluator says of a program: its facts, or that it is refused (the reason as text)."""

    facts: Mapping[str, frozenset[Row]]
    violated: tuple[str, ...] = ()
    refused: str | None = None


# --- evaluators -------------------------------------------------------------------------------------


def by_reference(folder: Path) -> Outcome:
    program = parse_file(folder / "program.rls")
    try:
        model = evaluate(program, imported_facts(folder, program))
    except NotEvaluable as error:
        return Outcome({}, refused=str(error))
    found = violations(program, model)
    lines = [f"{v.rule.name}: {', '.join(f'?{n} = {term_text(t)}' for n, t in v.bindings)}" for v in found]
    return Outcome(model, tuple(sorted(lines)))


EVALUATORS: dict[str, Callable[[Path], Outcome]] = {"reference": by_reference}


# --- the test ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_golden(folder: Path, evaluator: str) -> None:
    outcome = EVALUATORS[evaluator](folder)
    expected = folder / "expected"
    if (expected / "refused.txt").exists():
        assert outcome.refused
        return
    assert outcome.refused is None
    lines = expected / "violations.txt"
    assert sorted(outcome.violated) == (sorted(lines.read_text().splitlines()) if lines.exists() else [])
    for predicate, rows in _expected(expected):
        assert outcome.facts.get(predicate, frozenset()) == rows, predicate


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
