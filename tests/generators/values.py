"""Columns of terms: of one kind, of several, at the limits of what tables hold, and hostile ones."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

from hypothesis import strategies as st

from tidalog.model.term_text import from_python
from tidalog.model.terms import (
    INT64_MAX,
    INT64_MIN,
    IRI,
    XSD,
    BlankNode,
    Boolean,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
    integer,
    literal,
)

HOSTILE: Final = (
    *("", " ", "\n", "\r\n", "a\nb", "\t", "\0", "a\0b", '"', '"a"', '""', "'", "\\", '\\"', ",", ";"),
    *("<a>", "<http://e/x>", '"a"@en', '"5"^^xsd:int', "_:b", "?x", "{}", '{"@id":"a"}', "[1]", "<b>&amp;"),
    *(
        "007",
        "42",
        "-7",
        "2.5",
        "2.50",
        "1e3",
        "1E3",
        "NaN",
        "INF",
        "inf",
        "-0",
        "0x1F",
        "+5",
        "true",
        "null",
    ),
    *("None", "NA", "2024-05-01", "2024-05-01T12:00:00Z", "P1D", "e\u0301", "é", "\u202e", "\ufeff", "😀"),
    *("\x85", "\u2028", "x" * 3000, "\N{COMBINING ACUTE ACCENT}", "#", "%20", "=1+1"),
)

_texts = st.sampled_from(HOSTILE) | st.text(st.characters(codec="utf-8"), max_size=8)
_instants = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999))
_decimals = st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9)
_AT_THE_END: Final = {
    "dateTime": (
        *("2024-05-01T12:00:00.123456789", "2024-05-01T12:00:00.1234567Z", "2024-04-30T22:00:00.5-02:00"),
        *("9999-12-31T24:00:00", "2024-05-01T24:00:00", "-0044-03-15T12:00:00", "12024-01-01T00:00:00"),
        *("2024-05-01T12:00:00.50", "2024-05-01T12:00:00+00:00", "2024-02-30T00:00:00", "yesterday"),
        *("0000-12-31T00:00:00", "1583-01-01T00:00:00Z", "1500-02-28T23:59:59.000001"),
    ),
    "date": (
        "0001-01-01",
        "9999-12-31",
        "0000-01-01",
        "2024-05-01Z",
        "2024-05-01+14:00",
        "10000-01-01",
        "2023-02-29",
    ),
    "time": ("00:00:00", "23:59:59.999999999", "24:00:00", "12:00:00Z", "12:00:00+02:00", "12:00", "noon"),
    "decimal": ("9" * 38, "9" * 39, "-" + "9" * 75 + ".5", "0." + "0" * 40 + "1", "9" * 80, "1E5", "+.50"),
    "dayTimeDuration": ("P106751DT4H0.000000001S", "-P292000Y", "PT0.000000001S", "-P99999999D", "P1M"),
    "yearMonthDuration": ("P1M", "-P12Y", "P0M"),
    "duration": ("P1M", "P1DT12H", "P1Y2M3DT4H5M6.5S"),
    "float": ("1.5", "NaN", "INF"),
    "int": ("5", "05"),
    "integer": ("1" + "0" * 37, "-" + "9" * 38, "9" * 39, "9" * 77, "seven"),
}


def _odd(name: str) -> st.SearchStrategy[Term]:
    """Literals of a type that no native type holds, or only just."""
    return st.sampled_from(_AT_THE_END[name]).map(lambda text: literal(text, XSD + name))


KINDS: Final[dict[str, st.SearchStrategy[Term]]] = {
    "string": _texts.map(String),
    "iri": st.sampled_from(("http://e/x", "a", "urn:é", "http://e/a(b),c", "_:b")).map(IRI),
    "blank": st.sampled_from(("b1", "x", "n.1-a")).map(BlankNode),
    "language": st.builds(LangString, _texts, st.sampled_from(("en", "de-at"))),
    "integer": st.integers(INT64_MIN, INT64_MAX).map(Integer),
    "any integer": st.integers(-(2**120), 2**120).map(integer) | st.integers(-5, 5).map(integer),
    "double": st.floats().map(Double),
    "boolean": st.booleans().map(Boolean),
    "decimal": _decimals.map(from_python) | st.integers(-9, 9).map(lambda n: from_python(Decimal(n))),
    "date": st.dates(date(1, 1, 1)).map(from_python),
    "instant": _instants.map(lambda moment: from_python(moment.replace(tzinfo=UTC))),
    "clock": _instants.map(from_python),
    "time": st.times().map(from_python),
    "duration": st.timedeltas(timedelta(-(10**6)), timedelta(10**6)).map(from_python),
    **{f"odd {name}": _odd(name) for name in _AT_THE_END},
    "literal": st.builds(Literal, _texts, st.sampled_from(("http://e/type", XSD + "date", XSD + "decimal"))),
}
anything: Final = st.one_of(*KINDS.values())


@st.composite
def columns(draw: st.DrawFn, most_rows: int = 5, most_columns: int = 3) -> list[list[Term]]:
    """Columns of equal length: of one kind, of that kind with its odd values, or of anything."""
    rows = draw(st.integers(1, most_rows))
    names = [draw(st.sampled_from((*KINDS, "anything"))) for _ in range(draw(st.integers(1, most_columns)))]
    kinds = [KINDS.get(name, anything) for name in names]
    kinds = [
        kind | KINDS[f"odd {name}"] if f"odd {name}" in KINDS and draw(st.booleans()) else kind
        for name, kind in zip(names, kinds, strict=True)
    ]
    return [draw(st.lists(kind, min_size=rows, max_size=rows)) for kind in kinds]
