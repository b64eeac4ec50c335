"""Dates and times that are read in bulk are the terms that are read one by one, with the same values."""

from __future__ import annotations

from datetime import date, datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalog.engine.dictionary import Dictionary
from tidalog.engine.moments import moments_among
from tidalog.model.term_text import parse_any

_XSD = "http://www.w3.org/2001/XMLSchema#"
ODD = [
    "2024-02-30",
    "2024-02-29",
    "0000-01-01",
    "0001-01-01",
    "9999-12-31",
    "1969-12-31T23:59:59.999999",
    "2024-01-01T24:00:00",
    "2024-01-01T23:59:60",
    "2024-01-01T25:00:00",
    "2024-01-01T00:00:00.1234567",
    "2024-01-01T00:00:00.100",
    "2024-01-01T00:00:00.",
    "2024-01-01T00:00",
    "2024-01-01T00:00:00+02:00",
    "2024-01-01T00:00:00ZZ",
    "2024-01-01Z",
    "12024-01-01",
    "-2024-01-01",
    "2024-1-1",
    "2024-13-01",
    "",
]


def cell(lexical: str, datatype: str) -> str:
    return f'"{lexical}"^^<{_XSD}{datatype}>'


CELLS = st.one_of(
    st.builds(
        lambda value, zone: cell(value.isoformat() + zone, "dateTime"),
        st.datetimes(),
        st.sampled_from(["", "Z"]),
    ),
    st.builds(
        lambda value, zone: cell(value.isoformat() + zone, "date"), st.dates(), st.sampled_from(["", "Z"])
    ),
    st.builds(cell, st.sampled_from(ODD), st.sampled_from(["dateTime", "date", "time", "gYear"])),
)


def described(dictionary: Dictionary, ids: list[int]) -> list[tuple[object, int, int]]:
    arrays = dictionary.arrays
    return [(dictionary.term(one), int(arrays.value[one]), int(arrays.number[one])) for one in ids]


@settings(deadline=None)
@given(st.lists(CELLS, max_size=12), st.booleans())
def test_in_bulk_as_one_by_one(cells: list[str], known: bool) -> None:
    together, apart = Dictionary(), Dictionary()
    if known:
        together.ids_of(map(parse_any, cells[::2]))
    found = together.encode(pa.array(cells, pa.string()), "any").tolist()
    expected = [apart.id_of(parse_any(one)) for one in cells]
    assert described(together, found) == described(apart, expected)
    assert [together.id_of(parse_any(one)) for one in cells] == found


@pytest.mark.parametrize(
    ("text", "datatype"),
    [(datetime(2024, 5, 6, 7, 8, 9, 250000).isoformat(), "dateTime"), (date(2024, 5, 6).isoformat(), "date")],
)
def test_ordinary_moments_are_read_in_bulk(text: str, datatype: str) -> None:
    rows = [
        rows.tolist()
        for rows, *_ in moments_among(pa.array(["x", cell(text, datatype), cell(text + "Z", datatype)]))
    ]
    assert rows == [[1, 2]]
