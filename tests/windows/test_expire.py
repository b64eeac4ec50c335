"""The strategy `expire`: content, every expiry and the order of proofs, after every update."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from expiry_checks import check_expiries
from window_streams import Checked

import tidalog
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.engine.functions import is_native
from tidalog.lang import parse
from tidalog.maintain.default_strategy import default_strategies
from tidalog.maintain.slide_costs import SlideCosts
from tidalog.model.lifetimes import NEVER_TIME
from tidalog.model.window_times import expiry_of
from tidalog.plan.compile import compile
from tidalog.reference.fact_sets import Fact

RULES = {
    "closure": "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), path(?y, ?z) .",
    "linear": "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .",
    "background": "near(?x, ?z) :- edge(?x, ?y), road(?y, ?z) . near(?x, ?z) :- near(?x, ?y), near(?y, ?z) .",
    "stream that is derived": "edge(?y, ?x) :- edge(?x, ?y), road(?x, ?y) ."
    "two(?x, ?z) :- edge(?x, ?y), edge(?y, ?z) .",
    "above": "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), path(?y, ?z) ."
    "ring(?x) :- path(?x, ?x) . meets(?x, ?y) :- ring(?x), path(?x, ?y), road(?y, _) ."
    "meets(?x, ?z) :- meets(?x, ?y), edge(?z, ?y), ring(?z) .",
    "three": "tri(?x, ?y, ?z) :- edge(?x, ?y), edge(?y, ?z), edge(?z, ?x) ."
    "tri(?y, ?z, ?x) :- tri(?x, ?y, ?z) . odd(?x) :- tri(?x, ?y, ?z), ?x != ?y ."
    "p(?x, ?s) :- edge(?x, ?y), ?s = ?x + ?y . p(?x, 1) :- edge(?x, 1) .",
    "mutual": "a(?x, ?y) :- edge(?x, ?y) . b(?x, ?z) :- a(?x, ?y), edge(?y, ?z) ."
    "a(?x, ?z) :- b(?x, ?y), a(?y, ?z) .",
    "negation": "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), path(?y, ?z) ."
    "quiet(?x) :- road(?x, _), ~edge(?x, _) . after(?x, ?y) :- quiet(?x), path(?x, ?y) ."
    "after(?x, ?y) :- path(?x, ?y), road(?y, ?x) . after(?x, ?z) :- after(?x, ?y), after(?y, ?z) .",
    "functions": "size(?x, ?n) :- edge(?x, ?y), ?n = STRLEN(CONCAT(STR(?x), STR(?y))) ."
    "far(?x, ?y) :- edge(?x, ?y) ."
    "far(?x, ?n) :- far(?x, ?y), edge(?y, _), ?s = CONCAT(STR(?x), STR(?y)), ?n = STRLEN(?s) ."
    "ends(?x, ?y) :- far(?x, ?z), far(?z, ?y), road(?y, _), STRSTARTS(STR(?z), STR(?y)) .",
    "plain facts": "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), path(?y, ?z) ."
    "path(1, 2). path(2, 3).",
}
WINDOWS = {
    "range": "@window edge :- range 10s .",
    "step": "@window edge :- range 10s step 3s .",
    "tumbling": "@window edge :- tumbling 7s .",
    "landmark": "@window edge :- landmark .",
    "count": "@window edge :- count 5 .",
    "two": "@window edge :- range 6s step 2s . @window long :- edge, range 20s ."
    "both(?x, ?y) :- long(?x, ?y), edge(?y, ?x) .",
    "named": "@window short :- edge, tumbling 4s . @window long :- edge, range 9s step 2s ."
    "both(?x, ?z) :- long(?x, ?y), short(?y, ?z) .",
    "streams": "@window edge :- range 8s . @window road :- tumbling 5s .",
}


EXTRA = {
    "back": "path(?y, ?x) :- edge(?x, ?y), road(?y, ?x) .",
    "more": "path(?x, ?z) :- edge(?x, ?y), path(?y, ?z) .",
    "seen": "seen(?x) :- path(?x, ?y), edge(?y, ?x) .",
    "loop": "edge(?x, ?x) :- seen(?x), road(?x, ?x) .",
    "not": "path(?x, ?x) :- road(?x, ?y), ~quiet(?y) .",
    "sized": "size(?x, ?n) :- road(?x, ?y), edge(?y, _), ?n = STRLEN(STR(?x)) .",
    "grown": "far(?x, ?n) :- far(?x, ?y), road(?y, _), ?n = STRLEN(CONCAT(STR(?y), STR(?y))) .",
}


class Timed(Checked):
    """A knowledge base, and the oracles of its content and of its expiries."""

    checked = 0

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.plain |= {(fact.predicate, fact.arguments) for fact in self.program.facts}

    def explicit(self) -> dict[Fact, int]:
        """When explicit facts of windows leave them."""
        found: dict[Fact, int] = {}
        own = {window.name for window in self.program.windows}
        for window in self.program.windows:
            last = {
                one.row: one
                for one in sorted(self.oracle.operations, key=lambda one: (one.time, one.number))
                if one.predicate == window.source
            }
            for row in self.oracle.content(window):
                time = NEVER_TIME if window.kind == "count" else expiry_of(window, last[row].time)
                for name in {window.name, *(() if window.source in own else (window.source,))}:
                    found[name, row] = max(time, found.get((name, row), time))
        return found

    def check(self, before: dict, delta: tidalog.Delta) -> None:  # type: ignore[type-arg]
        super().check(before, delta)
        assert self.oracle.now is not None
        self.checked += check_expiries(self.kb, self.program, self.explicit(), self.oracle.now)

    def edit(self, name: str, text: str, *, added: bool) -> None:
        """Adds a rule, or removes it."""
        before, named = self.facts(), f"{name}: {text}"
        rule = parse(named).rules[0]
        update = tidalog.Update()
        if added:
            self.program = replace(self.program, rules=(*self.program.rules, rule))
            update.add_rule(named)
        else:
            self.program = replace(self.program, rules=tuple(r for r in self.program.rules if r != rule))
            update.remove_rule(name)
        self.check(before, self.kb.apply(update))


def run(seed: int, steps: int, strategy: str = "expire", rules: str = "") -> int:
    draw = random.Random(seed)
    rules, windows = rules or draw.choice(sorted(RULES)), draw.choice(sorted(WINDOWS))
    late = draw.choice([0, 0, 3, 8])
    checked = Timed(f"{WINDOWS[windows]} {RULES[rules]}", late, strategy, "auto")
    nodes, time = draw.choice([3, 5, 8]), draw.choice([0, 1, 100])
    deletes = draw.choice([0, 1, 3])

    def facts(most: int) -> list[tuple[str, tuple[int, int]]]:
        count = draw.randrange(most + 1)
        return [
            (draw.choice(["edge", "edge", "road"]), (draw.randrange(nodes), draw.randrange(nodes)))
            for _ in range(count)
        ]

    extra = draw.sample(sorted(EXTRA), 2) if draw.random() < 0.5 else []
    there: set[str] = set()
    for _ in range(steps):
        if extra and checked.oracle.now is not None and draw.random() < 0.3:
            name = draw.choice(extra)
            checked.edit(name, EXTRA[name], added=name not in there)
            there ^= {name}
        time += draw.choice([0, 0, 1, 1, 2, 5, 30])
        at = time - draw.choice([0, 0, 0, 1, 2, 4, 9])
        checked.step(max(at, 0), facts(deletes), facts(4))
    return checked.checked


class TestRandomStreams:
    @pytest.mark.parametrize("seed", range(60))
    def test_content_expiries_and_proofs_are_right_after_every_update(self, seed: int) -> None:
        run(seed, 14)

    @pytest.mark.parametrize("seed", range(200, 220))
    def test_so_they_are_where_rules_call_functions(self, seed: int) -> None:
        run(seed, 14, rules="functions")

    @pytest.mark.parametrize("seed", range(100, 120))
    def test_so_they_are_when_auto_goes_to_and_fro(self, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        draw = random.Random(seed)
        monkeypatch.setattr(SlideCosts, "favour_expiries", lambda *_, **__: draw.random() < 0.6)
        run(seed, 14, "auto")


FIG_4 = """
@window isIn :- range 10s step 1s .
within(?x, ?y) :- isIn(?x, ?y) .
within(?x, ?z) :- within(?x, ?y), within(?y, ?z) .
"""
ARRIVALS = {1: ["AB"], 2: ["BC"], 3: ["CD"], 4: ["AE", "ED"]}
EXPIRY = {"AB": 11, "AC": 11, "BC": 12, "CD": 13, "BD": 12, "AE": 14, "ED": 14, "AD": 14}


def opened(text: str = FIG_4, **options: Any) -> KnowledgeBase:
    kb = tidalog.open(**{"strategy": "expire", **options})
    kb.load(text)
    assert isinstance(kb, KnowledgeBase)
    return kb


def apply(kb: KnowledgeBase, time: object, inserted: str = "", deleted: str = "") -> tidalog.Delta:
    """Facts of isIn, as two letters each."""
    with kb.update(time=time) as update:
        if inserted:
            update.insert("isIn", [tuple(pair) for pair in inserted.split()])
        if deleted:
            update.delete("isIn", [tuple(pair) for pair in deleted.split()])
    return update.delta


def times(kb: KnowledgeBase, predicate: str = "within") -> dict[str, int]:
    """When each fact goes, in seconds."""
    rows = kb.facts(predicate, expiry=True).to_rows()
    return {"".join(map(str, row)): round(time.timestamp()) for *row, time in rows}  # type: ignore[union-attr]


class TestFigure4:
    def test_second_by_second(self) -> None:
        kb = opened()
        for second in range(1, 16):
            apply(kb, second, " ".join(ARRIVALS.get(second, [])))
            if second >= 4:
                assert times(kb) == {pair: time for pair, time in EXPIRY.items() if time > second}
        assert kb.profile()[0].strategy == "expire"

    def test_a_fact_falls_back_to_its_shorter_proof(self) -> None:
        kb = opened()
        for second in range(1, 5):
            apply(kb, second, " ".join(ARRIVALS[second]))
        delta = apply(kb, 5, deleted="ED")
        assert not delta["within"].inserted and "AD" in times(kb)
        assert times(kb) == {
            **{pair: EXPIRY[pair] for pair in ("AB", "AC", "BC", "CD", "BD", "AE")},
            "AD": 11,
        }
        delta = kb.advance(11)
        assert sorted(delta["within"].expired.to_rows()) == [("A", "B"), ("A", "C"), ("A", "D")]


class TestBesideTheKernel:
    def test_a_longer_rule_sees_what_is_new_beside_what_only_stays_longer(self) -> None:
        kb = opened("@window e :- range 10s . t(?x, ?y, ?z) :- e(?x, ?y), e(?y, ?z), e(?z, ?x) .")
        for time, rows in ((1, [("b", "b")]), (2, [("b", "a")]), (5, [("b", "a"), ("a", "b")])):
            with kb.update(time=time) as update:
                update.insert("e", rows)
        assert len(kb.facts("t")) == 4

    def test_an_update_that_is_refused_leaves_expiries_as_they_were(self) -> None:
        kb = opened(FIG_4 + ":- within(?x, ?x) .")
        for second in range(1, 5):
            apply(kb, second, " ".join(ARRIVALS[second]))
        with pytest.raises(tidalog.RunError):
            apply(kb, 12, "DA AB BC CD AE")
        assert times(kb) == EXPIRY
        apply(kb, 6, "AB")
        assert times(kb) == {**EXPIRY, "AB": 16, "AC": 12}
        kb.advance(12)
        assert set(times(kb)) == {"AB", "AD", "CD", "AE", "ED"}

    def test_a_store_that_is_opened_again_knows_all_expiries(self, tmp_path: Path) -> None:
        kb = tidalog.open(tmp_path / "store", strategy="expire")
        kb.load(FIG_4)
        for second in range(1, 5):
            apply(kb, second, " ".join(ARRIVALS[second]))
        assert times(kb) == EXPIRY
        for snapshot in (False, True):
            if snapshot:
                kb.snapshot()
            kb.close()
            kb = tidalog.open(tmp_path / "store", strategy="expire")
            assert times(kb, "isIn") == {pair: EXPIRY[pair] for pair in ("AB", "BC", "CD", "AE", "ED")}
            apply(kb, 4)
            assert times(kb) == EXPIRY
        kb.close()

    def test_what_a_function_computes_stays_as_long_as_the_facts_that_it_is_computed_for(self) -> None:
        kb = tidalog.open(strategy="expire")
        asked: list[str] = []

        @kb.function
        def parent(name: str) -> str | None:
            asked.append(name)
            return name[:-1] or None

        kb.load("@window file :- range 10s . above(?f, PARENT(?f)) :- file(?f) ."
                "above(?f, PARENT(?a)) :- above(?f, ?a) .")  # fmt: skip
        for time, name in ((1, "abc"), (3, "ax"), (5, "ab")):
            with kb.update(time=time) as update:
                update.insert("file", [(name,)])
        rows = kb.facts("above", expiry=True).to_rows()
        assert {(f, a): round(time.timestamp()) for f, a, time in rows} == {  # type: ignore[union-attr]
            ("abc", "ab"): 11,
            ("abc", "a"): 11,
            ("ax", "a"): 13,
            ("ab", "a"): 15,
        }
        with kb.update(time=6) as update:
            update.insert("file", [("abc",)])
        delta = kb.advance(15)
        assert sorted(delta["above"].expired.to_rows()) == [("ab", "a"), ("ax", "a")]
        assert [part.strategy for part in kb.profile()] == ["expire"]
        assert delta.counters.derivations == 0
        assert sorted(asked) == ["a", "ab", "ab", "abc", "ax"], "nothing is computed twice for a rule"

    def test_several_updates_as_one(self) -> None:
        kb = opened()
        apply(kb, 1, "AB")
        updates = [
            tidalog.Update(time=second, insertions={"isIn": [tuple(pair) for pair in ARRIVALS[second]]})
            for second in (2, 3, 4)
        ]
        list(
            kb.stream([*updates, tidalog.Update(time=4, deletions={"isIn": [("E", "D")]})], latest_only=True)
        )
        assert times(kb) == {
            **{pair: EXPIRY[pair] for pair in ("AB", "AC", "BC", "CD", "BD", "AE")},
            "AD": 11,
        }

    def test_expiries_follow_facts_that_get_other_ids(self) -> None:
        kb = opened("@window edge :- range 3s . p(?x) :- edge(?x, _) . q(?x) :- p(?x), old(?x) .")
        kb.insert("old", [(number,) for number in range(0, 60 * 9000, 7)])
        for time in range(60):
            with kb.update(time=time) as update:
                update.insert("edge", {"a": range(time * 9000, time * 9000 + 9000), "b": [time] * 9000})
            assert len(kb.facts("p")) == 9000 * min(time + 1, 3)
        rows = kb.facts("q", expiry=True).to_rows()
        assert {round(time.timestamp()) - int(str(x)) // 9000 for x, time in rows} == {3}  # type: ignore[union-attr]
        assert [part.strategy for part in kb.profile()] == ["expire", "expire"]

    def test_expiries_begin_over_a_window_of_many_times(self) -> None:
        kb = opened("@window e :- range 1h . p(?x) :- e(?x) . q(?x) :- p(?x), e(?x) .", strategy="ranked")
        updates = [tidalog.Update(time=time, insertions={"e": [(time,)]}) for time in range(1, 3001)]
        list(kb.stream(updates))
        last = [tidalog.Update(time=3001, insertions={"e": [(3001,)]})]
        list(kb.stream(last, strategy="expire"))
        assert {part.strategy for part in kb.profile()} == {"expire"}
        rows = kb.facts("q", expiry=True).to_rows()
        assert all(round(time.timestamp()) == x + 3600 for x, time in rows)  # type: ignore[union-attr, operator]
        assert len(kb.facts("q")) == 3001

    def test_what_does_not_expire_has_no_time(self) -> None:
        kb = opened(
            FIG_4 + "known(?x, ?y) :- within(?x, ?y) . known(X, Y).odd(?x) :- isIn(?x, ?y), ~isIn(?y, ?x) ."
        )
        apply(kb, 1, "AB")
        apply(kb, 2)
        rows = {row[:-1]: row[-1] for row in kb.facts("known", expiry=True)}
        assert rows["X", "Y"] is None and rows["A", "B"] is not None
        assert kb.facts("odd", expiry=True).to_rows() == [("A", None)]
        assert "X" in repr(kb.facts("known", expiry=True))

    def test_what_does_not_fit_says_why_and_is_maintained_by_deltas(self) -> None:
        kb = opened(
            "@window edge :- range 5s . @window last :- edge, count 3 . p(?x) :- edge(?x, _) ."
            "r(?x) :- road(?x) . n(?x) :- edge(?x, ?y), ~p(?y) . c(?x) :- last(?x, _), edge(?x, _) ."
            "d(?x, #count(?y)) :- edge(?x, ?y) ."
        )
        for time in (1, 2):
            with kb.update(time=time) as update:
                update.insert("edge", [("a", time), ("b", "a")]).insert("road", [(time,)])
        chosen = {part.name: (part.strategy, part.reason) for part in kb.profile()}
        assert chosen["p"][0] == "expire"
        assert chosen["r"] == ("ranked", "nothing that it reads expires")
        assert chosen["n"][0] == "ranked" and "negation" in chosen["n"][1]
        assert chosen["c"][0] == "ranked" and "last arrivals" in chosen["c"][1]
        assert chosen["d"][0] == "groups"


class TestWithoutWindows:
    def test_nothing_is_kept(self) -> None:
        kb = opened("p(?x) :- edge(?x, _) .")
        for number in range(3):
            update = tidalog.Update()
            kb.apply(update.insert("edge", [(number, number)]).delete("edge", [(number - 1, number - 1)]))
        expiries = kb._open().engine.expiries
        assert not len(expiries.arrays.life) and not expiries.timed
        assert kb.facts("p", expiry=True).to_rows() == [(2, None)]


class TestAuto:
    @pytest.mark.parametrize(
        ("rules", "best"),
        [
            ("p(?x, ?y) :- edge(?x, ?y) . p(?x, ?y) :- edge(?x, ?y), edge(?x, _) .", {"expire"}),
            ("p(?x, ?y) :- edge(?x, ?y) .", {"ranked", "dred"}),
        ],
    )
    def test_it_uses_expiries_where_little_changes_and_deltas_where_facts_come_again(
        self, rules: str, best: set[str]
    ) -> None:
        """Also where each fact has one proof."""
        kb = opened(f"@window edge :- range 40s . {rules}", strategy="auto")
        rows = [(number, number + 1) for number in range(400)]
        seen: list[str | None] = []
        for time in range(120):
            with kb.update(time=time) as update:
                part = rows[time % 20 * 20 :][:20] if time < 60 else rows
                update.insert("edge", [(x + time // 20, y) for x, y in part] if time < 60 else part)
            seen.append(kb.profile()[0].strategy)
        assert seen[0] == "ranked" and seen[59] in best and seen[-1] != "expire"


def test_a_query_between_slides_leaves_expiries_as_they_are() -> None:
    kb = tidalog.open(strategy="expire")
    kb.load("@window edge :- range 9s .")
    kb.load("path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), path(?y, ?z) .")
    for time in range(20):
        with kb.update(time=time) as update:
            if time in (1, 4):
                update.insert("edge", [("a", "b"), ("b", "c")])
        assert len(kb.query("?x :- path(?x, ?y), edge(?y, ?z)")) == (1 <= time < 13)
        assert len(kb.facts("path")) == (3 if 1 <= time < 13 else 0)


def test_a_window_too_large_for_a_cache() -> None:
    """Such windows are read ahead of the search; what is derived and when it goes stays the same."""
    rng = np.random.default_rng(7)
    kbs = [tidalog.open(strategy=strategy) for strategy in ("expire", "recompute")]
    for kb in kbs:
        kb.load("@window edge :- range 4s . two(?x, ?z) :- edge(?x, ?y), edge(?y, ?z) .")
        kb.load("back(?y, ?x) :- two(?x, ?y), known(?x) . two(?x, ?y) :- back(?x, ?y) .")
        kb.insert("known", [(number,) for number in range(0, 60_000, 7)])
    for time in range(8):
        rows = rng.integers(0, 60_000, (12_000, 2))
        columns = pa.table({"x": rows[:, 0], "y": rows[:, 1]})
        for kb in kbs:
            with kb.update(time=time) as update:
                update.insert("edge", columns)
                if time > 5:
                    update.delete("edge", columns.slice(0, 50))
    ours, right = kbs
    for predicate in ("edge", "two", "back"):
        assert set(ours.facts(predicate).to_rows()) == set(right.facts(predicate).to_rows())
    assert ours.profile()[0].strategy == "expire" and len(ours.facts("edge")) > 1 << 15


FOLDS = (
    "n(?x, #count(?y)) :- edge(?x, ?y) . u(?x, #count(?y)) :- edge(?x, ?y) . u(?x, 0) :- edge(_, ?x) ."
    "up(?x, ?u) :- edge(?x, ?y), ?u = ucase(str(?y)) . over(?x) :- up(?x, _) ."
)


@pytest.mark.parametrize("window", WINDOWS)
def test_check_knows_by_the_rules_which_components_have_expiries(window: str) -> None:
    for rules in (*RULES.values(), FOLDS):
        kb = tidalog.open()
        kb.load(WINDOWS[window] + rules)
        with kb.update(time=1) as update:
            update.insert("edge", [(1, 2), (2, 3), (3, 1)])
            update.insert("road", [(1, 2), (2, 5)])
        kb.facts("edge", expiry=True)  # asks for expiries, whatever they cost
        maintenance = kb._open().maintenance
        assert maintenance is not None
        chosen = {name: one.chosen for one in maintenance.maintainer.components for name in one.predicates}
        for one in default_strategies(compile(kb.analysis, is_native)):
            for name in one.predicates:
                assert (one.strategy == "expire") == (chosen[name] == "expire"), (rules, name)
