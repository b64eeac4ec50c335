"""A program under maintenance, with the laws that hold after every update.

What it holds is what evaluation from scratch gives; the change it hands out is the difference of the states
before and after; the store is consistent; in ranked mode every implicit fact has a proof of smaller ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from consistency import check_counts, check_derivation_log, check_ranks, check_store

from engine_harness import Row, loaded, rows
from tidalog.analysis import analyse
from tidalog.engine import facts as fact_store
from tidalog.engine.bits import EXPLICIT
from tidalog.lang import parse, print_program
from tidalog.lang.updates import ScriptUpdate, parse_updates, print_updates
from tidalog.maintain.choose import MARKINGS, Options
from tidalog.maintain.maintainer import Maintainer, Outcome
from tidalog.maintain.materialise import materialise
from tidalog.maintain.transaction import PredicateDelta
from tidalog.model.facts import Facts
from tidalog.model.program import Fact as ProgramFact
from tidalog.model.program import Program
from tidalog.model.rule_edit import NamedRemoval, RuleEdit
from tidalog.model.update import EncodedUpdate
from tidalog.reference import evaluate

Fact = tuple[str, Row]
Update = tuple[tuple[Fact, ...], tuple[Fact, ...]]
"""Deletions, insertions."""

ORDERS_OF_WORK = (
    ("ranked", "ours"),
    ("counting", "ours"),
    ("bf", "ours"),
    ("bf", "paper"),
    ("fbf", "ours"),
    ("dred", "ours"),
    ("recompute", "ours"),
    ("auto", "ours"),
)


def _accepted(options: dict[str, Any]) -> bool:
    try:
        Options(**options)
    except ValueError:
        return False
    return True


CONFIGURATIONS = tuple(
    Options(**wanted)
    for strategy, order in ORDERS_OF_WORK
    for marking in MARKINGS
    for look_ahead in range(4)
    if _accepted(
        wanted := {"strategy": strategy, "order": order, "marking": marking, "look_ahead": look_ahead}
    )
)
PLAIN_CONFIGURATIONS = tuple(
    Options(strategy=strategy, order=order, marking="none", look_ahead=0)
    for strategy, order in ORDERS_OF_WORK
)


@dataclass(frozen=True)
class Scenario:
    """A program with its explicit facts, updates, and the updates that are announced with each."""

    program: Program
    updates: tuple[Update, ...]
    announced: tuple[tuple[Update, ...], ...] | None = None
    """None: the updates that follow."""

    def __repr__(self) -> str:
        coming = "" if self.announced is None else f", announced={[script(list(a)) for a in self.announced]}"
        return f'scenario("""\n{print_program(self.program)}""", """\n{script(self.updates)}"""{coming})'

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def upcoming(self, number: int) -> tuple[Update, ...]:
        return self.updates[number + 1 :] if self.announced is None else self.announced[number]


def scenario(program: str, updates: str, announced: Sequence[str] | None = None) -> Scenario:
    """A scenario as its `repr` prints it."""
    coming = None if announced is None else tuple(updates_of(text) for text in announced)
    return Scenario(parse(program), updates_of(updates), coming)


def script(updates: Iterable[Update]) -> str:
    return print_updates(
        ScriptUpdate(
            tuple(ProgramFact(*fact) for fact in deletions), tuple(ProgramFact(*fact) for fact in insertions)
        )
        for deletions, insertions in updates
    )


def updates_of(text: str) -> tuple[Update, ...]:
    return tuple(
        (
            tuple((fact.predicate, fact.arguments) for fact in update.deletions),
            tuple((fact.predicate, fact.arguments) for fact in update.insertions),
        )
        for update in parse_updates(text)
    )


@dataclass
class State:
    explicit: set[Fact]
    facts: set[Fact]


@dataclass
class Oracle:
    """The meaning of a program's rules over explicit facts that change."""

    rules: Program
    state: State = field(init=False)

    def __post_init__(self) -> None:
        explicit = {(fact.predicate, fact.arguments) for fact in self.rules.facts}
        self.rules = replace(self.rules, facts=())
        self.state = self.with_explicit(explicit)

    def with_explicit(self, explicit: set[Fact]) -> State:
        given: dict[str, set[Row]] = {}
        for predicate, row in explicit:
            given.setdefault(predicate, set()).add(row)
        model = evaluate(self.rules, given)
        return State(explicit, {(name, row) for name, found in model.items() for row in found})

    def after(self, update: Update) -> State:
        return self.with_explicit(self.state.explicit - set(update[0]) | set(update[1]))


class Maintained:
    """An engine with a program's facts and rules, and its maintainer."""

    def __init__(self, program: Program, options: Options | None = None) -> None:
        self.program = program
        self.analysis = analyse(program)
        self.engine = loaded(self.analysis)
        materialise(self.engine, self.analysis)
        self.maintainer = Maintainer(self.engine, self.analysis, options=options)
        self.options = self.maintainer.options

    def encoded(self, update: Update) -> EncodedUpdate:
        return EncodedUpdate(self._batches(update[0]), self._batches(update[1]))

    def _batches(self, facts: Iterable[Fact]) -> tuple[Facts, ...]:
        by_name: dict[str, list[Row]] = {}
        for name, row in facts:
            by_name.setdefault(name, []).append(row)
        id_of = self.engine.dictionary.id_of
        return tuple(
            Facts(
                name,
                [np.array([id_of(row[c]) for row in found], np.int32) for c in range(len(found[0]))],
                len(found),
            )
            for name, found in by_name.items()
        )

    def apply(
        self,
        update: Update,
        upcoming: Sequence[Update] = (),
        removed: Iterable[str] = (),
        **how: Any,
    ) -> Outcome:
        """`removed`: rules that the next update removes."""
        edit = RuleEdit(removed=tuple(map(NamedRemoval, removed)))
        coming = [self.encoded(u) for u in upcoming[: self.options.look_ahead]]
        coming[:1] = [replace(first, rules=edit) for first in coming[:1]]
        return self.maintainer.apply(self.encoded(update), coming, **how)

    @property
    def facts(self) -> set[Fact]:
        return {(name, row) for name in self._visible for row in rows(self.engine, name)}

    @property
    def explicit(self) -> set[Fact]:
        mask = int(EXPLICIT)
        count = {name: len(self.engine.ids(name, mask, mask)) for name in self._visible}
        return {
            (name, row)
            for name in self._visible
            for row in self._decoded(self.engine.columns(name, mask, mask), count[name])
        }

    @property
    def _visible(self) -> list[str]:
        return [name for name in self.engine.names if not name.startswith(("#", "?"))]

    def _decoded(self, columns: list[np.ndarray], count: int) -> list[Row]:
        term = self.engine.dictionary.term
        return [tuple(term(int(column[i])) for column in columns) for i in range(count)]

    # --- laws ---------------------------------------------------------------------------------------

    def check_state(self, expected: State) -> None:
        assert self.facts == expected.facts
        assert self.explicit == expected.explicit
        check_store(self.engine)
        check_ranks(self.maintainer)
        check_counts(self.maintainer)
        check_derivation_log(self.maintainer)

    def check_outcome(self, outcome: Outcome, before: State, after: State, update: Update) -> None:
        seen = {kind: Counter[tuple[Fact, bool]]() for kind in ("inserted", "deleted", "gained", "lost")}
        for name, part in outcome.delta.items():
            assert not name.startswith("#"), f"the delta names the hidden relation {name}"
            if name.startswith("?"):  # of an alternative or an aggregate inside an expression
                continue
            for kind, found in self._parts(part):
                seen[kind].update(((name, row), flag) for row, flag in found)
        stayed = before.facts & after.facts
        gained, lost = after.explicit - before.explicit, before.explicit - after.explicit
        assert seen == {
            "inserted": Counter((f, f in after.explicit) for f in after.facts - before.facts),
            "deleted": Counter((f, f in before.explicit) for f in before.facts - after.facts),
            "gained": Counter((f, True) for f in stayed & gained),
            "lost": Counter((f, True) for f in stayed & lost),
        }
        deletions, insertions = map(set, update)
        if len(deletions) + len(insertions) == len(update[0]) + len(update[1]) == len(deletions | insertions):
            wasted = len(deletions - before.explicit) + len(insertions & before.explicit)
            assert outcome.ignored == wasted

    def _parts(self, part: PredicateDelta) -> Iterable[tuple[str, list[tuple[Row, bool]]]]:
        inserted = self._decoded(part.inserted, part.inserted_rows)
        deleted = self._decoded(part.deleted, part.deleted_rows)
        yield "inserted", list(zip(inserted, part.inserted_explicit.tolist(), strict=True))
        yield "deleted", list(zip(deleted, part.deleted_explicit.tolist(), strict=True))
        gained = self._decoded(part.became_explicit, part.became_explicit_rows)
        lost = self._decoded(part.became_implicit, part.became_implicit_rows)
        yield "gained", [(row, True) for row in gained]
        yield "lost", [(row, True) for row in lost]


steps_run = Counter[str]()
"""Updates by configuration; how much was tested."""


@contextmanager
def unused_at_most(count: int) -> Iterator[None]:
    """Unused ids and rows are removed once there are `count` of them, and as many as are used."""
    before = fact_store.UNUSED
    fact_store.UNUSED = count
    try:
        yield
    finally:
        fact_store.UNUSED = before


def check_scenario(
    given: Scenario, configurations: Sequence[Options] = PLAIN_CONFIGURATIONS, unused: int = 1 << 16
) -> None:
    """All laws after every update, under each configuration."""
    with unused_at_most(unused):
        _check_scenario(given, configurations)


def _check_scenario(given: Scenario, configurations: Sequence[Options]) -> None:
    oracle = Oracle(given.program)
    states = [oracle.state]
    for update in given.updates:
        oracle.state = oracle.after(update)
        states.append(oracle.state)
    for options in configurations:
        kept = Maintained(given.program, options)
        kept.check_state(states[0])
        for number, update in enumerate(given.updates):
            try:
                outcome = kept.apply(update, given.upcoming(number))
                kept.check_outcome(outcome, states[number], states[number + 1], update)
                kept.check_state(states[number + 1])
            except Exception as error:
                error.add_note(f"update {number + 1} of the stream, {options}")
                raise
            steps_run[options.strategy] += 1
