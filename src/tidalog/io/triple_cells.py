"""Cells that a row of `triple` cannot have: a literal as subject, anything but an IRI as predicate."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.io.result import TermColumn
from tidalog.rdf.shorthand import ROLES

_IRI: Final = r"<(?:[^\x00-\x20<>\"{}|^`\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*>"
_BLANK: Final = r"_:(?:[\p{L}\p{N}_.-]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})+"
RESOURCES: Final = {"subject": rf"\A(?:{_IRI}|{_BLANK})\z", "predicate": rf"\A{_IRI}\z"}
"""The text in `any` form of a term that may have the role; RE2 and Java read these alike."""


def misplaced_cells(column: TermColumn, position: int) -> npt.NDArray[np.bool_] | None:
    """The rows whose term cannot be argument `position` (from 0) of `triple`; None if there are none."""
    if position >= len(ROLES) or column.reading == "iri":
        return None
    rows = len(column.array)
    if column.reading in ("string", "native"):
        return np.ones(rows, np.bool_) if rows else None
    return misplaced_texts(column.array, position)


def misplaced_texts(text: pa.ChunkedArray, position: int) -> npt.NDArray[np.bool_] | None:
    """The same for a column of text in `any` form; a null is another matter."""
    if not pa.types.is_string(text.type):
        return np.ones(len(text), np.bool_)
    good = pc.match_substring_regex(text, RESOURCES[ROLES[position]]).fill_null(True)
    found: npt.NDArray[np.bool_] = ~good.to_numpy()
    return found if found.any() else None
