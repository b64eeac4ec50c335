"""The checks of update rows (io/update_checks.py) as columns of Spark, run before a row reaches the engine.

`fault_of` is the first check that a row fails.  `is_sure` is a shorter expression, which implies that a fact
has no error: Spark plans a stream again for each batch, and `fault_of` is long.  Rows that change rules, and
facts of predicates of added rules, may be valid without passing the short test.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tidalog.io.diagnostics import NotAsDeclared
from tidalog.io.triple_cells import RESOURCES
from tidalog.io.update_checks import (
    FACTS,
    INTEGER,
    OPERATIONS,
    YEARS,
    Check,
    RowFormat,
    Value,
    checks_of,
    is_about_catalog,
    sure_checks,
)
from tidalog.io.update_diagnostics import NotATimeCell
from tidalog.lang.names import ABSOLUTE, IRI_CHARACTER, PREFIXED
from tidalog.model.column_types import TYPES
from tidalog.model.facts import Mask
from tidalog.model.window_times import SECOND, START
from tidalog.rdf.layout import TRIPLE
from tidalog.spark.catalog import KnownPredicates
from tidalog.spark.columns import UpdateColumns
from tidalog.spark.named_columns import DATED, KEY, TIME

if TYPE_CHECKING:
    from pyspark.sql import Column

    from tidalog.io.declared_rows import BadCell

FAULT: Final = "__tidalog_fault"
"""The column with the error of a row (`fault_of`)."""
SURE: Final = "__tidalog_sure"
"""The column with the result of the short test (`is_sure`)."""
_LONGEST: Final = 60
"""The largest number of characters of a value in a message."""


@dataclass(frozen=True)
class Validation:
    """Validates the rows of a stream with the columns of `named`: their original column names, the allowed
    predicates, and in keyed streams the name of the key."""

    columns: UpdateColumns
    known: KnownPredicates
    text_labels: bool
    key: str | None = None

    @property
    def checks(self) -> list[Check]:
        columns = self.columns
        return checks_of(
            RowFormat(
                labels=columns.update is not None,
                triples=self.known.arities.get(TRIPLE) == 3 and len(columns.arguments) >= 3,
                prefixes=self.known.prefixes,
                integer_labels=columns.update is not None and columns.text_labels and not self.text_labels,
                dated_labels=columns.dated_labels,
                dated=tuple(columns.arguments.index(name) + 1 for name in columns.dated),
                records=columns.corrupt is not None,
                keyed=self.key is not None,
                catalog=True,
                open_iris=self.known.open_iris,
            )
        )

    def fault_of(self, learnt: Collection[tuple[str, int]] = ()) -> Column:
        """The error of a row: number, message, column; null if there is none.  Predicates `learnt` from rules
        are known too."""
        from pyspark.sql import functions as F

        checks = self.checks
        of_rows = [self._fault(check) for check in checks if not is_about_catalog(check)]
        of_predicates = F.coalesce(*(self._fault(check) for check in checks if is_about_catalog(check)))
        if learnt:
            of_predicates = F.when(~self._is_among(learnt), of_predicates)
        return F.coalesce(*of_rows, of_predicates)

    def is_sure(self) -> Column:
        """The short test: whether a row is a valid fact of a predicate in the catalog."""
        from pyspark.sql import functions as F

        checks = sure_checks(self.checks)
        # That the row is a fact is tested once, for all.
        passed = [~(self._fails(c) if c.operations == FACTS else self._is_wrong(c)) for c in checks]
        return F.coalesce(_all([F.col("op").isin(*FACTS), *passed, self._is_in_catalog()]), F.lit(False))

    def fault_of_types(self, rows: pa.Table, bad: Sequence[BadCell], others: Column) -> Column:
        """The error of rows without `others` whose arguments do not fit their declared types, as
        was found for these rows: a row is bad if it has the predicate and the value of a bad one."""
        from pyspark.sql import functions as F

        found: dict[tuple[str, int, str], set[object]] = {}
        for cell in bad:
            predicate = str(rows.column("predicate")[cell.row].as_py())
            value = rows.column(f"arg{cell.argument + 1}")[cell.row].as_py()
            found.setdefault((predicate, cell.argument, cell.type), set()).add(value)
        faults: list[Column] = []
        for (predicate, argument, kind), values in found.items():
            part = f"arg{argument + 1}"
            column, value = self._name(part), F.col(part)
            message = NotAsDeclared(
                value="\0", format=TYPES[kind].description, type=kind, field=column, hint=""
            ).message
            before, after = message.split("\0")
            text = value.cast("string")
            is_text = any(isinstance(one, str) for one in values)
            shown = F.concat(F.lit(before), _shown(text) if is_text else text, F.lit(after))
            is_bad = (F.col("predicate") == predicate) & value.isin(list(values)) & F.col("op").isin(*FACTS)
            fault = F.struct(
                F.lit(NotAsDeclared.number).alias("number"),
                shown.alias("message"),
                F.lit(column).alias("column"),
            )
            faults.append(F.when(others.isNull() & is_bad, fault))
        return F.coalesce(*faults)

    def fault_of_time(self, times: pa.ChunkedArray, wrong: Mask, others: Column) -> Column:
        """The error of rows without `others` whose time is none, as was found for these."""
        from pyspark.sql import functions as F

        time, name = F.col(TIME), self.columns.time or ""
        text = time.cast("string")
        if pa.types.is_string(times.type):
            is_bad = text.isin(times.filter(pa.array(wrong)).unique().to_pylist())
        else:  # numbers beyond the calendar, and NaN
            seconds = time.cast("double")
            is_bad = ~F.coalesce(F.abs(seconds) < F.lit(-START / SECOND), F.lit(False)) & time.isNotNull()
        before, after = NotATimeCell(value="\0").message.split("\0")
        fault = F.struct(
            F.lit(NotATimeCell.number).alias("number"),
            F.concat(F.lit(before), _shown(text), F.lit(after)).alias("message"),
            F.lit(name).alias("column"),
        )
        return F.when(others.isNull() & is_bad, fault)

    # --- a check ------------------------------------------------------------------------------------

    def _fault(self, check: Check) -> Column:
        from pyspark.sql import functions as F

        wrong = self._is_wrong(check)
        column = self._name(check.part)
        fault = F.struct(
            F.lit(check.number).alias("number"),
            self._message(check, column).alias("message"),
            F.lit(column).alias("column"),
        )
        return F.when(wrong, fault)

    def _is_wrong(self, check: Check) -> Column:
        from pyspark.sql import functions as F

        fails = self._fails(check)
        return fails if check.operations is None else F.col("op").isin(*check.operations) & fails

    def _fails(self, check: Check) -> Column:
        """Whether a row with its operations fails a check."""
        from pyspark.sql import functions as F

        part, predicate = self._part(check.part), F.col("predicate")
        match check.test:
            case "missing":
                return part.isNull()
            case "given":
                return part.isNotNull()
            case "no operation":
                return ~part.isin(*OPERATIONS)
            case "unknown prefix":
                return predicate.rlike(rf"(?U)\A{PREFIXED}\z") & ~predicate.rlike(rf"\A(?:{self._starts})")
            case "misplaced in a triple":
                literal = ~part.cast("string").rlike(RESOURCES[check.values["role"]])
                return predicate.isin(TRIPLE, f"<{TRIPLE}>") & (self._arity == 3) & literal
            case "gap":
                given = [argument.isNotNull().cast("int") for argument in self._arguments]
                return self._arity != reduce(lambda total, one: total + one, given, F.lit(0))
            case "outside calendar" if check.part == "update":
                return ~part.cast("string").rlike(DATED)
            case "outside calendar":
                return part.isNotNull() & ~F.year(part).between(*YEARS)
            case "not an integer":
                return ~part.cast("string").rlike(INTEGER)
            case "unknown predicate":
                unknown = self._known_arity.isNull()
                return unknown & ~self._is_iri if self.known.open_iris else unknown
            case "arity of an open predicate":
                return self._known_arity.isNull() & self._is_iri & ~self._arity.isin(1, 2)
            case "arity":
                return self._known_arity != self._arity

    def _message(self, check: Check, column: str) -> Column:
        """The message of a diagnostic, with the values of each row in it."""
        from pyspark.sql import functions as F

        marks = {name: f"\0{kind}\0" for name, kind in check.row_values.items()}
        written = check.diagnostic(**check.values, field=column, **marks).message.split("\0")
        parts = [self._value(text, check.part) if at % 2 else F.lit(text) for at, text in enumerate(written)]
        return F.concat(*parts) if len(parts) > 1 else parts[0]

    def _value(self, kind: Value | str, part: str) -> Column:
        from pyspark.sql import functions as F

        values: Mapping[str, Column] = {
            "shown": _shown(self._part(part).cast("string")) if part else F.lit(""),
            "predicate": F.col("predicate"),
            "arity": _arguments(self._arity),
            "known arity": _arguments(self._known_arity),
        }
        return values[kind]

    def _part(self, part: str) -> Column:
        from pyspark.sql import functions as F

        if part == "record" and self.columns.corrupt is not None:
            return F.col(self.columns.corrupt)
        if part == "arg1" and not self.columns.arguments:
            return F.lit(None)
        return F.col({"key": KEY, "": "predicate"}.get(part, part))

    def _name(self, part: str) -> str:
        """The column of a part in the stream; empty if an error is not about one column."""
        columns = self.columns
        arguments = {f"arg{number}": name for number, name in enumerate(columns.arguments, 1)}
        names = {"update": columns.update, "op": columns.op, "predicate": columns.predicate, "key": self.key}
        return (names | {"arg1": "arg1"} | arguments).get(part) or ""

    # --- arguments and predicates -------------------------------------------------------------------

    @property
    def _starts(self) -> str:
        """How an IRI without brackets begins: with a scheme or a known prefix."""
        return "|".join([ABSOLUTE, *(f"{re.escape(prefix)}:" for prefix in self.known.prefixes)])

    @property
    def _is_iri(self) -> Column:
        """Whether the predicate of a row is an IRI, as `checked_name` reads it."""
        from pyspark.sql import functions as F

        own = IRI_CHARACTER
        return F.col("predicate").rlike(rf"\A(?:<(?![#?]){own}*:{own}*>|(?:{self._starts}){own}*)\z")

    @property
    def _arguments(self) -> list[Column]:
        from pyspark.sql import functions as F

        return [F.col(f"arg{n + 1}") for n in range(len(self.columns.arguments))]

    @property
    def _arity(self) -> Column:
        """The number of arguments of a row."""
        from pyspark.sql import functions as F

        numbered = reversed(list(enumerate(self._arguments, 1)))
        return F.coalesce(*(F.when(column.isNotNull(), n) for n, column in numbered), F.lit(0))

    @property
    def _known_arity(self) -> Column:
        """The arity of the predicate in the catalog; null if the catalog does not have it."""
        from pyspark.sql import functions as F

        if not self.known.arities:
            return F.lit(None).cast("int")
        pairs = [F.lit(value) for pair in self.known.arities.items() for value in pair]
        return F.try_element_at(F.create_map(*pairs), F.col("predicate"))

    def _is_in_catalog(self) -> Column:
        """Whether the catalog has the predicate with the row's number of arguments, and these have no gap."""
        from pyspark.sql import functions as F

        predicate = F.col("predicate")
        by_arity: dict[int, list[str]] = {}
        for name, arity in self.known.arities.items():
            by_arity.setdefault(arity, []).append(name)
        shapes = [predicate.isin(names) & self._has(arity) for arity, names in by_arity.items()]
        if self.known.open_iris:
            another = self._is_iri & ~predicate.isin(list(self.known.arities))
            shapes.append(another & (self._has(1) | self._has(2)))
        return reduce(or_, shapes, F.lit(False))

    def _has(self, arity: int) -> Column:
        """Whether a row has this many arguments, without a gap."""
        from pyspark.sql import functions as F

        given = self._arguments
        if arity > len(given):
            return F.lit(False)
        return _all([*(one.isNotNull() for one in given[:arity]), *(one.isNull() for one in given[arity:])])

    def _is_among(self, predicates: Collection[tuple[str, int]]) -> Column:
        from pyspark.sql import functions as F

        own = F.concat_ws("/", self._arity, "predicate")
        return own.isin([f"{arity}/{name}" for name, arity in predicates])


def _all(conditions: Sequence[Column]) -> Column:
    from pyspark.sql import functions as F

    return reduce(and_, conditions) if conditions else F.lit(True)


def _arguments(arity: Column) -> Column:
    from pyspark.sql import functions as F

    plural = F.concat(arity.cast("string"), F.lit(" arguments"))
    return F.when(arity == 0, "no arguments").when(arity == 1, "1 argument").otherwise(plural)


def _shown(value: Column) -> Column:
    """As `shown` in io/columns.py."""
    from pyspark.sql import functions as F

    text = F.concat(F.lit('"'), F.replace(value, F.lit("\n"), F.lit("\\n")), F.lit('"'))
    short = F.concat(F.substring(text, 1, _LONGEST - 3), F.lit("…"))
    return F.when(F.length(text) > _LONGEST, short).otherwise(text)
