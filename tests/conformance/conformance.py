"""The conformance suite: what every backend of the `Engine` protocol must do.

A backend's test module subclasses `Conformance` and says how to open an engine:

    class TestMine(Conformance):
        def engine(self, **options): return MyEngine(**options)

The data are the golden folders, generated programs, and generated streams of updates in which facts and
rules change.  Each engine declares its capabilities, and the suite checks both halves of the declaration:
what needs only declared capabilities must work, and anything else must raise `NotSupported`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maintained import Fact, Oracle, Scenario, State
from maintained import Update as Facts
from rule_streams import (
    Rules,
    RuleScenario,
    layered_rule_scenarios,
    state_of,
    tangled_rule_scenarios,
)
from streams import HURRIED, layered_scenarios, tangled_scenarios

from generators import EVERYTHING, Features, programs, triple_programs
from golden_data import FOLDERS, WITH_UPDATES, expected_facts, expected_lines
from tidalog.api.engine import Capability, Engine, NetChange, NotSupported, required_capabilities
from tidalog.api.update import Update
from tidalog.lang import parse, parse_file, print_rule
from tidalog.lang.updates import ScriptUpdate, parse_updates_file
from tidalog.model.errors import ProgramError, RunError, TidalogError
from tidalog.model.program import Program
from tidalog.model.terms import Term
from tidalog.reference import evaluate

Row = tuple[Term, ...]
Options = dict[str, str]
KINDS = (
    "inserted_explicit",
    "inserted_implicit",
    "deleted_explicit",
    "deleted_implicit",
    "became_explicit",
    "became_implicit",
)
NO_STOPS: st.SearchStrategy[set[int]] = st.just(set())


class Conformance:
    examples: ClassVar[int] = 10
    """Generated cases of each kind."""
    options: ClassVar[st.SearchStrategy[Options]] = st.just({})
    """Options of `engine` that may change the work and never the result."""
    errors: ClassVar[tuple[type[Exception], ...]] = (ProgramError, RunError)
    """What refuses a program without a meaning, and an update that violates a constraint."""
    folder: Path

    def engine(self, **options: str) -> Engine:
        """A new, empty engine."""
        raise AssertionError("a backend says how to open an engine")

    def reopened(self, engine: Engine) -> Engine:
        """Closes an engine and opens it again; only a durable backend has this."""
        return engine

    def check_inside(self, engine: Engine, delta: Mapping[str, NetChange] | None, state: State) -> None:
        """More laws of a backend, after each update and each reopening."""

    def number(self, error: Exception) -> str | None:
        """The number of an error, where the backend has numbered errors."""
        assert isinstance(error, TidalogError)
        return error.diagnostics[0].number

    def check_violations(self, error: Exception, expected: Sequence[str]) -> None:
        """The error names the violated constraints; a line of `expected` is a constraint and its bindings."""
        assert isinstance(error, TidalogError)
        names = {str(diagnostic.values["rule"]) for diagnostic in error.diagnostics}
        assert names == {line.partition(":")[0] for line in expected}

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def supports(self, program: Program) -> bool:
        """Whether the engine declares all that a program needs; if not, checks that it refuses the program
        and still works."""
        with closing(self.engine()) as engine:
            missing = required_capabilities(program) - engine.capabilities
            if not missing:
                return True
            with pytest.raises(NotSupported) as refusal:
                engine.load(program)
            assert refusal.value.missing == missing
            engine.load(parse("p(a)."))
            assert state(engine).facts == {("p", row) for row in engine.facts("p").to_terms()}
            assert len(engine.facts("p")) == 1
        return False

    # --- the declaration ----------------------------------------------------------------------------

    @pytest.mark.parametrize("capability", Capability, ids=lambda capability: capability.name.lower())
    def test_a_declared_capability_works_and_any_other_is_refused(self, capability: Capability) -> None:
        with closing(self.engine()) as engine:
            if capability is Capability.DURABLE:
                is_durable = type(self).reopened is not Conformance.reopened
                assert (capability in engine.capabilities) == is_durable
            elif capability in engine.capabilities:
                PROBES[capability](engine, self.folder)
            else:
                with pytest.raises(NotSupported) as refusal:
                    PROBES[capability](engine, self.folder)
                assert capability in refusal.value.missing

    # --- golden folders -----------------------------------------------------------------------------

    @pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
    def test_a_golden_program_has_exactly_the_expected_facts(self, folder: Path) -> None:
        expected = folder / "expected"
        refused = expected_lines(expected / "refused.txt")
        if not self.supports(parse_file(folder / "program.rls")):
            return
        with closing(self.engine()) as engine:
            if refused:
                with pytest.raises(self.errors) as refusal:
                    engine.load(folder / "program.rls")
                    state(engine)
                assert self.number(refusal.value) in (refused[0], None)
            elif violated := expected_lines(expected / "violations.txt"):
                with pytest.raises(self.errors) as refusal:
                    engine.load(folder / "program.rls")
                    state(engine)
                self.check_violations(refusal.value, violated)
            else:
                engine.load(folder / "program.rls")
                for predicate, rows in expected_facts(expected):
                    assert rows_of(engine, predicate) == rows, predicate

    @pytest.mark.parametrize("folder", WITH_UPDATES, ids=lambda folder: folder.name)
    def test_golden_updates_give_the_expected_states_and_changes(self, folder: Path) -> None:
        """With the next update or two announced."""
        program = parse_file(folder / "program.rls")
        if not self.supports(program):
            return
        script = parse_updates_file(folder / "updates.upd", program.prefixes)
        updates = [update_of_script(update) for update in script]
        engine = self.engine()
        try:
            engine.load(folder / "program.rls")
            before = state(engine)
            for number, update in enumerate(updates, 1):
                expected = folder / "expected" / f"after_{number}"
                if update.changes_rules and Capability.RULE_EDITS not in engine.capabilities:
                    with pytest.raises(NotSupported):
                        engine.apply(update)
                    assert state(engine) == before
                    return
                upcoming = updates[number : number + 1 + number % 2]
                delta = self._golden_step(engine, update, upcoming, expected)
                for predicate, rows in expected_facts(expected):
                    assert rows_of(engine, predicate) == rows, (number, predicate)
                after = state(engine)
                if delta is None:
                    assert after == before
                else:
                    check_delta(delta, before, after)
                engine = self.reopened(engine)
                assert state(engine) == after
                before = after
        finally:
            engine.close()

    def _golden_step(
        self, engine: Engine, update: Update, upcoming: Sequence[Update], expected: Path
    ) -> Mapping[str, NetChange] | None:
        """The change that an update made, or None if it is refused as expected."""
        violated = expected_lines(expected / "violations.txt")
        refused = expected_lines(expected / "refused.txt")
        if not violated and not refused:
            return engine.apply(update, upcoming)
        with pytest.raises(self.errors) as refusal:
            engine.apply(update, upcoming)
        if refused:
            assert self.number(refusal.value) in (refused[0], None)
        else:
            self.check_violations(refusal.value, violated)
        return None

    # --- generated programs and streams -------------------------------------------------------------

    def test_generated_programs_have_the_model_of_the_reference(self) -> None:
        @settings(HURRIED, max_examples=self.examples)
        @given(st.one_of(programs(self._features()), triple_programs()))
        def check(program: Program) -> None:
            if self.supports(program):
                with closing(self.engine()) as engine:
                    engine.load(program)
                    model = evaluate(program)
                    assert state(engine).facts == {(n, row) for n, rows in model.items() for row in rows}

        check()

    def test_streams_over_tangled_programs_give_the_states_and_changes_of_the_reference(self) -> None:
        self._check_streams(tangled_scenarios())

    def test_streams_over_layered_programs_give_the_states_and_changes_of_the_reference(self) -> None:
        self._check_streams(layered_scenarios(self._features()))

    def _check_streams(self, scenarios: st.SearchStrategy[Scenario]) -> None:
        @settings(HURRIED, max_examples=self.examples)
        @given(scenarios, self.options, self._stops(), st.integers(0, 2), st.booleans())
        def check(scenario: Scenario, options: Options, stops: set[int], look_ahead: int, lazy: bool) -> None:
            if not self.supports(scenario.program):
                return
            oracle = Oracle(scenario.program)
            stream = Stream(self, scenario.program, oracle.state, options, stops, lazy)
            with closing(stream):
                for number, facts in enumerate(scenario.updates):
                    upcoming = [update_of(u) for u in scenario.upcoming(number)[:look_ahead]]
                    oracle.state = oracle.after(facts)
                    stream.step(update_of(facts), upcoming, oracle.state)

        check()

    def test_streams_that_change_rules_of_tangled_programs_give_the_states_and_changes_of_the_reference(
        self,
    ) -> None:
        self._check_rule_streams(tangled_rule_scenarios(length=5))

    def test_streams_that_change_rules_of_layered_programs_give_the_states_and_changes_of_the_reference(
        self,
    ) -> None:
        self._check_rule_streams(layered_rule_scenarios(self._features(), length=4))

    def _check_rule_streams(self, scenarios: st.SearchStrategy[RuleScenario]) -> None:
        with closing(self.engine()) as engine:
            if Capability.RULE_EDITS not in engine.capabilities:
                return  # refused, as the test of the declaration shows

        @settings(HURRIED, max_examples=self.examples)
        @given(scenarios, self.options, self._stops(), st.integers(0, 2), st.booleans())
        def check(
            scenario: RuleScenario, options: Options, stops: set[int], look_ahead: int, lazy: bool
        ) -> None:
            explicit = {(fact.predicate, fact.arguments) for fact in scenario.program.facts}
            first = state_of(scenario, scenario.first, explicit)
            stream = Stream(self, scenario.with_rules(scenario.first), first, options, stops, lazy)
            with closing(stream):
                steps = scenario.steps
                announced = [update_for(stream.engine, scenario, *step) for step in steps]
                for number, (facts, rules) in enumerate(steps):
                    explicit = explicit - set(facts[0]) | set(facts[1])
                    update = update_for(stream.engine, scenario, facts, rules)
                    upcoming = announced[number + 1 : number + 1 + look_ahead]
                    stream.step(update, upcoming, state_of(scenario, rules, explicit))

        check()

    def _features(self) -> Features:
        """What generated programs may use."""
        with closing(self.engine()) as engine:
            return Features(
                negation=Capability.NEGATION in engine.capabilities,
                aggregates=EVERYTHING.aggregates if Capability.AGGREGATES in engine.capabilities else (),
            )

    def _stops(self) -> st.SearchStrategy[set[int]]:
        """Before which updates the engine is opened again."""
        with closing(self.engine()) as engine:
            return st.sets(st.integers(0, 5)) if Capability.DURABLE in engine.capabilities else NO_STOPS


class Stream:
    """An engine under a stream of updates; every step checks its state and its change.

    With `lazy` nothing is read between loading and the first update, or the first reopening."""

    def __init__(
        self,
        suite: Conformance,
        program: Program,
        first: State,
        options: Options,
        stops: set[int],
        lazy: bool,
    ) -> None:
        self.suite = suite
        self.engine = suite.engine(**options)
        self.stops = stops
        self.before = first
        self.number = 0
        self.engine.load(program)
        if not lazy:
            self._check(None)

    def step(self, update: Update, upcoming: Sequence[Update], after: State) -> None:
        if self.number in self.stops:
            self._reopen()
        delta = self.engine.apply(update, upcoming)
        check_delta(delta, self.before, after)
        self.before = after
        self.number += 1
        self._check(delta)

    def _reopen(self) -> None:
        self.engine = self.suite.reopened(self.engine)
        self._check(None)

    def _check(self, delta: Mapping[str, NetChange] | None) -> None:
        now = state(self.engine)
        assert now.facts == self.before.facts
        assert now.explicit == self.before.explicit
        self.suite.check_inside(self.engine, delta, self.before)

    def close(self) -> None:
        try:
            if Capability.DURABLE in self.engine.capabilities:
                self._reopen()
        finally:
            self.engine.close()


# --- what can be seen of an engine ------------------------------------------------------------------


def rows_of(engine: Engine, predicate: str) -> set[Row]:
    return set(engine.facts(predicate).to_terms()) if predicate in engine.predicates else set()


def state(engine: Engine) -> State:
    """All facts; explicit and derived ones are two parts of them."""
    explicit, facts = set(), set()
    for name in engine.predicates:
        every = engine.facts(name).to_terms()
        explicit_rows, derived = (engine.facts(name, kind).to_terms() for kind in (True, False))
        assert len(every) == len(set(every)) == len(explicit_rows) + len(derived), name
        assert set(every) == {*explicit_rows, *derived}, name
        facts |= {(name, row) for row in every}
        explicit |= {(name, row) for row in explicit_rows}
    return State(explicit, facts)


def check_delta(delta: Mapping[str, NetChange], before: State, after: State) -> None:
    """It is the difference of two states."""
    new, gone, kept = after.facts - before.facts, before.facts - after.facts, before.facts & after.facts
    wanted = (
        new & after.explicit,
        new - after.explicit,
        gone & before.explicit,
        gone - before.explicit,
        kept & after.explicit - before.explicit,
        kept & before.explicit - after.explicit,
    )
    for kind, facts in zip(KINDS, wanted, strict=True):
        rows = [(name, row) for name in delta for row in getattr(delta[name], kind).to_terms()]
        assert len(rows) == len(set(rows)), kind
        assert set(rows) == facts, kind


# --- updates ----------------------------------------------------------------------------------------


def update_of(facts: Facts) -> Update:
    update = Update()
    for part, add in ((facts[0], update.delete), (facts[1], update.insert)):
        for name, rows in by_predicate(part).items():
            add(name, rows)
    return update


def update_of_script(script: ScriptUpdate) -> Update:
    deletions, insertions = (
        tuple((fact.predicate, fact.arguments) for fact in facts)
        for facts in (script.deletions, script.insertions)
    )
    update = update_of((deletions, insertions))
    for name in script.rules_removed:
        update.remove_rule(name)
    for rule in script.rules_added:
        update.add_rule(print_rule(rule))
    return update


def update_for(engine: Engine, scenario: RuleScenario, facts: Facts, rules: Rules) -> Update:
    """The update that changes facts and leaves the rules of a scenario with these numbers."""
    wanted = {str(rule.name): rule for rule in scenario.with_rules(rules).rules}
    update = update_of(facts)
    present = engine.rules
    for name in present:
        if name not in wanted:
            update.remove_rule(name)
    for name, rule in wanted.items():
        if name not in present:
            update.add_rule(print_rule(rule))
    return update


def by_predicate(facts: Iterable[Fact]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = {}
    for name, row in facts:
        grouped.setdefault(f"<{name}>" if ":" in name else name, []).append(row)
    return grouped


# --- one probe for each capability ------------------------------------------------------------------


def _gives(program: str, **expected: str) -> Callable[[Engine, Path], None]:
    """A probe that loads a program and compares predicates with facts in the main dialect."""

    def probe(engine: Engine, folder: Path) -> None:
        engine.load(parse(program))
        for predicate, text in expected.items():
            assert rows_of(engine, predicate) == {fact.arguments for fact in parse(text).facts}

    return probe


def _constraints(engine: Engine, folder: Path) -> None:
    engine.load(parse("one: :- owner(?x, ?a), owner(?x, ?b), ?a != ?b . owner(car, ann)."))
    before = state(engine)
    with pytest.raises(Exception) as refusal:
        engine.apply(Update(insertions={"owner": [("car", "bob")]}))
    assert not isinstance(refusal.value, NotSupported)
    assert state(engine) == before


def _imports(engine: Engine, folder: Path) -> None:
    (folder / "edges.csv").write_text("a,b\nb,c\n")
    (folder / "program.rls").write_text('@import edge :- csv{resource = "edges.csv"} .\n')
    engine.load(folder / "program.rls")
    assert rows_of(engine, "edge") == {fact.arguments for fact in parse("edge(a, b). edge(b, c).").facts}


def _windows(engine: Engine, folder: Path) -> None:
    engine.load(parse("@window edge :- range 10s . path(?x, ?y) :- edge(?x, ?y)."))
    engine.apply(Update(insertions={"edge": [("a", "b")]}, time=1))
    engine.apply(Update(insertions={"edge": [("b", "c")]}, time=4))
    assert rows_of(engine, "path") == {fact.arguments for fact in parse("p(a, b). p(b, c).").facts}
    changes = engine.apply(Update(time=12))
    assert rows_of(engine, "path") == {fact.arguments for fact in parse("p(b, c).").facts}
    assert changes["path"].deleted_implicit.to_terms() == [parse("p(a, b).").facts[0].arguments]


def _rule_edits(engine: Engine, folder: Path) -> None:
    engine.load(parse("e(a). e(b). f(b)."))
    engine.apply(Update(add_rules="both: p(?x) :- e(?x), f(?x)"))
    assert rows_of(engine, "p") == {fact.arguments for fact in parse("p(b).").facts}
    assert "both" in engine.rules
    engine.apply(Update(remove_rules="both"))
    assert rows_of(engine, "p") == set()
    assert "both" not in engine.rules


def _queries(engine: Engine, folder: Path) -> None:
    engine.load(parse("e(a, b). e(a, c). e(b, c)."))
    answers = engine.query("?x, ?z :- e(?x, ?y), e(?y, ?z)")
    assert set(answers.to_terms()) == {fact.arguments for fact in parse("p(a, c).").facts}


PROBES: Mapping[Capability, Callable[[Engine, Path], None]] = {
    Capability.RECURSION: _gives(
        "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) . edge(a, b). edge(b, a).",
        path="path(a, b). path(b, a). path(a, a). path(b, b).",
    ),
    Capability.NEGATION: _gives(
        "alone(?x) :- node(?x), ~edge(?x, _) . node(a). node(b). edge(a, b).", alone="alone(b)."
    ),
    Capability.AGGREGATES: _gives(
        "degree(?x, #count(?y)) :- edge(?x, ?y) . edge(a, b). edge(a, c). edge(b, c).",
        degree="degree(a, 2). degree(b, 1).",
    ),
    Capability.TRIPLES: _gives(
        "used(?p) :- triple(_, ?p, _) . triple(<a>, <p>, b). triple(<b>, <q>, c).",
        used="used(<p>). used(<q>).",
    ),
    Capability.CONSTRAINTS: _constraints,
    Capability.IMPORTS: _imports,
    Capability.WINDOWS: _windows,
    Capability.RULE_EDITS: _rule_edits,
    Capability.QUERIES: _queries,
}
