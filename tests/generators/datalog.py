"""Generated programs: safe, stratified, small, and seldom without a result.

A program is built upwards.  Explicit predicates come first, with a few facts over a small domain; then
layers of derived predicates.  A rule of a layer reads lower layers freely, and its own layer positively
(recursion: linear, non-linear, mutual); negation and aggregation look at lower layers only.  So every
program is stratified by construction.  It is safe because every variable outside the positive atoms is
chosen from those that they bind.

It ends because a rule that reads its own layer makes new values only by `?m = ?n + k` with k > 0 and
`?n >= 0, ?n < 20`: from each number of the facts at most twenty steps go up.

Shrinking goes to fewer layers, fewer rules, fewer literals, smaller terms, because each choice puts the
plain case first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import strategies as st

from tidalog.model.program import (
    AGGREGATES,
    COMPARISONS,
    Aggregate,
    Atom,
    BodyLiteral,
    Call,
    Condition,
    Disjunction,
    Expression,
    Fact,
    Negation,
    Program,
    Rule,
    Variable,
)
from tidalog.model.terms import (
    FALSE,
    INT64_MAX,
    INT64_MIN,
    IRI,
    TRUE,
    XSD,
    BlankNode,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
)

BOUND_OF_COUNTERS = 20
T = TypeVar("T")


@dataclass(frozen=True)
class Features:
    """What a generated program may use.  Positive rules over constants and integers are always there."""

    negation: bool = True
    aggregates: tuple[str, ...] = AGGREGATES
    arithmetic: bool = True
    functions: bool = True
    all_terms: bool = True
    wide: bool = True
    several_heads: bool = True
    choices: bool = True
    """Disjunctions, lists of values, ranges, and aggregates inside expressions."""


EVERYTHING = Features()
PLAIN = Features(False, (), False, False, False, False, False, False)


# --- terms ------------------------------------------------------------------------------------------

SMALL_TERMS: tuple[Term, ...] = (*map(IRI, "abc"), *map(Integer, range(4)))
ODD_TERMS: tuple[Term, ...] = (
    String("a"),
    String("b c"),
    String(""),
    Double(1.0),
    Double(0.5),
    Double(-2.0),
    LangString("a", "en"),
    TRUE,
    FALSE,
    BlankNode("b1"),
    IRI("http://example.org/ü"),
    Literal("2", XSD + "int"),
    Literal("2024-05-01", XSD + "date"),
    Literal("12345678901234567890", XSD + "integer"),
    Literal("1", XSD + "decimal"),
    Literal("0.5", XSD + "decimal"),
    Literal("-2.75", XSD + "decimal"),
    Literal("2024-05-01T12:00:00Z", XSD + "dateTime"),
    Literal("2024-04-30T22:00:00.5-02:00", XSD + "dateTime"),
    Literal("12:30:00", XSD + "time"),
    Literal("P1DT12H", XSD + "dayTimeDuration"),
    Literal("-PT0.5S", XSD + "dayTimeDuration"),
    Literal("P1M", XSD + "yearMonthDuration"),
    Double(float("inf")),
    Double(float("nan")),
    Integer(-7),
    Integer(INT64_MAX),
    Integer(INT64_MIN),
)


def terms() -> st.SearchStrategy[Term]:
    """Terms of every kind, the usual ones more often than the odd ones."""
    text = st.text(max_size=5)
    return st.one_of(
        st.sampled_from(SMALL_TERMS),
        st.sampled_from(ODD_TERMS),
        st.integers(INT64_MIN, INT64_MAX).map(Integer),
        st.floats().map(Double),
        text.map(String),
        st.builds(LangString, text, st.sampled_from(("en", "de-at"))),
        st.text("abcxyz:/", min_size=1, max_size=6).map(IRI),
    )


def spelt_literals() -> st.SearchStrategy[Literal]:
    """Literals as a user of Python may spell them, such as `007`, which is the integer 7."""
    zeros, signs = st.sampled_from(("", "0", "00")), st.sampled_from(("", "-", "+"))
    digits = st.integers(0, 2**70).map(str)
    return st.builds(
        lambda sign, zeros, number, name: Literal(sign + zeros + number, XSD + name),
        signs,
        zeros,
        digits | st.sampled_from(("1.50", "5.", "seven")),
        st.sampled_from(("integer", "integer", "double", "boolean", "string", "decimal", "int")),
    )


# --- rules ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Predicate:
    name: str
    arity: int
    layer: int


VARIABLES = tuple(map(Variable, "xyzuvwabcdefghijklmnopqrst"))
ARITIES = (2, 2, 1, 2, 1, 3, 2, 1, 0, 4)
WIDE_ARITIES = (*ARITIES, 5, 8)


class RuleBuilder:
    """Draws one rule.  Every method appends to the body or gives arguments from what is bound so far."""

    def __init__(self, draw: st.DrawFn, domain: Sequence[Term], features: Features) -> None:
        self.draw = draw
        self.domain = domain
        self.features = features
        self.body: list[BodyLiteral] = []
        self.bound: list[Variable] = []
        self.members: list[Variable] = []
        """Those that only `?x IN (…)` binds: it is a test where an equation could give them a value."""
        self.fresh = 0

    def pick(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(options))

    def sometimes(self, one_in: int) -> bool:
        """False is the plain case that shrinking prefers."""
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1

    def anonymous(self) -> Variable:
        self.fresh += 1
        return Variable(f"_#{self.fresh}")

    def new_variable(self) -> Variable:
        self.fresh += 1
        return Variable(f"n{self.fresh}")

    def constant(self) -> Term:
        return self.pick(self.domain)

    def bound_argument(self) -> Expression:
        """A bound variable, or seldom a constant."""
        if not self.bound or self.sometimes(8):
            return self.constant()
        return self.pick(self.bound)

    def add_atom(self, predicate: Predicate) -> None:
        """Joined with what is there by one variable; the others are new ones while there are any."""
        arguments: list[Expression] = []
        joined = self.draw(st.integers(0, predicate.arity - 1)) if predicate.arity and self.bound else -1
        for place in range(predicate.arity):
            unused = [v for v in VARIABLES if v not in self.bound and v not in arguments]
            if self.sometimes(15):
                arguments.append(self.constant())
            elif place == joined or (self.bound and self.sometimes(8)):
                arguments.append(self.pick(self.bound))
            elif (named := [a for a in arguments if a in VARIABLES]) and self.sometimes(12):
                arguments.append(self.pick(named))
            elif self.sometimes(8):
                arguments.append(self.anonymous())
            else:
                arguments.append(unused[0])
        self.body.append(Atom(predicate.name, tuple(arguments)))
        for argument in arguments:
            if isinstance(argument, Variable) and not argument.anonymous and argument not in self.bound:
                self.bound.append(argument)

    def add_negation(self, predicate: Predicate) -> None:
        arguments = tuple(
            self.anonymous() if self.sometimes(6) else self.bound_argument() for _ in range(predicate.arity)
        )
        self.body.append(Negation(Atom(predicate.name, arguments)))

    def add_comparison(self) -> None:
        operator = self.pick(("!=", "!=", "!=", *COMPARISONS))
        left = self.bound_argument()
        others = [v for v in self.bound if v != left]
        sides = (left, self.pick(others) if others and not self.sometimes(3) else self.constant())
        self.body.append(Condition(Call(operator, sides)))

    def add_choice(self, sources: Sequence[Predicate]) -> None:
        """One of two literals over what is bound."""
        before, self.body = self.body, []
        parts: list[tuple[BodyLiteral, ...]] = []
        for _ in range(2):
            if self.sometimes(3):
                self.add_comparison()
            else:
                predicate = self.pick(sources)
                arguments = tuple(
                    self.anonymous() if self.sometimes(4) else self.bound_argument()
                    for _ in range(predicate.arity)
                )
                self.body.append(Atom(predicate.name, arguments))
            parts.append(tuple(self.body))
            self.body = []
        self.body = [*before, Disjunction(tuple(parts))]

    def add_membership(self) -> None:
        values = tuple(self.constant() for _ in range(self.draw(st.integers(1, 3))))
        member = self.bound_argument()
        if self.sometimes(4):
            member = self.new_variable()
            self.bound.append(member)
            self.members.append(member)
        self.body.append(Condition(Call("IN", (member, *values))))

    def add_range(self) -> None:
        first, last = (Integer(self.draw(st.integers(-1, 4))) for _ in range(2))
        known = [variable for variable in self.bound if variable not in self.members]
        variable = self.pick(known) if known and self.sometimes(3) else self.new_variable()
        end: Expression = last if self.sometimes(2) else self.bound_argument()
        if not isinstance(end, Integer) and not self.features.arithmetic:
            end = last
        self.body.append(Condition(Call("=", (variable, Call("RANGE", (first, Call("MIN", (end, last))))))))
        if variable not in self.bound:
            self.bound.append(variable)

    def add_counter_step(self) -> None:
        """`?m = ?n + k, ?n >= 0, ?n < 20`: the only way to a new value within a cycle."""
        if not self.bound:
            return
        number, result = self.pick(self.bound), self.new_variable()
        step = Integer(self.draw(st.integers(1, 3)))
        self.body.append(Condition(Call(">=", (number, Integer(0)))))
        self.body.append(Condition(Call("<", (number, Integer(BOUND_OF_COUNTERS)))))
        self.body.append(Condition(Call("=", (result, Call("+", (number, step))))))
        self.bound.append(result)

    def add_computation(self) -> None:
        result = self.new_variable()
        sides: tuple[Expression, ...] = (result, self.expression())
        if self.sometimes(4):
            sides = sides[::-1]
        self.body.append(Condition(Call("=", sides)))
        self.bound.append(result)

    def expression(self) -> Expression:
        arithmetic = (("+", 2), ("-", 2), ("*", 2), ("/", 2), ("%", 2), ("neg", 1), ("ABS", 1), ("MAX", 2))
        on_any = (
            ("STR", 1),
            ("CONCAT", 2),
            ("FULLSTR", 1),
            ("ISNUMERIC", 1),
            ("STRLEN", 1),
            ("UCASE", 1),
            ("DATATYPE", 1),
            ("COALESCE", 2),
            ("ROUND", 1),
            ("**", 2),
        )
        name, arity = self.pick((*arithmetic, *on_any) if self.features.functions else arithmetic[:3])
        return Call(name, tuple(self.bound_argument() for _ in range(arity)))

    def head(self, predicate: Predicate) -> Atom:
        return Atom(predicate.name, tuple(self.bound_argument() for _ in range(predicate.arity)))

    def aggregate_head(self, predicate: Predicate) -> Atom:
        """At least one aggregate; the other arguments are the group."""
        places = {self.draw(st.integers(0, predicate.arity - 1))}
        if self.sometimes(5):
            places.add(self.draw(st.integers(0, predicate.arity - 1)))
        return Atom(
            predicate.name,
            tuple(self.folded() if n in places else self.bound_argument() for n in range(predicate.arity)),
        )

    def folded(self) -> Expression:
        """An aggregate, or seldom an expression over one."""
        if not self.features.choices or not self.sometimes(4):
            return self.aggregate()
        beside = self.aggregate() if self.sometimes(3) else self.bound_argument()
        return Call(self.pick(("+", "-", "MAX")), (self.aggregate(), beside))

    def aggregate(self) -> Aggregate:
        operator = self.pick(self.features.aggregates)
        return Aggregate(operator, tuple(self.bound_argument() for _ in range(1 + self.sometimes(3))))


def _rule(
    draw: st.DrawFn,
    head: Predicate,
    lower: Sequence[Predicate],
    own: Sequence[Predicate],
    domain: Sequence[Term],
    features: Features,
    shapes: Sequence[str],
) -> Rule:
    """A rule for `head`; `own` are the predicates of its layer that it may read, if any."""
    builder = RuleBuilder(draw, domain, features)
    recursive = bool(own) and not builder.sometimes(4)
    sources = list(lower)
    for number in range(draw(st.integers(1, 3))):
        options = list(own) if recursive and number == 0 else [*sources, *own] if recursive else sources
        predicate = builder.pick(options)
        builder.add_atom(predicate)
    if "negation" in shapes and features.negation and not builder.sometimes(2):
        negated = builder.pick(sources)
        builder.add_negation(negated)
    if builder.sometimes(4):
        builder.add_comparison()
    if features.choices and builder.sometimes(6):
        builder.add_choice(sources)
    if features.choices and builder.sometimes(8):
        builder.add_membership()
    if features.choices and not recursive and builder.sometimes(8):
        builder.add_range()
    if recursive:
        if features.arithmetic and builder.sometimes(3):
            builder.add_counter_step()
    elif features.arithmetic and builder.sometimes(3):
        builder.add_computation()
    heads = [
        builder.aggregate_head(head)
        if "aggregate" in shapes and features.aggregates and head.arity and not recursive
        else builder.head(head)
    ]
    return Rule(tuple(heads), tuple(draw(st.permutations(builder.body))))


@st.composite
def programs(draw: st.DrawFn, features: Features = EVERYTHING) -> Program:
    """A whole program with its facts."""
    arities = WIDE_ARITIES if features.wide else ARITIES
    domain = _domain(draw, features)
    explicit = [
        Predicate(f"e{number}", draw(st.sampled_from(arities)), 0)
        for number in range(draw(st.integers(1, 3)))
    ]
    facts = [fact for predicate in explicit for fact in _facts(draw, predicate, domain, 12)]
    known: list[Predicate] = list(explicit)
    rules: list[Rule] = []
    for layer in range(1, 1 + draw(st.integers(1, 3))):
        own = [
            Predicate(f"p{layer}{'ab'[n]}", draw(st.sampled_from(arities)), layer)
            for n in range(draw(st.sampled_from((1, 1, 2))))
        ]
        for predicate in own:
            shapes = ("negation",) if layer > 1 or draw(st.booleans()) else ()
            if draw(st.integers(0, 3)) == 3:
                shapes = (*shapes, "aggregate")
            readable: Sequence[Sequence[Predicate]] = [(), *[own] * draw(st.integers(0, 2))]
            rules.extend(_rule(draw, predicate, known, r, domain, features, shapes) for r in readable)
            if draw(st.integers(0, 5)) == 5:
                facts.extend(_facts(draw, predicate, domain, 3))
        if features.several_heads and len(own) == 2 and draw(st.booleans()):
            rules.append(_two_heads(draw, own, known, domain, features))
        known.extend(own)
    return Program(rules=tuple(rules), facts=tuple(dict.fromkeys(facts)))


def _two_heads(
    draw: st.DrawFn,
    own: Sequence[Predicate],
    lower: Sequence[Predicate],
    domain: Sequence[Term],
    features: Features,
) -> Rule:
    builder = RuleBuilder(draw, domain, features)
    predicate = builder.pick(lower)
    builder.add_atom(predicate)
    return Rule(tuple(builder.head(p) for p in own), tuple(builder.body))


def _domain(draw: st.DrawFn, features: Features) -> tuple[Term, ...]:
    """A handful of terms, so that joins meet."""
    names = draw(st.lists(st.sampled_from(SMALL_TERMS[:3]), min_size=1, max_size=3, unique=True))
    numbers = draw(st.lists(st.sampled_from(SMALL_TERMS[3:]), min_size=2, max_size=4, unique=True))
    odd = draw(st.lists(st.sampled_from(ODD_TERMS), max_size=3, unique=True)) if features.all_terms else []
    return (*names, *numbers, *odd)


def _facts(draw: st.DrawFn, predicate: Predicate, domain: Sequence[Term], most: int) -> list[Fact]:
    row = st.tuples(*(st.sampled_from(domain) for _ in range(predicate.arity)))
    least = 1 if predicate.layer else 6
    rows = draw(st.lists(row, min_size=least, max_size=most))
    return [Fact(predicate.name, r) for r in dict.fromkeys(rows)]
