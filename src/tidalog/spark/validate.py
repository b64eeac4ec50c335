"""What is wrong with update rows, said by Spark expressions before a row reaches the engine.

The rules are those of update tables (io/update_files.py), and what they say is said in the same words;
besides, a predicate must be known, with its number of arguments; rules that come with the stream may bring
predicates.  The first fault of a row is told.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Final

from tidalog.api.diagnostics import UnknownPredicate
from tidalog.io.update_checks import ADD_RULE, REMOVE_RULE
from tidalog.io.update_diagnostics import MissingArgument, MissingPart
from tidalog.spark.catalog import KnownPredicates
from tidalog.spark.columns import UpdateColumns, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FAULT: Final = "__tidalog_fault"
"""A column for what is wrong with a row (`fault_of`)."""
SURE: Final = "__tidalog_sure"
"""A column that is true where nothing is (`is_sure`)."""
CONTENT: Final = "__tidalog_content"
"""The column with a number that tells a row from others, whatever its label; of streams with labels."""
INTEGER: Final = r"\A-?[0-9]{1,18}\z"
"""For Java and for RE2; of `$` they think differently before a line end."""
_YEARS: Final = (1, 9999)
"""Those of the calendar, outside of which a date is no term."""
_DATED: Final = r"\A(?!0000)[0-9]{4}-"
"""How the text of a date in these years begins."""
_SECONDS: Final = "cast(unix_micros(`update`) / 1000000bd as decimal(18, 6))"
_INSTANT: Final = f"timestamp_ntz'1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, {_SECONDS})"
"""A timestamp in UTC, whatever the zone of the session is."""


def named(frame: DataFrame, columns: UpdateColumns) -> DataFrame:
    """The rows of a stream with columns `update` (if there is one), `op`, `predicate`, `arg1` …, and all
    others as they are.  What else is said here is said of these.

    This becomes part of the stream's own plan, so that it is put together once and not for every batch.
    """
    own = {columns.update, columns.op, columns.predicate, *columns.arguments, columns.corrupt}
    others = [name for name in frame.columns if name not in own]
    given = {"op": columns.op, "predicate": columns.predicate}
    if columns.update is not None:
        given = {"update": columns.update, **given}
    renamed = [_column(frame, old).alias(new) for new, old in given.items()]
    arguments = [_column(frame, old).alias(f"arg{n}") for n, old in enumerate(columns.arguments, 1)]
    kept = [_column(frame, name).alias(name) for name in others]
    record = [] if columns.corrupt is None else [_column(frame, columns.corrupt).alias(columns.corrupt)]
    return frame.select(*renamed, *arguments, *kept, *record)


def label_of(text_labels: bool) -> Column:
    """The label of a row's update, a text or an integer; null where it is none."""
    from pyspark.sql import functions as F

    return F.col("update").cast("string") if text_labels else F.expr("try_cast(`update` as bigint)")


def dated_labels(kind: str) -> Column:
    """Labels that are dates or times as text, in whose order they are: instants in UTC."""
    from pyspark.sql import functions as F

    label = F.col("update")
    text = label.cast("string")
    if kind == "date":
        return text
    if kind == "timestamp":
        in_utc = F.expr(_INSTANT).cast("string")
        text = F.when(F.year(label).between(_YEARS[0] + 1, _YEARS[1] - 1), in_utc).otherwise(text)
    whole, part = F.substring(text, 1, 19), F.rpad(F.substring(text, 21, 6), 6, "0")
    zone = "Z" if kind == "timestamp" else ""
    return F.when(text.rlike(_DATED), F.concat(whole, F.lit("."), part, F.lit(zone))).otherwise(text)


def fault_of(
    columns: UpdateColumns,
    known: KnownPredicates,
    *,
    text_labels: bool,
    learnt: Collection[tuple[str, int]] = (),
    others: Sequence[Column] = (),
) -> Column:
    """What is wrong with a row: number, message, column; null if nothing is.  Predicates that were `learnt`
    are known too; `others` are faults that are told before those of labels and predicates."""
    from pyspark.sql import functions as F

    faults = [*_faults(columns), *others]
    if columns.update is not None and columns.text_labels and not text_labels:
        faults.append(_label_fault(F.col("update").cast("string"), columns.update))
    of_predicates = F.coalesce(*_predicate_faults(columns, known))
    if learnt:
        of_predicates = F.when(~_is_known(columns, learnt), of_predicates)
    return F.coalesce(*faults, of_predicates)


def is_sure(columns: UpdateColumns, known: KnownPredicates, *, text_labels: bool) -> Column:
    """Whether a row is a fact with which nothing is wrong, said in few words.

    Spark plans a stream anew for each batch, and `fault_of` is long.  Rows that change rules, and facts of
    predicates that rules have brought, may be right without being sure.
    """
    from pyspark.sql import functions as F

    sure = F.col("op").isin("+", "-")
    if columns.corrupt is not None:
        sure &= F.col(columns.corrupt).isNull()
    if columns.update is not None:
        label = F.col("update")
        is_text = columns.text_labels and not text_labels
        sure &= label.cast("string").rlike(INTEGER) if is_text else label.isNotNull()
        if columns.dated_labels:
            sure &= label.cast("string").rlike(_DATED)
    for number, name in enumerate(columns.arguments, 1):
        if name in columns.dated:
            date = F.col(f"arg{number}")
            sure &= date.isNull() | F.year(date).between(*_YEARS)
    predicate = F.col("predicate")
    by_arity: dict[int, list[str]] = {}
    for name, arity in known.arities.items():
        by_arity.setdefault(arity, []).append(name)
    shapes = [predicate.isin(names) & _has(columns, arity) for arity, names in by_arity.items()]
    if known.open_iris:
        another = _is_iri(predicate) & ~predicate.isin(list(known.arities))
        shapes.append(another & (_has(columns, 1) | _has(columns, 2)))
    return F.coalesce(sure & _any(shapes), F.lit(False))


def content_of(columns: UpdateColumns) -> Column:
    """A number of 40 bits, so that many can be added up, which tells rows apart."""
    from pyspark.sql import functions as F

    names = ["op", "predicate", *(f"arg{n + 1}" for n in range(len(columns.arguments)))]
    return F.shiftrightunsigned(F.xxhash64(*names), 24)


def _column(frame: DataFrame, name: str) -> Column:
    """A column; one of text is compared byte by byte, whatever its collation."""
    found = frame[quoted(name)]
    return found.cast("string") if frame.schema[name].dataType.typeName() == "string" else found


def _fault(wrong: Column, number: str, message: Column | str, column: str) -> Column:
    from pyspark.sql import functions as F

    text = F.lit(message) if isinstance(message, str) else message
    said = F.struct(F.lit(number).alias("number"), text.alias("message"), F.lit(column).alias("column"))
    return F.when(wrong, said)


def _label_fault(label: Column, name: str) -> Column:
    from pyspark.sql import functions as F

    message = F.concat(_shown(label), F.lit(" is not an integer, as labels are without text_labels"))
    return _fault(~label.rlike(INTEGER), "T036", message, name)


def _is_known(columns: UpdateColumns, known: Collection[tuple[str, int]]) -> Column:
    """Whether a fact is of one of these predicates."""
    from pyspark.sql import functions as F

    arity = _width(columns)
    return F.concat_ws("/", arity, "predicate").isin([f"{arity}/{name}" for name, arity in known])


def _faults(columns: UpdateColumns) -> list[Column]:
    """An expression for each kind of fault, in the order in which they are told; null where there is none."""
    from pyspark.sql import functions as F

    op, predicate = F.col("op"), F.col("predicate")
    arguments = _arguments_of(columns)
    outside = "a date outside the years {} to {}".format(*_YEARS)
    faults: list[Column] = []

    def fault(wrong: Column, number: str, message: Column | str, column: str) -> None:
        faults.append(_fault(wrong, number, message, column))

    def missing(wrong: Column, what: str, column: str) -> None:
        fault(wrong, MissingPart.number, MissingPart(what=what, field=column).message, column)

    if columns.corrupt is not None:
        fault(
            F.col(columns.corrupt).isNotNull(), "T035", "this line cannot be read as a row of the table", ""
        )
    if columns.update is not None:
        label = F.col("update")
        missing(label.isNull(), "label of the update", columns.update)
        if columns.dated_labels:
            fault(~label.cast("string").rlike(_DATED), "T045", outside, columns.update)
    missing(op.isNull(), "operation", columns.op)
    operations = ("+", "-", ADD_RULE, REMOVE_RULE)
    fault(~op.isin(*operations), "T036", F.concat(_shown(op), F.lit(" is not an operation")), columns.op)
    missing(predicate.isNull() & op.isin("+", "-"), "predicate", columns.predicate)
    missing(predicate.isNull() & (op == REMOVE_RULE), "name of the rule", columns.predicate)
    text = columns.arguments[0] if columns.arguments else "arg1"
    without_text = arguments[0].isNull() if arguments else F.lit(True)
    missing((op == ADD_RULE) & without_text, "text of the rule (arg1)", text)
    given = _sum([argument.isNotNull().cast("int") for argument in arguments])
    gap = MissingArgument(field="").message
    fault(_width(columns) != given, MissingArgument.number, gap, "")
    for name in columns.dated:
        date = arguments[columns.arguments.index(name)]
        in_the_calendar = F.year(date).between(*_YEARS)
        fault(~in_the_calendar, "T045", outside, name)
    return faults


def _predicate_faults(columns: UpdateColumns, known: KnownPredicates) -> list[Column]:
    from pyspark.sql import functions as F

    is_fact = F.col("op").isin("+", "-")
    predicate = F.col("predicate")
    arity = _width(columns)
    faults: list[Column] = []

    def fault(wrong: Column, number: str, message: Column | str, column: str) -> None:
        faults.append(_fault(is_fact & wrong, number, message, column))

    wanted = _arity(predicate, known)
    nowhere = UnknownPredicate(name="\0", hint="").message.split("\0")
    unknown = F.concat(F.lit(nowhere[0]), predicate, F.lit(nowhere[1]))
    iri = _is_iri(predicate)
    if known.open_iris:
        fault(wanted.isNull() & ~iri, UnknownPredicate.number, unknown, columns.predicate)
        wrong = wanted.isNull() & iri & ~arity.isin(1, 2)
        fault(wrong, "T010", _arity_differs(predicate, arity, F.lit("1 or 2 arguments")), "")
    else:
        fault(wanted.isNull(), UnknownPredicate.number, unknown, columns.predicate)
    fault(wanted != arity, "T010", _arity_differs(predicate, arity, _arguments(wanted)), "")
    return faults


def _is_iri(predicate: Column) -> Column:
    return predicate.rlike("^<.*:.*>$") | (predicate.contains(":") & ~predicate.startswith("<"))


def _arguments_of(columns: UpdateColumns) -> list[Column]:
    from pyspark.sql import functions as F

    return [F.col(f"arg{n + 1}") for n in range(len(columns.arguments))]


def _width(columns: UpdateColumns) -> Column:
    """The number of arguments that a row has."""
    from pyspark.sql import functions as F

    arguments = _arguments_of(columns)
    found = (F.when(arguments[n].isNotNull(), n + 1) for n in reversed(range(len(arguments))))
    return F.coalesce(*found, F.lit(0))


def _has(columns: UpdateColumns, arity: int) -> Column:
    """Whether a row has so many arguments, without a gap."""
    from pyspark.sql import functions as F

    given = _arguments_of(columns)
    if arity > len(given):
        return F.lit(False)
    return _all([*(one.isNotNull() for one in given[:arity]), *(one.isNull() for one in given[arity:])])


def _arity(predicate: Column, known: KnownPredicates) -> Column:
    """The number of arguments that a predicate has; null if nobody knows it."""
    from pyspark.sql import functions as F

    if not known.arities:
        return F.lit(None).cast("int")
    pairs = [F.lit(value) for pair in known.arities.items() for value in pair]
    return F.try_element_at(F.create_map(*pairs), predicate)


def _arity_differs(predicate: Column, arity: Column, wanted: Column) -> Column:
    from pyspark.sql import functions as F

    return F.concat(
        predicate, F.lit(" has "), _arguments(arity), F.lit(" here and "), wanted, F.lit(" elsewhere")
    )


def _arguments(arity: Column) -> Column:
    from pyspark.sql import functions as F

    plural = F.concat(arity.cast("string"), F.lit(" arguments"))
    return F.when(arity == 0, "no arguments").when(arity == 1, "1 argument").otherwise(plural)


def _shown(value: Column) -> Column:
    from pyspark.sql import functions as F

    short = F.when(F.length(value) > 60, F.concat(F.substring(value, 1, 57), F.lit("…"))).otherwise(value)
    return F.concat(F.lit('"'), short, F.lit('"'))


def _all(conditions: Sequence[Column]) -> Column:
    from pyspark.sql import functions as F

    return reduce(and_, conditions, F.lit(True))


def _any(conditions: Sequence[Column]) -> Column:
    from pyspark.sql import functions as F

    return reduce(or_, conditions, F.lit(False))


def _sum(numbers: list[Column]) -> Column:
    from pyspark.sql import functions as F

    total: Column = F.lit(0)
    for number in numbers:
        total = total + number
    return total


def told(fault: Mapping[str, object], place: str) -> str:
    """A fault as one line for people."""
    where = f", column {fault['column']}" if fault["column"] else ""
    return f"{place}{where}: {fault['message']} ({fault['number']})"
