"""Built-ins: functions of terms, specified precisely enough to be implemented a second time.

Everything here is a pure function of terms.  `evaluate` computes an expression, `holds` tests whether a
condition is true, `aggregate` folds a group; `BUILTINS` is the table of functions and operators.  An
expression without a value raises `CannotCompute`; its literal is then false.

**Numbers.**  A term is a number if `terms.numeric_value` gives it a value: an integer, a decimal or a
double.  Typed literals (xsd:int, xsd:float …) act by that value; results are always integers, decimals or
doubles.  After *every* operation -0.0 becomes 0.0 and every NaN the one NaN.

*  Two integers give an integer for `+ - * % DIV MOD` and for `**` with an exponent of 0 or more (0**0 is
   1).  An integer result outside [-2**63, 2**63) cannot be computed; that includes `neg`, ABS and `/` of
   -2**63.  Larger integers are numbers as well, exact in comparison, as operands and in sums of groups.
*  A decimal with an integer or a decimal gives a decimal, exactly for `+ - * %` and for `**` with an
   integer exponent of 0 or more.  A quotient, and a power with a negative exponent, has 34 significant
   digits, rounded half to even; it is exact where these suffice.  A result of more than 1,000 digits cannot
   be computed.
*  An integer or decimal meeting a double is converted to double first (nearest, ties to even).  Doubles
   follow IEEE 754, overflow to infinity included, with two exceptions: a zero divisor cannot be computed,
   and a NaN that arises although no operand is NaN (inf - inf, 0 * inf) cannot be computed.  NaN operands
   give NaN.
*  `a / b`: b = 0 (of any type) cannot be computed.  Two integers: the integer quotient if b divides a, else
   double(a) / double(b).
*  `a % b` (REM): b = 0 cannot be computed.  Truncated: the sign is that of a.  -2**63 % -1 is 0.  Doubles
   by fmod; an infinite a cannot be computed.  DIV and MOD take integers alone: DIV truncates toward zero,
   MOD is `%`, so that a = DIV(a, b) * b + MOD(a, b).
*  `a ** b` (POW): a = 0 with b < 0 cannot be computed.  Integers with b >= 0 and decimals with an integer b
   exactly; everything else is pow(double(a), double(b)) of C, so an integer with a negative exponent gives
   a double, and a negative base with a fractional exponent cannot be computed.
*  ABS, `neg`, FLOOR, CEIL, ROUND keep the type.  ROUND takes halves away from zero: t = trunc(x), and t +
   sign(x) if |x - t| >= 0.5.  Infinities and NaN stay.
*  SQRT, LOG, EXP, SIN, COS, TAN convert to double and give a double.  SQRT below 0, LOG at or below 0, SIN,
   COS and TAN of an infinity cannot be computed.  LOG(x, b) is log(x) / log(b); b <= 0 or b = 1 cannot.
*  INT truncates toward zero; NaN, infinities and what leaves 64 bits cannot be computed.  DOUBLE (FLOAT is
   the same) converts.  DECIMAL converts a double to the decimal that it is written as.  All take booleans
   as 1 and 0 and read the text of a string or of a literal that spells a number; INT and DOUBLE read
   `0x1F`, `0o17` and `0b11` too.
*  MIN, MAX: by exact value; of equal numbers an integer, then a decimal; any NaN gives NaN.  SUM, PROD:
   `+`, `*` from left to right.  LUKA(x1 … xn) = MAX(0, SUM(x1 … xn) - (n - 1)).
*  BITAND, BITOR, BITXOR, BITNOT on 64-bit two's complement; BITSHL loses what leaves 64 bits, BITSHR copies
   the sign in, BITSHRU fills zeros; a distance outside 0 to 63 cannot be computed.

**Times.**  xsd:dateTime and xsd:date are points in time (a date is its midnight, no zone is UTC), xsd:time
is a time of day, xsd:duration, xsd:dayTimeDuration and xsd:yearMonthDuration are durations of months and of
nanoseconds.  Years are 1 to 9999; there are no leap seconds.

*  A point in time, or a time of day, minus another: an xsd:dayTimeDuration.  Plus or minus a duration: the
   same type in the same zone.  Months come first, and a day that the month lacks becomes its last one.
*  Two durations added or subtracted: their type, or xsd:duration if they differ; months and days of
   opposite signs cannot be computed.  Times or divided by a number: months rounded to the nearest, halves
   up; time exactly if it comes out in nanoseconds, else rounded to microseconds, half to even.  Divided by
   a duration: a decimal, of months or of time alone.
*  Durations of months and of days compare where every month agrees (P1M < P32D); P1M and P30D have no
   order.

**Comparison.**  `=` and `!=` always have a value: numbers, points in time, times of day and durations are
equal by value (NaN equals NaN), other terms if they are the same term.  `< <= > >=` compare two numbers
(false if one is NaN), two strings (by code point), two booleans (false < true), two points in time, two
times of day or two durations; any other pair cannot be computed.  An integer and a double, or an integer
and a decimal, compare exactly; a decimal and a double as doubles, so that 0.1 is 0.1.

**Logic.**  AND is false if any argument is false and OR true if any is true, even if others failed or are
not boolean; else a failure stays one.  IF fails only with its condition or the branch taken; COALESCE skips
failed arguments; BOUND says whether its argument has a value.  A condition holds if its value is `true`.

**Several values.**  `?i = RANGE(1, 3)` gives ?i every integer from 1 to 3, both included; see `generators`.

**Text.**  See `text`: functions take strings and language strings, STR makes a text of any term.

**Aggregates** run over the *distinct* rows of a group; the first column of a row is the value.

*  count: how many rows.  min, max: the first and last value in the order `terms.sort_key` of all terms.
*  sum: integers, of any size, and decimals exactly; with a double among them all are converted to double and
   the exact sum is rounded once (`math.fsum`), infinite if it overflows; infinities of both signs cannot be
   computed, NaN gives NaN.
*  avg: of integers the double nearest to the exact average, rounded once; with decimals a decimal, the exact
   sum divided as by `/`; with doubles their sum divided by the count.
*  median: by value, NaN last; odd count: the middle number; even: the mean of the middle two, a decimal if
   one is a decimal and none a double, else (double(a) + double(b)) / 2.0.
*  sum, avg and median pass over rows whose value is not a number (`rows_left_out` counts them).  A group that
   has no number but durations is folded as durations: by `+` and `/`.  With no row left there is no value and
   the group has no fact.

*  A registered aggregate is a Python function of lists: the values of the group, and one more list for each
   further parameter that it has.  Rows are in the order of terms.  If it raises, or its result is not a term,
   the group has no fact, as with a registered function.

Functions of the current time or of chance (NOW, RAND, UUID) are absent: with them the least model would
depend on when it is computed.
"""

from tidalog.builtins.aggregates import aggregate, exact_average, exact_total, key_of, rows_left_out
from tidalog.builtins.base import Builtin, CannotCompute, Outcome, canonical_text
from tidalog.builtins.evaluation import (
    BUILTINS,
    NO_FUNCTIONS,
    PythonFunction,
    apply,
    call_python,
    evaluate,
    evaluate_all,
    holds,
    python_value,
    term_of_answer,
)
from tidalog.builtins.generators import GENERATORS
from tidalog.builtins.logic import equal

__all__ = [
    "BUILTINS",
    "GENERATORS",
    "NO_FUNCTIONS",
    "Builtin",
    "CannotCompute",
    "Outcome",
    "PythonFunction",
    "aggregate",
    "apply",
    "call_python",
    "canonical_text",
    "equal",
    "evaluate",
    "evaluate_all",
    "exact_average",
    "exact_total",
    "holds",
    "key_of",
    "python_value",
    "rows_left_out",
    "term_of_answer",
]
