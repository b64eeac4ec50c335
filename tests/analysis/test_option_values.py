"""f-strings, parameters and variables in the options of @import and @export."""

from __future__ import annotations

import pytest

import tidalog
from tidalog.analysis.parameters import with_option_values
from tidalog.lang import parse


def resource(value: str, parameter: str = "1") -> object:
    program = parse(f"@parameter $p = {parameter} .\n@import r :- csv{{resource = {value}}} .")
    return with_option_values(program, {}).imports[0].options["resource"]


@pytest.mark.parametrize(
    ("value", "parameter", "expected"),
    [
        ('f"a/{$p}.csv"', '"b"', "a/b.csv"),
        ('f"{$p + 1}.csv"', "1", "2.csv"),
        ('f"{$p}.csv"', '"2024-05-01"^^xsd:date', "2024-05-01.csv"),
        ("$p", '"b.csv"', "b.csv"),
        ("$p", "<b.csv>", "b.csv"),
        ("$p", '"2024-05-01"^^xsd:date', "2024-05-01"),
        ('f"{?x}-{?y}.csv"}, ?x = "name", ?y = 42 .%', "1", "name-42.csv"),
        ('f"{?y}.csv"}, ?y = ?x * 2, ?x = $p + 1 .%', "2", "6.csv"),
        ('?file}, ?file = CONCAT($p, ".csv") .%', '"b"', "b.csv"),
    ],
)
def test_an_option_has_the_value_of_its_text(value: str, parameter: str, expected: str) -> None:
    assert resource(value, parameter) == expected


@pytest.mark.parametrize(
    "value",
    ['f"{?x}"', 'f"{FOO(1)}"', 'f"{ABS(1, 2)}"', 'f"{RANGE(1, 2)}"', 'f"{$p / 0}"', 'f"{1 + STR($p)}"'],
)
def test_what_cannot_be_computed_is_an_error_at_its_text(value: str) -> None:
    with pytest.raises(tidalog.ProgramError, match=r"T023.*option") as raised:
        resource(value)
    (found,) = raised.value.diagnostics
    assert found.span is not None and found.span.source.text[found.span.start : found.span.end] == value


@pytest.mark.parametrize(
    ("rest", "number", "marked"),
    [
        ("?x} .", "T023", "?x"),
        ("?x}, ?y = 1 .", "T023", "?x"),
        ("?x}, ?x = ?y + 1 .", "T023", "?y + 1"),
        ("?x}, ?x = 1 + ?x .", "T023", "1 + ?x"),
        ("?x}, ?x = ?y, ?y = ?x .", "T023", "?x"),
        ("?x}, ?x = 1 / 0 .", "T023", "1 / 0"),
        ("?x}, ?x = $q .", "T022", "$q"),
        ("?x}, ?x = 1, ?x = 2 .", "T009", "?x"),
        ("?x}, ?x = #count(?y) .", "T007", "#count(?y)"),
    ],
)
def test_a_variable_without_a_value_is_an_error(rest: str, number: str, marked: str) -> None:
    with pytest.raises(tidalog.ProgramError) as raised:
        with_option_values(parse(f"@export r :- csv{{resource = {rest}"), {})
    (found,) = raised.value.diagnostics
    assert found.number == number
    assert found.span is not None
    assert found.span.source.text[found.span.start : found.span.end].strip() == marked


def test_a_parameter_of_a_variable_is_used() -> None:
    kb = tidalog.open()
    kb.load('@parameter $p = "a" . @export r :- csv{resource = ?x}, ?x = $p . r(b).')
    assert not kb.warnings
