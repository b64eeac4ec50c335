"""Each fixture is a text of a dialect with the main dialect's text for it beside (`.rls`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidalog.analysis import analyse
from tidalog.lang import parse, parse_file, print_program

HERE = Path(__file__).parent
FIXTURES = sorted(p for s in ("rules", "dlog", "jrules") for p in HERE.glob(f"*/*.{s}"))
names = [f"{p.parent.name}-{p.stem}" for p in FIXTURES]


@pytest.mark.parametrize("path", FIXTURES, ids=names)
def test_a_text_lowers_to_the_program_beside_it(path: Path) -> None:
    assert print_program(parse_file(path)) == path.with_suffix(".rls").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", FIXTURES, ids=names)
def test_what_is_printed_is_read_back_as_the_same_program(path: Path) -> None:
    program = parse_file(path)
    assert parse(print_program(program)) == program


@pytest.mark.parametrize("path", FIXTURES, ids=names)
def test_a_lowered_program_is_safe_and_stratified(path: Path) -> None:
    program = parse_file(path)
    analysis = analyse(program)
    heads = {head.predicate for rule in program.rules for head in rule.heads}
    assert heads <= analysis.predicates.keys() or analysis.triples.active
    assert len(analysis.rules) >= len(program.rules)


def test_every_expected_text_has_its_fixture() -> None:
    assert {p.with_suffix("") for p in HERE.glob("*/*.rls")} == {p.with_suffix("") for p in FIXTURES}


def test_every_dialect_has_a_dozen_fixtures() -> None:
    for dialect in ("zodiac", "rdfox", "jena"):
        assert sum(p.parent.name == dialect for p in FIXTURES) >= 12
