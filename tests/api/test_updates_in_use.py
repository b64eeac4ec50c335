"""Updates in use: blocks, streams, files, subscribers, and what happens when something goes wrong."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pytest

import tidalog
from tidalog.api.update import Update
from tidalog.stream import FirstAlone, ListSource, QueueSource

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""


@pytest.fixture
def kb() -> tidalog.KnowledgeBase:
    kb = tidalog.open()
    kb.load(RULES + "edge(a, b). edge(b, c).")
    return kb


def plus(*pairs: tuple[str, str]) -> Update:
    return Update(insertions={"edge": pairs})


def minus(*pairs: tuple[str, str]) -> Update:
    return Update(deletions={"edge": pairs})


class TestBlocks:
    def test_a_block_is_applied_where_it_ends(self, kb: tidalog.KnowledgeBase) -> None:
        with kb.update(label="first") as u:
            u.delete("edge", [("a", "b")])
            u.insert("edge", [("a", "c")])
            assert kb.count("path") == 3
        assert set(u.delta) == {"edge", "path"}
        assert set(u.delta["path"].deleted) == {("a", "b")}
        assert u.delta["path"].inserted.to_rows() == []
        assert u.delta["edge"].inserted_explicit.to_rows() == [("a", "c")]
        assert set(kb.facts("path")) == {("a", "c"), ("b", "c")}
        assert u.delta.label == "first"

    def test_an_exception_inside_leaves_all_as_it_was(self, kb: tidalog.KnowledgeBase) -> None:
        with pytest.raises(ZeroDivisionError), kb.update() as u:
            u.delete("edge", [("a", "b")])
            _ = 1 / 0
        assert kb.count("edge") == 2
        with pytest.raises(tidalog.UsageError, match="T084"):
            _ = u.delta

    @pytest.mark.parametrize("ended_by", ["its end", "an exception", "a refusal"])
    def test_a_block_that_has_ended_takes_no_more_changes(
        self, kb: tidalog.KnowledgeBase, ended_by: str
    ) -> None:
        u = kb.update(label=7)
        try:
            with u:
                u.insert("edge", [("c", "d")])
                u.remove_rule("r1" if ended_by != "a refusal" else "r9")
                assert ended_by != "an exception"
        except (AssertionError, tidalog.ProgramError):
            pass
        changes: list[Callable[[], object]] = [
            lambda: u.insert("edge", [("d", "e")]),
            lambda: u.delete("edge", [("a", "b")]),
            lambda: u.add_rule("far(?x) :- path(a, ?x)"),
            lambda: u.remove_rule("r1"),
            u.__enter__,
        ]
        for change in changes:
            with pytest.raises(tidalog.UsageError, match=r"T087.*update 7"):
                change()

    def test_data_of_any_kind_goes_in(self, kb: tidalog.KnowledgeBase) -> None:
        with kb.update() as u:
            u.insert(
                "edge", polars.DataFrame({"from": ["c"], "to": ["d"], "km": [3]}), columns=["from", "to"]
            )
            u.insert("edge", pa.table({"x": ["d"], "y": ["e"]}))
            u.insert("name", {"node": ["a"], "text": ["x"]}, formats=("any", "string"))
            u.insert("flag", [()])
        assert u.delta["edge"].inserted_count == 2
        assert kb.count("path") == 10
        assert kb.facts("name").to_terms() == [(tidalog.String("a"), tidalog.String("x"))]
        assert u.delta["flag"].inserted.to_rows() == [()]

    def test_a_fact_in_both_stays(self, kb: tidalog.KnowledgeBase) -> None:
        delta = kb.apply(Update(deletions={"edge": [("a", "b")]}, insertions={"edge": [("a", "b")]}))
        assert not delta
        assert repr(delta).startswith("update: nothing changed, ")

    def test_what_changes_its_kind_and_stays_true_is_told_apart(self, kb: tidalog.KnowledgeBase) -> None:
        delta = kb.apply(Update(insertions={"path": [("a", "c")]}))
        assert delta["path"].became_explicit.to_rows() == [("a", "c")]
        assert (delta.inserted_count, delta.deleted_count) == (0, 0)
        assert "path" in delta
        delta = kb.apply(Update(deletions={"path": [("a", "c")]}))
        assert delta["path"].became_implicit.to_rows() == [("a", "c")]

    def test_a_delta_prints_as_a_table(self, kb: tidalog.KnowledgeBase) -> None:
        delta = kb.apply(Update(insertions={"edge": [("c", "d")]}, label=4))
        lines = repr(delta).splitlines()
        assert lines[0] == "predicate   + explicit   + implicit   − explicit   − implicit"
        assert lines[2:4] == ["edge                 1", "path                              3"]
        assert lines[4].startswith("update 4: +4 −0 facts, ")
        assert repr(delta["edge"]) == "edge  +1 −0\n  + (c, d)  explicit"

    def test_predicates_that_did_not_change_have_no_change(self, kb: tidalog.KnowledgeBase) -> None:
        delta = kb.apply(plus(("a", "b")))
        assert len(delta) == 0
        assert "path" not in delta
        assert "nonsense" not in delta
        assert delta["path"].inserted.columns == ("arg1", "arg2")
        assert delta.ignored == 1
        with pytest.raises(tidalog.UsageError, match="T070"):
            _ = delta["nonsense"]

    def test_a_delta_says_later_what_it_said_at_first(self, kb: tidalog.KnowledgeBase) -> None:
        delta = kb.apply(plus(("c", "new")))
        kb.apply(minus(("c", "new")))
        kb.apply(plus(("c", "newer")))
        assert set(delta["path"].inserted) == {("a", "new"), ("b", "new"), ("c", "new")}
        kb.close()
        assert delta["edge"].inserted.to_rows() == [("c", "new")]

    def test_properties_and_classes_have_changes_of_their_own(self) -> None:
        kb = tidalog.open()
        kb.load("@prefix ex: <http://e.org/> . @output triple . ex:Known(?y) :- ex:knows(_, ?y) .")
        delta = kb.apply(Update(insertions={"ex:knows": [("<http://e.org/ann>", "<http://e.org/bob>")]}))
        assert list(delta) == ["triple"]
        assert len(delta["triple"].inserted) == 2
        assert delta["ex:Known"].inserted.to_rows() == [("<http://e.org/bob>",)]
        assert len(delta["ex:knows"].inserted_explicit) == 1
        assert "ex:knows" in delta
        assert "ex:other" not in delta


class TestRefusals:
    @pytest.mark.parametrize("operation", ["insert", "delete"])
    def test_another_number_of_arguments(self, kb: tidalog.KnowledgeBase, operation: str) -> None:
        update = Update()
        getattr(update, operation)("edge", [("a", "b", "c")])
        with pytest.raises(tidalog.ProgramError, match="T010"):
            kb.apply(update)
        assert kb.count("path") == 3

    def test_deleting_what_nobody_knows_is_passed_over(self, kb: tidalog.KnowledgeBase) -> None:
        delta = kb.apply(Update(deletions={"nowhere": [("a",)], "edge": [("q", "r")]}))
        assert (len(delta), delta.ignored) == (0, 2)
        assert kb.delete("nowhere", [("a",)]) == 0
        assert "nowhere" not in kb.predicates

    @pytest.mark.parametrize(
        "options", [{"strategy": "magic"}, {"marking": "red"}, {"order": "none"}, {"look_ahead": -1}]
    )
    def test_options_that_there_are_not(self, kb: tidalog.KnowledgeBase, options: dict[str, str]) -> None:
        with pytest.raises(tidalog.UsageError, match="T076"):
            kb.stream([], **options)  # type: ignore[arg-type]

    def test_what_is_no_update(self, kb: tidalog.KnowledgeBase) -> None:
        with pytest.raises(tidalog.UsageError, match="T076"):
            kb.apply("edge")  # type: ignore[arg-type]
        with pytest.raises(tidalog.UsageError, match="T076"):
            kb.stream(17)  # type: ignore[arg-type]

    def test_updates_of_another_knowledge_base(self, kb: tidalog.KnowledgeBase, tmp_path: Path) -> None:
        (tmp_path / "a.upd").write_text("+edge(x, y).")
        with pytest.raises(tidalog.UsageError, match="T085"):
            tidalog.open().apply(kb.read_updates(tmp_path / "a.upd")[0])

    def test_a_violated_constraint_takes_the_update_back(self, kb: tidalog.KnowledgeBase) -> None:
        kb.load("circle: :- path(?x, ?x) .")
        with pytest.raises(tidalog.RunError, match="T055"):
            kb.apply(Update(insertions={"edge": [("c", "a")], "fresh": [(1,)]}))
        assert kb.count("path") == 3
        assert "fresh" not in kb.predicates
        assert kb.apply(plus(("c", "d")))["path"].inserted_count == 3

    def test_a_limit_takes_the_update_back(self) -> None:
        kb = tidalog.open(max_seconds=0.5)
        kb.load("n(?m) :- n(?k), ?m = ?k + 1, go(?s) .  n(0).")
        kb.materialise()
        with pytest.raises(tidalog.RunError, match="T051"):
            kb.apply(Update(insertions={"go": [("now",)]}))
        assert kb.facts("n").to_rows() == [(0,)]
        assert kb.apply(Update(insertions={"n": [(7,)]}))["n"].inserted_count == 1

    def test_the_first_triple_that_is_refused_leaves_no_trace(self, kb: tidalog.KnowledgeBase) -> None:
        kb.load("none: :- edge(?x, ?x) .")
        before = dict(kb.predicates)
        triple = (tidalog.IRI("s"), tidalog.IRI("p"), "o")
        with pytest.raises(tidalog.RunError, match="T055"):
            kb.apply(Update(insertions={"triple": [triple], "edge": [("a", "a")]}))
        assert dict(kb.predicates) == before
        assert kb.count("path") == 3
        delta = kb.apply(Update(insertions={"triple": [triple], "edge": [("c", "d")]}))
        assert set(delta) == {"triple", "edge", "path"}
        assert len(kb.facts("triple")) == 1


class TestStreams:
    def test_updates_are_applied_as_far_as_they_are_asked_for(self, kb: tidalog.KnowledgeBase) -> None:
        stream = kb.stream([plus(("c", "d")), plus(("d", "e"))])
        assert kb.count("edge") == 2
        next(stream)
        assert kb.count("edge") == 3
        stream.close()

    def test_an_iterator_may_use_the_knowledge_base(self, kb: tidalog.KnowledgeBase) -> None:
        def updates() -> Iterator[Update]:
            for name in ("x", "y", "z"):
                yield plus((name, f"to{kb.count('edge') >= 2}"))

        assert [delta["edge"].inserted.to_rows()[0] for delta in kb.stream(updates())] == [
            ("x", "toTrue"),
            ("y", "toTrue"),
            ("z", "toTrue"),
        ]

    def test_a_source_that_another_thread_fills(self, kb: tidalog.KnowledgeBase) -> None:
        source: QueueSource[Update] = QueueSource()

        def fill() -> None:
            for number in range(20):
                source.put(plus((f"n{number}", "end")))
            source.close()

        thread = threading.Thread(target=fill)
        thread.start()
        deltas = list(kb.stream(source, look_ahead=3, look_ahead_wait=5.0))
        thread.join()
        assert len(deltas) == 20
        assert kb.count("edge") == 22

    def test_an_update_that_fails_ends_the_stream_and_the_rest_can_go_on(
        self, kb: tidalog.KnowledgeBase
    ) -> None:
        wrong = Update(insertions={"edge": [("a", "b", "c")]})
        source = ListSource([plus(("c", "d")), wrong, plus(("d", "e"))])
        stream = kb.stream(source, look_ahead=2)
        next(stream)
        with pytest.raises(tidalog.ProgramError, match="T010"):
            next(stream)
        assert [delta["edge"].inserted_count for delta in kb.stream(source)] == [1]

    def test_nothing_is_seen_while_the_first_is_at_work(self) -> None:
        source = FirstAlone(ListSource([1, 2, 3]))
        seen = []
        while (item := source.next()) is not None:
            seen.append((item, list(source.peek(5)), source.ended))
        assert seen == [(1, [], False), (2, [3], False), (3, [], True)]

    @pytest.mark.parametrize("of", [list, tuple, iter])
    def test_none_among_updates_is_an_error_and_not_the_end(
        self, kb: tidalog.KnowledgeBase, of: Callable[[list[object]], object]
    ) -> None:
        updates = of([plus(("c", "d")), None, plus(("d", "e"))])
        with pytest.raises(tidalog.UsageError, match=r"T076.*update 2 of the stream is None"):
            list(kb.stream(updates))  # type: ignore[arg-type]
        assert kb.count("edge") == 3

    @pytest.mark.parametrize("wait", [float("nan"), float("inf"), -1, -0.5, "1", True, None])
    def test_a_time_to_wait_is_a_number_of_seconds(self, kb: tidalog.KnowledgeBase, wait: object) -> None:
        with pytest.raises(tidalog.UsageError, match=r"T076.*look_ahead_wait"):
            kb.stream([plus(("c", "d"))], look_ahead_wait=wait)  # type: ignore[arg-type]

    @pytest.mark.parametrize("name", ["max_facts", "max_seconds", "max_memory"])
    @pytest.mark.parametrize("value", [float("nan"), 0, -1, "9", True])
    def test_a_limit_is_a_number_above_zero(self, name: str, value: object) -> None:
        with pytest.raises(tidalog.UsageError, match=f"T076.*{name}"):
            tidalog.open(**{name: value})  # type: ignore[call-overload]


class TestFiles:
    SCRIPT = "@prefix ex: <http://e.org/> .\n-edge(a, b). +edge(c, d).\ncommit.\n+ex:p(ex:a, 3).\ncommit.\n"

    def test_a_script(self, kb: tidalog.KnowledgeBase, tmp_path: Path) -> None:
        (tmp_path / "day.upd").write_text(self.SCRIPT)
        deltas = list(kb.stream(tmp_path / "day.upd"))
        assert [delta.label for delta in deltas] == [1, 2]
        assert deltas[0]["edge"].deleted.to_rows() == [("a", "b")]
        assert kb.facts("<http://e.org/p>").to_rows() == [("<http://e.org/a>", 3)]

    def test_tables_of_every_format_say_the_same(self, kb: tidalog.KnowledgeBase, tmp_path: Path) -> None:
        table = polars.DataFrame(
            {
                "update": [2, 1, 1, 1, 2],
                "op": ["+", "-", "+", "+", "-"],
                "predicate": ["edge", "edge", "edge", "size", "edge"],
                "arg1": ["x", "a", "c", "a", "c"],
                "arg2": ["y", "b", "d", None, "d"],
            }
        )
        table.write_csv(tmp_path / "u.csv")
        table.write_ndjson(tmp_path / "u.ndjson")
        table.write_parquet(tmp_path / "u.parquet")
        states = []
        for ending in ("csv", "ndjson", "parquet"):
            other = tidalog.open()
            other.load(RULES + "edge(a, b). edge(b, c).")
            deltas = list(other.stream(str(tmp_path / f"u.{ending}")))
            assert [delta.label for delta in deltas] == [1, 2]
            states.append({name: set(other.facts(name)) for name in other.predicates})
        assert states[0] == states[1] == states[2]
        assert states[0]["edge"] == {("b", "c"), ("x", "y")}
        assert states[0]["size"] == {("a",)}

    def test_folders_and_several_files(self, kb: tidalog.KnowledgeBase, tmp_path: Path) -> None:
        (tmp_path / "1.csv").write_text("update,op,predicate,arg1,arg2\n1,+,edge,c,d\n")
        (tmp_path / "2.csv").write_text("update,op,predicate,arg1,arg2\n1,+,edge,d,e\n2,-,edge,a,b\n")
        scripts = tmp_path / "scripts"
        scripts.mkdir()
        (scripts / "a.upd").write_text("+edge(q, r).")
        (scripts / "b.upd").write_text("-edge(q, r).")
        labels = [update.label for update in kb.read_updates([tmp_path, scripts])]
        assert labels == [1, 2, 1, 2]
        assert [len(delta) for delta in kb.stream([scripts])] == [2, 2]

    def test_bad_rows_are_an_error_or_set_aside(self, kb: tidalog.KnowledgeBase, tmp_path: Path) -> None:
        path = tmp_path / "u.csv"
        path.write_text("update,op,predicate,arg1,arg2\n1,+,edge,c,d\n1,*,edge,d,e\n")
        with pytest.raises(tidalog.DataError, match="T036"):
            kb.stream(path)
        kept = tmp_path / "bad.csv"
        assert len(list(kb.stream(path, on_error="skip", quarantine=kept))) == 1
        assert "edge" in kept.read_text()

    def test_files_that_are_not_there(self, kb: tidalog.KnowledgeBase, tmp_path: Path) -> None:
        for name in ("u.csv", "u.upd"):
            with pytest.raises(tidalog.DataError, match="T030"):
                kb.stream(tmp_path / name)
        (tmp_path / "odd.upd").write_bytes(b"+p(\xff).")
        with pytest.raises(tidalog.DataError, match="T031"):
            kb.stream(tmp_path / "odd.upd")


class TestSubscribers:
    def test_a_predicate_is_told_of_when_it_changes(self, kb: tidalog.KnowledgeBase) -> None:
        seen: list[tuple[int, int]] = []
        subscription = kb.subscribe("path", lambda c: seen.append((c.inserted_count, c.deleted_count)))
        kb.apply(plus(("c", "d")))
        kb.apply(Update(insertions={"other": [("x",)]}))
        kb.insert("edge", [("d", "e")])
        kb.delete("edge", [("d", "e")])
        assert seen == [(3, 0), (4, 0), (0, 4)]
        subscription.cancel()
        subscription.cancel()
        kb.apply(minus(("c", "d")))
        assert len(seen) == 3
        assert not subscription.active

    def test_the_answers_to_a_query(self, kb: tidalog.KnowledgeBase) -> None:
        seen: list[tuple[set[object], set[object]]] = []
        kb.subscribe("?y :- path(a, ?y), ~edge(a, ?y)", lambda new, old: seen.append((set(new), set(old))))
        kb.apply(plus(("c", "d")))
        kb.apply(plus(("q", "r")))
        kb.apply(plus(("a", "c")))
        assert seen == [({("d",)}, set()), (set(), {("c",)})]

    def test_a_query_without_variables_becomes_true_and_false(self, kb: tidalog.KnowledgeBase) -> None:
        seen: list[tuple[int, int]] = []
        kb.subscribe("path(a, d)", lambda new, old: seen.append((len(new), len(old))))
        kb.apply(plus(("c", "d")))
        kb.apply(minus(("c", "d")))
        assert seen == [(1, 0), (0, 1)]

    def test_an_exception_is_logged_and_harms_nothing(
        self, kb: tidalog.KnowledgeBase, caplog: pytest.LogCaptureFixture
    ) -> None:
        seen: list[object] = []
        kb.subscribe("edge", lambda change: 1 / 0)
        kb.subscribe("edge", seen.append)
        with caplog.at_level(logging.ERROR, "tidalog"):
            kb.apply(plus(("c", "d")))
        assert "a subscriber to edge failed" in caplog.text
        assert len(seen) == 1
        assert kb.count("path") == 6

    def test_a_subscriber_may_update_and_all_hear_of_it_in_order(self, kb: tidalog.KnowledgeBase) -> None:
        heard: list[str] = []

        def hear(name: str) -> Callable[[tidalog.PredicateChange], None]:
            return lambda change: heard.extend(f"{name} {row[0]}" for row in change.inserted)

        def answer(change: tidalog.PredicateChange) -> None:
            if ("c", "d") in set(change.inserted):
                assert kb.apply(plus(("d", "e")))["edge"].inserted_count == 1

        kb.subscribe("edge", hear("first"))
        kb.subscribe("edge", answer)
        kb.subscribe("edge", hear("last"))
        kb.apply(plus(("c", "d")))
        assert heard == ["first c", "last c", "first d", "last d"]

    def test_a_great_many_facts_are_told_of_too(self, kb: tidalog.KnowledgeBase) -> None:
        seen: list[int] = []
        kb.insert("size", [("a", 1)])
        kb.subscribe("size", lambda change: seen.append(change.inserted_count))
        kb.insert("size", [("n", number) for number in range(2_000)])
        assert seen == [2_000]

    @pytest.mark.parametrize("derived", [False, True], ids=["before anything is derived", "materialised"])
    def test_every_change_is_told_of_when_it_is_made(self, kb: tidalog.KnowledgeBase, derived: bool) -> None:
        kb.register("twice", lambda value: 2 * value)
        kb.load("n(1). m(?y) :- n(?x), ?y = twice(?x).")
        if derived:
            kb.materialise()
        changes: list[set[object]] = []
        answers: list[set[object]] = []
        kb.subscribe("m", lambda change: changes.append(set(change.inserted) | set(change.deleted)))
        kb.subscribe("m(?x)", lambda new, old: answers.append(set(new) | set(old)))
        steps: list[tuple[Callable[[], object], set[object]]] = [
            (lambda: kb.load("n(2)."), {(4,)}),
            (lambda: kb.load("m(?x) :- k(?x). k(7)."), {(7,)}),
            (
                lambda: kb.load("".join(f"n({x})." for x in range(10, 2_010))),
                {(2 * x,) for x in range(10, 2_010)},
            ),
            (lambda: kb.delete("n", [(x,) for x in range(10, 2_010)]), {(2 * x,) for x in range(10, 2_010)}),
            (lambda: kb.insert("n", [(3,)]), {(6,)}),
            (lambda: kb.rules.add("other: m(9) :- n(1)"), {(9,)}),
            (lambda: kb.rules.remove("other"), {(9,)}),
            (
                lambda: kb.register("twice", lambda value: 2 * value + 100),
                {(x,) for x in (2, 4, 6, 102, 104, 106)},
            ),
        ]
        for number, (step, changed) in enumerate(steps, 1):
            step()
            assert (len(changes), len(answers)) == (number, number)
            assert changes[-1] == answers[-1] == changed

    def test_a_parameter_named_update_gets_the_whole_update(self, kb: tidalog.KnowledgeBase) -> None:
        seen: list[tuple[object, ...]] = []

        def of_query(new: tidalog.Result, old: tidalog.Result, update: tidalog.Delta) -> None:
            seen.append((len(new), len(old), update.label, set(update), update.time))

        def of_predicate(update: tidalog.PredicateChange, **more: object) -> None:
            seen.append((update.inserted_count, more))

        kb.subscribe("path(a, ?x)", of_query)
        kb.subscribe("path", lambda change, *, update: seen.append((change.predicate, update.label)))
        kb.subscribe("path", of_predicate)
        with kb.update(label=5) as u:
            u.insert("edge", [("c", "d")])
        assert seen == [(1, 0, 5, {"edge", "path"}, u.delta.time), ("path", 5), (3, {})]

    def test_a_subscriber_may_wait_for_a_thread_that_uses_the_knowledge_base(
        self, kb: tidalog.KnowledgeBase
    ) -> None:
        counts: list[int] = []

        def wait(change: tidalog.PredicateChange) -> None:
            def use() -> None:
                counts.append(kb.count("path"))
                kb.insert("seen", [(len(counts),)])

            thread = threading.Thread(target=use, daemon=True)
            thread.start()
            thread.join(60)
            assert not thread.is_alive()

        kb.subscribe("edge", wait)
        kb.apply(plus(("c", "d")))
        list(kb.stream([plus(("d", "e")), minus(("d", "e"))]))
        assert counts == [6, 10, 6]
        assert kb.count("seen") == 3

    def test_updates_of_other_threads_are_told_of_in_order(self, kb: tidalog.KnowledgeBase) -> None:
        heard: list[object] = []
        applied = threading.Event()

        def hear(change: tidalog.PredicateChange, update: tidalog.Delta) -> None:
            if update.label == 1:
                other = threading.Thread(target=lambda: (kb.apply(second), applied.set()), daemon=True)
                other.start()
                assert applied.wait(60)  # it does not wait for this call
            heard.append((update.label, change.inserted.to_rows()))

        second = Update(insertions={"edge": [("d", "e")]}, label=2)
        kb.subscribe("edge", hear)
        kb.apply(Update(insertions={"edge": [("c", "d")]}, label=1))
        assert heard == [(1, [("c", "d")]), (2, [("d", "e")])]

    def test_what_nobody_knows_cannot_be_subscribed_to(self, kb: tidalog.KnowledgeBase) -> None:
        for what in ("nowhere", "?x :- nowhere(?x)"):
            with pytest.raises(tidalog.UsageError, match="T070"):
                kb.subscribe(what, print)

    @pytest.mark.parametrize(
        ("what", "callback"),
        [
            ("edge", 5),
            ("edge", lambda: 1),
            ("edge", lambda old, new: 1),
            ("edge", lambda change, *, other: 1),
            ("?x :- edge(?x, _)", lambda change: 1),
            ("?x :- edge(?x, _)", lambda old, new, more: 1),
            (5, print),
        ],
    )
    def test_what_cannot_be_called_back_is_refused(
        self, kb: tidalog.KnowledgeBase, what: Any, callback: Any
    ) -> None:
        with pytest.raises(tidalog.UsageError, match="T076"):
            kb.subscribe(what, callback)
        kb.subscribe("edge", lambda change, limit=3, *, update: 1)
        kb.subscribe("?x :- edge(?x, _)", lambda *found, **more: 1)


class TestFunctions:
    @pytest.mark.parametrize(
        "answer", [object(), [1], {"a": 1}, 10**30, b"x"], ids=["object", "list", "dict", "huge", "bytes"]
    )
    def test_what_is_no_term_counts_as_not_computed(self, answer: object) -> None:
        kb = tidalog.open(functions={"f": lambda value: answer})
        kb.load("m(?y) :- n(?x), ?y = f(?x). r2: k(?y) :- n(?x), ?y = ?x + 1. n(1).")
        assert kb.count("m") == 0
        assert kb.stats().uncomputed == {"r1": 1}
        delta = kb.apply(Update(insertions={"n": [(2,), (3,)]}))
        assert delta.uncomputed == {"r1": 2}
        assert "2 not computable" in repr(delta)
        assert kb.stats().uncomputed == {"r1": 3}

    def test_what_is_no_term_is_an_error_if_strict(self) -> None:
        kb = tidalog.open(functions={"f": lambda value: value if value < 2 else object()}, strict=True)
        kb.load("m(?y) :- n(?x), ?y = f(?x). n(1).")
        for change in (
            lambda: kb.insert("n", [(2,)]),
            lambda: kb.apply(Update(insertions={"n": [(2,)]})),
            lambda: kb.load("n(2)."),
            lambda: kb.query("?y :- n(?x), ?y = f(?x + 1)"),
        ):
            with pytest.raises(tidalog.RunError, match="T054"):
                change()
        assert kb.facts("m").to_rows() == [(1,)]


class TestMaintenance:
    def test_questions_between_updates_do_no_harm(self, kb: tidalog.KnowledgeBase) -> None:
        for number in range(30):
            kb.apply(plus((f"n{number}", "a")))
            assert len(kb.query("?x, #count(?y) :- path(?x, ?y), ~edge(?x, ?y)")) == number + 2
        assert kb.count("path") == 3 + 3 * 30

    def test_a_program_that_is_loaded_later_is_maintained_from_then_on(
        self, kb: tidalog.KnowledgeBase
    ) -> None:
        kb.apply(plus(("c", "d")))
        kb.load("back(?y, ?x) :- path(?x, ?y) .")
        assert kb.apply(plus(("d", "e")))["back"].inserted_count == 4

    def test_a_function_registered_anew_is_used(self, kb: tidalog.KnowledgeBase) -> None:
        kb.register("longer", lambda text: f"{text}x")
        kb.load('name("a"). long(LONGER(?n)) :- name(?n) .')
        kb.apply(Update(insertions={"name": [("b",)]}))
        kb.register("longer", lambda text: f"{text}y")
        delta = kb.apply(Update(insertions={"name": [("c",)]}))
        assert len(delta["long"].inserted) == 1
        assert {str(row[0].value) for row in kb.facts("long").to_terms()} == {"ay", "by", "cy"}

    def test_a_function_may_not_come_back_during_an_update(self, kb: tidalog.KnowledgeBase) -> None:
        kb.register("nosy", lambda text: kb.count("edge"))
        kb.load('long(NOSY(?n)) :- name(?n) . name("a") :- edge(q, q) .')
        kb.materialise()
        with pytest.raises(tidalog.UsageError, match="T081"):
            kb.apply(plus(("q", "q")))
        assert kb.count("edge") == 2
