"""Many terms to ids at once.

Interning a term by itself costs a call into compiled code; a program may hold a million of them.  Terms of
the common kinds go to the dictionary as one Arrow column a kind, in the order in which they stand; the rest
one by one.  The ids are those that `Dictionary.ids_of` would give: a term has one id whichever way it came.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from tidalog.engine.dictionary import Dictionary
from tidalog.model.facts import Ids
from tidalog.model.terms import IRI, Double, Integer, String, Term

_FEW: Final = 256
"""Terms up to which columns would cost more than they save."""


def ids_of_many(dictionary: Dictionary, terms: Sequence[Term]) -> Ids:
    """The ids of terms, given out where they are new."""
    if len(terms) <= _FEW:
        return dictionary.ids_of(terms)
    places: dict[type[Term], list[int]] = {}
    for place, term in enumerate(terms):
        places.setdefault(type(term), []).append(place)
    ids = np.empty(len(terms), np.int32)
    for kind, rows in places.items():
        ids[rows] = _ids_of_kind(dictionary, kind, [terms[row] for row in rows])
    return ids


def _ids_of_kind(dictionary: Dictionary, kind: type[Term], terms: list[Term]) -> Ids:
    if kind is Integer:
        return dictionary.encode(_integers([t.value for t in terms if isinstance(t, Integer)]), "native")
    if kind is Double:
        return dictionary.encode(_doubles([t.value for t in terms if isinstance(t, Double)]), "native")
    if kind is String:
        return dictionary.encode(_texts([t.value for t in terms if isinstance(t, String)]), "string")
    if kind is IRI:
        return dictionary.encode(_texts([t.value for t in terms if isinstance(t, IRI)]), "iri")
    return dictionary.ids_of(terms)


# Arrow's own constructors ask pandas first, where it is installed, and importing it takes longer than a run.


def _integers(values: list[int]) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(np.array(values, np.int64))])


def _doubles(values: list[float]) -> pa.Array:
    return pa.Array.from_buffers(
        pa.float64(), len(values), [None, pa.py_buffer(np.array(values, np.float64))]
    )


def _texts(values: list[str]) -> pa.Array:
    cells = [value.encode("utf-8", "surrogatepass") for value in values]
    offsets = np.zeros(len(cells) + 1, np.int32)
    np.cumsum([len(cell) for cell in cells], out=offsets[1:])
    return pa.StringArray.from_buffers(len(cells), pa.py_buffer(offsets), pa.py_buffer(b"".join(cells)))
