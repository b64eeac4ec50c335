"""Golden folders: a program, its data, and every fact that must come out, thought through by hand.

The layout of a folder is described in `golden_data`; the same folders run against every backend in
`conformance`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import tidalog
from golden_data import (
    FOLDERS,
    WITH_UPDATES,
    expected_facts,
    expected_lines,
    expected_violations,
)
from tidalog.lang import parse_file
from tidalog.lang.updates import parse_updates_file
from tidalog.maintain.choose import STRATEGIES
from tidalog.model.errors import ProgramError, RunError
from tidalog.model.program import Program
from tidalog.reference.clauses import uses_triples


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_derived_predicate_is_expected(folder: Path) -> None:
    if (folder / "expected" / "refused.txt").exists():
        return
    program = parse_file(folder / "program.rls")
    assert program.source is None or program.source.text.lstrip().startswith("%")
    named = {predicate for predicate, _ in expected_facts(folder / "expected")}
    assert named == set(program.outputs) or (not program.outputs and named >= _derived(program))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("folder", WITH_UPDATES, ids=lambda folder: folder.name)
def test_updates_by_the_knowledge_base(folder: Path, strategy: str) -> None:
    """States and deltas, with a look at the next update or two on the way."""
    with tidalog.open(strategy=strategy) as kb:
        kb.load(folder / "program.rls")
        updates = kb.read_updates(folder / "updates.upd")
        before = dict(expected_facts(folder / "expected"))
        for number, update in enumerate(updates, 1):
            expected = folder / "expected" / f"after_{number}"
            violated = expected_violations(expected)
            now = dict(expected_facts(expected))
            upcoming = updates[number : number + 1 + number % 2]
            refused = expected_lines(expected / "refused.txt")
            if refused:
                with pytest.raises(ProgramError, match=refused[0]):
                    kb.apply(update, upcoming)
                assert now == before
            elif violated:
                with pytest.raises(RunError) as refusal:
                    kb.apply(update, upcoming)
                assert {str(d.values["rule"]) for d in refusal.value.diagnostics} == violated
                assert now == before
            else:
                delta = kb.apply(update, upcoming)
                for predicate, rows in now.items():
                    if predicate not in delta:
                        assert rows == before[predicate], (number, predicate)
                        continue
                    change = delta[predicate]
                    assert set(change.inserted.to_terms()) == rows - before[predicate], (number, predicate)
                    assert set(change.deleted.to_terms()) == before[predicate] - rows, (number, predicate)
            for predicate, rows in now.items():
                found = kb.facts(predicate).to_terms() if predicate in kb.predicates or rows else []
                assert set(found) == rows, (number, predicate)
            before = now


@pytest.mark.parametrize("folder", WITH_UPDATES, ids=lambda folder: folder.name)
def test_every_update_says_all_that_the_program_says(folder: Path) -> None:
    updates = parse_updates_file(folder / "updates.upd", parse_file(folder / "program.rls").prefixes)
    expected = folder / "expected"
    after = {path.name for path in expected.iterdir() if path.is_dir()}
    assert after == {f"after_{number}" for number in range(1, len(updates) + 1)}
    named = {predicate for predicate, _ in expected_facts(expected)}
    for name in after:
        assert {predicate for predicate, _ in expected_facts(expected / name)} == named


def test_there_are_enough_folders() -> None:
    assert len(FOLDERS) >= 65
    assert len(WITH_UPDATES) >= 25


def _derived(program: Program) -> set[str]:
    heads = {head.predicate for rule in program.rules for head in rule.heads}
    return {"triple" if uses_triples(program) and ":" in predicate else predicate for predicate in heads}
