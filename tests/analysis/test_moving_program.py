"""Laws of programs whose rules come and go: a graph that was changed is the graph built from scratch."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from moving_rules import Step, moving_rules, same_as_from_scratch, steps, triple_rules

from tidalog.analysis import analyse
from tidalog.analysis.moving_program import MovingProgram
from tidalog.errors import ProgramError
from tidalog.program import Program


def numbers_of(program: Program) -> set[str]:
    try:
        analyse(program)
    except ProgramError as refused:
        return {diagnostic.number for diagnostic in refused.diagnostics}
    return set()


def walk(moving: MovingProgram, stream: list[Step]) -> None:
    """Makes the changes; each leaves the program that a fresh analysis accepts, or refuses and changes
    nothing."""
    for step in stream:
        before = moving.program
        names = step.names(moving)
        staying = tuple(rule for rule in before.rules if rule.name not in names)
        try:
            change = moving.change(step.added, names)
        except ProgramError as refused:
            assert moving.program == before
            same_as_from_scratch(moving)
            wanted = numbers_of(replace(before, rules=(*staying, *step.added)))
            assert {d.number for d in refused.diagnostics} <= wanted
            assert wanted
        else:
            same_as_from_scratch(moving)
            assert moving.program.rules == (
                *(rule for rule in before.rules if rule not in change.removed),
                *change.added,
            )
            assert len(step.added) == len(change.added) + len(change.already_there)


@given(stream=st.lists(steps(moving_rules()), min_size=1, max_size=12))
@settings(max_examples=600, deadline=None)
def test_after_every_change_the_graph_is_the_one_built_from_scratch(stream: list[Step]) -> None:
    walk(MovingProgram(analyse(Program())), stream)


@given(stream=st.lists(steps(triple_rules()), min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_rules_over_triples_move_the_relations_that_hold_them(stream: list[Step]) -> None:
    walk(MovingProgram(analyse(Program())), stream)
