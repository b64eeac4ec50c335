"""Many terms to ids at once.

Interning one term costs a call into compiled code, and a program may have a million.  Terms of the common
kinds go to the dictionary as one Arrow column for each kind, in order; the others one by one.  The ids are
those of `Dictionary.ids_of`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog.engine.dictionary import Dictionary
from tidalog.model.facts import Ids
from tidalog.model.terms import IRI, Double, Integer, String, Term

_FEW: Final = 256
"""Terms up to which columns would cost more than they save."""


def ids_of_many(dictionary: Dictionary, terms: Sequence[Term]) -> Ids:
    """The ids of terms; new terms get new ids."""
    if len(terms) <= _FEW:
        return dictionary.ids_of(terms)
    of_kind: dict[type[Term], list[int]] = {}
    for row, term in enumerate(terms):
        of_kind.setdefault(type(term), []).append(row)
    ids = np.empty(len(terms), np.int32)
    for kind, rows in of_kind.items():
        ids[rows] = _ids_of_kind(dictionary, kind, [terms[row] for row in rows])
    return ids


def _ids_of_kind(dictionary: Dictionary, kind: type[Term], terms: list[Term]) -> Ids:
    if kind is Integer:
        values = np.array([t.value for t in terms if isinstance(t, Integer)], np.int64)
        return dictionary.encode(_numbers(values, pa.int64()), "native")
    if kind is Double:
        doubles = np.array([t.value for t in terms if isinstance(t, Double)], np.float64)
        return dictionary.encode(_numbers(doubles, pa.float64()), "native")
    if kind is String:
        return dictionary.encode(_texts([t.value for t in terms if isinstance(t, String)]), "string")
    if kind is IRI:
        return dictionary.encode(_texts([t.value for t in terms if isinstance(t, IRI)]), "iri")
    return dictionary.ids_of(terms)


# Arrow's own constructors ask pandas first, where it is installed, and importing it takes longer than a run.


def _numbers(values: npt.NDArray[np.generic], kind: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _texts(values: list[str]) -> pa.Array:
    cells = [value.encode("utf-8", "surrogatepass") for value in values]
    offsets = np.zeros(len(cells) + 1, np.int32)
    np.cumsum([len(cell) for cell in cells], out=offsets[1:])
    return pa.StringArray.from_buffers(len(cells), pa.py_buffer(offsets), pa.py_buffer(b"".join(cells)))
