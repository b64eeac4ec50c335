"""Queries over windows of equal step: what follows is derived over the longest, and answers are the same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from query_streams import run_shared

import tidalog
from tidalog.analysis.shared_windows import of_equal_step
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.model.errors import RunError
from tidalog.model.program import Window
from tidalog.model.window_times import SECOND, expiry_of

E = "http://e/"
CLOSURE = f"@prefix : <{E}> . triple(?x, :in, ?z) :- triple(?x, :in, ?y), triple(?y, :in, ?z) ."
OTHERS = f"@prefix : <{E}> . triple(?x, :by, ?z) :- triple(?x, :at, ?y), triple(?y, :at, ?z) ."
Row = tuple[str, str]
Answers = dict[str, set[tuple[object, ...]]]


def query(*windows: str) -> str:
    streams = " ".join(f"FROM STREAM <{E}{'st'[n]}> {window}" for n, window in enumerate(windows))
    return f"PREFIX : <{E}> SELECT ?x ?y {streams} WHERE {{ ?x :in ?y }}"


def opened(*texts: str, rules: str = CLOSURE, every: str | None = None, **options: object) -> KnowledgeBase:
    kb = tidalog.open(**options)  # type: ignore[arg-type]
    kb.load(rules)
    for number, text in enumerate(texts):
        kb.register(f"q{number}", text, emit="changes", every=every).subscribe(lambda came, went: None)
    return kb


def update(time: float | None, *pairs: str, stream: str = "s", deleted: Sequence[str] = ()) -> tidalog.Update:
    found = tidalog.Update(time=time)
    for change, rows in ((found.insert, pairs), (found.delete, deleted)):
        if rows:
            triples = [tuple(f"<{E}{name}>" for name in (pair[0], "in", pair[1])) for pair in rows]
            change(f"<{E}{stream}>", triples, formats=["any"] * 3)
    return found


def answers(kb: KnowledgeBase) -> Answers:
    return {name: set(found.result().to_rows()) for name, found in kb.queries.items()}


def bounds(kb: KnowledgeBase) -> list[int]:
    """By how many seconds windows are shorter than the one over which their facts are derived."""
    return sorted(rule.lasting // SECOND for rule in kb._open().analysis.rules if rule.lasting)


def dense(nodes: int, draw: random.Random) -> list[str]:
    names = [chr(ord("A") + n) for n in range(nodes)]
    return [draw.choice(names) + draw.choice(names) for _ in range(3)]


class TestOracle:
    @pytest.mark.parametrize("seed", range(12))
    def test_answers_are_those_of_an_evaluation_from_scratch(self, seed: int) -> None:
        run_shared(seed, 25)

    @pytest.mark.parametrize("seed", range(4))
    def test_a_store_goes_on(self, seed: int, tmp_path: Path) -> None:
        run_shared(1000 + seed, 25, tmp_path / "store")

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(200))
    def test_more_of_both(self, seed: int, tmp_path: Path) -> None:
        run_shared(2000 + seed, 40, tmp_path / "store" if seed % 3 == 0 else None)

    def test_the_streams_share(self) -> None:
        assert sum(run_shared(seed, 25).bounded for seed in range(4)) > 20


class TestWhatIsShared:
    def test_facts_leave_windows_of_one_group_at_times_that_differ_by_a_constant(self) -> None:
        draw = random.Random(1)
        pairs = 0
        for _ in range(300):
            windows = [
                Window(f"w{n}", "s", "range", draw.randrange(1, 40), draw.randrange(1, 6)) for n in range(2)
            ]
            times = range(60)
            differences = {expiry_of(windows[0], t) - expiry_of(windows[1], t) for t in times}
            groups = list(of_equal_step([((w.name,), (w,)) for w in windows]))
            if len(groups) == 1:
                (longer, none), (_, lasting) = groups[0]
                sign = 1 if longer == ("w0",) else -1
                assert none == 0 and differences == {sign * lasting}, windows
                pairs += 1
            elif windows[0].step == windows[1].step:
                assert len(differences) > 1, windows
        assert pairs > 10

    @pytest.mark.parametrize(
        ("windows", "expected"),
        [
            (["[RANGE 10s STEP 1s]", "[RANGE 30s STEP 1s]", "[RANGE 60s STEP 1s]"], [30, 50]),
            (["[RANGE 10s]", "[RANGE 12s]"], [2]),
            (["[RANGE 10s STEP 3s]", "[RANGE 16s STEP 3s]", "[RANGE 17s STEP 3s]"], [6]),
            (["[RANGE 10s STEP 2s]", "[RANGE 20s STEP 5s]"], []),
            (["[RANGE 10s STEP 1s]", "[TRIPLES 5]"], []),
            (["[RANGE 10s STEP 1s]", ""], []),
        ],
    )
    def test_windows_share_whose_lengths_differ_by_whole_steps(
        self, windows: list[str], expected: list[int]
    ) -> None:
        assert bounds(opened(*map(query, windows))) == expected

    def test_several_streams_share_if_all_differ_by_the_same(self) -> None:
        one, two = query("[RANGE 10s]", "[RANGE 20s]"), query("[RANGE 15s]", "[RANGE 25s]")
        assert bounds(opened(one, two)) == [5]
        assert bounds(opened(one, query("[RANGE 15s]", "[RANGE 24s]"))) == []

    @pytest.mark.parametrize(
        "rule",
        [
            ":in(?x, ?x) :- :in(?x, ?y), ~:off(?x, ?y) .",
            ":in(?x, #count(?y)) :- :at(?x, ?y) . :at(?x, ?y) :- :in(?x, ?y) .",
            ":in(?x, ?y) :- :in(?x, ?z), ?y = CONCAT(STR(?z), STR(?x)), :off(?y, ?z) .",
            "@window w :- range 5s . :in(?x, ?y) :- w(?x, ?y) .",
            f"@window w :- <{E}s>, range 5s . :in(?x, ?y) :- <{E}s>(?x, ?z, ?y) .",
        ],
    )
    def test_rules_that_let_facts_go_otherwise_share_nothing(self, rule: str) -> None:
        """Negation, aggregates, functions that Python computes; background that goes by other windows."""
        try:
            kb = opened(query("[RANGE 10s]"), query("[RANGE 20s]"), rules=f"{CLOSURE} {rule}")
        except tidalog.ProgramError as error:  # an aggregate in a cycle
            assert error.diagnostics[0].number in ("T020", "T021")
        else:
            assert bounds(kb) == []

    def test_a_relation_is_derived_for_as_long_as_a_query_needs_it(self) -> None:
        rules = f"{CLOSURE} triple(?x, :by, ?z) :- triple(?x, :in, ?y), triple(?y, :in, ?z) ."
        by = query("[RANGE 20s]").replace(":in", ":by")
        kb = opened(query("[RANGE 60s]"), by, by.replace("20s", "10s"), rules=rules)
        found = {
            tuple(rule.head.predicate.replace(E, "").split("|")[1:]): rule.lasting // SECOND
            for rule in kb._open().analysis.rules
            if rule.lasting and rule.head is not None
        }
        assert found == {
            ("range 20s step 1us", "triple"): 40,
            ("range 20s step 1us", "property:in"): 40,
            ("range 10s step 1us", "property:by"): 10,
        }

    def test_rules_without_joins_share_nothing(self) -> None:
        """There is nothing to derive more than once."""
        assert bounds(opened(query("[RANGE 10s]"), query("[RANGE 20s]"), rules=OTHERS)) == []


class TestCounters:
    def test_three_queries_derive_about_once(self) -> None:
        derived = {}
        for name, lengths in {
            "longest": [12_000],
            "shared": [8_000, 10_000, 12_000],
            "one by one": [8_000, 9_900, 11_800],
        }.items():
            kb = opened(*(query(f"[RANGE {n}ms STEP 1s]") for n in lengths))
            draw, derived[name] = random.Random(3), 0
            for time in range(40):
                delta = kb.apply(update(time, *dense(14, draw)))
                derived[name] += delta.counters.derivations
            assert len(bounds(kb)) == (2 if name == "shared" else 0)
        assert derived["shared"] < 1.25 * derived["longest"]
        assert derived["one by one"] > 2 * derived["longest"]


class TestLives:
    def test_each_window_has_its_own_time(self) -> None:
        kb = opened(query("[RANGE 3s]"), query("[RANGE 5s]"))
        kb.apply(update(1, "ab"))
        kb.apply(update(2, "bc"))
        assert [len(found) for found in answers(kb).values()] == [3, 3]
        sizes = []
        for time in range(3, 9):
            kb.advance(time)
            sizes.append(tuple(len(found) for found in answers(kb).values()))
        assert sizes == [(3, 3), (1, 3), (0, 3), (0, 1), (0, 0), (0, 0)]

    def test_facts_before_the_first_time_have_it(self) -> None:
        kb = opened()
        kb.insert(f"<{E}s>", [(f"<{E}a>", f"<{E}in>", f"<{E}b>")], formats=["any"] * 3)
        for length in (3, 5):
            kb.register(f"q{length}", query(f"[RANGE {length}s]"), emit="changes", materialise=True)
        assert bounds(kb) == [2]
        assert [len(found) for found in answers(kb).values()] == [1, 1]
        kb.apply(update(10, "bc"))
        assert [len(found) for found in answers(kb).values()] == [3, 3]
        kb.advance(13)
        assert [len(found) for found in answers(kb).values()] == [0, 3]

    def test_a_late_fact_may_be_in_the_longer_window_only(self) -> None:
        kb = opened(query("[RANGE 3s]"), query("[RANGE 9s]"), late=6)
        kb.apply(update(10, "ab"))
        kb.apply(update(5, "bc"))
        assert [len(found) for found in answers(kb).values()] == [1, 3]

    def test_a_deletion_is_one_from_all(self) -> None:
        kb = opened(query("[RANGE 3s]"), query("[RANGE 9s]"))
        kb.apply(update(1, "ab", "bc"))
        kb.apply(update(2, deleted=["ab"]))
        assert [len(found) for found in answers(kb).values()] == [1, 1]

    @pytest.mark.parametrize("strategy", ["auto", "ranked", "dred", "recompute"])
    def test_background_stays(self, strategy: str) -> None:
        kb = opened(query("[RANGE 3s]"), query("[RANGE 9s]"), strategy=strategy)
        kb.insert("triple", [(f"<{E}b>", f"<{E}in>", f"<{E}c>")], formats=["any"] * 3)
        kb.apply(update(1, "ab"))
        sizes = []
        for time in (3, 4, 9, 10):
            kb.advance(time)
            sizes.append([len(found) for found in answers(kb).values()])
        assert sizes == [[3, 3], [1, 3], [1, 3], [1, 1]]

    @pytest.mark.parametrize("every", [None, "1s"])
    def test_a_refused_update_changes_nothing(self, every: str | None) -> None:
        """With a period, time stops on the way to it, and goes back."""
        rules = f"{CLOSURE} :- triple(?x, :in, ?x) . triple(?x, :in, ?y) :- bad(?x, ?y) ."
        texts = query("[RANGE 3s]"), query("[RANGE 6s]")
        kb, other = (opened(*texts, rules=rules, every=every) for _ in range(2))
        for time in range(1, 40, 3 if every else 1):
            pairs = [f"{'abcd'[time % 4]}{'abcd'[(time + 1) % 4]}"]
            refused = update(time, "ca", "db").insert("bad", [(1, 1)])
            with pytest.raises(RunError):
                kb.apply(refused)
            for one in (kb, other):
                one.apply(update(time, *pairs))
            assert answers(kb) == answers(other)


class TestQueriesThatComeAndGo:
    def test_dropping_the_longest_changes_no_answers_of_others(self) -> None:
        kb = opened(*(query(f"[RANGE {n}s]") for n in (3, 6, 12)))
        draw, emitted = random.Random(5), list[str]()
        for time in range(8):
            kb.apply(update(time, *dense(5, draw)))
        for name in ("q0", "q1"):
            kb.queries[name].subscribe(lambda came, went, name=name: emitted.append(name))
        before = answers(kb)
        assert bounds(kb) == [6, 9]
        kb.queries["q2"].drop()
        assert bounds(kb) == [3]
        assert answers(kb) == {name: before[name] for name in ("q0", "q1")} and not emitted

    def test_a_longer_window_that_comes_later_knows_what_is_there(self) -> None:
        kb, other = opened(query("[RANGE 3s]")), opened(query("[RANGE 3s]"))
        draw = random.Random(6)
        for time in range(30):
            found = update(time, *dense(5, draw))
            kb.apply(found)
            other.apply(found)
            if time == 9:
                kb.register("longer", query("[RANGE 8s]"), emit="changes", materialise=True)
                assert bounds(kb) == [5]
            if time == 20:
                kb.queries["longer"].pause()
                assert bounds(kb) == []
            assert answers(kb)["q0"] == answers(other)["q0"]

    def test_a_rule_that_negates_ends_sharing_and_its_removal_begins_it(self) -> None:
        kb = opened(query("[RANGE 3s]"), query("[RANGE 6s]"))
        kb.apply(update(1, "ab", "bc"))
        before = answers(kb)
        kb.rules.add("far: :in(?x, ?z) :- :in(?x, ?y), :road(?y, ?z), ~:shut(?y, ?z)")
        assert bounds(kb) == [] and answers(kb) == before
        kb.rules.remove("far")
        assert bounds(kb) == [3] and answers(kb) == before
