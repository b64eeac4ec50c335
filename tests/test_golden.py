"""Golden folders: a program, its data, and every fact that must come out, thought through by hand.

The layout of a folder is described in `golden_data`; the same folders run against every backend in
`conformance`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import tidalog
from golden_data import (
    FOLDERS,
    WITH_UPDATES,
    Row,
    expected_facts,
    expected_lines,
    expected_violations,
    imported_facts,
)
from tidalog.analysis.triples import lower_fact
from tidalog.lang import parse_file, print_rule
from tidalog.lang.updates import ScriptUpdate, parse_updates_file
from tidalog.maintain.choose import STRATEGIES
from tidalog.model.errors import ProgramError, RunError
from tidalog.model.program import Fact, Program, Rule
from tidalog.model.term_text import term_text
from tidalog.reference import NotEvaluable, Violation, evaluate, violations
from tidalog.reference.clauses import uses_triples


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
    assert outcome.violated == {
        line.partition(":")[0] for line in expected_lines(expected / "violations.txt")
    }
    for predicate, rows in expected_facts(expected):
        assert outcome.facts.get(predicate, frozenset()) == rows, predicate


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_violation_isexpected_facts(folder: Path) -> None:
    if (folder / "expected" / "refused.txt").exists():
        return
    program = parse_file(folder / "program.rls")
    found = violations(program, evaluate(program, imported_facts(folder, program)))
    assert sorted(map(_violation, found)) == sorted(expected_lines(folder / "expected" / "violations.txt"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_derived_predicate_isexpected_facts(folder: Path) -> None:
    if (folder / "expected" / "refused.txt").exists():
        return
    program = parse_file(folder / "program.rls")
    assert program.source is None or program.source.text.lstrip().startswith("%")
    named = {predicate for predicate, _ in expected_facts(folder / "expected")}
    assert named == set(program.outputs) or (not program.outputs and named >= _derived(program))


@pytest.mark.parametrize("folder", WITH_UPDATES, ids=lambda folder: folder.name)
def test_updates_by_the_reference(folder: Path) -> None:
    program = named(parse_file(folder / "program.rls"))
    explicit = [normal(fact, program) for fact in program.facts]
    for number, update in enumerate(parse_updates_file(folder / "updates.upd", program.prefixes), 1):
        expected = folder / "expected" / f"after_{number}"
        if not (expected / "refused.txt").exists():
            deleted, inserted = (
                {normal(fact, program) for fact in facts} for facts in (update.deletions, update.insertions)
            )
            wanted = [*(fact for fact in explicit if fact not in deleted), *inserted]
            changed = with_other_rules(replace(program, facts=tuple(dict.fromkeys(wanted))), update)
            model = evaluate(changed, {})
            found = [_violation(violation) for violation in violations(changed, model)]
            assert sorted(found) == sorted(expected_lines(expected / "violations.txt"))
            if not found:
                explicit, program = wanted, replace(changed, facts=())
        model = evaluate(replace(program, facts=tuple(explicit)), {})
        for predicate, rows in expected_facts(expected):
            assert model.get(predicate, frozenset()) == rows, (number, predicate)


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


def normal(fact: Fact, program: Program) -> Fact:
    """The same fact of the same predicate however it is written, and wherever."""
    lowered = lower_fact(fact, frozenset()) if uses_triples(program) else fact
    return replace(lowered, span=None)


def named(program: Program) -> Program:
    """Every rule with the name that it has unless it says its own."""
    rules = (replace(rule, name=rule.name or f"r{place}") for place, rule in enumerate(program.rules, 1))
    return replace(program, rules=tuple(rules))


def with_other_rules(program: Program, update: ScriptUpdate) -> Program:
    """Rules that an update adds have names in golden folders, and those that it removes are there.  One that
    is there already, up to the names of variables, is not added."""
    rules = [rule for rule in program.rules if rule.name not in update.rules_removed]
    assert len(rules) == len(program.rules) - len(update.rules_removed)
    for rule in update.rules_added:
        assert rule.name is not None
        if _without_names(rule) not in map(_without_names, rules):
            rules.append(rule)
    return replace(program, rules=tuple(rules))


def _without_names(rule: Rule) -> str:
    numbers: dict[str, str] = {}
    text = print_rule(replace(rule, name=None))
    return re.sub(r"\?\w+", lambda found: numbers.setdefault(found[0], f"?{len(numbers)}"), text)


def _derived(program: Program) -> set[str]:
    heads = {head.predicate for rule in program.rules for head in rule.heads}
    return {"triple" if uses_triples(program) and ":" in predicate else predicate for predicate in heads}


def _violation(violation: Violation) -> str:
    bindings = ", ".join(f"?{name} = {term_text(term)}" for name, term in violation.bindings)
    return f"{violation.rule.name}: {bindings}"
