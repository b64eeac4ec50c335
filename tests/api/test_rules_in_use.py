"""Rules in use: `kb.rules`, rules in updates, scripts and tables; what subscribers get, and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import polars
import pytest
from ruled import check_whole, digest, state

import tidalog
from tidalog.api.update import Update

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""
FAR = "far(?x) :- path(a, ?x)."


@pytest.fixture
def kb() -> tidalog.KnowledgeBase:
    kb = tidalog.open()
    kb.load(RULES + "edge(a, b). edge(b, c).")
    kb.apply(Update())
    return kb


class TestRules:
    def test_they_are_texts_by_name(self, kb: tidalog.KnowledgeBase) -> None:
        assert dict(kb.rules) == {
            "r1": "r1: path(?x, ?y) :- edge(?x, ?y).",
            "r2": "r2: path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).",
        }
        assert len(kb.rules) == 2
        assert "r1" in kb.rules
        assert repr(kb.rules) == (
            "r1  path(?x, ?y) :- edge(?x, ?y).\nr2  path(?x, ?z) :- path(?x, ?y), edge(?y, ?z)."
        )
        assert repr(tidalog.open().rules) == "no rules"
        with pytest.raises(KeyError):
            _ = kb.rules["r3"]

    def test_adding_says_which_names_were_given(self, kb: tidalog.KnowledgeBase) -> None:
        delta = kb.rules.add(FAR + " near: near(?x) :- edge(a, ?x). path(?u, ?v) :- edge(?u, ?v)")
        assert dict(delta.rules.added) == {"r3": f"r3: {FAR}", "near": "near: near(?x) :- edge(a, ?x)."}
        assert delta.rules.already_there == (("path(?u, ?v) :- edge(?u, ?v).", "r1"),)
        assert {name: change.inserted_count for name, change in delta.items()} == {"far": 2, "near": 1}
        assert repr(delta).splitlines()[:3] == [
            f"+ r3: {FAR}",
            "+ near: near(?x) :- edge(a, ?x).",
            "= path(?u, ?v) :- edge(?u, ?v).   is there as r1",
        ]
        assert "+2 −0 rules, +3 −0 facts" in repr(delta)

    def test_adding_what_is_there_changes_nothing_and_says_so(self, kb: tidalog.KnowledgeBase) -> None:
        before = digest(kb)
        delta = kb.rules.add("again: path(?b, ?a) :- edge(?b, ?a)")
        assert not delta
        assert not delta.rules
        assert delta.rules.already_there == (("again: path(?b, ?a) :- edge(?b, ?a).", "r1"),)
        assert digest(kb) == before

    def test_a_variable_in_another_place_makes_another_rule(self, kb: tidalog.KnowledgeBase) -> None:
        assert list(kb.rules.add("path(?y, ?x) :- edge(?x, ?y)").rules.added) == ["r3"]
        assert kb.rules.remove("r3")["path"].deleted_count == 4

    def test_removing_takes_back_what_no_other_rule_derives(self, kb: tidalog.KnowledgeBase) -> None:
        delta = kb.rules.remove("r2")
        assert delta["path"].deleted.to_rows() == [("a", "c")]
        assert list(delta.rules.removed) == ["r2"]
        delta = kb.rules.remove("r1")
        assert delta["path"].deleted_count == 2
        assert "path" not in kb.predicates

    def test_replacing_keeps_the_name(self, kb: tidalog.KnowledgeBase) -> None:
        delta = kb.rules.replace("r2", "path(?y, ?x) :- edge(?x, ?y)")
        assert set(delta["path"].deleted) == {("a", "c")}
        assert set(delta["path"].inserted) == {("b", "a"), ("c", "b")}
        assert set(kb.rules) == {"r1", "r2"}
        assert set(kb.rules.replace("r2", "back: path(?y, ?x) :- edge(?x, ?y)").rules.added) == {"back"}

    def test_before_anything_is_derived_only_the_program_changes(self) -> None:
        kb = tidalog.open()
        delta = kb.rules.add(RULES + FAR)
        assert list(delta.rules.added) == ["r1", "r2", "r3"]
        assert not delta.derived
        assert repr(delta).splitlines()[-1] == "update: +3 −0 rules, nothing is derived yet"
        kb.rules.remove("r1")
        kb.insert("edge", [("a", "b")])
        assert kb._open().run is None
        assert kb.count("path") == 0
        kb.rules.add("path(?x, ?y) :- edge(?x, ?y)")
        assert kb.count("far") == 1

    def test_a_violated_constraint_can_be_taken_away(self) -> None:
        kb = tidalog.open()
        kb.load("none: :- p(?x) .")
        with pytest.raises(tidalog.RunError, match="T055"):
            kb.insert("p", [(1,)])
        kb.rules.remove("none")
        kb.insert("p", [(1,)])
        assert kb.count("p") == 1

    def test_a_constraint_that_is_violated_is_not_added(self, kb: tidalog.KnowledgeBase) -> None:
        before = digest(kb)
        with pytest.raises(tidalog.RunError, match="T055"):
            kb.rules.add("some: :- path(?x, ?y)")
        assert digest(kb) == before

    def test_a_constraint_gives_way_to_another(self, kb: tidalog.KnowledgeBase) -> None:
        kb.rules.add("c: :- path(?x, ?x)")
        kb.rules.replace("c", ":- path(?x, ?y), edge(?y, ?z), ?z = d")
        kb.apply(Update(insertions={"edge": [("c", "a")]}))
        with pytest.raises(tidalog.RunError, match="T055"):
            kb.apply(Update(insertions={"edge": [("c", "d")]}))

    def test_prefixes_parameters_and_functions_are_those_of_the_program(self) -> None:
        kb = tidalog.open(functions={"twice": lambda value: 2 * value})
        kb.load(
            "@prefix ex: <http://e.org/> . @parameter $most = 3 . p(1). p(2). p(4).", parameters={"most": 2}
        )
        kb.materialise()
        kb.rules.add("small(?x) :- p(?x), ?x <= $most")
        kb.rules.add("@prefix o: <http://o.org/> . ex:even(TWICE(?x)), o:odd(?x) :- small(?x)")
        assert kb.facts("ex:even").to_rows() == [(2,), (4,)]
        assert kb.rules["r2"] == "r2: ex:even(TWICE(?x)), <http://o.org/odd>(?x) :- small(?x)."

    def test_another_number_of_arguments_when_nothing_has_the_old_one(
        self, kb: tidalog.KnowledgeBase
    ) -> None:
        kb.rules.add(FAR)
        kb.rules.remove("r3")
        delta = kb.rules.add("far(?x, ?y) :- path(?x, ?y), ?x != ?y")
        assert delta["far"].inserted_count == 3
        delta = kb.rules.replace("r3", "far(?x, ?y, 1) :- path(?x, ?y)")
        assert delta["far"].inserted_count == 3
        kb.rules.remove("r3")
        assert kb.apply(Update(insertions={"far": [(1,)]}))["far"].inserted_count == 1
        check_whole(kb)

    def test_triples_may_move(self) -> None:
        kb = tidalog.open()
        kb.load("@prefix ex: <http://e.org/> . ex:knows(?y, ?x) :- ex:knows(?x, ?y) . @output triple .")
        kb.insert("ex:knows", [("<http://e.org/a>", "<http://e.org/b>")])
        kb.insert("ex:likes", [("<http://e.org/a>", "<http://e.org/c>")])
        kb.apply(Update())
        before = digest(kb)
        with pytest.raises(tidalog.RunError, match="T055"):
            kb.rules.add("ex:Liked(?y) :- ex:likes(_, ?y). :- ex:Liked(?x)")
        assert digest(kb) == before
        delta = kb.rules.add("ex:Liked(?y) :- ex:likes(_, ?y)")
        assert (delta.inserted_count, delta.deleted_count) == (1, 0)
        assert delta["ex:Liked"].inserted.to_rows() == [("<http://e.org/c>",)]
        delta = kb.rules.add("used(?p) :- triple(_, ?p, _)")
        assert delta["used"].inserted_count == 3
        delta = kb.rules.remove("r2")
        assert (delta.inserted_count, delta.deleted_count) == (0, 2)
        assert delta["triple"].deleted_count == 1
        delta = kb.rules.remove("r1")
        assert delta["triple"].deleted_count == 1
        assert kb.count("triple") == 2
        check_whole(kb)

    @pytest.mark.parametrize(
        ("text", "number"),
        [
            ("", "T009"),
            ("% nothing", "T009"),
            ("@import p :- csv{} .", "T009"),
            ("p(?x) :- q(?x). p(?x :- q(?x)", "T001"),
            (17, "T076"),
        ],
    )
    def test_what_is_no_rule(self, kb: tidalog.KnowledgeBase, text: str, number: str) -> None:
        before = digest(kb)
        with pytest.raises(tidalog.TidalogError, match=number):
            kb.rules.add(text)
        assert digest(kb) == before

    def test_what_cannot_be_removed_or_replaced(self, kb: tidalog.KnowledgeBase) -> None:
        before = digest(kb)
        with pytest.raises(tidalog.ProgramError, match="T130"):
            kb.rules.remove("r1", "r3")
        with pytest.raises(tidalog.ProgramError, match="T130"):
            kb.rules.replace("r3", FAR)
        with pytest.raises(tidalog.ProgramError, match="T131"):
            kb.rules.replace("r1", FAR + FAR)
        with pytest.raises(tidalog.ProgramError, match="T017"):
            kb.rules.add("r1: far(?x) :- edge(?x, _)")
        with pytest.raises(tidalog.UsageError, match="T076"):
            kb.rules.remove(1)  # type: ignore[arg-type]
        assert digest(kb) == before


class TestUpdates:
    def test_rules_and_facts_of_a_block_are_one_step(self, kb: tidalog.KnowledgeBase) -> None:
        with kb.update(label=7) as u:
            u.insert("edge", [("c", "d")])
            u.insert("extra", [("d",)])
            u.add_rule("far(?x) :- path(a, ?x), extra(?x)")
            u.remove_rule("r1")
            u.add_rule("path(?x, ?y) :- edge(?x, ?y), ?x != b")
        assert u.delta.label == 7
        assert set(u.delta["path"].deleted) == {
            ("b", "c"),
        }
        assert kb.facts("far").to_rows() == [("d",)]
        check_whole(kb)

    def test_a_block_that_fails_changes_nothing(self, kb: tidalog.KnowledgeBase) -> None:
        before = digest(kb)
        with pytest.raises(ZeroDivisionError), kb.update() as u:
            u.remove_rule("r1")
            _ = 1 / 0
        with pytest.raises(tidalog.ProgramError, match="T010"):
            kb.apply(Update(insertions={"far": [(1, 2)]}, add_rules=FAR))
        with pytest.raises(tidalog.ProgramError, match="T010"):
            kb.apply(Update(deletions={"path": [(1, 2, 3)]}, add_rules=FAR))
        assert digest(kb) == before

    def test_a_limit_takes_rules_back(self) -> None:
        kb = tidalog.open(max_seconds=0.5)
        kb.load("n(0). m(?x) :- n(?x) .")
        kb.apply(Update())
        before = digest(kb)
        with pytest.raises(tidalog.RunError, match="T051"):
            kb.apply(Update(insertions={"n": [(5,)]}, add_rules="n(?m) :- n(?k), ?m = ?k + 1"))
        assert digest(kb) == before
        assert kb.apply(Update(insertions={"n": [(7,)]}))["m"].inserted_count == 1

    def test_upcoming_rules_do_no_harm(self, kb: tidalog.KnowledgeBase) -> None:
        coming = [
            Update(
                deletions={"edge": [("a", "b")], "odd": [(1, 2, 3)]},
                add_rules="odd(?x, ?x, ?x) :- edge(?x, _)",
            ),
            Update(insertions={"odd": [("a", "b", "c")]}, deletions={"edge": [("b", "c")]}),
            Update(add_rules="odd(?x) :- "),
        ]
        plain = tidalog.open()
        plain.load(RULES + "edge(a, b). edge(b, c).")
        first = Update(insertions={"edge": [("c", "d")]})
        kb.apply(first, coming)
        plain.apply(first)
        for number, update in enumerate(coming[:2]):
            kb.apply(update, coming[number + 1 :])
            plain.apply(update)
            assert state(kb) == state(plain)

    def test_subscribers_are_told(self, kb: tidalog.KnowledgeBase) -> None:
        kb.rules.add(FAR)
        received: list[object] = []
        kb.subscribe("far", lambda change: received.append((set(change.inserted), set(change.deleted))))
        kb.subscribe("?x :- far(?x)", lambda came, went: received.append((set(came), set(went))))
        kb.rules.remove("r3")
        assert received == [(set(), {("b",), ("c",)}), (set(), {("b",), ("c",)})]
        kb.rules.remove("r2")
        kb.rules.add(FAR)
        assert received[2:] == [({("b",)}, set()), ({("b",)}, set())]

    def test_a_delta_says_later_what_it_said_at_first(self, kb: tidalog.KnowledgeBase) -> None:
        delta = kb.rules.add(FAR)
        kb.rules.remove("r3")
        assert set(delta["far"].inserted) == {("b",), ("c",)}

    def test_warnings_are_those_of_the_rules_that_are_there(self, kb: tidalog.KnowledgeBase) -> None:
        assert kb.warnings == ()
        kb.rules.add("far(?x) :- nowhere(?x)")
        assert [warning.number for warning in kb.warnings] == ["W010"]
        kb.rules.remove("r3")
        assert kb.warnings == ()

    def test_loading_goes_on_where_rules_have_gone(self, kb: tidalog.KnowledgeBase) -> None:
        kb.rules.remove("r1")
        kb.load("path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) . start(?x) :- edge(?x, _) .")
        kb.load("start(?x) :- edge(?x, _) .")
        assert kb.count("start") == 2
        assert len(kb.rules) == len(set(kb.rules)) == 2
        check_whole(kb)


TABLE = [
    {"update": 1, "op": "+", "predicate": "edge", "arg1": "c", "arg2": "d"},
    {
        "update": 1,
        "op": "+rule",
        "predicate": "far",
        "arg1": 'far(?x) :- path(a, ?x), ?x != "b, c" .',
        "arg2": None,
    },
    {"update": 2, "op": "-rule", "predicate": "r2", "arg1": None, "arg2": None},
    {"update": 2, "op": "+rule", "predicate": None, "arg1": "r9: near(?x) :- edge(a, ?x)", "arg2": None},
    {"update": 3, "op": "-", "predicate": "edge", "arg1": "a", "arg2": "b"},
]


class TestFiles:
    def test_a_script(self, kb: tidalog.KnowledgeBase, tmp_path: Path) -> None:
        (tmp_path / "day.upd").write_text(
            "@prefix ex: <http://e.org/> .\n+edge(c, d). +rule far(?x) :- path(a, ?x).\ncommit.\n"
            "-rule r2. +rule r9: ex:near(?x) :- edge(a, ?x).\ncommit.\n"
        )
        deltas = list(kb.stream(tmp_path / "day.upd", look_ahead=2))
        assert [list(delta.rules.added) for delta in deltas] == [["r3"], ["r9"]]
        assert [list(delta.rules.removed) for delta in deltas] == [[], ["r2"]]
        assert deltas[0]["far"].inserted_count == 3
        assert kb.facts("<http://e.org/near>").to_rows() == [("b",)]

    def test_a_name_that_no_rule_has_is_shown_where_it_stands(
        self, kb: tidalog.KnowledgeBase, tmp_path: Path
    ) -> None:
        (tmp_path / "day.upd").write_text("+edge(c, d).\n-rule r7.\n")
        with pytest.raises(tidalog.ProgramError, match=r"day.upd:2:7"):
            list(kb.stream(tmp_path / "day.upd"))
        assert kb.count("edge") == 2

    @pytest.mark.parametrize("format", ["csv", "ndjson", "parquet"])
    def test_tables(self, kb: tidalog.KnowledgeBase, tmp_path: Path, format: str) -> None:
        path = tmp_path / f"updates.{format}"
        if format == "csv":
            polars.DataFrame(TABLE).write_csv(path)
        elif format == "parquet":
            polars.DataFrame(TABLE).write_parquet(path)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in TABLE))
        deltas = list(kb.stream(path))
        assert [list(delta.rules.added) for delta in deltas] == [["far"], ["r9"], []]
        assert kb.facts("far").to_rows() == []
        assert list(kb.rules) == ["r1", "far", "r9"]
        check_whole(kb)

    def test_a_rule_in_a_table_that_cannot_be_read_refuses_its_update_alone(
        self, kb: tidalog.KnowledgeBase, tmp_path: Path
    ) -> None:
        (tmp_path / "updates.csv").write_text(
            "update,op,predicate,arg1,arg2\n1,+,edge,c,d\n2,+rule,far,far(?x) :- path(a,\n"
            '2,+,edge,e,f\n3,+rule,far,"two: far(?x) :- path(a, ?x)",\n4,+,edge,d,e\n'
        )
        source = kb.read_updates(tmp_path / "updates.csv")
        kb.apply(source[0], source[1:])
        before = digest(kb)
        with pytest.raises(tidalog.ProgramError, match=r"T00\d.*\n.*updates.csv:3"):
            kb.apply(source[1])
        with pytest.raises(tidalog.ProgramError, match="T131"):
            kb.apply(source[2])
        assert digest(kb) == before
        kb.apply(source[3])
        assert kb.count("edge") == 4


def test_a_refused_edit_leaves_the_constraints_in_their_order() -> None:
    kb = tidalog.open()
    kb.load("p(?x) :- e(?x). first: :- p(7). second: :- p(8). e(1).")
    kb.apply(Update())
    before = digest(kb)
    with pytest.raises(tidalog.RunError, match="second"):
        kb.apply(Update(remove_rules="first", insertions={"e": [(8,)]}))
    assert digest(kb) == before
