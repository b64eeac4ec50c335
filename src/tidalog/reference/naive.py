"""Naive evaluation: the stratified least model, straight from the definition.

The strata are evaluated in order.  Within one, all its clauses are applied to all known facts until nothing
new is derived.  A clause with an aggregate or a negation reads lower strata only, which no longer change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from tidalog.builtins import BUILTINS, NO_FUNCTIONS, CannotCompute, PythonFunction, aggregate, key_of
from tidalog.builtins import evaluate as value_of
from tidalog.model.program import AGGREGATES, Aggregate, Atom, Call, Expression, Program, Rule, Variable
from tidalog.model.terms import Term
from tidalog.reference.clauses import Clause, NotEvaluable, aggregates_in, clauses_of, explicit_facts
from tidalog.reference.equality import with_equality_rules
from tidalog.reference.matching import Bindings, Facts, Row, matches, schedule
from tidalog.reference.strata import strata

Model = Mapping[str, frozenset[Row]]
NO_PARAMETERS: Mapping[str, Term] = MappingProxyType({})


def evaluate(
    program: Program,
    facts: Mapping[str, set[Row]] | None = None,
    *,
    parameters: Mapping[str, Term] = NO_PARAMETERS,
    functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
    max_facts: int = 1_000_000,
) -> Model:
    """Every fact that is true: explicit ones and derived ones, by predicate.

    `facts` are additional facts (the caller reads imports).  Every predicate of the program has an entry, an
    empty one if it has no fact.  Constraints are not checked; see `violations`.  Raises `NotEvaluable` for a
    program without a meaning, `OverflowError` beyond `max_facts`.
    """
    by_name = _by_name(functions)
    given = ((name, len(row)) for name, rows in (facts or {}).items() for row in list(rows)[:1])
    program = with_equality_rules(program, given)
    clauses = clauses_of(program, parameters, by_name)
    for clause in clauses:
        for part in clause.parts:
            _check_functions(part, by_name)
            schedule(part)
    known: dict[str, set[Row]] = defaultdict(set, explicit_facts(program, facts or {}))
    for clause in clauses:
        for atom in clause.all_atoms:
            known.setdefault(atom.predicate, set())
    for stratum in strata(clauses):
        while _apply_all(stratum, known, by_name):
            if sum(map(len, known.values())) > max_facts:
                raise OverflowError(f"more than {max_facts} facts")
    return MappingProxyType({predicate: frozenset(rows) for predicate, rows in known.items()})


def _apply_all(
    clauses: tuple[Clause, ...], known: dict[str, set[Row]], functions: Mapping[str, PythonFunction]
) -> bool:
    """Adds what the clauses derive from the facts known before the call; returns whether anything was new."""
    derived: list[tuple[str, set[Row]]] = []
    for clause in clauses:
        assert clause.head is not None
        rows = (
            _aggregated(clause, clause.head, known, functions)
            if clause.aggregates
            else _heads(clause, clause.head, known, functions)
        )
        derived.append((clause.head.predicate, rows - known[clause.head.predicate]))
    for predicate, rows in derived:
        known[predicate] |= rows
    return any(rows for _, rows in derived)


def _heads(clause: Clause, head: Atom, facts: Facts, functions: Mapping[str, PythonFunction]) -> set[Row]:
    rows = set()
    for bindings in matches(clause, facts, functions):
        row = _values(tuple(a for a in head.arguments if not isinstance(a, Aggregate)), bindings, functions)
        if row is not None:
            rows.add(row)
    return rows


def _values(
    expressions: tuple[Expression, ...], bindings: Bindings, functions: Mapping[str, PythonFunction]
) -> Row | None:
    """The values of expressions; None if one of them has none, for then the match derives nothing."""
    try:
        return tuple(value_of(expression, bindings, functions) for expression in expressions)
    except CannotCompute:
        return None


def _aggregated(
    clause: Clause, head: Atom, facts: Facts, functions: Mapping[str, PythonFunction]
) -> set[Row]:
    """One row for each group: each distinct value of the arguments without an aggregate, and of the variables
    beside the aggregates in the others."""
    plain = tuple(a for a in head.arguments if not aggregates_in(a))
    beside = tuple(v for a in head.arguments if aggregates_in(a) for v in _beside(a))
    folds = tuple(f for a in head.arguments for f in aggregates_in(a))
    groups: dict[Row, list[set[Row]]] = {}
    for bindings in (found for part in clause.parts for found in matches(part, facts, functions)):
        group = _values((*plain, *beside), bindings, functions)
        parts = [_values(fold.arguments, bindings, functions) for fold in folds]
        if group is None or any(part is None for part in parts):
            continue
        for rows, part in zip(groups.setdefault(group, [set() for _ in folds]), parts, strict=True):
            if part is not None:
                rows.add(part)
    result = set()
    for group, collected in groups.items():
        try:
            folded = iter(
                [aggregate(f.operator, rows, functions) for f, rows in zip(folds, collected, strict=True)]
            )
        except CannotCompute:
            continue
        others = iter(group)
        known = dict(zip(beside, group[len(plain) :], strict=True))
        row = _values(
            tuple(_with_results(a, folded) if aggregates_in(a) else next(others) for a in head.arguments),
            known,
            functions,
        )
        if row is not None:
            result.add(row)
    return result


def _beside(expression: Expression) -> Iterator[Variable]:
    """The variables of an expression that are not inside an aggregate."""
    if isinstance(expression, Variable):
        yield expression
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from _beside(argument)


def _with_results(expression: Expression, results: Iterator[Term]) -> Expression:
    """The expression with the results of its aggregates in their stead."""
    if isinstance(expression, Aggregate):
        return next(results)
    if isinstance(expression, Call):
        return replace(expression, arguments=tuple(_with_results(a, results) for a in expression.arguments))
    return expression


# --- constraints ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Violation:
    """A match of the body of a constraint; `bindings` are its named variables in order of their names."""

    rule: Rule
    bindings: tuple[tuple[str, Term], ...]


def violations(
    program: Program,
    model: Model,
    *,
    parameters: Mapping[str, Term] = NO_PARAMETERS,
    functions: Mapping[str, PythonFunction] = NO_FUNCTIONS,
) -> tuple[Violation, ...]:
    """Every way in which a model violates the program's constraints, each once."""
    facts = {predicate: set(rows) for predicate, rows in model.items()}
    found: dict[Violation, None] = {}
    for clause in clauses_of(program, parameters, _by_name(functions)):
        if clause.head is None:
            for bindings in matches(clause, facts, _by_name(functions)):
                named = sorted((v.name, term) for v, term in bindings.items() if not v.anonymous)
                found.setdefault(Violation(clause.rule, tuple(named)))
    return tuple(found)


# --- functions --------------------------------------------------------------------------------------


def _by_name(functions: Mapping[str, PythonFunction]) -> dict[str, PythonFunction]:
    return {name.upper(): function for name, function in functions.items()}


def _check_functions(clause: Clause, functions: Mapping[str, PythonFunction]) -> None:
    atoms = (*clause.atoms, *clause.negations, *((clause.head,) if clause.head else ()))
    waiting: list[Expression | Aggregate] = [
        *clause.conditions,
        *(a for atom in atoms for a in atom.arguments),
    ]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Call):
            builtin = BUILTINS.get(node.function)
            if builtin is None and node.function not in functions:
                raise NotEvaluable(f"there is no function {node.function}")
            if builtin is not None and not builtin.accepts(len(node.arguments)):
                raise NotEvaluable(f"{node.function} does not take {len(node.arguments)} arguments")
        registered = isinstance(node, Aggregate) and node.operator not in AGGREGATES
        if isinstance(node, Aggregate) and registered and key_of(node.operator) not in functions:
            raise NotEvaluable(f"there is no aggregate #{node.operator}")
        if isinstance(node, Call | Aggregate):
            waiting.extend(node.arguments)
