"""Columns of term ids by value: independent of the dictionary that gave the ids.

A *table of terms* is every distinct term once, as columns: kind, number, text, and for a literal's datatype
or language the position of that term in the same table, which is an earlier one.  Ids become positions in it.
Both ways are a few passes over whole arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog.engine.array_types import Int32s, Uint8s
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.dictionary_kernels import IRI, LANGUAGE, STRING
from tidalog.model.facts import Ids
from tidalog.model.term_text import NAME
from tidalog.model.terms import String
from tidalog.storage.kernels.terms import gather_texts, intern_terms
from tidalog.storage.manifest import FORMAT

Arrays = dict[str, npt.NDArray[np.generic]]

_NAMES_ARE_STRINGS: Final = 2
"""The format from which on a bare name is a string; before, it was an IRI."""
_SPARSE: Final = 4
"""Ids that are spread over this many times their number are looked up by search, not in a table."""


def terms_by_value(dictionary: Dictionary, ids: Ids) -> tuple[Arrays, Ids]:
    """The table of the terms of some ids, and the positions of the ids in it."""
    terms = dictionary.arrays
    used = _distinct(ids)
    extras = terms.extra[used]
    extras = extras[extras >= 0]
    if len(extras):
        used = _distinct(np.concatenate([used, _distinct(extras)]))
    positions = _positions(used, ids)
    own = terms.extra[used]
    extra = np.full(len(used), -1, np.int32)
    extra[own >= 0] = np.searchsorted(used, own[own >= 0])
    length = terms.length[used]
    text = np.empty(int(length.sum(dtype=np.int64)), np.uint8)
    gather_texts(dictionary.at, used, text)
    arrays: Arrays = {
        "term_kind": terms.kind[used],
        "term_value": terms.value[used],
        "term_number": terms.number[used],
        "term_length": length,
        "term_extra": extra,
        "term_text": text,
    }
    return arrays, positions


def _distinct(ids: Ids) -> Ids:
    """Each id once, ascending."""
    if not len(ids):
        return ids
    first, last = int(ids.min()), int(ids.max())
    if last - first > _SPARSE * len(ids):
        ordered = np.sort(ids)
        result: Ids = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]
        return result
    seen = np.zeros(last - first + 1, np.bool_)
    seen[ids - first] = True
    return (np.flatnonzero(seen) + first).astype(np.int32)


def _positions(used: Ids, ids: Ids) -> Ids:
    """The position of each id among all that are used, which are sorted."""
    if not len(used):
        return np.empty(0, np.int32)
    first, last = int(used[0]), int(used[-1])
    if last - first > _SPARSE * len(ids):
        return np.searchsorted(used, ids).astype(np.int32)
    lookup = np.empty(last - first + 1, np.int32)
    lookup[used - first] = np.arange(len(used), dtype=np.int32)
    result: Ids = lookup[ids - first]
    return result


def ids_by_value(
    dictionary: Dictionary, arrays: Mapping[str, npt.NDArray[np.generic]], format: int = FORMAT
) -> Ids:
    """The ids of the terms of a table in some format; new terms get new ids.  Raises `ValueError` if it has
    impossible numbers, before any term gets an id."""
    # Copies: compiled code needs arrays that are writable and aligned.
    kind, value, number, length, extra, text = (
        np.array(arrays[name]) for name in ("term_kind", "term_value", "term_number", *_TEXT_COLUMNS)
    )
    if not len(kind) == len(value) == len(number) == len(length) == len(extra):
        raise ValueError("the columns of its terms have different lengths")
    if not extras_fit(kind, extra):
        raise ValueError("a literal of its table of terms has an impossible type or language")
    if not is_text(text, np.cumsum(length, dtype=np.int64) - length):
        raise ValueError("a text of its table of terms is not UTF-8")
    names = _bare_names(kind, length, text) if format < _NAMES_ARE_STRINGS else {}
    is_datatype = set(extra[extra >= 0].tolist())
    for row in names.keys() - is_datatype:
        kind[row] = STRING
    dictionary.ensure(len(kind), len(text))
    ids = np.empty(len(kind), np.int32)
    bad = intern_terms(dictionary.at, kind, value, number, length, extra, text, ids)
    if bad >= 0:
        which = f"term {bad + 1:,}" if bad < len(ids) else "the text"
        raise ValueError(f"{which} of its table of terms is impossible")
    for row in names.keys() & is_datatype:  # as such it stays an IRI
        ids[row] = dictionary.id_of(String(names[row]))
    return ids


def extras_fit(kind: npt.NDArray[np.integer], extra: npt.NDArray[np.integer]) -> bool:
    """Whether every datatype is an IRI and every language tag a string, of the positions that exist."""
    rows = np.flatnonzero((extra >= 0) & (extra < len(kind)))
    return np.array_equal(kind[extra[rows]], np.where(kind[rows] == LANGUAGE, STRING, IRI))


def is_text(text: npt.NDArray[np.generic], starts: npt.NDArray[np.integer]) -> bool:
    """Whether bytes are UTF-8, with half surrogate pairs as the dictionary has them, and a character begins
    at every start."""
    ends = pa.py_buffer(np.array([0, text.nbytes], np.int64))
    whole = pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, pa.py_buffer(text)])
    try:
        whole.cast(pa.large_string())
    except pa.ArrowInvalid:
        try:
            text.tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return False
    first = text.view(np.uint8)[starts[(starts >= 0) & (starts < text.nbytes)]]
    return not ((first & 0xC0) == 0x80).any()


def _bare_names(kind: Uint8s, length: Int32s, text: Uint8s) -> dict[int, str]:
    """The rows of IRIs that were written as bare names, and these names."""
    ends = np.cumsum(length, dtype=np.int64)
    found: dict[int, str] = {}
    for row in np.flatnonzero(kind == IRI).tolist():
        name = text[ends[row] - length[row] : ends[row]].tobytes().decode("utf-8", "surrogatepass")
        if NAME.match(name):
            found[row] = name
    return found


_TEXT_COLUMNS: Final = ("term_length", "term_extra", "term_text")
