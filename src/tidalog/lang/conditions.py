"""The names that are built-in conditions, not predicates, when they form a body literal by themselves."""

from __future__ import annotations

from typing import Final

from tidalog.builtins import BUILTINS

CONDITIONS: Final = frozenset(
    name
    for name in BUILTINS
    if name.startswith("IS")
    or name
    in (
        "AND",
        "OR",
        "NOT",
        "IF",
        "COALESCE",
        "BOUND",
        "CONTAINS",
        "STRSTARTS",
        "STRENDS",
        "REGEX",
        "LANGMATCHES",
        "SAMETERM",
    )
)
"""The built-ins that return true or false.  `CONTAINS(?x, "a")`, in any letter case, is a condition in a
body; there a predicate of that name is written `<contains>(?x, ?y)`."""


def is_condition(name: str) -> bool:
    return name.upper() in CONDITIONS
