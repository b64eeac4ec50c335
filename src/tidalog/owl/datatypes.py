"""Literals whose text is no value of their type (dt-not-type)."""

from __future__ import annotations

import re
from typing import Final

from tidalog.model import values
from tidalog.model.terms import XSD, Literal, double_value

_INTEGER: Final = re.compile(r"[+-]?[0-9]+\Z")
_UNBOUNDED: Final = None
_RANGES: Final[dict[str, tuple[int | None, int | None]]] = {
    "integer": (_UNBOUNDED, _UNBOUNDED),
    "nonNegativeInteger": (0, _UNBOUNDED),
    "positiveInteger": (1, _UNBOUNDED),
    "nonPositiveInteger": (_UNBOUNDED, 0),
    "negativeInteger": (_UNBOUNDED, -1),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-(2**7), 2**7 - 1),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 2**8 - 1),
}
_MOST_DIGITS: Final = 1_000


def is_ill_typed(term: Literal) -> bool:
    """Whether a literal of a numeric or temporal type, or of xsd:boolean, has no value.  Terms that
    `model.terms.literal` has turned into numbers and booleans have one."""
    if not term.datatype.startswith(XSD):
        return False
    name, text = term.datatype[len(XSD) :], term.lexical
    if name in _RANGES:
        low, high = _RANGES[name]
        if not _INTEGER.match(text):
            return True
        if len(text) > _MOST_DIGITS:
            return (low if text.startswith("-") else high) is not None
        return not (low is None or int(text) >= low) or not (high is None or int(text) <= high)
    match name:
        case "decimal":
            return values.canonical_decimal(text) is None
        case "double" | "float":
            return double_value(text) is None
        case "boolean":
            return text not in ("true", "false", "0", "1")
        case "dateTime":
            return values.moment_value(text) is None
        case "date":
            return values.day_value(text) is None
        case "time":
            return values.time_value(text) is None
        case "duration" | "dayTimeDuration" | "yearMonthDuration":
            return values.duration_value(text, term.datatype) is None
    return False
