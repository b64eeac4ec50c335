"""Generated programs over generated windows, and the updates that move them, held against the oracle.

Programs have layers: streams, windows and background; recursive positive rules; negation and aggregates;
rules over all of these.  Updates come out of order, some too late; they delete what is there and what is not,
change background, streams and rules together; time also moves alone; a store is closed and opened.

Invariant.  After every step the knowledge base holds what `reference` derives from the content that
`reference.windows` computes, and the delta is the difference to what it held before.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import tidalog
from tidalog.lang import parse
from tidalog.maintain.choose import STRATEGIES
from tidalog.model.errors import UsageError
from tidalog.model.program import Fact, Program
from tidalog.model.terms import Integer, Term
from tidalog.reference.naive import evaluate
from tidalog.reference.windows import WindowOracle

MILLISECOND = 1000
Pair = tuple[int, int]
Given = tuple[str, Pair]
State = dict[str, set[Pair]]

STREAMS = ("edge", "road")
BACKGROUND = ("fixed",)
POSITIVE = ("p", "q")
LATER = ("n", "a")
LAST = ("z",)
VARIABLES = ("?x", "?y", "?z", "?w")


# --- windows ------------------------------------------------------------------------------------------------


def some_window(draw: random.Random, name: str, source: str) -> str:
    kind = draw.choice(("range", "range", "range", "step", "step", "step", "tumbling", "landmark", "count"))
    length = draw.choice((1, 2, 3, 5, 8, 12))
    text = {
        "range": f"range {length}s",
        "step": f"range {length}s step {draw.choice(('500ms', '1s', '2s', '3s', '5s'))}",
        "tumbling": f"tumbling {length}s",
        "landmark": "landmark",
        "count": f"count {draw.choice((1, 2, 4, 9))}",
    }[kind]
    return f"@window {name} :- {text} ." if name == source else f"@window {name} :- {source}, {text} ."


def some_windows(draw: random.Random) -> dict[str, str]:
    """By name: of `edge` up to three, of `road` at most one, which is background otherwise."""
    names = draw.choice(
        (("edge",), ("edge",), ("edge", "long"), ("short", "long"), ("edge", "short", "long"))
    )
    found = {name: some_window(draw, name, "edge") for name in names}
    if draw.random() < 0.4:
        found["road"] = some_window(draw, "road", "road")
    return found


# --- rules --------------------------------------------------------------------------------------------------


def some_body(draw: random.Random, names: Sequence[str], most: int) -> tuple[list[str], list[str]]:
    """Atoms that hang together, and their variables."""
    atoms, bound = list[str](), ["?x"]
    for _ in range(draw.randint(1, most)):
        fresh = next((v for v in VARIABLES if v not in bound), "?x")
        pair = [draw.choice(bound), draw.choice((fresh, fresh, fresh, draw.choice(bound)))]
        if draw.random() < 0.3:
            pair.reverse()
        bound += [v for v in pair if v not in bound]
        if draw.random() < 0.08:
            pair[draw.randrange(2)] = str(draw.randrange(3))
        atoms.append(f"{draw.choice(names)}({', '.join(pair)})")
    used = [v for v in bound if any(v in atom for atom in atoms)]
    return atoms, used


def positive_rule(draw: random.Random, heads: Sequence[str], names: Sequence[str]) -> str:
    atoms, used = some_body(draw, names, 3)
    if not used:
        return positive_rule(draw, heads, names)
    arguments = [draw.choice(used), draw.choice(used[::-1])]
    if draw.random() < 0.15:
        atoms += [f"{draw.choice(used)} {draw.choice(('!=', '<', '>='))} {draw.choice((*used, '2'))}"]
    if draw.random() < 0.15:
        atoms += [f"?m = {used[-1]} + 1", "?m < 6"]
        arguments[1] = "?m"
    return f"{draw.choice(heads)}({', '.join(arguments)}) :- {', '.join(atoms)} ."


def negating_rule(draw: random.Random, names: Sequence[str]) -> str:
    atoms, used = some_body(draw, names, 2)
    if not used:
        return negating_rule(draw, names)
    places = [draw.choice((*used, *used, "_")) for _ in range(2)]
    atoms.append(f"~{draw.choice(names)}({', '.join(places)})")
    return f"n({draw.choice(used)}, {draw.choice(used)}) :- {', '.join(atoms)} ."


def folding_rule(draw: random.Random, names: Sequence[str]) -> str:
    atoms, used = some_body(draw, names, 2)
    if not used:
        return folding_rule(draw, names)
    fold = draw.choice(("count", "count", "sum", "min", "max"))
    return f"a({draw.choice(used)}, #{fold}({draw.choice(used)})) :- {', '.join(atoms)} ."


def some_rules(draw: random.Random, windows: Mapping[str, str]) -> dict[str, str]:
    lowest = tuple(dict.fromkeys([*windows, *windows, *STREAMS, *BACKGROUND]))
    rules = [positive_rule(draw, POSITIVE, (*lowest, *POSITIVE)) for _ in range(draw.randint(1, 3))]
    if draw.random() < 0.5:
        rules += ["p(?x, ?y) :- edge(?x, ?y) .", "p(?x, ?z) :- p(?x, ?y), p(?y, ?z) ."]
    if draw.random() < 0.15:
        rules.append(positive_rule(draw, ("edge",), ("edge", "fixed", "fixed")))
    middle = (*lowest, *POSITIVE)
    rules += [negating_rule(draw, middle) for _ in range(draw.choice((0, 0, 1, 2)))]
    rules += [folding_rule(draw, middle) for _ in range(draw.choice((0, 0, 1, 2)))]
    everything = (*middle, *LATER, *LAST)
    rules += [positive_rule(draw, LAST, everything) for _ in range(draw.choice((0, 1, 2)))]
    different = {_with_numbers(rule): rule for rule in rules}
    return {f"r{number}": rule for number, rule in enumerate(different.values())}


def _with_numbers(rule: str) -> str:
    """A rule is not added to one that is the same up to the names of variables, which are numbers here."""
    names = list(dict.fromkeys(re.findall(r"\?\w+", rule)))
    return re.sub(r"\?\w+", lambda found: f"?{names.index(found[0])}", rule)


# --- a run --------------------------------------------------------------------------------------------------


@dataclass
class Run:
    """One program, its stream and a knowledge base under it."""

    seed: int
    folder: Path | None = None
    """Where its store is; None: in memory."""
    shown: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        draw = self.draw = random.Random(self.seed)
        self.windows = some_windows(draw)
        self.all_rules = some_rules(draw, self.windows)
        self.rules = {name for name in self.all_rules if draw.random() < 0.9} or set(self.all_rules)
        self.late = draw.choice((0, 0, 2000, 6000))
        self.strategies = list(STRATEGIES) if draw.random() < 0.2 else [draw.choice((*STRATEGIES, "auto"))]
        self.options = {"strategy": self.strategies[0], "marking": draw.choice(("auto", "none"))}
        self.nodes = draw.choice((3, 4, 5, 7))
        self.time = draw.choice((0, 500, 100_000))
        self.program = self._parsed()
        self.oracle = WindowOracle(self.program.windows, self.late * MILLISECOND)
        self.sources = {window.source for window in self.program.windows}
        self.plain: set[Given] = set()
        self.recent: list[Given] = []
        self.kb = self._opened()
        self.kb.load("\n".join([*self.windows.values(), *self._texts()]))
        self.state: State = {}
        kinds = {window.kind for window in self.program.windows}
        self.shown.update([*kinds, *self.strategies])
        self.shown["several windows"] += len(self.program.windows) > len(self.sources)

    def _opened(self):  # type: ignore[no-untyped-def]
        place = () if self.folder is None else (self.folder,)
        return tidalog.open(*place, late=self.late / 1000, **self.options)  # type: ignore[arg-type]

    def _texts(self) -> list[str]:
        return [f"{name}: {self.all_rules[name]}" for name in sorted(self.rules)]

    def _parsed(self) -> Program:
        return parse("\n".join([*self.windows.values(), *self._texts()]))

    # --- steps

    def step(self) -> None:
        draw = self.draw
        self.time += draw.choice((0, 0, 500, 1000, 1000, 1000, 2000, 5000, 30_000))
        what = draw.random()
        if what < 0.1:
            self._advance()
        elif what < 0.2 and self.folder is not None:
            self._restart()
        else:
            self._update(max(0, self.time - draw.choice((0, 0, 0, 0, 500, 1000, 3000, 9000))))

    def _advance(self) -> None:
        now = self.oracle.now
        if now is not None and self.time * MILLISECOND > now:
            self.oracle.update(self.time * MILLISECOND, [], [])
            self._check(self.kb.advance(self.time / 1000), "time alone")

    def _restart(self) -> None:
        if self.draw.random() < 0.4:
            self.kb.snapshot()
        now = self.kb.now
        self.kb.close()
        self.kb = self._opened()
        assert self.kb.now == now
        assert self._facts() == self.state
        self.shown["restarts"] += 1

    def _update(self, at: int) -> None:
        draw = self.draw
        insertions = [self._some_fact() for _ in range(draw.choice((0, 1, 1, 2, 3)))]
        deletions = [self._some_fact(known=True) for _ in range(draw.choice((0, 0, 0, 1, 1, 2)))]
        changed = draw.choice(sorted(self.all_rules)) if draw.random() < 0.12 else None
        late = self.oracle.now is not None and at * MILLISECOND < self.oracle.now - self.late * MILLISECOND
        update = self._as_update(at, deletions, insertions, None if late else changed)
        taken = self.oracle.update(at * MILLISECOND, self._streamed(deletions), self._streamed(insertions))
        if not taken:
            self._check_refused(update)
            return
        for part, put in ((deletions, self.plain.discard), (insertions, self.plain.add)):
            for predicate, row in part:
                if predicate not in self.sources:
                    put((predicate, row))
        self.recent = [*self.recent[-8:], *insertions]
        if changed is not None:
            self.rules ^= {changed}
            self.program = self._parsed()
            self.shown["rule changes"] += 1
        self.shown["out of order"] += at * MILLISECOND < (self.oracle.now or 0)
        self.shown["explicit deletions"] += bool(deletions)
        self._check(self._applied(update), "update")

    def _applied(self, update: tidalog.Update) -> tidalog.Delta:
        strategy = self.draw.choice(self.strategies)
        if strategy == self.options["strategy"]:
            return self.kb.apply(update)
        (delta,) = self.kb.stream([update], strategy=strategy)
        return delta

    def _as_update(
        self, at: int, deletions: Sequence[Given], insertions: Sequence[Given], changed: str | None
    ) -> tidalog.Update:
        update = tidalog.Update(time=at / 1000)
        for part, take in ((deletions, update.delete), (insertions, update.insert)):
            for predicate, row in part:
                take(predicate, [row])
        if changed in self.rules:
            update.remove_rule(changed)
        elif changed is not None:
            update.add_rule(f"{changed}: {self.all_rules[changed]}")
        return update

    def _some_fact(self, *, known: bool = False) -> Given:
        draw = self.draw
        if known and self.recent and draw.random() < 0.8:
            return draw.choice(self.recent)
        name = draw.choice(("edge", "edge", "edge", "edge", "road", "fixed"))
        return name, (draw.randrange(self.nodes), draw.randrange(self.nodes))

    def _streamed(self, part: Sequence[Given]) -> list[tuple[str, tuple[Term, ...]]]:
        return [(name, _terms(row)) for name, row in part if name in self.sources]

    # --- checks

    def _check_refused(self, update: tidalog.Update) -> None:
        try:
            self.kb.apply(update)
        except UsageError as error:
            assert error.diagnostics[0].number == "T175"
            assert self._facts() == self.state
            self.shown["too late"] += 1
            return
        raise AssertionError("the update came too late")

    def _facts(self) -> State:
        found = {name: set(self.kb.facts(name).to_rows()) for name in self.kb.predicates}
        return {name: rows for name, rows in found.items() if rows}

    def _expected(self) -> State:
        rows = [(name, row) for name, content in self.oracle.explicit().items() for row in content]
        rows += [(name, _terms(row)) for name, row in self.plain]
        facts = tuple(Fact(name, row) for name, row in rows)
        model = evaluate(replace(self.program, facts=facts, windows=()))
        return {name: set(map(_numbers, found)) for name, found in model.items() if found}

    def _check(self, delta: tidalog.Delta, what: str) -> None:
        before, self.state = self.state, self._expected()
        found = self._facts()
        assert found == self.state, f"{_differences(found, self.state)}\n{self._where()}"
        differ = {name for name in {*before, *self.state} if before.get(name) != self.state.get(name)}
        assert differ <= set(delta), self._where()
        for name in delta:  # a fact that is explicit no more, but still follows, is in it without a change
            old, new = before.get(name, set()), self.state.get(name, set())
            change = delta[name]
            assert set(change.inserted.to_rows()) == new - old, self._where()
            assert set(change.deleted.to_rows()) == old - new, self._where()
            expired = set(change.expired.to_rows())
            assert expired <= old - new, self._where()
            self.shown["expired"] += bool(expired)
        self.shown[what] += 1

    def _where(self) -> str:
        return f"seed {self.seed}, now {self.kb.now}:\n" + "\n".join([*self.windows.values(), *self._texts()])


def _differences(found: State, expected: State) -> str:
    names = sorted({*found, *expected})
    pairs = ((name, found.get(name, set()), expected.get(name, set())) for name in names)
    return "\n".join(
        f"{name}: {own - other} instead of {other - own}" for name, own, other in pairs if own != other
    )


def _terms(row: Pair) -> tuple[Term, ...]:
    return tuple(map(Integer, row))


def _numbers(row: tuple[Term, ...]) -> Pair:
    """All arguments are integers: there is nothing that makes other terms of them."""
    x, y = (term.value for term in row if isinstance(term, Integer))
    return x, y


def run(seed: int, steps: int, folder: Path | None = None) -> Counter[str]:
    """So many steps; what they showed."""
    one = Run(seed, folder)
    for _ in range(steps):
        one.step()
    one.kb.close()
    return one.shown
