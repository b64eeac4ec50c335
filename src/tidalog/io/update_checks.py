"""Validation of update rows: one definition, for files and for streams.

A row is valid if it passes every check that applies to its source.  The first check of `checks_of` that fails
is the row's error.  Two implementations run the table: `io/row_faults.py` on Arrow columns,
`spark/validate.py` on Spark columns, where `sure_checks` are a shorter test for facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from tidalog.analysis.diagnostics import ArityDiffers
from tidalog.io.diagnostics import LiteralCell, WrongValue
from tidalog.io.update_diagnostics import (
    MissingArgument,
    MissingPart,
    OutsideCalendar,
    RuleOfOneKey,
    UnknownPredicate,
    UnknownPrefixOfRow,
    UnreadableRow,
)
from tidalog.lang.names import listed_prefixes
from tidalog.model.errors import Diagnostic
from tidalog.rdf.shorthand import ROLES, WHY

INSERT: Final = "+"
DELETE: Final = "-"
ADD_RULE: Final = "+rule"
REMOVE_RULE: Final = "-rule"
FACTS: Final = (INSERT, DELETE)
RULES: Final = (ADD_RULE, REMOVE_RULE)
OPERATIONS: Final = (*FACTS, *RULES)
CODES: Final = {INSERT: 1, DELETE: -1, ADD_RULE: 2, REMOVE_RULE: -2}
"""The codes of operations in arrays."""
INTEGER: Final = r"\A-?[0-9]{1,18}\z"
"""A pattern for integer labels that Java and RE2 read alike; they treat `$` before a line end differently."""
YEARS: Final = (1, 9999)
"""The years of the calendar: a date outside is not a term."""

Test = Literal[
    "missing",
    "given",
    "no operation",
    "unknown prefix",
    "gap",
    "misplaced in a triple",
    "outside calendar",
    "not an integer",
    "unknown predicate",
    "arity of an open predicate",
    "arity",
]
"""The error if a check fails:

    missing, given               the part has no value, or has one
    no operation                 the operation is none of `OPERATIONS`
    unknown prefix               nothing says what the predicate's prefix stands for
    gap                          an argument is missing before one that is given
    misplaced in a triple        a literal as its subject, or anything but an IRI as its predicate
    outside calendar             a date or time is not in `YEARS`
    not an integer               a label is not an `INTEGER`
    unknown predicate            the catalog does not have it
    arity of an open predicate   an IRI that the catalog does not have takes 1 (class) or 2 (property)
    arity                        the catalog has the predicate with another number of arguments
"""
Value = Literal["shown", "predicate", "arity", "known arity"]
"""A value of the row in a message: the part of the check in quotes, the predicate, how many arguments the row
has, and how many its predicate has in the catalog."""


@dataclass(frozen=True)
class RowFormat:
    """The format of a source's rows; it determines which checks apply."""

    labels: bool = False
    integer_labels: bool = False
    """Labels are text and must be integers."""
    dated_labels: bool = False
    dated: tuple[int, ...] = ()
    """Arguments (from 1) that are dates or times."""
    records: bool = False
    """Lines that could not be read are rows, with their text in the part `record`."""
    keyed: bool = False
    catalog: bool = False
    """Predicates are checked too."""
    open_iris: bool = False
    """The catalog is open: any IRI is a class or a property."""
    triples: bool = True
    """There may be rows of `triple`."""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    """The prefixes that predicates may have."""


@dataclass(frozen=True)
class Check:
    """A row whose operation is one of `operations` fails if `test` is true of `part`."""

    part: str
    """`record`, `update`, `op`, `predicate`, `key`, `arg1` …; the message names its column, or none if it is
    empty."""
    test: Test
    diagnostic: type[Diagnostic]
    operations: tuple[str, ...] | None = None
    """None: all operations."""
    values: Mapping[str, str] = field(default_factory=dict)
    """The values of the message."""
    row_values: Mapping[str, Value] = field(default_factory=dict)
    """The values of the message that depend on the row."""
    implied: bool = False
    """A fact with a valid operation whose predicate has this arity in the catalog passes the check."""

    @property
    def number(self) -> str:
        return self.diagnostic.number


def checks_of(rows: RowFormat) -> list[Check]:
    """The checks for a source, in the order in which errors are reported."""
    return [
        *([Check("record", "given", UnreadableRow)] if rows.records else ()),
        *([_missing("update", "label of the update")] if rows.labels else ()),
        *([Check("update", "outside calendar", OutsideCalendar)] if rows.dated_labels else ()),
        _missing("op", "operation", implied=True),
        Check(
            "op",
            "no operation",
            WrongValue,
            values={"format": "an operation", "format_name": "+ or -", "hint": _OPERATIONS_HINT},
            row_values={"value": "shown"},
            implied=True,
        ),
        _missing("predicate", "predicate", FACTS, implied=True),
        Check(
            "predicate",
            "unknown prefix",
            UnknownPrefixOfRow,
            FACTS,
            values={"known": listed_prefixes(rows.prefixes)},
            row_values={"value": "shown"},
            implied=True,
        ),
        _missing("predicate", "name of the rule", (REMOVE_RULE,)),
        _missing("arg1", "text of the rule (arg1)", (ADD_RULE,)),
        Check("", "gap", MissingArgument, implied=True),
        *(_MISPLACED if rows.triples else ()),
        *(Check(f"arg{number}", "outside calendar", OutsideCalendar) for number in rows.dated),
        *(_KEY_CHECKS if rows.keyed else ()),
        *([_NOT_AN_INTEGER] if rows.integer_labels else ()),
        *(check for check in _CATALOG_CHECKS if rows.catalog and (rows.open_iris or check is not _OPEN)),
    ]


def is_about_catalog(check: Check) -> bool:
    """Whether a check needs the predicates of the program."""
    return check in _CATALOG_CHECKS


def sure_checks(checks: list[Check]) -> list[Check]:
    """The checks that remain for a fact if its operation is valid and the row has exactly the arguments that
    the catalog has for its predicate."""
    facts = [check for check in checks if check.operations is None or INSERT in check.operations]
    return [check for check in facts if not check.implied]


def _missing(
    part: str, what: str, operations: tuple[str, ...] | None = None, *, implied: bool = False
) -> Check:
    return Check(part, "missing", MissingPart, operations, {"what": what}, implied=implied)


_MISPLACED: Final = tuple(
    Check(
        f"arg{number}",
        "misplaced in a triple",
        LiteralCell,
        (INSERT,),
        {"role": role, "why": WHY[role]},
        {"value": "shown"},
    )
    for number, role in enumerate(ROLES, 1)
)
_OPERATIONS_HINT: Final = "+ inserts a fact, - deletes one; +rule and -rule are about rules"
_KEY_CHECKS: Final = (_missing("key", "key", FACTS), Check("key", "given", RuleOfOneKey, RULES))
_NOT_AN_INTEGER: Final = Check(
    "update",
    "not an integer",
    WrongValue,
    values={"format": "an integer, as labels are without text_labels", "format_name": "", "hint": ""},
    row_values={"value": "shown"},
)
_OPEN: Final = Check(
    "",
    "arity of an open predicate",
    ArityDiffers,
    FACTS,
    {"first_arity": "1 or 2 arguments"},
    {"predicate": "predicate", "arity": "arity"},
    implied=True,
)
_CATALOG_CHECKS: Final = (
    Check(
        "predicate", "unknown predicate", UnknownPredicate, FACTS, {"hint": ""}, {"name": "predicate"}, True
    ),
    _OPEN,
    Check(
        "",
        "arity",
        ArityDiffers,
        FACTS,
        {},
        {"predicate": "predicate", "arity": "arity", "first_arity": "known arity"},
        implied=True,
    ),
)
