"""From a rule with one head to normal form (see `normal`).

*  An expression in the head, in a negated atom or in an aggregate becomes a computation of a fresh variable.
*  An expression in a positive atom, `p(?x + 1)`, becomes a fresh variable with a *test*: the atom binds the
   variable and the test compares by value, so that 3 and 3.0 both match `?x + 1` for ?x = 2.
*  A condition `?v = e` or `e = ?v` is a computation if ?v has no other source, else a test.

Which condition computes a variable does not depend on the order of the body.  Conditions are classified in
rounds; a round uses only variables that were bound before it.  If several conditions can compute a variable,
the simplest wins, by its shape and by where its variables occur, never by their names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tidalog.analysis.diagnostics import DuplicateRuleName, TooManyAlternatives, locate, text_position
from tidalog.analysis.draft import Draft, WorkingRule
from tidalog.analysis.expand import MOST_ALTERNATIVES, count_alternatives, expanded
from tidalog.analysis.normal import AggregateColumn, Argument, Computation, NormalAtom, NormalRule
from tidalog.analysis.rewrite import map_calls, nodes, rule_nodes
from tidalog.analysis.shapes import Shapes
from tidalog.builtins import GENERATORS
from tidalog.model.program import (
    Aggregate,
    Atom,
    BodyLiteral,
    Call,
    Condition,
    Expression,
    Negation,
    Parameter,
    Rule,
    Variable,
)
from tidalog.model.program import variables as variables_of

GENERATED = "@each"
LIFTED = "@"
"""The prefix of variables that stand for expressions; no user can write it."""


def expand_rules(draft: Draft) -> None:
    """One head and a flat body a rule (see `expand`): `r1`, `r1#2`, …"""
    flat: list[WorkingRule] = []
    taken = {working.name: working for working in draft.rules}
    for working in draft.rules:
        rule = working.rule
        count = count_alternatives(rule.body)
        if count > MOST_ALTERNATIVES:
            draft.report(TooManyAlternatives(rule.span, count=count, most=MOST_ALTERNATIVES))
            continue
        for one in expanded(rule, working.name):
            assert one.name is not None
            if one.name != working.name and taken.get(one.name, working) is not working:
                span, first = taken[one.name].rule.span, text_position(rule.span)
                draft.report(DuplicateRuleName(locate(span, one.name), name=one.name, first_position=first))
            flat.append(WorkingRule(one.name, one, working.origin))
    draft.rules = flat


def normalise_rules(draft: Draft) -> None:
    draft.normal = [normal_rule(working) for working in draft.rules]


def normal_rule(working: WorkingRule) -> NormalRule:
    """The normal form of a rule with at most one head.  If the rule is unsafe, the invariants of `normal` do
    not hold; `safety` reports why."""
    rule = _with_generators_apart(working.rule)
    lifting = _Lifting()
    head: NormalAtom | None = None
    aggregates: tuple[AggregateColumn, ...] = ()
    if rule.heads:
        head, aggregates = lifting.head(rule.heads[0])
    atoms = tuple(lifting.positive(literal) for literal in rule.body if isinstance(literal, Atom))
    negations = tuple(lifting.negated(literal.atom) for literal in rule.body if isinstance(literal, Negation))
    conditions = [_comparing(lit.expression) for lit in rule.body if isinstance(lit, Condition)]
    bound = {variable for atom in atoms for variable in atom.variables}
    computations, tests = _without_generators(*_classify(rule, bound, lifting.lifted, conditions))
    return NormalRule(
        working.name,
        head,
        atoms,
        negations,
        computations,
        (*tests, *lifting.tests),
        aggregates,
        working.origin,
        rule.lasting,
    )


def _with_generators_apart(rule: Rule) -> Rule:
    """Every call with several values becomes a variable with an equation of its own."""
    equations: dict[Call, Variable] = {}

    def apart(call: Call) -> Expression:
        if not _is_generator(call):
            return call
        return equations.setdefault(call, Variable(f"{GENERATED}{len(equations) + 1}"))

    if not any(_is_generator(node) for node, _ in rule_nodes(rule)):
        return rule
    # An equation that gives a variable its values stays: a copy of the variable would not be joined.
    bound = {v for literal in rule.body if isinstance(literal, Atom) for v in variables_of(literal)}
    giving = [literal for literal in rule.body if _gives_values(literal, bound)]
    changed = map_calls(replace(rule, body=tuple(lit for lit in rule.body if lit not in giving)), apart)
    added = (Condition(Call("=", (variable, call)), call.span) for call, variable in equations.items())
    return replace(changed, body=(*changed.body, *added, *giving))


def _gives_values(literal: BodyLiteral, bound: set[Variable]) -> bool:
    """Whether a literal is `?v = RANGE(…)` for a variable without another source."""
    match literal:
        case Condition(Call("=", (Variable() as variable, value))) if variable not in bound:
            return _is_generator(value) and not any(_is_generator(node) for node in list(nodes(value))[1:])
    return False


@dataclass
class _Lifting:
    """Lifts expressions out of the arguments of one rule's atoms."""

    lifted: dict[Expression, Variable] = field(default_factory=dict)
    tests: list[Expression] = field(default_factory=list)
    count: int = 0

    def head(self, atom: Atom) -> tuple[NormalAtom, tuple[AggregateColumn, ...]]:
        arguments: list[Argument] = []
        columns: list[AggregateColumn] = []
        for position, argument in enumerate(atom.arguments):
            if isinstance(argument, Aggregate):
                inputs = tuple(self._computed(a) for a in argument.arguments)
                columns.append(AggregateColumn(position, argument.operator, inputs))
                arguments.append(Variable(f"#{argument.operator}{position + 1}"))
            else:
                arguments.append(self._computed(argument))
        return NormalAtom(atom.predicate, tuple(arguments)), tuple(columns)

    def positive(self, atom: Atom) -> NormalAtom:
        return NormalAtom(atom.predicate, tuple(self._matched(a) for a in _plain(atom)))

    def negated(self, atom: Atom) -> NormalAtom:
        return NormalAtom(atom.predicate, tuple(self._computed(a) for a in _plain(atom)))

    def _computed(self, argument: Expression) -> Argument:
        assert not isinstance(argument, Aggregate)
        if not isinstance(argument, Call | Parameter):
            return argument
        variable = self.lifted.get(argument)
        if variable is None:
            variable = self.lifted[argument] = self._fresh()
        return variable

    def _matched(self, argument: Expression) -> Argument:
        assert not isinstance(argument, Aggregate)
        if not isinstance(argument, Call | Parameter) and not _is_generated(argument):
            return argument
        variable = self._fresh()
        self.tests.append(Call("=", (variable, argument)))
        return variable

    def _fresh(self) -> Variable:
        self.count += 1
        return Variable(f"{LIFTED}{self.count}")


def _comparing(condition: Expression) -> Expression:
    """`?x IN (1, 2)` as `OR(?x = 1, ?x = 2)`."""
    if not isinstance(condition, Call) or condition.function != "IN" or len(condition.arguments) < 2:
        return condition
    member, *values = condition.arguments
    return Call("OR", tuple(Call("=", (member, value)) for value in values), condition.span)


def _plain(atom: Atom) -> Iterable[Expression]:
    """The arguments of a body atom, in which the parsers allow no aggregate."""
    return (argument for argument in atom.arguments if not isinstance(argument, Aggregate))


@dataclass(frozen=True, slots=True)
class _Candidate:
    variable: Variable
    expression: Expression
    condition: int
    """The index of its condition."""


def _classify(
    rule: Rule, bound: set[Variable], lifted: dict[Expression, Variable], conditions: list[Expression]
) -> tuple[tuple[Computation, ...], tuple[Expression, ...]]:
    """Conditions and lifted expressions as computations, in an order in which they can be evaluated, and
    tests."""
    bound = set(bound)
    computations: list[Computation] = []
    waiting = {variable: expression for expression, variable in lifted.items()}
    open_: dict[int, Expression] = {
        number: condition for number, condition in enumerate(conditions) if _is_equation(condition)
    }
    shapes = Shapes(rule)
    while True:
        ready = [v for v, e in waiting.items() if bound.issuperset(variables_of(e))]
        chosen = _choose(_candidates(open_, bound), shapes)
        if not ready and not chosen:
            break
        computations.extend(Computation(variable, waiting.pop(variable)) for variable in ready)
        for candidate in chosen:
            computations.append(Computation(candidate.variable, candidate.expression))
            shapes.define(candidate.variable, candidate.expression)
            del open_[candidate.condition]
        bound.update(c.variable for c in computations)
    computed = {number for number, c in enumerate(conditions) if _is_equation(c) and number not in open_}
    # The remaining conditions lack an input; they stay in the rule for `safety` to report.
    computations.extend(Computation(variable, expression) for variable, expression in waiting.items())
    tests = tuple(c for number, c in enumerate(conditions) if number not in computed)
    return tuple(computations), tests


def _without_generators(
    computations: tuple[Computation, ...], tests: tuple[Expression, ...]
) -> tuple[tuple[Computation, ...], tuple[Expression, ...]]:
    """`?v = RANGE(…)` as a test, where another equation gives ?v its values: ?v is one of the values."""
    more: list[Computation] = []

    def tested(test: Expression) -> Expression:
        if not (isinstance(test, Call) and test.function == "="):
            return test
        sides: list[Expression] = []
        for side in test.arguments:
            if _is_generator(side):
                more.append(Computation(Variable(f"{GENERATED} {len(more) + 1}"), side))
                side = more[-1].variable
            sides.append(side)
        return replace(test, arguments=tuple(sides))

    tests = tuple(map(tested, tests))
    return (*computations, *more), tests


def _is_equation(condition: Expression) -> bool:
    return isinstance(condition, Call) and condition.function == "=" and len(condition.arguments) == 2


def _candidates(open_: dict[int, Expression], bound: set[Variable]) -> dict[Variable, list[_Candidate]]:
    found: dict[Variable, list[_Candidate]] = {}
    for number, condition in open_.items():
        assert isinstance(condition, Call)
        left, right = condition.arguments
        for target, source in ((left, right), (right, left)):
            if (
                isinstance(target, Variable)
                and target not in bound
                and (not _is_generated(target) or _is_generator(source))
                and bound.issuperset(variables_of(source))
            ):
                found.setdefault(target, []).append(_Candidate(target, source, number))
    return found


def _is_generator(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function in GENERATORS


def _is_generated(expression: Expression | Aggregate) -> bool:
    """Whether a variable stands for a call with several values."""
    return isinstance(expression, Variable) and expression.name.startswith(GENERATED)


def _choose(candidates: dict[Variable, list[_Candidate]], shapes: Shapes) -> list[_Candidate]:
    return [
        options[0] if len(options) == 1 else min(options, key=lambda option: shapes.key(option.expression))
        for options in candidates.values()
    ]
