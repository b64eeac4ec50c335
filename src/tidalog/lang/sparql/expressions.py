"""Expressions of SPARQL as expressions over built-ins.

Most functions are built-ins of the same name.  What differs is spelled out with other built-ins:

*  A variable that may be unbound fails where SPARQL raises an error.
*  Logic, FILTER and IF take the effective boolean value of strings and numbers.
*  `/` of integers is a decimal, ROUND takes halves up, CONCAT takes strings only, and casts read the
   spellings of XML Schema only.

Differences that remain: `=` is false, not an error, between literals of unknown types, and NaN equals NaN;
`<` does not compare language strings; a double divided by zero is an error; xsd:float is computed as
xsd:double; STR of a double is `1.0`; CONCAT gives plain strings; STRSTARTS and the like do not compare the
languages of their arguments; decimals have up to 34 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, cast

from tidalog.lang.conditions import CONDITIONS
from tidalog.lang.diagnostics import BadStatement
from tidalog.lang.sparql import algebra
from tidalog.lang.sparql.algebra import Aggregation, Exists, Function
from tidalog.lang.sparql.functions import CHANCE, of_chance
from tidalog.lang.sparql.solutions import UNBOUND, Rules, Solutions
from tidalog.model.amounts import counted
from tidalog.model.errors import ProgramError, Span
from tidalog.model.program import COMPARISONS, Call, Condition, Expression, Variable
from tidalog.model.terms import FALSE, TRUE, XSD, Boolean, Integer, LangString, Literal, String

FAILURE: Final = Call("STRLEN", (UNBOUND,))
"""An expression without a value."""
_TESTS: Final = (CONDITIONS - {"IF", "COALESCE"}) | {*COMPARISONS, "IN"}
"""Functions whose value is true or false."""
_LENIENT: Final = frozenset({"AND", "OR", "IN", "IF", "COALESCE", "BOUND"})
"""Functions that may have a value although an argument has none."""
_TEXTS: Final = frozenset(
    {
        "STR",
        "CONCAT",
        "UCASE",
        "LCASE",
        "SUBSTR",
        "REPLACE",
        "STRBEFORE",
        "STRAFTER",
        "ENCODE_FOR_URI",
        "LANG",
    }
    | {"MD5", "SHA1", "SHA256", "SHA384", "SHA512", "STRLANG"}
)
"""Functions whose value is a string, with or without a language."""
_INTEGER: Final = r"^\s*[+-]?[0-9]+\s*$"
_DECIMAL: Final = r"^\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)\s*$"
_DOUBLE: Final = r"^\s*([+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF|NaN)\s*$"
_HALF: Final = Literal("0.5", XSD + "decimal")


def _call(function: str, *arguments: Expression) -> Call:
    return Call(function, arguments)


def negation(truth: Expression) -> Expression:
    if isinstance(truth, Boolean):
        return Boolean(not truth.value)
    return _call("NOT", truth)


def quotient(left: Expression, right: Expression, span: Span | None = None) -> Call:
    """`/`, which is a decimal for integers."""
    exact = _call("IF", _call("ISINTEGER", left), _call("DECIMAL", left), left)
    return Call("/", (exact, right), span)


def _reader(function: str, pattern: str) -> Callable[[Expression], Expression]:
    """A cast to a number, which reads only the strings that match."""

    def read(value: Expression) -> Expression:
        readable = _call("IF", _call("REGEX", value, String(pattern)), _call(function, value), FAILURE)
        return _call("IF", _call("ISSTRING", value), readable, _call(function, value))

    return read


def _to_boolean(value: Expression) -> Expression:
    true, false = (_call("IN", value, *map(String, words)) for words in (("true", "1"), ("false", "0")))
    text = _call("IF", true, TRUE, _call("IF", false, FALSE, FAILURE))
    return _call("IF", _call("ISSTRING", value), text, effective(value))


_CASTS: Final[Mapping[str, Callable[[Expression], Expression]]] = MappingProxyType(
    {
        **{XSD + name: _reader("INT", _INTEGER) for name in ("integer", "int", "long", "short", "byte")},
        XSD + "decimal": _reader("DECIMAL", _DECIMAL),
        **{XSD + name: _reader("DOUBLE", _DOUBLE) for name in ("double", "float")},
        XSD + "string": lambda value: _call("STR", value),
        XSD + "boolean": _to_boolean,
        XSD + "dateTime": lambda value: _call("DATETIME", value),
        XSD + "date": lambda value: _call("DATE", value),
        XSD + "time": lambda value: _call("TIME", value),
    }
)


def is_test(expression: Expression) -> bool:
    """Whether a value is surely true or false."""
    return isinstance(expression, Boolean) or (isinstance(expression, Call) and expression.function in _TESTS)


def effective(value: Expression) -> Expression:
    """The effective boolean value: of numbers whether they are not zero, of strings whether they are not
    empty.  NaN is neither below nor above zero."""
    number = _call("OR", _call("<", value, Integer(0)), _call(">", value, Integer(0)))
    text = _call("IF", _call("ISSTRING", value), _call("!=", value, String("")), FAILURE)
    other = _call("IF", _call("ISNUMERIC", value), number, text)
    return _call("IF", _call("ISBOOLEAN", value), value, other)


Aggregates = Mapping[Aggregation, Variable]
"""The variables that hold the values of aggregates."""
NO_AGGREGATES: Final[Aggregates] = MappingProxyType({})


@dataclass(frozen=True)
class Scope:
    """Where an expression is evaluated: `solutions` have its variables, `exists` says which EXISTS are true,
    `aggregates` which variables hold the aggregates.

    What an expression needs several times is computed once: `steps` collects the literals that do so, which
    hold for every solution.  They go into the body before the literal of the expression.
    """

    solutions: Solutions
    rules: Rules
    exists: Mapping[Exists, bool] = field(default_factory=dict)
    aggregates: Aggregates = field(default_factory=lambda: NO_AGGREGATES)
    steps: list[Condition] = field(default_factory=list)

    def truth(self, expression: algebra.Expression) -> Expression:
        value = self.value(expression)
        return value if is_test(value) else effective(self._once(expression, value))

    def _once(self, expression: algebra.Expression, value: Expression) -> Expression:
        """The value as a variable or a constant.  If there is no value it is `UNBOUND`, which no function
        takes for a number, a string or a boolean."""
        if isinstance(expression, Variable) and expression in self.solutions.columns:
            return expression
        if not isinstance(value, Call):
            return value
        step = self.rules.fresh("step")
        self.steps.append(Condition(Call("=", (step, _call("COALESCE", value, UNBOUND)))))
        return step

    def value(self, expression: algebra.Expression) -> Expression:
        if isinstance(expression, Variable):
            return self._variable(expression)
        if isinstance(expression, Aggregation):
            return self._variable(self.aggregates[expression])
        if isinstance(expression, Exists):
            return Boolean(self.exists[expression])
        if isinstance(expression, Function):
            return self._function(expression)
        return expression

    def _variable(self, variable: Variable) -> Expression:
        if variable in self.solutions.certain:
            return variable
        if variable not in self.solutions.columns:
            return FAILURE
        return _call("IF", _call("=", variable, UNBOUND), _call("STRLEN", variable), variable)

    def _function(self, node: Function) -> Expression:
        match node.name:
            case "BOUND":
                (variable,) = node.arguments
                if variable in self.solutions.certain:
                    return TRUE
                is_column = isinstance(variable, Variable) and variable in self.solutions.columns
                return _call("!=", cast(Variable, variable), UNBOUND) if is_column else FALSE
            case "NOT":
                return negation(self.truth(node.arguments[0]))
            case "AND" | "OR":
                return _connected(node.name, [self.truth(a) for a in node.arguments], node.span)
            case "IF" if len(node.arguments) == 3:
                test, *branches = node.arguments
                return Call("IF", (self.truth(test), *map(self.value, branches)), node.span)
        values = tuple(map(self.value, node.arguments))
        if node.name in CHANCE:
            return self._of_chance(node, values)
        match node.name:
            case "/":
                return quotient(self._once(node.arguments[0], values[0]), values[1], node.span)
            case "ROUND" if len(values) == 1:
                number = self._once(node.arguments[0], values[0])
                rounded = _call("FLOOR", _call("+", number, _HALF))
                return Call("IF", (_call("ISINTEGER", number), number, rounded), node.span)
            case "CONCAT":
                return Call("CONCAT", tuple(map(_text, values)), node.span)
            case name if name in _CASTS:
                return _CASTS[name](self._once(node.arguments[0], values[0]))
        return Call(node.name, values, node.span)

    def _of_chance(self, node: Function, values: tuple[Expression, ...]) -> Call:
        """A function with another value for each solution; NOW has one for the whole query."""
        why = "its value depends on when it is computed, and answers are kept up to date"
        self.rules.refuse_kept(node.name, why, "insert the value as a triple", node.span)
        most = 1 if node.name == "BNODE" else 0
        if len(values) > most:
            problem = f"{node.name} with {counted(len(values), 'argument')}"
            why = "it takes one label at most" if most else "it takes none"
            error = BadStatement(node.span, problem=problem, why=why, advice=f"write {node.name}()")
            raise ProgramError(error)
        if node.name == "NOW":
            return Call(of_chance("NOW"), (Integer(0),), node.span)
        known = self.rules.identity
        columns = tuple(v for v in self.solutions.columns if known is None or v in known)
        return Call(of_chance(node.name), (*(values or (self.rules.number(),)), *columns), node.span)


def _text(value: Expression) -> Expression:
    """A string as it is; SUBSTR fails for everything else."""
    if isinstance(value, String | LangString) or (isinstance(value, Call) and value.function in _TEXTS):
        return value
    return _call("SUBSTR", value, Integer(1))


def _connected(name: str, sides: list[Expression], span: Span | None) -> Expression:
    """AND or OR without the sides that are constants."""
    decisive = Boolean(name == "OR")
    if decisive in sides:
        return decisive
    rest = tuple(side for side in sides if not isinstance(side, Boolean))
    if not rest:
        return Boolean(not decisive.value)
    return rest[0] if len(rest) == 1 else Call(name, rest, span)


def conjuncts(expression: algebra.Expression) -> Iterator[algebra.Expression]:
    """The sides of a top-level `&&`, each of which must be true."""
    stack = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, Function) and node.name == "AND":
            stack.extend(reversed(node.arguments))
        else:
            yield node


def needed(expression: algebra.Expression) -> frozenset[Variable]:
    """The variables without which a filter surely fails."""
    if isinstance(expression, Function) and expression.name == "BOUND":
        return frozenset(a for a in expression.arguments if isinstance(a, Variable))
    return frozenset(node for node in _strict(expression) if isinstance(node, Variable))


def needed_aggregates(expression: algebra.Expression) -> frozenset[Aggregation]:
    """The aggregates without which a filter surely fails."""
    return frozenset(node for node in _strict(expression) if isinstance(node, Aggregation))


def _strict(expression: algebra.Expression) -> Iterator[algebra.Expression]:
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Function) and node.name not in _LENIENT:
            stack.extend(node.arguments)
