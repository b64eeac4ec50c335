"""The normal form means what the program means: evaluating it gives the model of the reference."""

from __future__ import annotations

from analysis_programs import rdf_programs
from hypothesis import given, settings
from normal_evaluation import Model, evaluated, run

from generators import programs
from tidalog.analysis import Analysis, analyse, analyse_query
from tidalog.lang import parse_query
from tidalog.model.errors import ProgramError
from tidalog.model.program import Program
from tidalog.model.terms import Term
from tidalog.rdf.layout import TRIPLE
from tidalog.reference import NotEvaluable, evaluate


def with_triples(analysis: Analysis, model: Model) -> dict[str, set[tuple[Term, ...]]]:
    """The model by the predicates that the author knows: triples put together again."""
    layout = analysis.triples
    special = {*layout.properties.values(), *layout.classes.values()}
    result: dict[str, set[tuple[Term, ...]]] = {}
    for predicate, rows in model.items():
        if predicate in special:
            result.setdefault(TRIPLE, set()).update(layout.restore(predicate, row) for row in rows)
        elif not predicate.startswith("?"):  # views, alternatives, aggregates inside expressions
            result.setdefault(predicate, set()).update(rows)
    return {predicate: rows for predicate, rows in result.items() if rows}


def reference(program: Program) -> dict[str, set[tuple[Term, ...]]] | None:
    try:
        model = evaluate(program)
    except NotEvaluable:
        return None
    return {predicate: set(rows) for predicate, rows in model.items() if rows}


@given(program=programs())
@settings(max_examples=80, deadline=None)
def test_the_normal_form_has_the_model_of_the_program(program: Program) -> None:
    analysis = analyse(program)
    assert with_triples(analysis, evaluated(analysis)) == reference(program)


@given(program=rdf_programs())
@settings(max_examples=300, deadline=None)
def test_relations_of_triples_hold_the_model_of_the_program(program: Program) -> None:
    expected = reference(program)
    try:
        analysis = analyse(program)
    except ProgramError:
        assert expected is None
        return
    if expected is None:
        # The reference takes reading and deriving under a variable for one thing; views tell them apart.
        assert analysis.triples.views
        return
    assert expected == with_triples(analysis, evaluated(analysis))


QUERIES = (
    "?x, ?p, ?y :- triple(?x, ?p, ?y)",
    "?x, ?c :- triple(?x, <http://www.w3.org/1999/02/22-rdf-syntax-ns#type>, ?c)",
    "?x :- <http://e.org/C>(?x)",
    "?x, ?y :- <http://e.org/p>(?x, ?y), ~triple(?y, _, _)",
    "#count(?x, ?p, ?y) :- triple(?x, ?p, ?y)",
)


@given(program=rdf_programs())
@settings(max_examples=100, deadline=None)
def test_a_query_reads_the_same_triples_however_they_are_kept(program: Program) -> None:
    """The answers are those of a rule in the program itself."""
    if reference(program) is None:
        return
    analysis = analyse(program)
    model = evaluated(analysis)
    for text in QUERIES:
        query = parse_query(text)
        *views, answer = analyse_query(analysis, query)
        answers = {predicate: set(rows) for predicate, rows in model.items()}
        scratch: Model = type(model)(set, answers)
        run(views, scratch)
        run([answer], scratch)
        expected = reference(Program(rules=(*program.rules, query), facts=program.facts))
        if expected is not None:
            assert scratch["?"] == expected.get("?", set())
