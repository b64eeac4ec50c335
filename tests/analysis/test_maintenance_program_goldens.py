"""`tidalog check --volz` and `--maintenance-program`, word for word.

The folder maintenance_programs/ has programs, and beside each its two rewritings.  Those of R are Tables 3
and 6 of the IMaRS paper, row by row; rdfs.jrules is its Fig. 3.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine_harness import evaluate_engine
from tidalog.analysis import analyse
from tidalog.analysis.maintenance_program import volz_program, window_program
from tidalog.cli.app import run
from tidalog.lang import parse, parse_with_warnings
from tidalog.model.program import Fact
from tidalog.model.terms import Double, Integer, String

FOLDER = Path(__file__).parent / "maintenance_programs"
OPTIONS = ("volz", "maintenance-program")
CASES = sorted(path.name for path in FOLDER.iterdir() if path.stem.partition(".")[2] not in OPTIONS)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("name", CASES)
def test_the_rewriting_is_the_golden_one(
    name: str, option: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    assert run(["check", name, f"--{option}"]) == 0
    golden = Path(name).with_suffix(f".{option}.rls").read_text(encoding="utf-8")
    assert capsys.readouterr().out == golden
    program, warnings = parse_with_warnings(golden)
    assert not warnings and not analyse(program).warnings


def test_with_both_options_each_program_has_a_heading(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = FOLDER / "R.rls"
    volz, window = ((FOLDER / f"R.{option}.rls").read_text() for option in OPTIONS)
    assert run(["check", str(path), "--volz", "--maintenance-program"]) == 0
    assert capsys.readouterr().out == f"% volz\n{volz}\n% maintenance program\n{window}"
    assert run(["check", str(path), "--volz", "--maintenance-program", "--json"]) == 0
    parsed = json.loads(capsys.readouterr().out)
    assert (parsed["volz"], parsed["maintenance_program"]) == (volz, window)
    assert parsed["analysis"]["rules"]


def test_parameters_of_the_command_line_are_filled_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(FOLDER / "mixed.rls"), "--volz", "-p", "least=7"]) == 0
    printed = capsys.readouterr().out
    assert "?n >= 7" in printed and "$least" not in printed


def test_names_of_the_program_stay_free() -> None:
    program = parse("now(?t) :- p(?t), p_ins(?t). <http://e/p>(?t1) :- p(?t1). p(1).")
    rewritten = window_program(program)
    assert "now_" in rewritten.declared and rewritten.declared["now"].arity == 2
    model, _ = evaluate_engine(replace(rewritten, facts=(*rewritten.facts, Fact("now_", (Integer(5),)))))
    assert model["p__plus"] == {(Integer(1), Double(float("inf")))} == model["p___plus"]


def test_two_equal_numbers_do_not_rederive_each_other() -> None:
    """2 and 2.0 are equal in a comparison and different as terms."""
    rewritten = volz_program(parse("next(?m) :- size(?n), ?m = ?n + 1 . again(?n + 1) :- size(?n) ."))
    given = {
        "size": (Integer(1), Double(1.0)),
        "next": (Integer(2), Double(2.0)),
        "again": (Integer(2), Double(2.0)),
        "size_del": (Double(1.0),),
        "size_red": (Integer(1),),
    }
    facts = tuple(Fact(name, (term,)) for name, terms in given.items() for term in terms)
    model, _ = evaluate_engine(replace(rewritten, facts=facts))
    assert model["next_minus"] == model["again_minus"] == {(Double(2.0),)}


def test_the_equation_that_computes_a_variable_stays_the_same() -> None:
    """Of `?v = ?x` and `?v = ?y` one computes ?v, which one depends on the predicates."""
    for other in map(str, range(8)):
        text = f"v(?v) :- q{other}(?x), r(?y), ?v = ?x, ?v = ?y . q{other}(1). r(1.0)."
        (wanted,) = evaluate_engine(parse(text))[0]["v"]
        assert evaluate_engine(volz_program(parse(text)))[0]["v_plus"] == {wanted}


def test_a_fact_that_stays_explicit_is_not_deleted_with_its_derivation() -> None:
    rewritten = volz_program(parse("path(?x, ?y) :- edge(?x, ?y) ."))
    row = (String("a"), String("b"))
    gone = [Fact(name, row) for name in ("edge", "path", "edge_del")]
    model, _ = evaluate_engine(replace(rewritten, facts=tuple(gone)))
    assert model["path_minus"] == model["edge_minus"] == {row}
    model, _ = evaluate_engine(replace(rewritten, facts=(*gone, Fact("path_red", row))))
    assert "path_minus" not in model
