"""The program: one immutable syntax tree that every dialect lowers to.

Nothing here computes.  Equality is structural and ignores positions in the source (`span`), so that
`parse(print(program)) == program` can be tested directly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Final, Literal

from tidalog.model.errors import Source, Span
from tidalog.model.terms import IRI, Term

AGGREGATES: Final = ("count", "sum", "min", "max", "avg", "median")
WITNESS: Final = IRI("…")
"""This very object stands for arguments that are not known, in facts which only show that a predicate has
facts."""
COMPARISONS: Final = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Variable:
    """`?name`.  The anonymous variables of a rule are named `_#1`, `_#2`, … in order of occurrence, which
    no user can write; they print as `_`."""

    name: str

    @property
    def anonymous(self) -> bool:
        return self.name.startswith("_#")


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name`: replaced by its value when the program is prepared."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A built-in or registered function applied to arguments.

    `function` is an operator (`+ - * / % ** = != < <= > >=`, `neg` for unary minus) or a name in
    upper case for built-ins (`ABS`, `CONCAT`, `ISIRI` …); f-strings are `CONCAT` over `STR`.
    """

    function: str
    arguments: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
    is_format_string: bool = field(default=False, compare=False, repr=False)
    """Whether it is written as an f-string."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`#sum(?v, ?id)`: over the distinct tuples of `arguments`; the first is the value.  It stands in a head,
    as an argument or inside an expression (`#count(?y) * 2`, a call among whose arguments it is)."""

    operator: str
    arguments: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


Expression = Term | Variable | Parameter | Call | Aggregate


@dataclass(frozen=True, slots=True)
class Atom:
    """`predicate(arguments)`; aggregates only in heads.  `predicate` is an identifier or a full IRI."""

    predicate: str
    arguments: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def arity(self) -> int:
        return len(self.arguments)


@dataclass(frozen=True, slots=True)
class Negation:
    """`~atom`: no fact matches; a variable that occurs here only is local to it."""

    atom: Atom
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Condition:
    """A boolean expression that must be true: a comparison, a computation `?m = ?n + 1`, or any call."""

    expression: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Disjunction:
    """`(p(?x) ; q(?x), ?x > 3)`: one of the alternatives holds.  There are at least two, none empty."""

    alternatives: tuple[tuple[BodyLiteral, ...], ...]
    span: Span | None = field(default=None, compare=False, repr=False)


FlatLiteral = Atom | Negation | Condition
BodyLiteral = FlatLiteral | Disjunction


@dataclass(frozen=True, slots=True)
class Rule:
    """`name: heads :- body.`  No head at all is a constraint: its body must have no match."""

    heads: tuple[Atom, ...]
    body: tuple[BodyLiteral, ...]
    name: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    lasting: int = 0
    """Microseconds for which the facts of the body must still stay; 0 in every rule that has a text."""

    @property
    def is_constraint(self) -> bool:
        return not self.heads


@dataclass(frozen=True, slots=True)
class Fact:
    predicate: str
    arguments: tuple[Term, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


OptionValue = str | int | float | bool | Call | Parameter | Variable | tuple["OptionValue", ...]
"""A call, a parameter or a variable is replaced by its value when the program is loaded."""


@dataclass(frozen=True, slots=True)
class DataBinding:
    """The `csv{resource = "…", format = (string, int)}` of an @import or @export.  `format` is the name
    before the brace (csv, tsv, dsv, parquet, ndjson, json, arrow, ntriples, turtle, rdf, …)."""

    predicate: str
    format: str
    options: Mapping[str, OptionValue]
    span: Span | None = field(default=None, compare=False, repr=False)
    computed: Mapping[str, Expression] = field(default_factory=lambda: MappingProxyType({}))
    """The variables of the options, by name: `csv{…}, ?x = "edges"`."""


@dataclass(frozen=True, slots=True)
class Column:
    """An argument of a declared predicate: its name, if it has one, and the name of its type
    (`model.column_types`)."""

    name: str | None
    type: str = "any"


@dataclass(frozen=True, slots=True)
class Declaration:
    """`@declare reading(turbine: string, value: double)`: names and types of the arguments of a predicate."""

    predicate: str
    columns: tuple[Column, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def arity(self) -> int:
        return len(self.columns)

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(column.type for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns: `arg2` for one without a name."""
        return tuple(column.name or f"arg{number}" for number, column in enumerate(self.columns, 1))

    @property
    def is_named(self) -> bool:
        """Whether all columns have names."""
        return bool(self.columns) and all(column.name is not None for column in self.columns)

    @property
    def is_typed(self) -> bool:
        """Whether a column has a type that not every term has."""
        return any(column.type != "any" for column in self.columns)


WindowKind = Literal["range", "tumbling", "landmark", "count"]


@dataclass(frozen=True, slots=True)
class Window:
    """`@window recent :- edge, range 10s step 1s`: the facts of a stream that are recent enough.

    `source` is the predicate whose facts come in, and `name` the one that holds those in the window: the same
    if the window has no name of its own.
    """

    name: str
    source: str
    kind: WindowKind
    length: int = 0
    """Microseconds; of `count`, how many arrivals; of `landmark`, 0."""
    step: int = 1
    """Microseconds from one slide to the next."""
    time: str = ""
    """The declared argument of the stream that has the times of its facts; empty if times come otherwise."""
    span: Span | None = field(default=None, compare=False, repr=False)


NOTHING_DECLARED: Final[Mapping[str, Declaration]] = MappingProxyType({})


@dataclass(frozen=True)
class Program:
    """The contents of one or several texts.  Each field is in text order."""

    rules: tuple[Rule, ...] = ()
    facts: tuple[Fact, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    base: str | None = None
    imports: tuple[DataBinding, ...] = ()
    exports: tuple[DataBinding, ...] = ()
    outputs: tuple[str, ...] = ()
    declarations: tuple[Declaration, ...] = ()
    windows: tuple[Window, ...] = ()
    equalities: tuple[str, ...] = ()
    """The predicates whose facts say that two terms are the same individual (`@equality`)."""
    parameters: Mapping[str, Expression | None] = field(default_factory=lambda: MappingProxyType({}))
    queries_triples: bool = False
    """Whether continuous queries read triples: `ex:p(a, b)` is one then, also where nothing has `triple`."""
    source: Source | None = field(default=None, compare=False, repr=False)

    @cached_property
    def declared(self) -> Mapping[str, Declaration]:
        """The declarations by predicate; the first, if there are several."""
        found: dict[str, Declaration] = {}
        for declaration in self.declarations:
            found.setdefault(declaration.predicate, declaration)
        return found

    @cached_property
    def time_arguments(self) -> Mapping[str, int]:
        """The number (from 0) of the argument that has the time, by stream."""
        found: dict[str, int] = {}
        for window in self.windows:
            declaration = self.declared.get(window.source)
            if window.time and declaration is not None and window.time in declaration.names:
                found.setdefault(window.source, declaration.names.index(window.time))
        return found

    def argument_names(self, predicate: str, arity: int) -> tuple[str, ...]:
        """The names of the columns of a predicate: those that are declared, else `arg1`, `arg2` …"""
        declaration = self.declared.get(predicate)
        if declaration is None or declaration.arity != arity:
            return tuple(f"arg{number}" for number in range(1, arity + 1))
        return declaration.names


def flat_literals(body: Sequence[BodyLiteral]) -> Iterator[FlatLiteral]:
    """The literals of a body and of the alternatives inside it, in order of occurrence."""
    stack = list(reversed(body))
    while stack:
        item = stack.pop()
        if isinstance(item, Disjunction):
            stack.extend(reversed([literal for part in item.alternatives for literal in part]))
        else:
            yield item


def variables(node: Expression | BodyLiteral) -> Iterator[Variable]:
    """The variables in a node in order of occurrence, with repetitions.  Does not recurse on depth."""
    stack: list[Expression | BodyLiteral] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, Variable):
            yield item
        elif isinstance(item, Call | Aggregate | Atom):
            stack.extend(reversed(item.arguments))
        elif isinstance(item, Negation):
            stack.append(item.atom)
        elif isinstance(item, Condition):
            stack.append(item.expression)
        elif isinstance(item, Disjunction):
            stack.extend(reversed([literal for body in item.alternatives for literal in body]))
