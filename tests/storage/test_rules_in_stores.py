"""Rules that come and go in a store: in the log, in snapshots, for readers, and after a crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_streams import RuleScenario, tangled_rule_scenarios
from stored import CLOSURE, NO_CIRCLE, check_consistent, edges, reopened, state
from streams import HURRIED

import tidalog
from tidalog.lang import print_rule
from tidalog.storage import faults, records, segments
from tidalog.storage.wal import WriteAheadLog


class Killed(BaseException):
    """Stands for the end of a writer where it is raised: nothing is written behind it."""


def seen(kb: tidalog.KnowledgeBase) -> tuple[object, ...]:
    return state(kb), dict(kb.rules), kb.program.rules, kb.analysis.components


@pytest.fixture
def kb(tmp_path: Path) -> tidalog.StoredKnowledgeBase:
    kb = tidalog.open(tmp_path / "s.tidalog", fsync="off")
    kb.load(CLOSURE + "edge(a, b). edge(b, c).")
    return kb


def test_rules_that_were_only_taken_in_come_back(kb: tidalog.StoredKnowledgeBase) -> None:
    kb.rules.add("far(?x) :- path(a, ?x)")
    kb.rules.remove("r1")
    before = dict(kb.rules)
    kb = reopened(kb)
    assert dict(kb.rules) == before
    assert kb._open().run is None, "nothing was derived then, and nothing is now"
    assert kb.count("far") == 0
    kb.close()


@pytest.mark.parametrize("snapshot", [False, True])
def test_rules_and_facts_of_updates_come_back(kb: tidalog.StoredKnowledgeBase, snapshot: bool) -> None:
    with kb.update() as u:
        u.insert("edge", [("c", "d")]).add_rule("far(?x) :- path(a, ?x)").remove_rule("r2")
    kb.rules.replace("r1", "path(?y, ?x) :- edge(?x, ?y)")
    if snapshot:
        kb.snapshot()
    kb.rules.add('#[name("two words")] near("x y", 1.5, ?x) :- path(?x, _), ?x != "@en"')
    before = seen(kb)
    kb = reopened(kb)
    assert seen(kb) == before
    check_consistent(kb)
    assert kb.recovery.replayed == (1 if snapshot else 4)
    delta = kb.rules.remove("r1")
    assert delta["path"].deleted_count == 3
    kb.close()


def test_readers_see_the_rules_of_what_they_read(kb: tidalog.StoredKnowledgeBase) -> None:
    kb.materialise()
    with tidalog.open(kb.path, read_only=True) as early:
        kb.rules.add("far(?x) :- path(a, ?x)")
        assert list(early.rules) == ["r1", "r2"]
        with pytest.raises(tidalog.StoreError, match="T095"):
            early.rules.add("near(?x) :- edge(a, ?x)")
    with tidalog.open(kb.path, read_only=True) as late:
        assert list(late.rules) == ["r1", "r2", "r3"]
        assert late.count("far") == 2
    kb.close()


def test_a_program_that_was_loaded_brings_no_rule_back(kb: tidalog.StoredKnowledgeBase) -> None:
    kb.rules.remove("r2")
    kb = reopened(kb)
    kb.load(CLOSURE + "edge(a, b). edge(b, c).")
    assert list(kb.rules) == ["r1"]
    with pytest.raises(tidalog.StoreError, match="T096"):
        kb.load("other(?x) :- edge(?x, _) .")
    kb.close()


def test_an_old_version_refuses_a_log_with_rules(
    kb: tidalog.StoredKnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb.materialise()
    kb.apply(edges("cd"))
    kb = reopened(kb)
    monkeypatch.setattr(segments, "KNOWN", records.KNOWN - {records.UPDATES_WITH_RULES, records.RULES})
    kb = reopened(kb)
    kb.rules.add("far(?x) :- path(a, ?x)")
    with pytest.raises(tidalog.StoreError, match="T092"):
        reopened(kb)


REFUSED = {"unsafe": "far(?z) :- path(a, ?x)", "no rule": "far(", "arity": "far(?x) :- path(?x)"}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("point", ["log written", "log synced", "before it is refused"])
def test_a_rule_that_was_about_to_be_refused_is_refused_for_good(
    kb: tidalog.StoredKnowledgeBase, text: str, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = reopened(kb)
    kb.materialise()
    before = seen(kb)

    def at(name: str) -> None:
        if name == point:
            raise Killed

    path = kb.path
    monkeypatch.setattr(faults, "at", at)
    monkeypatch.setattr(WriteAheadLog, "reject", lambda *_: None)
    with pytest.raises((Killed, tidalog.ProgramError)):
        kb.apply(tidalog.Update(insertions={"edge": [("c", "d")]}, add_rules=text))
    monkeypatch.undo()
    kb._log.store.close()  # type: ignore[union-attr]
    with tidalog.open(path) as kb:
        assert seen(kb) == before
    with tidalog.open(path) as kb:
        assert seen(kb) == before
        kb.rules.add("far(?x) :- path(a, ?x)")
        assert kb.count("far") == 2


def test_updates_of_a_batch_change_rules_when_their_turn_comes(kb: tidalog.StoredKnowledgeBase) -> None:
    updates = [
        edges("cd", label=1),
        tidalog.Update(add_rules="far(?x) :- path(a, ?x)", label=2),
        tidalog.Update(add_rules="far(?x :- ", label=3),
        tidalog.Update(remove_rules="r2", insertions={"edge": [("a", "e")]}, label=4),
        edges("ef", label=5),
        edges("fg", label=6),
    ]
    assert kb.log_updates(updates, source="q", batch=0) == 6
    assert list(kb.rules) == ["r1", "r2"]
    found = [next(kb.apply_pending(acknowledge=False))]
    kb = reopened(kb)
    assert len(kb.pending) == 6
    found = []
    with pytest.raises(tidalog.ProgramError, match="T00"):
        for position, delta in kb.apply_pending(latest_only=True):
            found.append((position.label, delta.updates, list(delta.rules.added)))
    found += [(p.label, d.updates, list(d.rules.removed)) for p, d in kb.apply_pending(latest_only=True)]
    assert found == [(1, 1, []), (2, 1, ["r3"]), (4, 1, ["r2"]), (6, 2, [])]
    before = seen(kb)
    kb = reopened(kb)
    assert seen(kb) == before
    kb.close()


def test_an_update_goes_on_with_rules_in_the_next_batch(kb: tidalog.StoredKnowledgeBase) -> None:
    kb.log_updates([edges("cd", label=1)], source="q", batch=0)
    more = tidalog.Update(remove_rules="r2", add_rules="far(?x) :- path(a, ?x)", label=1)
    kb.log_updates([more], source="q", batch=1, goes_on=True)
    kb = reopened(kb)
    ((position, delta),) = kb.apply_pending()
    assert (position.label, list(delta.rules.removed), list(delta.rules.added)) == (1, ["r2"], ["r2"])
    assert delta["edge"].inserted_count == 1
    before = seen(kb)
    kb = reopened(kb)
    assert seen(kb) == before
    kb.close()


@settings(HURRIED, max_examples=15)
@given(scenario=tangled_rule_scenarios(length=5), stops=st.sets(st.integers(0, 4)), snapshots=st.booleans())
def test_recovered_is_never_stopped(
    scenario: RuleScenario, stops: set[int], snapshots: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    memory = tidalog.open()
    kept = tidalog.open(tmp_path_factory.mktemp("kept") / "s.tidalog", fsync="off")
    for kb in (memory, kept):
        kb.load(scenario.with_rules(scenario.first))
    for number, (facts, rules) in enumerate(scenario.steps):
        if number in stops:
            if snapshots:
                kept.snapshot()
            kept = reopened(kept, fsync="off")
            assert seen(kept) == seen(memory)
        wanted = {str(rule.name): rule for rule in scenario.with_rules(rules).rules}
        for kb in (memory, kept):
            update = tidalog.Update(remove_rules=[name for name in kb.rules if name not in wanted])
            for name, rule in wanted.items():
                if name not in kb.rules:
                    update.add_rule(print_rule(rule))
            for some, add in ((facts[0], update.delete), (facts[1], update.insert)):
                for predicate, row in some:
                    add(predicate, [row])
            kb.apply(update)
    kept = reopened(kept, fsync="off")
    assert seen(kept) == seen(memory)
    check_consistent(kept)
    kept.close()


def test_a_constraint_may_come_and_refuse(tmp_path: Path) -> None:
    kb = tidalog.open(tmp_path / "s.tidalog", fsync="off")
    kb.load(CLOSURE + "edge(a, b). edge(b, a).")
    kb.materialise()
    before = seen(kb)
    with pytest.raises(tidalog.RunError, match="T055"):
        kb.rules.add("circle: :- path(?x, ?x)")
    kb = reopened(kb)
    assert seen(kb) == before
    kb.apply(tidalog.Update(deletions={"edge": [("b", "a")]}, add_rules="circle: :- path(?x, ?x)"))
    kb = reopened(kb)
    with pytest.raises(tidalog.RunError, match="T055"):
        kb.apply(edges("ba"))
    assert NO_CIRCLE.count(":-") == len(kb.rules)
    kb.close()
