"""`@equality`: rules over facts that are kept modulo equality.

Where rules run, every individual (an IRI or a blank node) stands for its class of equal terms, by a
representative.  So a constant of a rule must mean its representative, which changes: the rule gets it from
`DENOTES`, a relation of constants and their representatives.  Properties and classes of triples stay as they
are.

What makes terms equal must be positive: it must not depend on terms that are different, or on how they are
written.  `check_equality` refuses that, as stratification refuses negation in a cycle: under the rules for
equality every predicate depends on the equality, and with it on whatever the equality depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from tidalog.analysis.draft import Draft, WorkingRule
from tidalog.analysis.equality_diagnostics import (
    EqualityNeedsDifference,
    EqualityNeedsNegation,
    EqualityOfArity,
    EqualityWithWindows,
    IndividualComputed,
    NotWithEquality,
)
from tidalog.analysis.normal import NormalAtom, NormalRule
from tidalog.analysis.rewrite import map_atoms, map_calls, nodes, rule_nodes
from tidalog.model.errors import ProgramError
from tidalog.model.program import Atom, BodyLiteral, Call, Expression, Program, Rule, Variable
from tidalog.model.terms import IRI, BlankNode, Literal, String, Term
from tidalog.rdf.layout import TRIPLE, TYPE, Layout

DENOTES: Final = "?denotes"
"""Constants of rules with their representatives."""
COMPARING: Final = ("=", "!=", "IN", "SAMETERM")
"""Functions whose arguments stand for individuals."""
_OF_WRITING: Final = frozenset(("!=", "STR", "FULLSTR", "ISIRI", "ISURI", "ISBLANK", "ISNULL", "SAMETERM"))
"""Functions with other values for terms that are equal."""
_OPPOSITES: Final = frozenset(("NOT", "IF", "COALESCE"))
_COMPUTING: Final = frozenset(("IRI", "URI"))
"""Functions whose values are individuals."""


def refuse_equality(program: Program, what: str, why: str, advice: str) -> None:
    """Raises `ProgramError` (T246) for a program whose facts are kept modulo equality."""
    if program.equalities:
        raise ProgramError(NotWithEquality(what=what, why=why, advice=advice))


def is_individual(term: object) -> bool:
    """Whether terms can be equal to another one: literals stand for themselves."""
    return isinstance(term, IRI | BlankNode)


def keep_modulo_equality(draft: Draft) -> None:
    """Constants of rules mean their representatives."""
    names = draft.program.equalities
    if not names:
        return
    for name in names:
        use = draft.uses.get(name)
        if use is not None and use.arity != len("xy"):
            draft.report(EqualityOfArity(use.span, name=draft.label(name), arity=f"{use.arity:,}"))
    for window in draft.program.windows:
        draft.report(EqualityWithWindows(window.span, name=draft.label(window.name)))
    draft.rules = [w if w.origin is None else w.with_rule(_denoting(w.rule)) for w in draft.rules]
    for working in draft.rules:
        _refuse_computed(draft, working)


def _refuse_computed(draft: Draft, working: WorkingRule) -> None:
    known = draft.functions
    for node, literal in rule_nodes(working.rule):
        if isinstance(node, Call) and (node.function in _COMPUTING or node.function.upper() in known):
            span = node.span or getattr(literal, "span", None) or working.rule.span
            draft.report(IndividualComputed(span, function=node.function))
            return


def _denoting(rule: Rule) -> Rule:
    """The rule with a variable for each constant that is an individual, and atoms that give their values."""
    variables: dict[Term, Variable] = {}

    def denoted(argument: Expression) -> Expression:
        if isinstance(argument, IRI | BlankNode):
            return variables.setdefault(argument, Variable(f"@is{len(variables) + 1}"))
        return argument

    def of_atom(atom: Atom) -> Atom:
        arguments = list(atom.arguments)
        for position, argument in enumerate(arguments):
            if not _is_name(atom, position):
                arguments[position] = denoted(argument)
        return replace(atom, arguments=tuple(arguments)) if arguments != list(atom.arguments) else atom

    def of_call(call: Call) -> Expression:
        if call.function not in COMPARING:
            return call
        return replace(call, arguments=tuple(map(denoted, call.arguments)))

    changed = map_calls(map_atoms(rule, of_atom), of_call)
    if not variables:
        return rule
    added: list[BodyLiteral] = [Atom(DENOTES, (term, variable)) for term, variable in variables.items()]
    return replace(changed, body=(*changed.body, *added))


def _is_name(atom: Atom, position: int) -> bool:
    """Whether an argument of an atom names a property or a class of triples."""
    if atom.predicate != TRIPLE or atom.arity != 3:
        return False
    return position == 1 or (position == 2 and atom.arguments[1] == TYPE)


# --- what an analysed program says ------------------------------------------------------------------


def equality_atoms(names: Iterable[str], layout: Layout, x: Variable, y: Variable) -> Iterator[NormalAtom]:
    """The atoms that say that ?x and ?y are equal."""
    for name in names:
        if not layout.is_shorthand(name):
            yield NormalAtom(name, (x, y))
            continue
        relation = layout.relation_of_property(name)
        if relation is not None:
            yield NormalAtom(relation, (x, y))
        else:
            yield NormalAtom(TRIPLE, (x, IRI(name), y))


@dataclass(frozen=True, slots=True)
class Key:
    """A rule such as `same(?x, ?y) :- p(?z, ?x), p(?z, ?y)`: facts of one predicate that agree in all other
    arguments have equal members."""

    atom: NormalAtom
    member: int
    """The position of the members."""


def keys_of(rules: Iterable[NormalRule], atoms: Iterable[NormalAtom]) -> Iterator[Key]:
    """The keys among rules for the equality, whose atoms are given."""
    said = [(atom.predicate, len(atom.arguments)) for atom in atoms]
    for rule in rules:
        head = rule.head
        if head is None or (head.predicate, len(head.arguments)) not in said or len(rule.atoms) != len("xy"):
            continue
        if rule.negations or rule.computations or rule.tests or rule.aggregates:
            continue
        x, y = head.arguments[0], head.arguments[-1]
        one, other = rule.atoms
        if x not in one.arguments:
            one, other = other, one
        variables = [argument for argument in one.arguments if isinstance(argument, Variable)]
        if x == y or x not in variables or len(set(variables)) != len(variables):
            continue
        member = one.arguments.index(x)
        if other == replace(one, arguments=(*one.arguments[:member], y, *one.arguments[member + 1 :])):
            yield Key(one, member)


def constants_of(rules: Iterable[NormalRule]) -> set[Term]:
    """The constants whose representatives rules ask for."""
    found: set[Term] = set()
    for rule in rules:
        for atom in rule.atoms:
            if atom.predicate == DENOTES and not isinstance(atom.arguments[0], Variable):
                found.add(atom.arguments[0])
    return found


def named_iris(rules: Iterable[NormalRule], layout: Layout) -> set[IRI]:
    """The properties and classes that rules name, which must not be equal to anything else."""
    found = {TYPE}
    for relation in layout.arities:
        origin = layout.origin(relation)
        if origin is not None:
            found.update(one for one in origin if one is not None)
    for rule in rules:
        for atom in (*rule.atoms, *rule.negations, *(() if rule.head is None else (rule.head,))):
            if atom.predicate != DENOTES:
                found.update(one for one in atom.arguments if isinstance(one, IRI))
    return found


def below_equality(
    atoms: Iterable[NormalAtom], derivers: Callable[[str], Iterable[NormalRule]]
) -> dict[str, list[NormalRule]]:
    """The predicates that what is equal depends on, with the rules that derive them."""
    found: dict[str, list[NormalRule]] = {}
    queue = [atom.predicate for atom in atoms]
    while queue:
        name = queue.pop()
        if name not in found:
            found[name] = list(derivers(name))
            for rule in found[name]:
                queue += [atom.predicate for atom in (*rule.atoms, *rule.negations)]
    return found


def derivers_of(rules: Iterable[NormalRule]) -> Callable[[str], Collection[NormalRule]]:
    by_head: dict[str, list[NormalRule]] = {}
    for rule in rules:
        if rule.head is not None:
            by_head.setdefault(rule.head.predicate, []).append(rule)
    return lambda name: by_head.get(name, ())


def check_equality(draft: Draft, derivers: Callable[[str], Iterable[NormalRule]]) -> None:
    """Refuses rules that what is equal depends on, and that are not positive."""
    names = draft.program.equalities
    if not names:
        return
    atoms = list(equality_atoms(names, draft.layout, Variable("x"), Variable("y")))
    label = ", ".join(draft.label(name) for name in names)
    functions = draft.functions.keys()
    for rules in below_equality(atoms, derivers).values():
        for rule in rules:
            span = rule.origin.span if rule.origin is not None else None
            if rule.negations or rule.aggregates:
                what = "a negation" if rule.negations else "an aggregate"
                draft.report(EqualityNeedsNegation(span, rule=rule.name, what=what, equality=label))
                continue
            parts = [*rule.tests, *(computation.expression for computation in rule.computations)]
            found = next((f for part in parts for f in _distinguishing(part, functions)), None)
            if found is not None:
                draft.report(EqualityNeedsDifference(span, rule=rule.name, function=found, equality=label))


def _distinguishing(expression: Expression, functions: Container[str]) -> Iterator[str]:
    """Functions in an expression that may tell equal terms apart."""
    inside = list(nodes(expression))
    opposite = any(isinstance(node, Call) and node.function in _OPPOSITES for node in inside)
    for node in inside:
        if not isinstance(node, Call):
            continue
        of_literal = any(isinstance(one, Literal | String) or _is_value(one) for one in node.arguments)
        if node.function == "!=" and of_literal:
            continue
        if node.function in _OF_WRITING or node.function.upper() in functions:
            yield node.function
        elif opposite and node.function in ("=", "IN") and not of_literal:
            yield "NOT"


def _is_value(term: Expression) -> bool:
    return isinstance(term, Term) and not is_individual(term)
