"""Rules as clauses: one head each, parameters filled in, RDF shorthand written out.

A clause is equivalent to the rule it comes from.  An expression in an argument of a positive body atom
becomes a variable of its own and a condition that compares by value; expressions in heads and negated atoms
stay and are computed.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace

from tidalog.builtins import BUILTINS, GENERATORS, CannotCompute, evaluate
from tidalog.model.column_types import fitted
from tidalog.model.program import (
    Aggregate,
    Atom,
    BodyLiteral,
    Call,
    Condition,
    Disjunction,
    Expression,
    Fact,
    FlatLiteral,
    Negation,
    Parameter,
    Program,
    Rule,
    Variable,
    flat_literals,
    variables,
)
from tidalog.model.terms import IRI, RDF_TYPE, Term

TRIPLE = "triple"
QUAD = "quad"
_TERMS = tuple(map(Variable, "spog"))
UNION = Rule((Atom(TRIPLE, _TERMS[:3]),), (Atom(QUAD, _TERMS),))
EACH = "_#each "
"""Variables that stand for a call with several values."""
TYPE = IRI(RDF_TYPE)


class NotEvaluable(ValueError):
    """The program has no meaning: it is unsafe, not stratified, or has an undefined name.  Users get numbered
    errors from analysis; this is for callers that skip analysis."""


@dataclass(frozen=True, slots=True)
class Clause:
    """`head :- atoms, ~negations, conditions`; no head is a constraint."""

    head: Atom | None
    atoms: tuple[Atom, ...]
    """Arguments are variables and terms only."""
    negations: tuple[Atom, ...]
    conditions: tuple[Expression, ...]
    rule: Rule
    others: tuple[Clause, ...] = ()
    """The other alternatives of a clause that aggregates."""

    @property
    def all_atoms(self) -> tuple[Atom, ...]:
        heads = () if self.head is None else (self.head,)
        return (*heads, *(a for part in self.parts for a in (*part.atoms, *part.negations)))

    @property
    def parts(self) -> tuple[Clause, ...]:
        """All alternatives."""
        return (self, *self.others)

    @property
    def aggregates(self) -> bool:
        return self.head is not None and any(map(aggregates_in, self.head.arguments))


def aggregates_in(expression: Expression) -> list[Aggregate]:
    """The aggregates inside an expression, from left to right."""
    if isinstance(expression, Aggregate):
        return [expression]
    if isinstance(expression, Call):
        return [found for argument in expression.arguments for found in aggregates_in(argument)]
    return []


def clauses_of(
    program: Program, parameters: Mapping[str, Term], functions: Container[str] = ()
) -> tuple[Clause, ...]:
    """Every rule of the program, once for each of its heads.  `functions` are names of registered ones."""
    values = parameter_values(program, parameters)
    triples = uses_triples(program)
    tables = _tables(program)
    result: list[Clause] = []
    for rule in (*program.rules, *([UNION] if uses_quads(program) else [])):
        read = replace(rule, body=tuple(_read(literal, functions) for literal in rule.body))
        filled = _with_parameters(read, values)
        if triples:
            filled = _with_triples(filled, tables)
        heads: tuple[Atom | None, ...] = filled.heads or (None,)
        for head in heads:
            first, *others = (_clause(head, body, rule) for body in _choices(_listed(filled.body)))
            if first.aggregates:  # over the matches of all alternatives
                result.append(replace(first, others=tuple(others)))
            else:
                result += [first, *others]
    return tuple(result)


def _read(literal: BodyLiteral, functions: Container[str]) -> BodyLiteral:
    """`(p(?x))` calls a function, or is an atom if there is none of the name, which is not in capitals."""
    if isinstance(literal, Disjunction):
        parts = tuple(tuple(_read(inner, functions) for inner in part) for part in literal.alternatives)
        return Disjunction(parts)
    match literal:
        case Condition(IRI(name)):
            return Atom(name, ())
        case Condition(Call(name, arguments)) if name not in BUILTINS:
            if name.isupper() or name.upper() in functions:
                return Condition(Call(name.upper(), arguments))
            return Atom(name, arguments)
    return literal


def _listed(body: tuple[BodyLiteral, ...]) -> tuple[BodyLiteral, ...]:
    """`?x IN (1, 2)` gives ?x its values where no atom and no equation does."""
    bound: set[Variable] = set()
    for literal in flat_literals(body):
        if isinstance(literal, Atom):
            bound.update(variables(literal))
        elif isinstance(literal, Condition):
            match literal.expression:
                case Call("=", sides):
                    bound.update(side for side in sides if isinstance(side, Variable))

    def written_out(literal: BodyLiteral) -> BodyLiteral:
        if isinstance(literal, Disjunction):
            return Disjunction(tuple(tuple(map(written_out, part)) for part in literal.alternatives))
        match literal:
            case Condition(Call("IN", (Variable() as member, *values))) if values and member not in bound:
                return Disjunction(tuple((Condition(Call("=", (member, value))),) for value in values))
        return literal

    return tuple(map(written_out, body))


def _choices(body: tuple[BodyLiteral, ...]) -> Iterator[tuple[FlatLiteral, ...]]:
    """The body with one alternative of every disjunction, in all ways."""
    if not body:
        yield ()
        return
    first, *rest = body
    for end in _choices(tuple(rest)):
        if isinstance(first, Disjunction):
            for part in first.alternatives:
                yield from ((*start, *end) for start in _choices(part))
        else:
            yield (first, *end)


def _clause(head: Atom | None, body: tuple[FlatLiteral, ...], rule: Rule) -> Clause:
    head, body = _generators_apart(head, body)
    atoms, conditions = [], [literal.expression for literal in body if isinstance(literal, Condition)]
    for number, literal in enumerate(body):
        if isinstance(literal, Atom):
            arguments: list[Expression | Aggregate] = []
            for position, argument in enumerate(literal.arguments):
                if isinstance(argument, Call) or _is_one_of_several(argument):
                    variable = Variable(f"_#argument {number}.{position}")
                    conditions.append(Call("=", (variable, argument)))
                    arguments.append(variable)
                else:
                    arguments.append(argument)
            atoms.append(replace(literal, arguments=tuple(arguments)))
    negations = tuple(literal.atom for literal in body if isinstance(literal, Negation))
    return Clause(head, tuple(atoms), negations, tuple(conditions), rule)


def _generators_apart(
    head: Atom | None, body: tuple[FlatLiteral, ...]
) -> tuple[Atom | None, tuple[FlatLiteral, ...]]:
    """Calls with several values, each as a variable that an equation gives those values."""
    calls: list[Call] = []

    def expression(item: Expression) -> Expression:
        if isinstance(item, Call | Aggregate):
            item = replace(item, arguments=tuple(map(expression, item.arguments)))
        if isinstance(item, Call) and item.function in GENERATORS:
            if item not in calls:
                calls.append(item)
            return Variable(f"{EACH}{calls.index(item)}")
        return item

    def atom(item: Atom) -> Atom:
        return replace(item, arguments=tuple(map(expression, item.arguments)))

    def literal(item: FlatLiteral) -> FlatLiteral:
        if isinstance(item, Atom):
            return atom(item)
        if isinstance(item, Negation):
            return replace(item, atom=atom(item.atom))
        return replace(item, expression=expression(item.expression))

    head = None if head is None else atom(head)
    literals = tuple(map(literal, body))
    equations = (Condition(Call("=", (Variable(f"{EACH}{n}"), call))) for n, call in enumerate(calls))
    return head, (*literals, *equations)


def _is_one_of_several(argument: Expression) -> bool:
    return isinstance(argument, Variable) and argument.name.startswith(EACH)


# --- parameters -------------------------------------------------------------------------------------


def parameter_values(program: Program, given: Mapping[str, Term]) -> dict[str, Term]:
    """Given values win; the others are computed from the program, in any order."""
    values = dict(given)
    open_ones = {name: e for name, e in program.parameters.items() if e is not None and name not in values}
    while open_ones:
        ready = {n: _filled(e, values) for n, e in open_ones.items() if _parameters(e) <= values.keys()}
        if not ready:
            raise NotEvaluable(f"no value for the parameters {', '.join(sorted(open_ones))}")
        for name, expression in ready.items():
            try:
                values[name] = evaluate(expression, {})
            except CannotCompute as failure:
                raise NotEvaluable(f"parameter ${name}: {failure}") from None
            del open_ones[name]
    return values


def _parameters(expression: Expression) -> set[str]:
    if isinstance(expression, Parameter):
        return {expression.name}
    if isinstance(expression, Call):
        return set().union(*map(_parameters, expression.arguments))
    return set()


def _filled(expression: Expression, values: Mapping[str, Term]) -> Expression:
    if isinstance(expression, Parameter):
        if expression.name not in values:
            raise NotEvaluable(f"no value for the parameter {expression.name}")
        return values[expression.name]
    if isinstance(expression, Call | Aggregate):
        return replace(expression, arguments=tuple(_filled(a, values) for a in expression.arguments))
    return expression


def _with_parameters(rule: Rule, values: Mapping[str, Term]) -> Rule:
    def atom(item: Atom) -> Atom:
        return replace(item, arguments=tuple(_filled(a, values) for a in item.arguments))

    def literal(item: BodyLiteral) -> BodyLiteral:
        if isinstance(item, Atom):
            return atom(item)
        if isinstance(item, Negation):
            return replace(item, atom=atom(item.atom))
        if isinstance(item, Disjunction):
            return Disjunction(tuple(tuple(map(literal, part)) for part in item.alternatives))
        return replace(item, expression=_filled(item.expression, values))

    return replace(rule, heads=tuple(map(atom, rule.heads)), body=tuple(map(literal, rule.body)))


# --- RDF --------------------------------------------------------------------------------------------


def uses_quads(program: Program) -> bool:
    """Whether the program uses `quad` with four arguments; then every quad is a triple."""
    if any(fact.predicate == QUAD and len(fact.arguments) == 4 for fact in program.facts):
        return True
    return any(a.predicate == QUAD and a.arity == 4 for rule in program.rules for a in _atoms(rule))


def uses_triples(program: Program) -> bool:
    """Whether the program uses `triple` with three arguments, or quads."""
    if uses_quads(program):
        return True
    if TRIPLE in program.outputs or any(b.predicate == TRIPLE for b in (*program.imports, *program.exports)):
        return True
    if any(fact.predicate == TRIPLE and len(fact.arguments) == 3 for fact in program.facts):
        return True
    return any(a.predicate == TRIPLE and a.arity == 3 for rule in program.rules for a in _atoms(rule))


def _tables(program: Program) -> frozenset[str]:
    return frozenset(binding.predicate for binding in (*program.imports, *program.exports))


def _atoms(rule: Rule) -> Iterator[Atom]:
    yield from rule.heads
    for literal in flat_literals(rule.body):
        if isinstance(literal, Atom):
            yield literal
        elif isinstance(literal, Negation):
            yield literal.atom


def _with_triples(rule: Rule, tables: frozenset[str]) -> Rule:
    def atom(item: Atom) -> Atom:
        if not _is_shorthand(item.predicate, item.arity, tables):
            return item
        name = IRI(item.predicate)
        if item.arity == 1:
            return replace(item, predicate=TRIPLE, arguments=(item.arguments[0], TYPE, name))
        return replace(item, predicate=TRIPLE, arguments=(item.arguments[0], name, item.arguments[1]))

    def literal(item: BodyLiteral) -> BodyLiteral:
        if isinstance(item, Atom):
            return atom(item)
        if isinstance(item, Disjunction):
            return Disjunction(tuple(tuple(map(literal, part)) for part in item.alternatives))
        return replace(item, atom=atom(item.atom)) if isinstance(item, Negation) else item

    return replace(rule, heads=tuple(map(atom, rule.heads)), body=tuple(map(literal, rule.body)))


def _is_shorthand(predicate: str, arity: int, tables: frozenset[str]) -> bool:
    return ":" in predicate and arity in (1, 2) and predicate not in tables


def explicit_facts(
    program: Program, given: Mapping[str, set[tuple[Term, ...]]]
) -> dict[str, set[tuple[Term, ...]]]:
    """The facts of the program's text and the additional ones, with RDF shorthand expanded."""
    triples, tables = uses_triples(program), _tables(program)
    result: dict[str, set[tuple[Term, ...]]] = {}
    more = [Fact(predicate, row) for predicate, rows in given.items() for row in rows]
    for fact in (*program.facts, *more):
        predicate, row = fact.predicate, declared_row(program, fact)
        if triples and _is_shorthand(predicate, len(row), tables):
            name = IRI(predicate)
            predicate, row = TRIPLE, (row[0], TYPE, name) if len(row) == 1 else (row[0], name, row[1])
        result.setdefault(predicate, set()).add(row)
    return result


def declared_row(program: Program, fact: Fact) -> tuple[Term, ...]:
    """The arguments as terms of the declared types; what does not fit stays as it is."""
    types = [d.types for d in program.declarations if d.predicate == fact.predicate]
    if not types or len(types[0]) != len(fact.arguments):
        return fact.arguments
    return tuple(fitted(term, kind) or term for term, kind in zip(fact.arguments, types[0], strict=True))
