"""`tidalog run` and `tidalog query`: tables, figures, exit codes, JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import Command


def test_outputs_print_as_tables_and_figures_follow(tidalog: Command, family: Path) -> None:
    outcome = tidalog("run", family)
    assert outcome.code == 0
    assert outcome.steady == (
        "grandparent  2 facts\n"
        "arg1   arg2\n"
        "───────────\n"
        "dora   ada\n"
        "finn   ada\n"
        "\n"
        "12 facts derived from 4 · S s · 12 derivations · B\n"
    )
    assert outcome.err.startswith("warning[W011]: parameter $unused is never used\n  --> ")


def test_without_an_output_everything_is_counted(tidalog: Command, tmp_path: Path) -> None:
    (tmp_path / "p.rls").write_text("e(a, b). e(b, c). p(?x, ?y) :- e(?x, ?y) . p(c, c).")
    outcome = tidalog("run", "p.rls")
    assert outcome.steady == (
        "predicate   facts\n"
        "────────────────────────────────────────\n"
        "e/2             2   explicit\n"
        "p/2             3   explicit and derived\n"
        "\n"
        "2 facts derived from 3 · S s · 2 derivations · B\n"
    )


def test_quiet_prints_the_outputs_alone(tidalog: Command, family: Path) -> None:
    outcome = tidalog("run", family, "-q", "-o", "many", "-o", "children", "--rows", "1", "-p", "unused=2")
    assert outcome.out == (
        "many  1 fact\narg1\n────\nada\n\n"
        "children  3 facts\narg1   arg2\n───────────\nada       2\n… 2 more (--rows 0 shows all)\n\n"
    )


def test_an_output_has_the_name_of_the_program_however_it_is_asked_for(
    tidalog: Command, tmp_path: Path
) -> None:
    (tmp_path / "p.rls").write_text("@prefix ex: <http://e/> . ex:p(a, b). q(?x) :- ex:p(?x, _) .")
    for name in ("ex:p", "http://e/p", "<http://e/p>"):
        assert tidalog("run", "p.rls", "-q", "-o", name).out.startswith("ex:p  1 fact\n")
    assert "did you mean ex:p?" in tidalog("run", "p.rls", "-o", "ex:pp").err


def test_rows_0_prints_all(tidalog: Command, tmp_path: Path) -> None:
    (tmp_path / "n.rls").write_text("@output n . " + "".join(f"n({i})." for i in range(100)))
    assert tidalog("run", "n.rls", "-q").out.count("\n") == 1 + 2 + 20 + 1 + 1
    assert tidalog("run", "n.rls", "-q", "--rows", 0).out.count("\n") == 1 + 2 + 100 + 1


def test_several_programs_facts_from_files_and_parameters(tidalog: Command, tmp_path: Path) -> None:
    (tmp_path / "rules.rls").write_text("big(?x) :- size(?x, ?n), ?n > $least .")
    (tmp_path / "more.rules").write_text("huge(X) :- big(X) and COMP(X, !=, b).")
    (tmp_path / "sizes.csv").write_text("a,1\nb,5\nc,9\n")
    outcome = tidalog(
        "run", "rules.rls", "more.rules", "--facts", "size=sizes.csv", "--parameter", "least=3", "-o", "big",
        "-o", "huge", "--json",
    )  # fmt: skip
    assert outcome.json["outputs"] == {
        "big": {"columns": ["arg1"], "rows": [["b"], ["c"]]},
        "huge": {"columns": ["arg1"], "rows": [["c"]]},
    }


def test_a_program_can_come_from_stdin(tidalog: Command) -> None:
    outcome = tidalog("run", "-", "-q", stdin='p("x"@en, <http://e.org/y>). @output p .')
    assert outcome.out.splitlines()[-2] == '"x"@en   <http://e.org/y>'


def test_exports_are_written(tidalog: Command, tmp_path: Path) -> None:
    (tmp_path / "rules.rls").write_text("e(a, b). @export e :- csv{} .")
    assert "wrote e.csv\n" in tidalog("run", "rules.rls").out
    assert (tmp_path / "e.csv").read_text() == "a,b\n"
    outcome = tidalog("run", "rules.rls", "--export-dir", "out", "--json")
    assert outcome.json["exports"] == [str(Path("out/e.csv"))]
    assert (tmp_path / "out" / "e.csv").read_text() == "a,b\n"


def test_stats_are_written_as_json(tidalog: Command, family: Path, tmp_path: Path) -> None:
    outcome = tidalog("run", family, "--stats", "stats.json", "--json")
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert stats == outcome.json["stats"]
    assert stats["predicates"] == {"ancestor": 6, "children": 3, "grandparent": 2, "many": 1, "parent": 4}
    assert (stats["facts"], stats["explicit"], stats["implicit"], stats["derivations"]) == (16, 4, 12, 12)


def test_bad_rows_are_left_out_if_told(tidalog: Command, tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("1\ntwo\n3\n")
    (tmp_path / "n.rls").write_text('@import n :- csv{resource = "n.csv", format = (int)} . @output n .')
    refused = tidalog("run", "n.rls")
    assert refused.code == 1
    assert "error[T036]" in refused.err
    outcome = tidalog("run", "n.rls", "-q", "--on-error", "skip", "--quarantine", "bad")
    assert (outcome.code, outcome.err) == (0, "n: 1 bad row left out\n")
    assert "two" in (tmp_path / "bad" / "n.quarantine.csv").read_text()


def test_numbers_that_json_does_not_have_are_text(tidalog: Command, tmp_path: Path) -> None:
    (tmp_path / "n.rls").write_text('n("INF"^^xsd:double). n(1.5). @output n .')
    outcome = tidalog("run", "n.rls", "--json")
    infinite = '"INF"^^<http://www.w3.org/2001/XMLSchema#double>'
    assert outcome.json["outputs"] == {"n": {"columns": ["arg1"], "rows": [[1.5], [infinite]]}}


ENDLESS = "n(0). up: n(?m) :- n(?k), ?m = ?k + 1 . @output n ."


@pytest.mark.parametrize(
    ("program", "options", "code", "number"),
    [
        ("p(?x) :- q(?y) .", [], 1, "T012"),
        ("p(a). :- p(?x) .", [], 1, "T055"),
        ("n(0). m(1 / ?n) :- n(?n) .", ["--strict"], 1, "T054"),
        ('@import p :- csv{resource = "nowhere.csv"} .', [], 1, "T030"),
        ("p(a).", ["--facts", "q=nowhere.csv"], 1, "T030"),
        ("p(a).", ["--facts", "q"], 2, "T076"),
        ("p(a).", ["--parameter", "q"], 2, "T076"),
        ("p(a).", ["--output", "q"], 2, "T070"),
        ("p(a).", ["--max-memory", "much"], 2, "T076"),
        ("p(a).", ["--on-error", "cry"], 2, "T076"),
        ("p(a).", ["--quarantine", "bad"], 2, "T076"),
        ("p(a).", ["--dialect", "prolog"], 2, "T073"),
        ("p(a).", ["--rows", "-1"], 2, "T077"),
        ("p(a).", ["--nonsense"], 2, "T077"),
        ("p(a).", ["nowhere.rls"], 2, "T071"),
        ("p(a).", ["--stats", "nowhere/stats.json"], 2, "T078"),
        (ENDLESS, ["--max-facts", "1000"], 3, "T050"),
        (ENDLESS, ["--max-seconds", "0.01"], 3, "T051"),
        (ENDLESS, ["--max-memory", "1MB"], 3, "T052"),
    ],
)
def test_what_is_wrong_has_a_number_and_an_exit_code(
    tidalog: Command, tmp_path: Path, program: str, options: list[str], code: int, number: str
) -> None:
    (tmp_path / "program.rls").write_text(program)
    as_text = tidalog("run", "program.rls", *options)
    assert (as_text.code, as_text.out) == (code, "")
    assert f"error[{number}]: " in as_text.err
    assert "Traceback" not in as_text.err
    as_json = tidalog("run", "program.rls", *options, "--json")
    assert as_json.code == code
    assert as_json.json["ok"] is False
    assert as_json.json["exit_code"] == code
    errors = as_json.json["errors"]
    assert isinstance(errors, list)
    assert errors[0]["number"] == number
    assert {"number", "kind", "message", "reason", "hint"} <= set(errors[0])


def test_a_limit_names_the_rule(tidalog: Command) -> None:
    outcome = tidalog("run", "-", "--max-facts", 1000, stdin=ENDLESS)
    assert "in rule up" in outcome.err


def test_a_query_is_answered(tidalog: Command, family: Path) -> None:
    outcome = tidalog("query", family, "?y, ?n :- children(?y, ?n), ~many(?y)", "-p", "unused=1")
    assert (outcome.code, outcome.out) == (0, "y      n\n────────\nbea    1\ncarl   1\n2 rows\n")
    assert tidalog("query", family, "ancestor(finn, ada)").out == "true\n"
    assert tidalog("query", family, "ancestor(ada, finn)").out == "false\n"


def test_a_parameter_of_the_query_is_one_that_is_used(tidalog: Command, family: Path) -> None:
    asked = tidalog("query", family, "grandparent(?x, $y)", "-p", "y=ada")
    assert "$y is never used" not in asked.err
    assert "$unused is never used" in asked.err
    assert "$y is never used" in tidalog("query", family, "grandparent(?x, _)", "-p", "y=ada").err


def test_a_query_as_json(tidalog: Command, family: Path) -> None:
    outcome = tidalog("query", family, "grandparent(?x, $y)", "-p", "y=ada", "--json")
    found = {key: outcome.json[key] for key in ("ok", "columns", "rows", "count")}
    assert found == {"ok": True, "columns": ["x"], "rows": [["dora"], ["finn"]], "count": 2}
    wrong = tidalog("query", family, "grandparent(?x", "--json")
    assert (wrong.code, wrong.json["ok"]) == (1, False)


def test_quiet_prints_the_rows_alone(tidalog: Command, family: Path) -> None:
    asked = tidalog("query", family, "?x, ?y :- ancestor(?x, ?y)", "-q", "-p", "unused=2")
    assert asked.out.splitlines()[0].split() == ["bea", "ada"]
    assert len(asked.out.splitlines()) == 6
    many = "n(?x) :- ?x = RANGE(1, 30) ."
    assert len(tidalog("query", "-", "n(?x)", "-q", stdin=many).out.splitlines()) == 30
    assert len(tidalog("query", "-", "n(?x)", "-q", "--rows", 3, stdin=many).out.splitlines()) == 3
    assert tidalog("query", "-", "n(7)", "-q", stdin=many).out == "true\n"


@pytest.mark.parametrize("ending", ["csv", "tsv", "json", "ndjson", "parquet", "arrow", "csv.gz"])
def test_answers_go_to_a_file_and_can_be_read_back(tidalog: Command, tmp_path: Path, ending: str) -> None:
    (tmp_path / "p.rls").write_text('e(a, 1). e("007", 2). e(<http://e.org/x>, 3).')
    outcome = tidalog("query", "p.rls", "?who, ?n :- e(?who, ?n)", "-o", f"out.{ending}")
    assert (outcome.code, outcome.out) == (0, f"wrote out.{ending}, 3 rows\n")
    header = ", header = true" if ending.startswith(("csv", "tsv")) else ""
    (tmp_path / "back.rls").write_text(
        f'@import e :- {ending.partition(".")[0]}{{resource = "out.{ending}"{header}}} .'
    )
    back, first = (tidalog("query", name, "e(?x, ?y)", "--json").json for name in ("back.rls", "p.rls"))
    assert back["rows"] == first["rows"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "ndjson", "parquet"])
@pytest.mark.parametrize("declaration", ["", "@declare e(who, n) . "])
def test_answers_in_a_file_are_facts_again(
    tidalog: Command, tmp_path: Path, ending: str, declaration: str
) -> None:
    """Columns are found by name if the predicate is declared."""
    (tmp_path / "p.rls").write_text('e(a, 1). e("007", 2). e(<http://e.org/x>, 3).')
    (tmp_path / "q.rls").write_text(f"{declaration}f(?x) :- e(?x, ?n), ?n > 1 .")
    query = "?n, ?who :- e(?who, ?n)" if declaration else "?who, ?n :- e(?who, ?n)"
    tidalog("query", "p.rls", query, "-o", f"out.{ending}")
    given = ("-f", f"e=out.{ending}", "--header")
    back = tidalog("query", "q.rls", "e(?who, ?n)", *given, "--json").json
    assert back["rows"] == tidalog("query", "p.rls", "e(?who, ?n)", "--json").json["rows"]
    assert tidalog("run", "q.rls", "-o", "f", "-q", *given).out.startswith("f  2 facts\n")


def test_a_header_needs_files(tidalog: Command, family: Path) -> None:
    outcome = tidalog("run", family, "--header")
    assert outcome.code == 2
    assert "error[T076]: --header without --facts" in outcome.err


def test_a_file_of_answers_is_named_before_the_work(tidalog: Command, family: Path) -> None:
    for name, number in (("out.nt", "T076"), ("out.xlsx", "T0")):
        outcome = tidalog("query", family, "ancestor(?x, ?y)", "-o", name)
        assert outcome.code in (1, 2)
        assert f"error[{number}" in outcome.err
        assert outcome.out == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("p(?x)",), "a query needs a program or a store"),
        (("p.rls",), "the query is missing"),
        (("-",), "the query is missing"),
        (("p.rls", "p(?x),", "?x != a"), "unexpected argument ?x != a"),
        ((), "missing argument"),
    ],
)
def test_what_a_query_needs_is_said(tidalog: Command, words: tuple[str, ...], said: str) -> None:
    outcome = tidalog("query", *words)
    assert outcome.code == 2
    assert f"error[T077]: {said}" in outcome.err


@pytest.mark.parametrize(
    ("program", "example"),
    [
        ("n(0). n(2). inverse: m(1 / ?n) :- n(?n) .", "1 / ?n with ?n = 0"),
        (
            "n(a, 3). n(b, 2). k(2, x). k(3, y). inverse: m(?v) :- n(?a, ?n), k(?n, ?t), ?v = ?n * ?t .",
            "?n * ?t",
        ),
        ('s("x"). inverse: m(?v) :- s(?x), ?v = UCASE(?x) + 1 .', "UCASE(?x) + 1 with ?x = "),
        ("n(0). n(1). inverse: m(?n) :- n(?n), ?n != 1, 3 / ?n > 1 .", "3 / ?n > 1 with ?n = 0"),
    ],
)
def test_what_cannot_be_computed_has_an_example(
    tidalog: Command, tmp_path: Path, program: str, example: str
) -> None:
    (tmp_path / "p.rls").write_text(program)
    assert re.search(
        rf"rule inverse: not computable .*, such as {re.escape(example)}", tidalog("run", "p.rls").out
    )
    strict = tidalog("run", "p.rls", "--strict")
    assert strict.code == 1
    assert example in strict.err


ONTOLOGY = """@prefix ex: <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Cat rdfs:subClassOf ex:Animal ; owl:disjointWith ex:Dog .
"""
PETS = """@prefix ex: <http://example.org/> .
triple(ex:tom, rdf:type, ex:Cat).
animal(?x) :- ex:Animal(?x).
@output animal.
"""


def test_the_axioms_of_an_ontology_are_rules(tidalog: Command, tmp_path: Path) -> None:
    (tmp_path / "onto.ttl").write_text(ONTOLOGY)
    (tmp_path / "pets.rls").write_text(PETS)
    outcome = tidalog("run", "pets.rls", "--ontology", "onto.ttl", "-q")
    assert (outcome.code, outcome.err) == (0, "")
    assert "ex:tom" in outcome.out
    as_facts = tidalog("run", "pets.rls", "-f", "triple=onto.ttl", "--profile", "rdfs", "-q")
    assert (as_facts.code, as_facts.out) == (0, outcome.out)
    assert "warning[W023]" in as_facts.err


def test_what_contradicts_an_ontology_is_named_and_the_exit_code_is_1(
    tidalog: Command, tmp_path: Path
) -> None:
    (tmp_path / "onto.ttl").write_text(ONTOLOGY)
    (tmp_path / "pets.rls").write_text(PETS + "triple(ex:tom, rdf:type, ex:Dog).")
    outcome = tidalog("run", "pets.rls", "--ontology", "onto.ttl", "-q")
    assert outcome.code == 1
    assert "ex:tom" in outcome.out
    assert (
        "warning[W027]: inconsistent by cax-dw: ex:tom rdf:type ex:Cat, ex:tom rdf:type ex:Dog" in outcome.err
    )


def test_an_unknown_profile_is_named(tidalog: Command, tmp_path: Path) -> None:
    (tmp_path / "pets.rls").write_text(PETS)
    outcome = tidalog("run", "pets.rls", "--profile", "owl2-el")
    assert outcome.code == 2
    assert "error[T200]: there is no profile owl2-el" in outcome.err
