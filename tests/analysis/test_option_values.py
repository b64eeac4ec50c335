"""f-strings and parameters in the options of @import and @export."""

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
