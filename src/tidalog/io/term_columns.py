"""Columns of term ids as columns of Arrow, each of the type that its terms have.

Invariant.  A column has a type of its own (integers, doubles, booleans, decimals, dates, timestamps, times,
durations) only if its terms can be read back from it: decimals, dates, times and durations are converted, the
text of the result is compared with that of the terms, and a column with one difference (a zone other than
UTC, a year before 1, more digits than Arrow has) is text in `any` form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.dictionary_kernels import INTEGER, IRI, LITERAL, STRING
from tidalog.io.plain_columns import in_the_calendar
from tidalog.io.result import Reading
from tidalog.io.term_fields import has_values
from tidalog.io.text_form import lexical_text
from tidalog.model.facts import Ids
from tidalog.model.terms import IRI as IriTerm
from tidalog.model.terms import XSD
from tidalog.model.values import DATE, DATE_TIME, DAY_TIME, DECIMAL, TIME, duration_value

_INTEGERS, _IRIS, _LITERALS, _STRINGS = (1 << kind for kind in (INTEGER, IRI, LITERAL, STRING))
_XSD_INTEGER: Final = XSD + "integer"
_UNITS: Final = (("us", 1000), ("ns", 1))
"""Units of time, and how many nanoseconds they have; the coarser is preferred, as more programs know it."""


def decoded(dictionary: Dictionary, ids: Ids) -> tuple[pa.Array, Reading]:
    """The column, and how it is read (`TermColumn`): what strings and IRIs hold if all terms are such, values
    if all have one type, else text in `any` form."""
    kinds = dictionary.kinds_among(ids)
    if kinds in (_STRINGS, 0):
        return dictionary.contents(ids), "string"
    if kinds == _IRIS:
        return dictionary.contents(ids), "iri"
    found = _of_literals(dictionary, ids, kinds) if kinds | _INTEGERS == _LITERALS | _INTEGERS else None
    array = dictionary.decode(ids) if found is None else found
    if pa.types.is_decimal(array.type) and array.type.scale == 0:  # others have at least one digit there
        return array, "int"
    return array, "native" if has_values(array.type) else "any"


def _of_literals(dictionary: Dictionary, ids: Ids, kinds: int) -> pa.Array | None:
    """Literals of one type, or integers of any size, by distinct terms; None if there is no type for them."""
    if kinds == _INTEGERS:
        return None
    distinct, rows = np.unique(ids, return_inverse=True)
    terms = dictionary.arrays
    types = np.unique(terms.extra[distinct[terms.kind[distinct] == LITERAL]])
    if len(types) > 1:
        return None
    datatype = dictionary.term(int(types[0]))
    assert isinstance(datatype, IriTerm)
    if kinds != _LITERALS and datatype.value != _XSD_INTEGER:
        return None
    text = dictionary.contents(distinct) if kinds == _LITERALS else dictionary.decode_text(distinct)
    found = exact_values(text, datatype.value)
    return None if found is None else found.take(_int64s(rows))


def exact_values(text: pa.Array, datatype: str) -> pa.Array | None:
    """Texts of a type of XML Schema as values; None if Arrow has none that are read back as these texts."""
    candidates = _CANDIDATES.get(datatype)
    if candidates is None or not len(text):
        return None
    for found, *casts in candidates(text):
        try:
            for kind in casts:
                found = found.cast(kind)
        except pa.ArrowInvalid:
            continue
        column = pa.chunked_array([found])
        written = column.cast(pa.string()) if datatype == _XSD_INTEGER else lexical_text(column)[0]
        if in_the_calendar(column) and written.combine_chunks().equals(text):
            return found
    return None


# --- the types that may hold a column, the best first: an array, and what it is cast to ---------------------

_Candidates = Iterator[tuple[pa.Array, *tuple[pa.DataType, ...]]]


def _instants(text: pa.Array) -> _Candidates:
    zone = "UTC" if text[0].as_py().endswith("Z") else None
    for unit, _ in _UNITS:
        yield text, pa.timestamp(unit, zone)


def _days(text: pa.Array) -> _Candidates:
    yield text, pa.date32()


def _times(text: pa.Array) -> _Candidates:
    dated = pc.binary_join_element_wise("1970-01-01T", text, "")
    for unit, _ in _UNITS:
        yield dated, pa.timestamp(unit), pa.time64(unit)


def _decimals(text: pa.Array, fewest: int = 1) -> _Candidates:
    """As many digits after the point as a value needs, and at least one, so that they are not integers."""
    digits = pc.utf8_ltrim(text, "-")
    length, point = pc.binary_length(digits), pc.find_substring(digits, ".")
    whole = pc.max(pc.if_else(pc.less(point, 0), length, point)).as_py()
    scale = max(fewest, pc.max(pc.if_else(pc.less(point, 0), 0, pc.subtract(length, point))).as_py() - 1)
    for kind, most in ((pa.decimal128, 38), (pa.decimal256, 76)):
        if whole + scale <= most:
            yield text, kind(most, scale)


def _integers(text: pa.Array) -> _Candidates:
    """A text with a point is not that of an integer, whatever its type says."""
    return (one for one in _decimals(text, 0) if one[1].scale == 0)


def _durations(text: pa.Array) -> _Candidates:
    found = [duration_value(one, DAY_TIME) for one in text.to_pylist()]
    lengths = [one.nanoseconds for one in found if one is not None]
    most = max(map(abs, lengths), default=0)
    for unit, size in _UNITS if len(lengths) == len(found) else ():
        if most // size < 2**63 and not any(length % size for length in lengths):
            yield _int64s(np.array([length // size for length in lengths], np.int64)), pa.duration(unit)


_CANDIDATES: Final[dict[str, Callable[[pa.Array], _Candidates]]] = {
    DATE_TIME: _instants,
    DATE: _days,
    TIME: _times,
    DECIMAL: _decimals,
    _XSD_INTEGER: _integers,
    DAY_TIME: _durations,
}


def _int64s(values: npt.NDArray[np.int64]) -> pa.Array:
    """Arrow's own constructors ask pandas first, where it is installed, and importing it takes longer than a
    run."""
    data = np.ascontiguousarray(values, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(data), [None, pa.py_buffer(data)])
