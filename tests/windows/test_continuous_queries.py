"""Continuous queries: when they are evaluated, what they emit, and what they cost."""

from __future__ import annotations

import csv
import logging
import random
from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from query_streams import PATTERNS, RULES, run

import tidalog
from tidalog.api.continuous import register_all, register_file
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.model.errors import UsageError
from tidalog.model.terms import IRI, XSD, Term, literal

E = "http://example/"
POSITIONS = "<http://mobileservice.org/positions.trdf>"
FIG_2 = """REGISTER QUERY TotalAmountPerBroker COMPUTE EVERY 1sec AS
PREFIX ex: <http://example/>
SELECT DISTINCT ?user ?type ?x
FROM <http://mobileservice.org/meansOfTransportation.rdf>
FROM STREAM <http://mobileservice.org/positions.trdf>
[RANGE 10sec STEP 1sec]
WHERE {
?user ex:isIn ?x .
?user a ex:Commuter .
?x a ?type .
?user ex:remainingTravelTime ?t .
FILTER (?t >= "PT30M"xsd:duration )
}
"""
BACKGROUND = """@prefix ex: <http://example/> .
ex:train a ex:Train . ex:station a ex:Station . ex:milano a ex:City .
ex:station ex:isIn ex:milano . ex:ada a ex:Commuter .
"""
IS_IN = "@prefix ex: <http://example/> .\nex:isIn(?x, ?z) :- ex:isIn(?x, ?y), ex:isIn(?y, ?z) .\n"
CLOSURE = """
@window edge :- range 10s step 1s .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""
Triple = tuple[Term, Term, Term]


def triple(s: str, p: str, o: str | Term) -> Triple:
    return IRI(E + s), IRI(E + p), IRI(E + o) if isinstance(o, str) else o


def duration(text: str) -> Term:
    return literal(text, f"{XSD}duration")


def is_in(window: str) -> str:
    return f"PREFIX ex: <{E}> SELECT ?x ?y FROM STREAM <s> {window} WHERE {{ ?x ex:isIn ?y }}"


def opened(text: str = CLOSURE) -> KnowledgeBase:
    kb = tidalog.open()
    kb.load(text)
    return kb


def edges(kb: KnowledgeBase, time: float, *pairs: str) -> tidalog.Delta:
    with kb.update(time=time) as update:
        if pairs:
            update.insert("edge", [tuple(pair) for pair in pairs])
    return update.delta


def pairs(result: tidalog.Result) -> set[str]:
    return {"".join(map(str, row)) for row in result.to_rows()}


class Heard:
    """What a query has emitted, with the seconds."""

    def __init__(self) -> None:
        self.found: list[tuple[float, list[set[str]]]] = []

    def __call__(self, *results: tidalog.Result, time: object) -> None:
        self.found.append((time.timestamp(), [pairs(result) for result in results]))  # type: ignore[attr-defined]


class TestOracle:
    @pytest.mark.parametrize("seed", range(20))
    def test_answers_are_those_of_an_evaluation_from_scratch(self, seed: int) -> None:
        run(seed, 14)

    @pytest.mark.parametrize("seed", range(6))
    def test_a_store_goes_on(self, seed: int, tmp_path: Path) -> None:
        run(1000 + seed, 14, tmp_path / "store")

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(200))
    def test_more_of_both(self, seed: int, tmp_path: Path) -> None:
        run(2000 + seed, 24, tmp_path / "store" if seed % 3 == 0 else None)

    def test_the_streams_have_answers(self) -> None:
        assert len(RULES) >= 7 and len(PATTERNS) >= 10
        assert sum(run(seed, 14).evaluated for seed in range(4)) > 5


class TestFigure2:
    def test_the_listing_runs_as_printed(self, tmp_path: Path) -> None:
        (tmp_path / "meansOfTransportation.ttl").write_text(BACKGROUND)
        kb = opened(IS_IN)
        found: list[tuple[float, set[tuple[object, ...]]]] = []
        query = kb.register(FIG_2, base_dir=tmp_path)
        query.subscribe(lambda r, time: found.append((time.timestamp(), set(r.to_rows()))))
        assert [warning.number for warning in kb.warnings] == ["W018"]
        with kb.update(time=1) as u:
            u.insert(POSITIONS, [triple("ada", "isIn", "train"), triple("bob", "isIn", "train")])
            u.insert(POSITIONS, [triple("ada", "remainingTravelTime", duration("PT45M"))])
            u.insert(POSITIONS, [triple("bob", "remainingTravelTime", duration("PT45M"))])
        with kb.update(time=2) as u:
            u.insert(POSITIONS, [triple("train", "isIn", "station")])
        kb.advance(12)

        def row(what: str, where: str) -> tuple[object, ...]:
            return f"<{E}ada>", f"<{E}{what}>", f"<{E}{where}>"

        in_train = row("Train", "train")
        with_station = {in_train, row("Station", "station"), row("City", "milano")}
        assert found == [(1, {in_train}), (2, with_station), (11, set()), (12, set())]
        assert len(kb.facts("triple")) == 5, "the background is not touched"

    def test_a_late_travel_time_is_filtered(self, tmp_path: Path) -> None:
        (tmp_path / "meansOfTransportation.ttl").write_text(BACKGROUND)
        kb = opened(IS_IN)
        query = kb.register(FIG_2, base_dir=tmp_path)
        with kb.update(time=1) as u:
            u.insert(POSITIONS, [triple("ada", "isIn", "train")])
            u.insert(POSITIONS, [triple("ada", "remainingTravelTime", duration("PT5M"))])
        assert not query.result()
        with kb.update(time=2) as u:
            u.insert(POSITIONS, [triple("ada", "remainingTravelTime", duration("PT1H"))])
        assert len(query.result()) == 1

    def test_the_rules_of_figure_3_reason_over_stream_and_background(self) -> None:
        kb = tidalog.open()
        kb.load(RDFS, dialect="jena")
        rdfs = "http://www.w3.org/2000/01/rdf-schema#"
        a = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
        kb.insert(
            "triple",
            [
                (IRI(E + "rides"), IRI(rdfs + "domain"), IRI(E + "Commuter")),
                (IRI(E + "Commuter"), IRI(rdfs + "subClassOf"), IRI(E + "Person")),
                (IRI(E + "rides"), IRI(rdfs + "subPropertyOf"), IRI(E + "uses")),
            ],
        )
        text = f"PREFIX ex: <{E}> SELECT ?x ?y FROM STREAM <{E}s> [RANGE 5s] WHERE {{ {{ ?x a ex:Person }} "
        query = kb.register("people", text + "OPTIONAL { ?x ex:uses ?y } }")
        assert not query.result()
        with kb.update(time=1) as u:
            u.insert(f"<{E}s>", [triple("ada", "rides", "train"), (IRI(E + "bob"), a, IRI(E + "Person"))])
        assert set(query.result().to_terms()) == {(IRI(E + "ada"), IRI(E + "train")), (IRI(E + "bob"), None)}
        kb.advance(6)
        assert not query.result()


RDFS = """
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
[rdfs2: (?x ?p ?y), (?p rdfs:domain ?c) -> (?x rdf:type ?c)]
[rdfs3: (?x ?p ?y), (?p rdfs:range ?c) -> (?y rdf:type ?c)]
[rdfs5a: (?a rdfs:subPropertyOf ?b), (?b rdfs:subPropertyOf ?c) -> (?a rdfs:subPropertyOf ?c)]
[rdfs5b: (?a rdf:type rdf:Property) -> (?a rdfs:subPropertyOf ?a)]
[rdfs6: (?a ?p ?b), (?p rdfs:subPropertyOf ?q) -> (?a ?q ?b)]
[rdfs7: (?a rdf:type rdfs:Class) -> (?a rdfs:subClassOf ?a)]
[rdfs8: (?a rdfs:subClassOf ?b), (?b rdfs:subClassOf ?c) -> (?a rdfs:subClassOf ?c)]
[rdfs9: (?x rdfs:subClassOf ?y), (?a rdf:type ?x) -> (?a rdf:type ?y)]
[rdfs10: (?x rdf:type rdfs:ContainerMembershipProperty) -> (?x rdfs:subPropertyOf rdfs:member)]
[rdf1and4: (?x ?p ?y) -> (?p rdf:type rdf:Property), (?x rdf:type rdfs:Resource), (?y rdf:type rdfs:Resource)]
[rdfs7b: (?a rdf:type rdfs:Class) -> (?a rdfs:subClassOf rdfs:Resource)]
"""


class TestEmission:
    def test_whole_answers_at_every_period(self) -> None:
        kb, heard = opened(), Heard()
        kb.register("q", "?x, ?y :- path(?x, ?y)", heard, every="2s")
        edges(kb, 1, "ab")
        edges(kb, 2, "bc")
        edges(kb, 4)
        assert heard.found == [(2, [{"ab", "bc", "ac"}]), (4, [{"ab", "bc", "ac"}])]

    def test_what_came_and_what_went(self) -> None:
        kb = opened()
        came, gone, both = Heard(), Heard(), Heard()
        kb.register("came", "?x, ?y :- path(?x, ?y)", came, emit="istream")
        kb.register("gone", "?x, ?y :- path(?x, ?y)", gone, emit="dstream")
        kb.register("both", "?x, ?y :- path(?x, ?y)", both, emit="changes")
        edges(kb, 1, "ab")
        edges(kb, 2, "bc")
        edges(kb, 11, "cd")
        assert came.found == [(1, [{"ab"}]), (2, [{"bc", "ac"}]), (11, [{"cd", "bd"}])]
        assert gone.found == [(11, [{"ab", "ac"}])]
        assert both.found[-1] == (11, [{"cd", "bd"}, {"ab", "ac"}])

    def test_a_slide_over_several_periods_visits_those_with_other_answers_and_the_last(self) -> None:
        kb, heard = opened(), Heard()
        kb.register("q", "?x, ?y :- path(?x, ?y)", heard, every="1s")
        edges(kb, 1, "ab")
        edges(kb, 4.5, "bc")
        delta = kb.advance(20)
        assert heard.found == [
            (1, [{"ab"}]),
            (4, [{"ab"}]),
            (5, [{"ab", "bc", "ac"}]),
            (11, [{"bc"}]),
            (15, [set()]),
            (20, [set()]),
        ]
        assert pairs(delta["path"].deleted) == {"ab", "bc", "ac"}, "the delta is that of the whole slide"
        assert pairs(delta["edge"].expired) == {"ab", "bc"}

    def test_words_of_the_text_say_what_is_emitted(self) -> None:
        kb = tidalog.open()
        found = register_all(
            kb,
            """PREFIX ex: <http://example/>
            REGISTER QUERY a COMPUTED EVERY 500ms AS ISTREAM SELECT ?x WHERE { ?x a ex:A }
            REGISTER DSTREAM b AS CONSTRUCT { ?x a ex:B } WHERE { ?x a ex:A };
            REGISTER QUERY c AS CHANGES SELECT ?x WHERE { ?x a ex:A }
            REGISTER STREAM d AS CONSTRUCT { ?x a ex:B } WHERE { ?x a ex:A }""",
        )
        assert [(q.name, q.emit, q.every) for q in found] == [
            ("a", "istream", "500ms"),
            ("b", "dstream", None),
            ("c", "changes", None),
            ("d", "rstream", None),
        ]
        assert found[3].columns == ("subject", "predicate", "object")

    def test_an_error_of_a_callback_is_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        kb, heard = opened(), Heard()

        def fails(result: tidalog.Result) -> None:
            raise ValueError

        query = kb.register("q", "?x, ?y :- path(?x, ?y)", fails)
        listener = query.subscribe(heard)
        with caplog.at_level(logging.CRITICAL, "tidalog"):
            edges(kb, 1, "ab")
        listener.cancel()
        edges(kb, 2, "bc")
        assert heard.found == [(1, [{"ab"}])]

    def test_a_callback_may_change_the_knowledge_base(self) -> None:
        kb = opened()
        query = kb.register("q", "?x :- path(?x, ?x)", emit="istream")
        query.subscribe(lambda came: kb.insert("cycle", came.to_rows()))
        edges(kb, 1, "ab", "ba")
        assert pairs(kb.facts("cycle")) == {"a", "b"}

    def test_changes_that_are_applied_as_one_are_emitted_once(self) -> None:
        kb, heard = opened(), Heard()
        kb.register("q", "?x, ?y :- path(?x, ?y)", heard, emit="changes")
        edges(kb, 1, "ab")
        with kb.as_one():
            edges(kb, 2, "bc")
            edges(kb, 3, "cd")
        with pytest.raises(ZeroDivisionError), kb.as_one():
            edges(kb, 4, "xy")
            raise ZeroDivisionError
        assert heard.found[1:] == [(3, [{"bc", "cd", "ac", "bd", "ad"}, set()])]
        edges(kb, 5, "yz")
        assert heard.found[2:] == [(5, [{"yz"}, set()])]

    def test_insertions_loads_and_rules_are_changes_too(self) -> None:
        kb, heard = opened("path(?x, ?y) :- edge(?x, ?y) ."), []
        kb.register(
            "q",
            "?x, ?y :- path(?x, ?y)",
            lambda came, gone: heard.append((pairs(came), pairs(gone))),
            emit="changes",
        )
        kb.insert("edge", [("a", "b")])
        kb.rules.add("path(?y, ?x) :- edge(?x, ?y)")
        kb.load("edge(b, c) .")
        kb.delete("edge", [("a", "b")])
        assert heard == [({"ab"}, set()), ({"ba"}, set()), ({"bc", "cb"}, set()), (set(), {"ab", "ba"})]

    def test_a_stream_of_updates_emits(self) -> None:
        kb, heard = opened(), Heard()
        kb.register("q", "?x, ?y :- path(?x, ?y)", heard, every="5s")
        updates = [tidalog.Update(insertions={"edge": [(n, n + 1)]}, time=n) for n in range(7)]
        list(kb.stream(updates, look_ahead=3))
        assert [time for time, _ in heard.found] == [0, 5]
        assert len(heard.found[1][1][0]) == 21


class TestFiles:
    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_a_file_has_the_answers_of_the_last_evaluation(self, tmp_path: Path, ending: str) -> None:
        kb, path = opened(), tmp_path / f"answers.{ending}"
        kb.register("q", "?x, ?y :- path(?x, ?y)", to=path)
        edges(kb, 1, "ab")
        edges(kb, 2, "bc")
        if ending == "csv":
            rows = list(csv.reader(path.read_text().splitlines()))
        else:
            rows = [list(row.values()) for row in pq.read_table(path).to_pylist()]
        assert sorted(rows)[-3:] == [["a", "b"], ["a", "c"], ["b", "c"]] or sorted(rows)[:3] == [
            ["a", "b"],
            ["a", "c"],
            ["b", "c"],
        ]

    def test_a_feed_goes_on_after_a_restart(self, tmp_path: Path) -> None:
        kb = tidalog.open(tmp_path / "store")
        kb.load(CLOSURE)
        kb.register("q", "?x, ?y :- path(?x, ?y)", emit="changes", changes=tmp_path / "feed")
        edges(kb, 1, "ab")
        kb.close()
        kb = tidalog.open(tmp_path / "store")
        edges(kb, 2, "bc")
        kb.advance(11)
        kb.close()
        lines = (tmp_path / "feed" / "q.csv").read_text().splitlines()
        assert lines[0] == "update,op,predicate,arg1,arg2,kind"
        assert [line.rsplit(",", 1)[0].replace(",q,", " ") for line in lines[1:2]] == ["1,+ a,b"]
        assert sorted(lines[2:]) == sorted(
            f"{time},{op},q,{x},{y},implicit"
            for time, op, x, y in [
                ("2", "+", "b", "c"),
                ("2", "+", "a", "c"),
                ("11", "-", "a", "b"),
                ("11", "-", "a", "c"),
            ]
        )

    @pytest.mark.parametrize("every", [None, "1s", "3s"])
    def test_a_feed_of_all_answers_says_what_a_callback_gets_also_if_that_is_nothing(
        self, tmp_path: Path, every: str | None
    ) -> None:
        kb, got = opened(), list[tuple[str, set[tuple[str, ...]]]]()

        def show(answers: tidalog.Result, time: datetime) -> None:
            got.append((str(int(time.timestamp())), set(answers.to_rows())))

        kb.register("q", "?x, ?y :- path(?x, ?y)", show, every=every, changes=tmp_path)
        for time, pair in ((1, "ab"), (3, "bc"), (30, "cd"), (33, "de")):
            edges(kb, time, pair)
        for time in (50, 51, 54):
            kb.advance(time)
        kb.close()
        with (tmp_path / "q.csv").open() as file:
            rows = list(csv.DictReader(file))
        found: dict[str, set[tuple[str, ...]]] = {}
        for row in rows:
            answers = found.setdefault(row["update"].split("#")[0], set())
            if row["op"] == "+":
                answers.add((row["arg1"], row["arg2"]))
            else:
                assert (row["op"], row["arg1"], row["arg2"], answers) == ("empty", "", "", set())
        assert [*found.items()] == got
        assert any(not answers for _, answers in got)

    def test_a_feed_of_a_question_says_no(self, tmp_path: Path) -> None:
        kb = opened()
        kb.register("q", "?- path(a, c)", every="1s", changes=tmp_path)
        for time, pair in ((1, "ab"), (2, "bc")):
            edges(kb, time, pair)
        kb.close()
        lines = (tmp_path / "q.csv").read_text().splitlines()
        assert lines == ["update,op,predicate,kind", "1,empty,q,implicit", "2,+,q,implicit"]

    def test_answers_of_the_registration_are_emitted_once(self, tmp_path: Path) -> None:
        kb = tidalog.open(tmp_path / "store")
        kb.load("p(?x) :- e(?x). e(a).")
        kb.materialise()
        for name in ("q", "r"):
            kb.register(name, "?x :- p(?x)", emit="changes", changes=tmp_path / "feed")
        with kb.update() as u:
            u.insert("e", [("b",)])
        kb.queries["r"].drop()
        kb.register("r", "?x :- p(?x)", emit="changes", changes=tmp_path / "other")
        kb.close()
        kb = tidalog.open(tmp_path / "store")
        with kb.update() as u:
            u.insert("e", [("c",)])
        kb.close()
        for path, rows in (("feed/q", "1a2b3c"), ("feed/r", "1a2b"), ("other/r", "1a1b2c")):
            lines = (tmp_path / f"{path}.csv").read_text().splitlines()[1:]
            labelled = zip(rows[::2], rows[1::2], strict=True)
            assert sorted(lines) == [f"{label},+,{path[-1]},{x},implicit" for label, x in labelled]

    def test_a_variable_without_a_value_is_none(self, tmp_path: Path) -> None:
        kb = tidalog.open()
        kb.insert(
            "triple",
            [triple("a", "p", "b"), triple("c", "p", "d"), triple("b", "q", literal("3", f"{XSD}integer"))],
        )
        text = f"PREFIX ex: <{E}> SELECT ?x ?n WHERE {{ ?x ex:p ?y OPTIONAL {{ ?y ex:q ?n }} }} ORDER BY ?x"
        result = kb.register("q", text).result()
        assert result.to_rows() == [(f"<{E}a>", 3), (f"<{E}c>", None)]
        assert result["n"] == [3, None]
        assert len(result.sorted()) == 2 and "2 rows" in repr(result) and "example/c" in result._repr_html_()


class TestStreams:
    def test_windows_over_one_stream_have_their_own_contents(self) -> None:
        kb = opened(IS_IN)
        queries = {
            name: kb.register(
                name, f"PREFIX ex: <{E}> SELECT ?x ?y FROM STREAM <s> {window} WHERE {{ ?x ex:isIn ?y }}"
            )
            for name, window in {
                "short": "[RANGE 2s]",
                "long": "[RANGE 8s STEP 4s]",
                "last": "[TRIPLES 1]",
            }.items()
        }
        for time, (x, y) in enumerate(["ab", "bc", "cd"], 1):
            with kb.update(time=time) as u:
                u.insert("<s>", [triple(x, "isIn", y)])

        def found() -> dict[str, int]:
            return {name: len(query.result()) for name, query in queries.items()}

        assert found() == {"short": 3, "long": 6, "last": 1}
        kb.advance(11)
        assert found() == {"short": 0, "long": 6, "last": 1}
        kb.advance(12)
        assert found() == {"short": 0, "long": 0, "last": 1}

    def test_a_window_starts_with_what_is_known_of_its_stream(self) -> None:
        kb = opened("@window long :- edge, range 20s .")
        edges(kb, 1, "ab")
        edges(kb, 8, "bc")
        edges(kb, 15, "cd")
        kb.load("@window short :- edge, range 10s . @window last :- edge, count 2 .")
        kb.load("p(?x) :- short(?x, _), last(?x, _) .")
        assert pairs(kb.facts("short")) == pairs(kb.facts("last")) == {"bc", "cd"}
        kb.advance(18)
        assert pairs(kb.facts("short")) == {"cd"} and pairs(kb.facts("p")) == {"c"}

    def test_facts_that_came_before_the_first_window_come_with_it(self) -> None:
        kb = tidalog.open()
        kb.insert("<s>", [triple("a", "p", "b")])
        query = kb.register("q", "SELECT * FROM STREAM <s> [RANGE 5s] WHERE { ?x ?p ?y }")
        with kb.update(time=1) as u:
            u.insert("<s>", [triple("b", "p", "c")])
        assert len(query.result()) == 2
        kb.advance(6)
        assert not query.result()

    def test_windows_end_with_the_last_query_that_has_them(self) -> None:
        kb = tidalog.open()
        text = "SELECT * FROM STREAM <s> [RANGE 5s] WHERE { ?x ?p ?y }"
        first, second = kb.register("a", text), kb.register("b", text)
        with kb.update(time=1) as u:
            u.insert("<s>", [triple("a", "p", "b")])
        first.drop()
        assert len(second.result()) == 1 and len(kb.facts("<s>")) == 1
        second.drop()
        assert not kb.queries and not kb.facts("<s>")
        assert not kb._open().program.windows and not kb._open().program.rules

    def test_a_stream_may_be_declared_and_read_by_rules(self) -> None:
        kb = opened(
            f"@prefix ex: <{E}> .\n@window ex:s :- range 10s .\n"
            "triple(?s, ?p, ?o) :- ex:s(?s, ?p, ?o) .\nnear(?x) :- triple(?x, ex:isIn, _) ."
        )
        declared = kb.register("q", f"PREFIX ex: <{E}> SELECT ?x FROM STREAM ex:s WHERE {{ ?x ex:isIn ?y }}")
        with kb.update(time=1) as u:
            u.insert("ex:s", [triple("a", "isIn", "b")])
        assert len(kb.facts("near")) == len(declared.result()) == 1
        with pytest.raises(UsageError, match="T172"), kb.update(time=2) as u:
            u.insert("ex:s", [("a", "b")])
        kb.advance(11)
        assert not kb.facts("near") and not declared.result()

    def test_background_is_read_once(self, tmp_path: Path) -> None:
        (tmp_path / "b.ttl").write_text(BACKGROUND)
        (tmp_path / "queries.csparql").write_text(
            "PREFIX ex: <http://example/>\n"
            "REGISTER QUERY a AS SELECT ?x FROM <b.ttl> WHERE { ?x a ex:Train }\n"
            "REGISTER QUERY b AS SELECT ?x FROM <b.ttl> FROM STREAM <s> [RANGE 1s] WHERE { ?x a ex:City }\n"
        )
        kb = tidalog.open(tmp_path / "store")
        first, second = register_file(kb, tmp_path / "queries.csparql")
        assert len(kb.facts("triple")) == 5 and len(first.result()) == len(second.result()) == 1
        (tmp_path / "b.ttl").write_text(BACKGROUND + "ex:roma a ex:City .")
        first.drop()
        kb.close()
        kb = tidalog.open(tmp_path / "store")
        assert len(kb.queries["b"].result()) == 1
        kb.register("c", "SELECT ?x FROM <b.ttl> WHERE { ?x a ?y }", base_dir=tmp_path)
        assert len(kb.facts("triple")) == 5, "it is loaded already"


class TestCosts:
    def test_a_query_that_is_not_maintained_derives_nothing_with_an_update(self) -> None:
        found = {}
        for materialise in (True, False):
            kb = opened("@window edge :- range 100s . ")
            body = "?x, ?w :- edge(?x, ?y), edge(?y, ?z), edge(?z, ?w)"
            query = kb.register("q", body, materialise=materialise)
            delta = edges(kb, 1, *(x + y for x in "abcd" for y in "abcd"))
            found[materialise] = delta.counters.derivations
            assert len(query.result()) == 16
        assert found[False] == 0 < found[True]

    def test_a_dataset_derives_only_what_its_queries_need(self) -> None:
        rules = IS_IN + "".join(f"ex:p{n}(?x, ?y) :- ex:isIn(?x, ?y) .\n" for n in range(9))
        kb = opened(rules)
        kb.register(
            "q", f"PREFIX ex: <{E}> SELECT * FROM STREAM <s> [RANGE 9s] WHERE {{ ?x ex:isIn ?y }}", every="1s"
        )
        with kb.update(time=1) as u:
            u.insert("<s>", [triple("a", "isIn", "b")])
        assert u.delta.counters.derivations <= 4

    def test_the_background_is_not_touched_by_a_slide(self) -> None:
        counts = []
        for size in (10, 100):
            kb = opened(IS_IN)
            kb.insert("triple", [triple(f"x{n}", "isIn", f"y{n}") for n in range(size)])
            kb.register(
                "q",
                f"PREFIX ex: <{E}> SELECT * FROM STREAM <s> [RANGE 2s] WHERE {{ ?x ex:isIn ?y }}",
                every="1s",
            )
            with kb.update(time=1) as u:
                u.insert("<s>", [triple("a", "isIn", "b"), triple("b", "isIn", "c")])
            delta = kb.advance(3)
            assert "triple" not in delta
            counters = {**delta.counters.as_dict(), "seconds": 0}
            counts.append(counters)
        assert counts[0] == counts[1]

    def test_queries_over_the_same_windows_share_what_follows(self) -> None:
        kb = opened(IS_IN)
        text = f"PREFIX ex: <{E}> SELECT {{}} FROM STREAM <s> [RANGE 9s] WHERE {{{{ ?x ex:isIn ?y }}}}"
        kb.register("a", text.format("?x"), every="1s")
        rules = len(kb._open().program.rules)
        kb.register("b", text.format("?y"), every="1s")
        assert len(kb._open().program.rules) == rules + 1


class TestManaging:
    def test_queries_are_listed_paused_and_dropped(self) -> None:
        kb, heard = opened(), Heard()
        query = kb.register("q", "?x, ?y :- path(?x, ?y)", heard)
        assert repr(query) == "<ContinuousQuery q: rstream, at every change, maintained>"
        assert repr(kb.queries).splitlines()[-1].startswith("q       rstream   at every change   maintained")
        assert "path(?x, ?y)" in kb.queries._repr_html_() and "path" in query._repr_html_()
        query.pause()
        assert query.paused and "paused" in repr(query)
        edges(kb, 1, "ab")
        assert not heard.found and pairs(query.result()) == {"ab"}
        query.resume()
        edges(kb, 2, "bc")
        assert heard.found == [(1, [{"ab"}]), (2, [{"ab", "bc", "ac"}])]
        query.drop()
        assert repr(query) == "<ContinuousQuery q, dropped>" and repr(kb.queries) == "no queries"
        edges(kb, 3, "cd")
        assert len(heard.found) == 2
        with pytest.raises(UsageError, match="T183"):
            query.result()
        with pytest.raises(UsageError, match="T183"):
            kb.queries["q"]

    def test_rules_of_queries_are_not_rules_of_the_program(self) -> None:
        kb = opened()
        kb.register("q", "?x, ?y :- path(?x, ?y)", emit="changes")
        assert list(kb.rules) == ["r1", "r2"] and len(kb.program.rules) == 2
        assert set(kb.predicates) == {"edge", "path"}
        added = kb.rules.add("back(?y, ?x) :- path(?x, ?y)")
        assert list(added.rules.added) == ["r3"]
        kb.rules.remove("r3")
        assert "KnowledgeBase: 2 rules, 2 predicates" in repr(kb)

    def test_a_text_registers_all_or_none(self) -> None:
        kb = tidalog.open()
        with pytest.raises(UsageError, match="T181"):
            register_all(kb, "REGISTER QUERY a AS ASK {} REGISTER QUERY b AS ASK FROM <no.ttl> {}")
        assert not kb.queries

    @pytest.mark.parametrize(
        ("call", "number"),
        [
            (lambda kb: kb.register("a|b", "?x :- edge(?x, _)"), "T184"),
            (lambda kb: kb.register("?x :- edge(?x, _)"), "T184"),
            (lambda kb: kb.register("a", "REGISTER QUERY b AS ASK {}"), "T184"),
            (lambda kb: kb.register("a", "?x :- edge(?x, _)", emit="rows"), "T184"),
            (lambda kb: kb.register("a", "?x :- edge(?x, _)", every=0), "T184"),
            (lambda kb: kb.register("a", "?x :- edge(?x, _)", every="soon"), "T179"),
            (lambda kb: kb.register("q", "?x :- edge(?x, _)"), "T182"),
            (lambda kb: kb.register("a", "SELECT ?x FROM <none.ttl> { ?x a ?y }"), "T181"),
        ],
    )
    def test_what_cannot_be_registered_changes_nothing(self, call: object, number: str) -> None:
        kb = opened()
        kb.register("q", "?x, ?y :- path(?x, ?y)")
        with pytest.raises(UsageError, match=number):
            call(kb)  # type: ignore[operator]
        assert list(kb.queries) == ["q"]

    def test_a_store_knows_its_queries(self, tmp_path: Path) -> None:
        for snapshot in (False, True):
            path = tmp_path / f"store{snapshot}"
            kb = tidalog.open(path)
            kb.load(CLOSURE)
            kb.register("kept", "?x, ?y :- path(?x, ?y)", every="5s")
            kb.register("dropped", "?x, ?y :- path(?x, ?y)").drop()
            kb.register("paused", "?x, ?y :- path(?x, ?y)", emit="changes").pause()
            edges(kb, 5, "ab")
            edges(kb, 6, "bc")
            if snapshot:
                kb.snapshot()
            kb.close()
            kb = tidalog.open(path)
            assert list(kb.queries) == ["kept", "paused"] and kb.queries["paused"].paused
            assert pairs(kb.queries["kept"].result()) == {"ab"}, "the answers of the last period"
            heard = Heard()
            kb.queries["kept"].subscribe(heard)
            kb.advance(10)
            assert heard.found == [(10, [{"ab", "bc", "ac"}])]
            kb.load(CLOSURE)
            kb.close()

    def test_a_store_may_be_read_meanwhile(self, tmp_path: Path) -> None:
        with tidalog.open(tmp_path / "store") as kb:
            kb.load(CLOSURE)
            kb.register("q", "?x, ?y :- path(?x, ?y)", emit="changes")
            edges(kb, 5, "ab")
            with tidalog.open(tmp_path / "store", read_only=True) as reader:
                assert pairs(reader.queries["q"].result()) == {"ab"}

    def test_functions_are_registered_as_before(self) -> None:
        kb = tidalog.open()
        kb.register("twice", lambda x: 2 * x)
        kb.load("p(?x, TWICE(?x)) :- q(?x) .")
        query = kb.register("big", "?y :- p(_, ?y), TWICE(?y) > 9")
        kb.insert("q", [(1,), (3,)])
        assert query.result().to_rows() == [(6,)]


@pytest.mark.parametrize("seed", range(14, 22))
def test_rules_over_a_stream_whose_windows_come_and_go_agree_under_all_strategies(seed: int) -> None:
    draw = random.Random(seed)
    kbs = [tidalog.open(strategy=strategy) for strategy in ("expire", "auto", "recompute")]
    windows = ("[RANGE 3s]", "[RANGE 12s]", "[TRIPLES 2]", "[RANGE 20s STEP 5s]")
    text = f"@window w :- <{E}s>, range 9s . path(?x, ?y) :- <{E}s>(?x, ?p, ?y) ."
    for kb in kbs:
        kb.load(text + "path(?x, ?z) :- path(?x, ?y), path(?y, ?z) .")
    time, live = 0, list[str]()
    for step in range(20):
        time += draw.choice([0, 1, 1, 3, 6])
        chance, window = draw.random(), draw.choice(windows)
        name = draw.choice(live) if live else ""
        if chance < 0.25:
            live.append(f"q{step}")
            query = f"SELECT * FROM STREAM <{E}s> {window} WHERE {{ ?x ?p ?y }}"
            for kb in kbs:
                kb.register(live[-1], query, materialise=True)
        elif chance < 0.4 and name:
            live.remove(name)
            for kb in kbs:
                kb.queries[name].drop()
        came, gone = (
            [triple(str(draw.randrange(4)), "p", str(draw.randrange(4))) for _ in range(draw.randrange(most))]
            for most in (3, 2)
        )
        for kb in kbs:
            with kb.update(time=time) as u:
                u.delete(f"<{E}s>", gone) if gone else None
                u.insert(f"<{E}s>", came) if came else None
        found = [
            (
                {name: set(kb.facts(name).to_rows()) for name in kb.predicates},
                {name: set(query.result().to_rows()) for name, query in kb.queries.items()},
            )
            for kb in kbs
        ]
        assert found[0] == found[1] == found[2], step
