"""The knowledge base in use: parameters, functions, data of every kind, exports, warnings, figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import tidalog
from tidalog.model.terms import Integer, String


def knowledge(text: str) -> tidalog.KnowledgeBase:
    kb = tidalog.open()
    kb.load(text)
    return kb


@pytest.fixture
def kb() -> tidalog.KnowledgeBase:
    return knowledge("edge(a, b). edge(a, c). edge(b, c). size(a, 3). size(b, 4). node(z).")


class TestQueries:
    def test_variables_name_the_columns(self, kb: tidalog.KnowledgeBase) -> None:
        assert kb.query("edge(?from, ?to)").columns == ("from", "to")
        assert kb.query("?y, ?x :- edge(?x, ?y)").columns == ("y", "x")

    def test_aggregates_constants_and_repetitions_have_names_too(self, kb: tidalog.KnowledgeBase) -> None:
        result = kb.query("?x, ?x, #count(?y), 17, ?n + 1 :- edge(?x, ?y), size(?x, ?n)")
        assert result.columns == ("x", "x_", "count_y", "arg4", "arg5")
        assert set(result) == {("a", "a", 2, 17, 4), ("b", "b", 1, 17, 5)}

    def test_negation_comparison_and_computation(self, kb: tidalog.KnowledgeBase) -> None:
        text = "?x, ?m :- size(?x, ?n), ~edge(?x, b), ?m = ?n * 2, ?m > 5"
        assert kb.query(text).to_rows() == [("b", 8)]

    def test_parameters(self, kb: tidalog.KnowledgeBase) -> None:
        assert kb.query("size(?x, ?n), ?n > $least", least=3).to_rows() == [("b", 4)]
        assert kb.query("edge($from, ?y)", **{"from": "b"}).to_rows() == [("c",)]

    def test_a_question_without_variables_is_true_or_false(self, kb: tidalog.KnowledgeBase) -> None:
        yes, no = kb.query("edge(a, b)"), kb.query("edge(b, a)")
        assert (len(yes), repr(yes), len(no), repr(no)) == (1, "true", 0, "false")


class TestPrograms:
    def test_a_file_brings_its_folder_and_its_dialect(self, tmp_path: Path) -> None:
        (tmp_path / "edges.csv").write_text("a,b\nb,c\n")
        rules = tmp_path / "rules.rls"
        rules.write_text('@import edge :- csv{resource = "edges.csv"} .\npath(?x, ?y) :- edge(?x, ?y) .\n')
        (tmp_path / "more.rules").write_text("r1: path(X, Z) :- path(X, Y) and path(Y, Z).\n")
        kb = tidalog.open()
        kb.load(str(rules))
        kb.load(tmp_path / "more.rules")
        assert set(kb.facts("path")) == {("a", "b"), ("b", "c"), ("a", "c")}

    def test_a_text_reads_data_from_the_base_folder(self, tmp_path: Path) -> None:
        (tmp_path / "edge.csv").write_text("a,b\n")
        kb = tidalog.open()
        kb.load("@import edge :- csv{} .", base_dir=tmp_path)
        assert kb.facts("edge").to_rows() == [("a", "b")]

    def test_values_from_outside_go_before_declared_ones(self) -> None:
        kb = tidalog.open()
        kb.load(
            "@parameter $least = 1 . n(1). n(5). big(?n) :- n(?n), ?n > $least .", parameters={"least": 4}
        )
        assert kb.facts("big").to_rows() == [(5,)]

    def test_warnings_go_when_their_reason_does(self) -> None:
        kb = knowledge("path(?x, ?y) :- edge(?x, ?y) .")
        assert [warning.number for warning in kb.warnings] == ["W010"]
        kb.insert("edge", [("a", "b")])
        assert kb.warnings == ()

    def test_facts_of_the_text_are_not_kept_twice(self) -> None:
        kb = knowledge("edge(a, b). path(?x, ?y) :- edge(?x, ?y) .")
        assert kb.program.facts == ()
        assert kb.predicates["edge"].explicit
        assert not kb.predicates["path"].explicit

    def test_a_later_program_may_not_give_a_predicate_another_arity(self) -> None:
        kb = tidalog.open()
        kb.insert("edge", [("a", "b")])
        with pytest.raises(tidalog.ProgramError, match="T010"):
            kb.load("p(?x) :- edge(?x) .")


class TestFunctions:
    def test_a_decorated_function_is_called_by_rules_and_queries(self) -> None:
        kb = tidalog.open()

        @kb.function
        def initials(name: str) -> str:
            return "".join(word[0] for word in name.split())

        @kb.function("twice")
        def double(number: int) -> int:
            return 2 * number

        kb.load('person("Ada Lovelace"). short(INITIALS(?n)) :- person(?n) .')
        assert kb.facts("short").to_terms() == [(String("AL"),)]
        assert kb.query("?m :- ?m = Twice(21)").to_rows() == [(42,)]

    def test_a_function_that_cannot_answer_makes_its_literal_false(self) -> None:
        kb = tidalog.open()
        kb.register("root", lambda n: {4: 2, 9: 3}[n])
        kb.load("n(4). n(5). n(9). r(?n, ROOT(?n)) :- n(?n) .")
        assert set(kb.facts("r")) == {(4, 2), (9, 3)}
        assert sum(kb.stats().uncomputed.values()) == 1

    def test_an_answer_that_is_not_a_term_is_logged_once(self, caplog: pytest.LogCaptureFixture) -> None:
        kb = tidalog.open()

        @kb.function
        def parts(text: str) -> Any:
            return text.split()

        kb.load('n("a b"). n("c d"). p(?n, PARTS(?n)) :- n(?n) .')
        assert not kb.facts("p").to_rows()
        (record,) = caplog.records
        assert (
            record.getMessage().startswith("PARTS: ")
            and "of type list cannot be a term" in record.getMessage()
        )

    def test_it_is_logged_under_the_name_that_is_registered(self, caplog: pytest.LogCaptureFixture) -> None:
        kb = tidalog.open()
        kb.register("answer", lambda _: object())
        kb.register_aggregate("best", lambda _: object())
        kb.load("n(1). p(ANSWER(?n)) :- n(?n) . q(#best(?n)) :- n(?n) .")
        kb.materialise()
        assert {record.getMessage().partition(":")[0] for record in caplog.records} == {"ANSWER", "#best"}

    def test_a_function_that_is_taken_for_a_predicate_is_explained(self) -> None:
        kb = tidalog.open()
        kb.register("odd", lambda n: n % 2 == 1)
        kb.load("n(1). n(2). atom(?n) :- n(?n), odd(?n) . call(?n) :- n(?n), (odd(?n)) .")
        assert kb.facts("call").to_rows() == [(1,)]
        assert "(odd(…))" in str(kb.warnings[0])

    def test_a_new_function_of_a_known_name_changes_what_follows(self) -> None:
        kb = tidalog.open()
        kb.register("f", lambda n: n + 1)
        kb.load("n(1). m(F(?n)) :- n(?n) .")
        assert kb.facts("m").to_rows() == [(2,)]
        kb.register("f", lambda n: n + 2)
        assert kb.facts("m").to_rows() == [(3,)]

    def test_the_number_of_arguments_is_checked(self) -> None:
        kb = tidalog.open()
        kb.register("pair", lambda one, two: one)
        with pytest.raises(tidalog.ProgramError, match="T019"):
            kb.load("n(1). m(PAIR(?n)) :- n(?n) .")


ROWS = [("a", 1), ("b", 2)]
FORMS = [
    ROWS,
    [list(row) for row in ROWS],
    iter(ROWS),
    {"name": ["a", "b"], "size": [1, 2]},
    pandas.DataFrame(ROWS, columns=["name", "size"]),
    polars.DataFrame({"name": ["a", "b"], "size": [1, 2]}),
    pa.table({"name": ["a", "b"], "size": [1, 2]}),
    np.array([("a", 1), ("b", 2)], dtype=[("name", "U1"), ("size", "i8")]),
    [(String("a"), Integer(1)), (String("b"), Integer(2))],
]


class TestData:
    @pytest.mark.parametrize("data", FORMS, ids=lambda data: type(data).__name__)
    def test_every_form_of_data_gives_the_same_facts(self, data: object) -> None:
        kb = knowledge("big(?x) :- size(?x, ?n), ?n > 1 .")
        assert kb.insert("size", data) == 2
        assert kb.facts("big").to_terms() == [(String("b"),)]

    @pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "ndjson", "arrow", "csv.gz"])
    def test_what_is_exported_reads_back(self, ending: str, tmp_path: Path) -> None:
        kb = tidalog.open()
        kb.insert("p", [("a", 1, 2.5, True), ("b c", 2, -1.0, False), ('"', 3, float("inf"), True)])
        path = kb.export("p", tmp_path / f"p.{ending}")
        other = tidalog.open()
        assert other.insert("p", path) == 3
        assert set(other.facts("p").to_terms()) == set(kb.facts("p").to_terms())

    def test_a_result_is_data(self) -> None:
        kb = knowledge('p(a, 1). p("x y", 2). p("7", 3).')
        other = tidalog.open()
        other.insert("p", kb.facts("p"))
        assert set(other.facts("p").to_terms()) == set(kb.facts("p").to_terms())

    def test_formats_and_columns_say_what_data_means(self, tmp_path: Path) -> None:
        kb = tidalog.open()
        kb.insert("s", {"a": ["x"], "b": ["7"]}, formats=("string", "any"), columns=["b", "a"])
        assert kb.facts("s").to_terms() == [(String("7"), String("x"))]
        (tmp_path / "t.txt").write_text("name,size\nx,7\n")
        kb.insert("t", tmp_path / "t.txt", format="csv", header=True)
        assert kb.facts("t").to_terms() == [(String("x"), Integer(7))]

    def test_bad_rows_are_counted_and_kept(self, tmp_path: Path) -> None:
        (tmp_path / "n.csv").write_text("1\ntwo\n3\n")
        kb = tidalog.open()
        text = '@import n :- csv{resource = "n.csv", format = (int)} .'
        kb.load(text, base_dir=tmp_path, on_error="skip", quarantine_dir=tmp_path / "bad")
        new = kb.insert(
            "n", tmp_path / "n.csv", formats=("int",), on_error="skip", quarantine=tmp_path / "q.csv"
        )
        assert new == 0
        assert kb.stats().skipped == {"n": 2}
        assert "two" in (tmp_path / "bad" / "n.quarantine.csv").read_text()
        assert "two" in (tmp_path / "q.csv").read_text()

    def test_a_predicate_without_arguments_holds_or_not(self, tmp_path: Path) -> None:
        kb = knowledge("wet() :- rain() . @export wet :- csv{} .")
        assert len(kb.facts("wet")) == 0
        assert kb.insert("rain", [()]) == 1
        assert kb.insert("rain", [(), ()]) == 0
        assert (kb.count("wet"), repr(kb.facts("wet"))) == (1, "true")
        (path,) = kb.write_exports(tmp_path)
        other = knowledge("dry() :- ~wet() .")
        other.insert("wet", path)
        assert (other.count("wet"), other.count("dry")) == (1, 0)

    def test_exports_go_beside_their_program_unless_told(self, tmp_path: Path) -> None:
        program = tmp_path / "rules.rls"
        program.write_text("e(a, b). p(?x) :- e(?x, _) . @export p :- csv{} . @export e :- parquet{} .")
        kb = tidalog.open()
        kb.load(program)
        assert kb.write_exports() == [tmp_path / "p.csv", tmp_path / "e.parquet"]
        assert (tmp_path / "p.csv").read_text() == "a\n"
        assert kb.write_exports(tmp_path / "out")[0].parent == tmp_path / "out"


def test_figures_add_up() -> None:
    kb = knowledge("e(a, b). e(b, c). p(?x, ?y) :- e(?x, ?y) . p(?x, ?z) :- p(?x, ?y), e(?y, ?z) .")
    stats = kb.stats()
    assert stats.predicates == {"e": 2, "p": 3}
    assert (stats.facts, stats.explicit, stats.implicit, stats.derivations) == (5, 2, 3, 3)
    assert stats.terms == 3
    assert 0 < stats.bytes <= stats.peak_bytes
    assert "3 facts derived from 2" in str(stats)


def test_progress_is_told_to_a_callback() -> None:
    kb = knowledge("e(a, b). p(?x, ?y) :- e(?x, ?y) .")
    seen: list[tidalog.Progress] = []
    kb.materialise(progress=seen.append)
    assert seen
    assert seen[-1].facts == 2


@pytest.mark.parametrize(
    "limit",
    [
        {"max_facts": 0},
        {"max_facts": -3},
        {"max_facts": 2.5},
        {"max_facts": True},
        {"max_seconds": 0},
        {"max_seconds": float("nan")},
        {"max_seconds": "5"},
        {"max_memory": "2GB"},
    ],
)
def test_what_is_no_limit_is_refused_before_a_run_meets_it(limit: dict[str, Any]) -> None:
    with pytest.raises(tidalog.UsageError, match=f"T076.*{next(iter(limit))}"):
        tidalog.open(**limit)
    kb = tidalog.open()
    with pytest.raises(tidalog.UsageError, match="T076"):
        kb.materialise(**limit)
    kb.materialise()
