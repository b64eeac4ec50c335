"""Rule sets whose rules and data change: each operation beside starting over.

An operation goes from one program or set of facts to another.  Timed are `Maintainer.apply` and `materialise`
alone, each on an engine of its own that has just been materialised: programs are analysed and facts are ids
before.  The first result of every operation is compared, fact by fact, with that of starting over.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from bench.incremental.driver import Rows, batch_of
from bench.papers import rule_sets
from tidalog.analysis import Analysis, analyse
from tidalog.engine.engine import EmbeddedEngine
from tidalog.maintain.maintainer import Maintainer, Outcome
from tidalog.maintain.materialise import materialise
from tidalog.model.update import EncodedUpdate
from tidalog.plan.lowering import is_hidden

Facts = Mapping[str, Rows]
NONE: frozenset[str] = frozenset()
_ENOUGH_SECONDS = 8.0
"""What takes longer than this is not done again: its noise is a small part of it."""
_SMALL = 8
"""Size of the data on which everything is done once before it is timed."""


@cache
def analysed(name: str, without: frozenset[str] = frozenset()) -> Analysis:
    return analyse(rule_sets.program(name, without))


@dataclass
class Timing:
    """Runs of one thing."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        return {
            "cpu_seconds": min(self.cpu),
            "wall_seconds": min(self.wall),
            "cpu_runs": self.cpu,
            "wall_runs": self.wall,
        }


class _Clock:
    """Adds the time of a block to a timing; garbage of what came before is not part of it."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing

    def __enter__(self) -> None:
        gc.collect()
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def __exit__(self, *stopped: object) -> None:
        self._timing.cpu.append(time.process_time() - self._cpu)
        self._timing.wall.append(time.perf_counter() - self._wall)


def turns(repeat: int) -> Iterator[int]:
    """As many as asked for, unless they take long."""
    began = time.process_time()
    for turn in range(repeat):
        if turn and time.process_time() - began > _ENOUGH_SECONDS:
            return
        yield turn


class World:
    """A rule set, some of its rules left out, materialised on facts."""

    def __init__(self, name: str, without: frozenset[str], facts: Facts, scratch: Timing) -> None:
        self.name = name
        self.engine = EmbeddedEngine()
        self._analysis = analysed(name, without)
        for predicate, known in self._analysis.predicates.items():
            self.engine.predicate(predicate, known.arity)
        for predicate, rows in facts.items():
            batch = batch_of(self.engine, predicate, rows)
            self.engine.insert(predicate, batch.columns, batch.count)
        with _Clock(scratch):
            materialise(self.engine, self._analysis)
        self._maintainer: Maintainer | None = None

    @property
    def derived(self) -> int:
        """Facts of the predicates that the whole rule set derives."""
        return sum(self.engine.count(predicate) for predicate in rule_sets.heads(self.name))

    def go_to(self, without: frozenset[str], timing: Timing) -> Outcome:
        """Other rules."""
        maintainer, analysis = self._ready(), analysed(self.name, without)
        with _Clock(timing):
            return maintainer.apply(EncodedUpdate(), analysis=analysis)

    def change(self, deleted: Facts, inserted: Facts, timing: Timing) -> Outcome:
        """Other facts."""
        gone, new = (
            tuple(batch_of(self.engine, predicate, rows) for predicate, rows in facts.items())
            for facts in (deleted, inserted)
        )
        maintainer = self._ready()
        with _Clock(timing):
            return maintainer.apply(EncodedUpdate(gone, new))

    def _ready(self) -> Maintainer:
        if self._maintainer is None:
            self._maintainer = Maintainer(self.engine, self._analysis)
            self._maintainer.prepare()
        return self._maintainer

    def differences(self, other: World) -> list[str]:
        """Predicates whose facts are not the same in both."""
        terms = range(len(self.engine.dictionary))
        there = np.array([other.engine.dictionary.id_of(self.engine.dictionary.term(t)) for t in terms])
        wrong = []
        for predicate in sorted({*self.engine.names, *other.engine.names}):
            if is_hidden(predicate):
                continue
            own = [there[column] for column in self.engine.columns(predicate)]
            theirs = other.engine.columns(predicate)
            if not np.array_equal(_sorted(own), _sorted(theirs)):
                wrong.append(predicate)
        return wrong


def _sorted(columns: Sequence[np.ndarray]) -> Rows:
    """Facts in an order that depends on them alone; two columns at the most."""
    if not columns or not len(columns[0]):
        return np.empty(0, np.int64)
    keys = columns[0].astype(np.int64)
    for column in columns[1:]:
        keys = (keys << 32) | column
    return np.sort(keys)


class Base:
    """A whole rule set on some facts: derived again for every operation, and once for comparison."""

    def __init__(self, name: str, facts: Facts) -> None:
        self.name, self.facts = name, facts
        self.scratch = Timing()
        self.like = World(name, NONE, facts, Timing())

    def fresh(self) -> World:
        return World(self.name, NONE, self.facts, self.scratch)


@dataclass
class Pair:
    """Rules, or facts, that come and go: both states from scratch, the way there and the way back."""

    scratch_with: Timing = field(default_factory=Timing)
    scratch_without: Timing = field(default_factory=Timing)
    add: Timing = field(default_factory=Timing)
    delete: Timing = field(default_factory=Timing)
    counts: dict[str, int] = field(default_factory=dict)
    chosen: dict[str, dict[str, str]] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        return {
            "scratch_with": self.scratch_with.as_dict(),
            "scratch_without": self.scratch_without.as_dict(),
            "add": self.add.as_dict(),
            "delete": self.delete.as_dict(),
            "counts": self.counts,
            "chosen": self.chosen,
            "differences": self.differences,
        }

    def note(self, way: str, outcome: Outcome, world: World, like: World) -> None:
        """What an operation did, and whether it is right."""
        self.counts[way] = world.derived
        self.counts["scratch_with" if way == "add" else "scratch_without"] = like.derived
        self.counts[f"{way}_retracts"] = sum(part.deleted_rows for part in outcome.delta.values())
        self.chosen[way] = dict(outcome.chosen)
        self.differences += [f"{way}: {predicate}" for predicate in world.differences(like)]


def rule_pair(base: Base, rules: Sequence[str], repeat: int) -> Pair:
    """Rules are deleted from the whole set, and added to what it is without them."""
    without = frozenset(rules)
    pair = Pair(scratch_with=base.scratch)
    for turn in turns(repeat):
        whole = base.fresh()
        part = World(base.name, without, base.facts, pair.scratch_without)
        gone = whole.go_to(without, pair.delete)
        if turn == 0:
            pair.note("delete", gone, whole, part)
        added = part.go_to(NONE, pair.add)
        if turn == 0:
            pair.note("add", added, part, base.like)
    return pair


def insertion(base: Base, more: Facts, repeat: int) -> Pair:
    """More facts come, and go again."""
    pair = Pair(scratch_without=base.scratch)
    for turn in turns(repeat):
        larger = World(base.name, NONE, _together(base.facts, more), pair.scratch_with)
        world = base.fresh()
        new = world.change({}, more, pair.add)
        if turn == 0:
            pair.note("add", new, world, larger)
        gone = world.change(more, {}, pair.delete)
        if turn == 0:
            pair.note("delete", gone, world, base.like)
    return pair


def deletion(base: Base, rest: Facts, fewer: Facts, repeat: int) -> Pair:
    """Facts go, which leaves the rest, and come again."""
    pair = Pair(scratch_with=base.scratch)
    for turn in turns(repeat):
        smaller = World(base.name, NONE, rest, pair.scratch_without)
        world = base.fresh()
        gone = world.change(fewer, {}, pair.delete)
        if turn == 0:
            pair.note("delete", gone, world, smaller)
        new = world.change({}, fewer, pair.add)
        if turn == 0:
            pair.note("add", new, world, base.like)
    return pair


def _together(one: Facts, other: Facts) -> dict[str, Rows]:
    return {
        predicate: np.concatenate([part[predicate] for part in (one, other) if predicate in part])
        for predicate in {**one, **other}
    }


def chains(
    name: str, sets: Sequence[Sequence[str]], n: int, repeat: int, once: Sequence[Sequence[str]] = ()
) -> dict[str, object]:
    """Tables 2 and 3, Fig. 7 and 8, on rule set 2 or 3: each set of rules added and deleted, some of them
    only once; and the fact of p5, which rules negate, inserted and deleted."""
    if n > _SMALL:
        chains(name, sets, _SMALL, 1, once)
    base = Base(name, rule_sets.chains(n))
    pairs = {" ".join(rules): rule_pair(base, rules, repeat) for rules in sets}
    pairs |= {" ".join(rules): rule_pair(base, rules, 1) for rules in once}
    extra = insertion(base, {rule_sets.EXTRA: rule_sets.extra_fact(n)}, repeat)
    return {
        "n": n,
        "sets": {rules: pair.as_dict() for rules, pair in pairs.items()},
        "extra": extra.as_dict(),
    }


def symmetric_transitive(sizes: Sequence[int], repeat: int) -> dict[str, object]:
    """Fig. 9: rule set 1, a triple that comes and goes, either rule that does; by number of turbines."""
    if max(sizes) > _SMALL:
        symmetric_transitive([_SMALL], 1)
    return {"sizes": {str(n): _one_size(n, repeat) for n in sizes}}


def _one_size(n: int, repeat: int) -> dict[str, object]:
    """`middle` is the triple that holds the two halves of the chain together."""
    base = Base("RS1", rule_sets.turbines(n))
    name = rule_sets.NEIGHBOUR
    neighbours = base.facts[name]
    here = neighbours[:, 0] == n // 2
    pairs = {
        "triple": insertion(base, {name: rule_sets.turbines(n + 1, n + 1)[name]}, repeat),
        "middle": deletion(base, {**base.facts, name: neighbours[~here]}, {name: neighbours[here]}, repeat),
        "r1": rule_pair(base, ["r1"], repeat),
        "r2": rule_pair(base, ["r2"], repeat),
    }
    return {operation: pair.as_dict() for operation, pair in pairs.items()}


def more_turbines(n: int, percents: Sequence[int], repeat: int) -> dict[str, object]:
    """Fig. 10: some percent more turbines are inserted, then deleted."""
    if n > _SMALL:
        more_turbines(_SMALL, [50], 1)
    base = Base("RS1", rule_sets.turbines(n))
    pairs = {p: insertion(base, rule_sets.turbines(n + n * p // 100, n + 1), repeat) for p in percents}
    return {"n": n, "percents": {str(percent): pair.as_dict() for percent, pair in pairs.items()}}


def warm() -> dict[str, object]:
    """All of it on little data: compiled code is made before a process is timed or limited."""
    for name in ("RS2", "RS3"):
        chains(name, [[rule.name] for rule in rule_sets.program(name).rules], _SMALL, 1)
    symmetric_transitive([_SMALL], 1)
    more_turbines(_SMALL, [50], 1)
    return {}
