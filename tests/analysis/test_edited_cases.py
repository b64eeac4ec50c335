"""What single changes of rules do, and what is refused."""

from __future__ import annotations

from collections import Counter

import pytest
from analysis_programs import verdict
from edited_rules import same_as_from_scratch

from tidalog.analysis import EditedProgram, RuleDiff, analyse
from tidalog.analysis.component_graph import LONGEST_KEY, ComponentGraph
from tidalog.lang import parse, parse_rule
from tidalog.model.errors import ProgramError
from tidalog.model.program import Fact
from tidalog.model.terms import IRI

PATHS = """
r1: path(?x, ?y) :- edge(?x, ?y).
further: path(?x, ?z) :- edge(?x, ?y), path(?y, ?z).
both: far(?x), seen(?x) :- path(?x, _), ~near(?x).
near(?x) :- edge(?x, home).
edge(a, b).
"""


def paths() -> EditedProgram:
    return EditedProgram(analyse(parse(PATHS, "paths.rls")))


def added(edited: EditedProgram, *texts: str, removed: tuple[str, ...] = ()) -> RuleDiff:
    return edited.change([parse_rule(text) for text in texts], removed)


def refusal(edited: EditedProgram, *texts: str, removed: tuple[str, ...] = ()) -> list[str]:
    before = edited.program
    with pytest.raises(ProgramError) as refused:
        added(edited, *texts, removed=removed)
    assert edited.program == before
    same_as_from_scratch(edited)
    return [diagnostic.number for diagnostic in refused.value.diagnostics]


def test_rules_have_the_names_they_were_given_or_numbers() -> None:
    edited = paths()
    assert list(edited.rules) == ["r1", "further", "both", "r4"]
    change = added(edited, "odd(?x) :- far(?x).", "r7: odd(?x) :- near(?x).", "odd(?x) :- seen(?x).")
    assert [rule.name for rule in change.added] == ["r8", "r7", "r9"]
    added(edited, removed=("r9", "r8", "r7"))
    assert [rule.name for rule in added(edited, "odd(?x) :- far(?x).").added] == ["r5"]


def test_a_rule_with_several_heads_goes_with_all_of_them() -> None:
    edited = paths()
    change = added(edited, removed=("both",))
    assert [rule.name for rule in change.impact.removed] == ["both", "both#2"]
    assert change.impact.without_rules == ("far", "seen")
    assert {state.predicates for state in change.impact.gone} == {("far",), ("seen",)}
    assert refusal(edited, removed=("both#2",)) == ["T130"]


def test_equal_up_to_names_of_variables_and_no_further() -> None:
    edited = paths()
    change = added(edited, "again: path(?from, ?to) :- edge(?from, ?to).", "path(?x, ?y) :- edge(?y, ?x).")
    assert [(there.rule.name, there.name) for there in change.already_there] == [("again", "r1")]
    assert [rule.name for rule in change.added] == ["r5"]
    twice = added(edited, "odd(?x) :- far(?x).", "odd(?y) :- far(?y).")
    assert [there.name for there in twice.already_there] == ["r6"]


def test_a_parameter_is_the_same_as_its_value() -> None:
    edited = EditedProgram(analyse(parse("@parameter $n = 3 . p(?x) :- q(?x), ?x > 3 .")))
    assert not added(edited, "p(?y) :- q(?y), ?y > $n .")


def test_replacing_is_removing_and_adding_in_one_change() -> None:
    edited = paths()
    change = added(edited, "further: path(?x, ?z) :- path(?x, ?y), path(?y, ?z).", removed=("further",))
    assert [rule.name for rule in change.added] == [rule.name for rule in change.removed] == ["further"]
    assert [node.rules for node in change.impact.dropped] == [("further",)]
    same_as_from_scratch(edited)


def test_what_is_removed_and_added_as_it_was_stays() -> None:
    edited = paths()
    change = added(edited, "r1: path(?a, ?b) :- edge(?a, ?b).", removed=("r1",))
    assert not change
    assert [there.name for there in change.already_there] == ["r1"]
    assert (change.impact.plan, change.impact.visits) == ((), ())


def test_one_of_two_equal_rules_can_go() -> None:
    edited = EditedProgram(analyse(parse("a: p(?x) :- q(?x). b: p(?y) :- q(?y).")))
    added(edited, removed=("a",))
    assert [there.name for there in added(edited, "p(?z) :- q(?z).").already_there] == ["b"]


def test_what_a_program_cannot_have_is_refused_with_all_its_errors() -> None:
    edited = paths()
    assert refusal(edited, "r1: far(?x) :- near(?x).") == ["T017"]
    assert refusal(edited, "far(?x, ?y) :- edge(?x, ?y).") == ["T010"]
    assert refusal(edited, "far(?y) :- near(?x).") == ["T012"]
    assert refusal(edited, "far(?x) :- near(?x), NOSUCH(?x) > 1.") == ["T018"]
    assert refusal(edited, "far(?x) :- near(?x), ?x > $limit.") == ["T022"]
    assert refusal(edited, "far(?y) :- near(?x).", "edge(?x) :- near(?x).", removed=("r99",)) == [
        "T130", "T010", "T012",
    ]  # fmt: skip


def test_a_cycle_through_a_negation_is_refused_and_printed() -> None:
    edited = paths()
    with pytest.raises(ProgramError) as refused:
        added(edited, "loop: near(?x) :- far(?x), edge(?x, _).")
    (found,) = refused.value.diagnostics
    assert found.number == "T020"
    assert "near → far → ~near" in found.message
    assert "loop (near from far)" in found.render()
    same_as_from_scratch(edited)
    assert added(edited, "near(?x) :- edge(home, ?x).")


def test_the_rule_that_would_break_strata_may_come_when_the_other_goes() -> None:
    edited = paths()
    assert added(edited, "near(?x) :- far(?x).", "far(?x) :- path(?x, _).", removed=("both",))
    same_as_from_scratch(edited)


def test_an_arity_is_free_again_when_its_last_rule_and_fact_are_gone() -> None:
    edited = paths()
    assert added(edited, "far(?x, ?y) :- path(?x, ?y).", removed=("both",))
    assert refusal(edited, "edge(?x) :- far(?x, _).", removed=("r1", "further", "r4")) == ["T010"]


def test_a_predicate_that_nothing_defines_is_warned_of_once_and_in_new_rules_only() -> None:
    edited = paths()
    assert [w.number for w in added(edited, "far(?x) :- edgee(?x, ?y).").warnings] == ["W010"]
    assert not added(edited, "seen(?x) :- edgee(?x, ?y).").warnings


def test_predicates_with_facts_stay_when_their_rules_go() -> None:
    edited = paths()
    change = added(edited, removed=("r1", "further", "both", "r4"))
    assert list(edited.analysis.predicates) == ["edge"]
    assert {state.predicates for state in change.impact.gone} == {("far",), ("near",), ("path",), ("seen",)}


def test_facts_may_bring_predicates_with_the_change() -> None:
    edited = paths()
    size = Fact("size", (IRI("a"), IRI("b")))
    change = edited.change(
        [parse_rule("big(?x) :- size(?x, ?y).")], facts=[size, Fact("edge", size.arguments)]
    )
    assert not change.warnings
    assert edited.program.facts[-1] == size
    same_as_from_scratch(edited)
    assert refusal(edited, "size(?x) :- big(?x).") == ["T010"]
    edited.change([], ["r5"])
    assert "size" in edited.analysis.predicates
    same_as_from_scratch(edited)


def test_facts_that_a_rule_of_the_same_change_contradicts_are_refused() -> None:
    edited = paths()
    before = edited.program
    with pytest.raises(ProgramError, match="T010"):
        edited.change([parse_rule("big(?x) :- size(?x, ?y).")], facts=[Fact("size", (IRI("a"),))])
    with pytest.raises(ProgramError, match="T010"):
        edited.change(facts=[Fact("path", (IRI("a"),))])
    assert edited.program == before
    same_as_from_scratch(edited)


def test_facts_of_triples_make_a_program_speak_of_triples() -> None:
    edited = EditedProgram(analyse(parse("@prefix ex: <http://e.org/> . ex:q(?x, ?y) :- ex:p(?x, ?y).")))
    change = edited.change(facts=[Fact("triple", (IRI("a"), IRI("http://e.org/p"), IRI("b")))])
    assert change.moved_triples
    same_as_from_scratch(edited)
    edited.undo_edit(change)
    assert not edited.analysis.triples.active
    same_as_from_scratch(edited)


def test_a_rule_that_comes_twice_with_one_that_stays_comes_not_at_all() -> None:
    edited = paths()
    texts = ("path(?a, ?b) :- edge(?a, ?b).", "r1: path(?a, ?b) :- edge(?a, ?b).")
    change = added(edited, *texts, removed=("r1",))
    assert not change
    assert [there.name for there in change.already_there] == ["r1", "r1"]


def test_a_name_that_another_head_has_is_taken() -> None:
    edited = paths()
    assert refusal(edited, '#[name("both#2")] odd(?x) :- far(?x).') == ["T017"]
    assert verdict(parse('#[name("a#2")] p(?x) :- q(?x). a: r(?x), s(?x) :- q(?x).')) == ["T017"]


def test_splitting_and_merging_for_ever_keeps_order_keys_short() -> None:
    edited = EditedProgram(analyse(parse("a: p(?x) :- q(?x). q(?x) :- e(?x). s(?x) :- p(?x), ~t(?x).")))
    for _ in range(3 * LONGEST_KEY):
        added(edited, "back: q(?x) :- p(?x).")
        added(edited, removed=("back",))
        assert all(len(c.order_key) <= LONGEST_KEY + 1 for c in components_of(edited).clusters.values())
    same_as_from_scratch(edited)


def components_of(edited: EditedProgram) -> ComponentGraph:
    return edited.graph._components


@pytest.mark.parametrize("size", [100, 1000])
def test_the_work_follows_the_change_and_not_the_program(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of `size` predicates: rules at its end, at its start and round a cycle of two of them."""
    chain = "".join(f"p{at + 1}(?x) :- p{at}(?x).\n" for at in range(size))
    edited = EditedProgram(analyse(parse(chain)))
    steps = Counter[str]()
    for name in ("above", "below", "rules_of", "loops"):
        plain = getattr(ComponentGraph, name)

        def counted(self: ComponentGraph, what: object, plain: object = plain) -> object:
            steps["looked at"] += 1
            assert callable(plain)
            return plain(self, what)

        monkeypatch.setattr(ComponentGraph, name, counted)
    graph = edited.graph
    (last,) = analyse(parse(f"end: q(?x) :- p{size}(?x).")).rules
    (first,) = analyse(parse("begin: p0(?x) :- e(?x).")).rules
    (back,) = analyse(parse(f"back: p{size // 2}(?x) :- p{size // 2 + 3}(?x).")).rules
    for rule in (last, first, back):
        graph.change([rule], [])
    graph.change([], ["end", "begin", "back"])
    assert steps["looked at"] < 60
