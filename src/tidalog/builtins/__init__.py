"""Built-ins: what can be computed from terms, stated so that it can be written a second time.

Everything here is a pure function of terms.  `evaluate` computes an expression, `holds` asks whether a
condition is true, `aggregate` folds a group; `BUILTINS` is the table of functions and operators.  What has
no value raises `CannotCompute`; the literal it stands in is then false.

**Numbers.**  A term is a number if `terms.numeric_value` gives it a value: an int within 64 bits or a
double.  Typed literals (xsd:int, xsd:decimal …) act by that value; results are always `Integer` or
`Double`.  After *every* operation -0.0 becomes 0.0 and every NaN the one NaN.

*  Two integers give an integer for `+ - * %` and for `**` with an exponent of 0 or more (0**0 is 1).  An
   integer result outside [-2**63, 2**63) cannot be computed; that includes `neg`, ABS and `/` of -2**63.
*  An integer meeting a double is converted to double first (nearest, ties to even).  Doubles follow IEEE
   754, overflow to infinity included, with two exceptions: a zero divisor cannot be computed, and a NaN
   that arises although no operand is NaN (inf - inf, 0 * inf) cannot be computed.  NaN operands give NaN.
*  `a / b`: b = 0 (of either type) cannot be computed.  Two integers: the integer quotient if b divides a,
   else double(a) / double(b).
*  `a % b` (REM): b = 0 cannot be computed.  Truncated: the sign is that of a.  -2**63 % -1 is 0.  Doubles
   by fmod; an infinite a cannot be computed.
*  `a ** b` (POW): a = 0 with b < 0 cannot be computed.  Integers with b >= 0 exactly; everything else is
   pow(double(a), double(b)) of C, so a negative integer exponent gives a double, and a negative base with a
   fractional exponent cannot be computed.
*  ABS, `neg`, FLOOR, CEIL, ROUND keep integers integers and doubles doubles.  ROUND takes halves away from
   zero: t = trunc(x), and t + sign(x) if |x - t| >= 0.5.  Infinities and NaN stay.
*  SQRT, LOG, EXP, SIN, COS, TAN convert to double and give a double.  SQRT below 0, LOG at or below 0, SIN,
   COS and TAN of an infinity cannot be computed.  LOG(x, b) is log(x) / log(b); b <= 0 or b = 1 cannot.
*  INT truncates a double toward zero; NaN, infinities and what leaves 64 bits cannot be computed.  DOUBLE
   (FLOAT is the same) converts.  Both take booleans as 1 and 0 and read strings that spell a number.
*  MIN, MAX: by value, integers against doubles compared exactly; of equal numbers the integer; any NaN
   gives NaN.  SUM, PROD: `+`, `*` from left to right.  LUKA(x1 … xn) = MAX(0, SUM(x1 … xn) - (n - 1)).
*  BITAND, BITOR, BITXOR, BITNOT on 64-bit two's complement; BITSHL loses what leaves 64 bits, BITSHR copies
   the sign in, BITSHRU fills zeros; a distance outside 0 to 63 cannot be computed.

**Comparison.**  `=` and `!=` always have a value: two numbers are equal by value (an integer and a double
exactly, without conversion; NaN equals NaN), other terms if they are the same term.  `< <= > >=` compare two
numbers (exactly; false if one is NaN), two strings (by code point), two booleans (false < true) or two
instants (xsd:dateTime and xsd:date, by `terms.instant_value`); any other pair cannot be computed.

**Logic.**  AND is false if any argument is false and OR true if any is true, even if others failed or are
not boolean; else a failure stays one.  IF fails only with its condition or the branch taken; COALESCE skips
failed arguments; BOUND says whether its argument has a value.  A condition holds if its value is `true`.

**Several values.**  `?i = RANGE(1, 3)` gives ?i every integer from 1 to 3, both included; see `generators`.

**Text.**  See `text`: functions take strings and language strings, STR makes a text of any term.

**Aggregates** run over the *distinct* rows of a group; the first column of a row is the value.

*  count: how many rows.  min, max: the first and last value in the order `terms.sort_key` of all terms.
*  sum: integers alone exactly, and no value outside 64 bits; with a double among them all are converted to
   double and the exact sum is rounded once (`math.fsum`), infinite if it overflows; infinities of both signs
   cannot be computed, NaN gives NaN.
*  avg: double(sum) / count of the numbers, always a double; no value where sum has none.
*  median: by value, NaN last; odd count: the middle number; even: (double(a) + double(b)) / 2.0, a double.
*  sum, avg and median pass over rows whose value is not a number (`rows_left_out` counts them); with no row
   left there is no value and the group has no fact.

Functions of the moment or of chance (NOW, RAND, UUID) are absent: they would make the least model depend on
when it is asked for.
"""

from tidalog.builtins.aggregates import aggregate, rows_left_out
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
    "holds",
    "python_value",
    "rows_left_out",
    "term_of_answer",
]
