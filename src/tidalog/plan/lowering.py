"""Lowering: aggregates and Python functions become relations of their own.

*  A rule with aggregates becomes rules that collect the distinct tuples of each argument list under their
   group in a hidden relation, and a `Fold` that reads the groups off an index.  Where the body is a single
   plain atom, its relation is read as it is.
*  An expression that the engine cannot compute itself becomes a *memo relation*: a rule that collects its
   distinct inputs (`ask`), answered in batches by Python, and an atom over the answers (`memo`).  The
   algorithms then need to know nothing about it.

Hidden predicates have names that no program can write: they begin with `#`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from zlib import crc32

from tidalog.analysis.normal import AggregateColumn, Argument, Computation, NormalAtom, NormalRule
from tidalog.model.program import Expression, Variable, variables
from tidalog.model.terms import TRUE, String
from tidalog.plan.plan_cache import PlanCache


@dataclass(frozen=True, slots=True)
class FoldColumn:
    """`variable` is `operator` over a relation's facts that agree with the group in the `group` columns: over
    their tuples in `columns`, the value first.  `distinct`: such tuples may repeat and count once."""

    variable: Variable
    operator: str
    relation: str
    arity: int
    group: tuple[int, ...]
    columns: tuple[int, ...]
    distinct: bool


@dataclass(frozen=True, slots=True)
class Fold:
    """One head fact per group; every relation has the same groups, in the order of `group`."""

    name: str
    head: NormalAtom
    group: tuple[Variable, ...]
    columns: tuple[FoldColumn, ...]


@dataclass(frozen=True, slots=True)
class Memo:
    """`memo(inputs…, result)` holds the value of `expression` for every row of `ask(inputs…)`."""

    name: str
    ask: str
    memo: str
    inputs: tuple[Variable, ...]
    expression: Expression


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a component, derived after the stages before it.  It has rules or a fold.  `rules` have no
    aggregates and only native expressions; `asking` are the rules that collect what `memos` answer."""

    name: str
    predicates: frozenset[str]
    """What it derives."""
    recursive: bool
    rules: tuple[NormalRule, ...] = ()
    asking: tuple[NormalRule, ...] = ()
    memos: tuple[Memo, ...] = ()
    fold: Fold | None = None
    plans: PlanCache = field(default_factory=PlanCache, compare=False, repr=False)
    """The plans of `rules` and `asking`."""

    @property
    def hidden(self) -> list[str]:
        """Relations that only it derives, and that no program can name."""
        answers = [name for memo in self.memos for name in (memo.ask, memo.memo)]
        return [*filter(is_hidden, self.predicates), *answers]

    @property
    def every_rule(self) -> tuple[NormalRule, ...]:
        return (*self.asking, *self.rules)


def different_rules(
    before: Sequence[NormalRule], after: Sequence[NormalRule]
) -> tuple[list[NormalRule], list[NormalRule]]:
    """The rules that are only before, and those that are only after.  Most are the same objects: to compare
    these takes no time."""
    had, has = (dict(zip(map(id, rules), rules, strict=True)) for rules in (before, after))
    lost = dict.fromkeys(rule for number, rule in had.items() if number not in has)
    new = dict.fromkeys(rule for number, rule in has.items() if number not in had)
    return [rule for rule in lost if rule not in new], [rule for rule in new if rule not in lost]


def constraint_rule(rule: NormalRule) -> NormalRule:
    """A constraint as a rule: it collects the bindings that violate it."""
    bound = dict.fromkeys(v for atom in rule.atoms for v in atom.arguments if isinstance(v, Variable))
    bound |= dict.fromkeys(c.variable for c in rule.computations)
    return replace(rule, head=NormalAtom(constraint_predicate(rule.name), tuple(bound)))


def constraint_predicate(name: str) -> str:
    return f"#constraint:{name}"


RULE: Final = "#rule"
"""The relation of rules: during a rule edit it has one fact for each rule that is added or removed."""


def guarded_rule(rule: NormalRule) -> NormalRule:
    """The rule with one more atom: its fact in the relation of rules.  To insert or delete that fact is to
    insert or delete the rule."""
    return replace(rule, atoms=(*rule.atoms, NormalAtom(RULE, (String(rule_key(rule)),))))


def is_hidden(predicate: str) -> bool:
    return predicate.startswith("#")


def asks(predicate: str) -> bool:
    """Whether a relation holds what a memo is to answer."""
    return predicate.startswith("#ask:")


def stages(
    rules: Sequence[NormalRule],
    predicates: Iterable[str],
    recursive: bool,
    is_native: Callable[[Expression], bool],
) -> list[Stage]:
    """The stages of a component: for each rule with aggregates one that collects its groups, unless they are
    facts already, and its fold; then one for all other rules.

    If the component has other rules or predicates, the results of a fold get a relation of their own.  So
    every fact of a fold's relation is derived by that fold alone.  `is_native` says whether the engine
    computes an expression itself."""
    result: list[Stage] = []
    plain = [rule for rule in rules if not rule.aggregates]
    in_order = sorted(predicates)
    whole = frozenset(in_order)
    for rule in rules:
        if not rule.aggregates:
            continue
        collecting, fold = _split_aggregates(rule)
        for one in collecting:
            assert one.head is not None
            number = f" {len(result)}" if len(collecting) > 1 else ""
            name = f"groups of {rule.name}{number}"
            result.append(_stage(name, {one.head.predicate}, False, [one], is_native))
        head = fold.head
        if len(whole) > 1 or len(rules) > 1:
            fold = replace(fold, head=NormalAtom(f"#value:{rule_key(rule)}", head.arguments))
            plain.append(
                replace(
                    rule,
                    head=head,
                    atoms=(fold.head,),
                    negations=(),
                    computations=(),
                    tests=(),
                    aggregates=(),
                )
            )
        name = f"results of {rule.name}" if is_hidden(fold.head.predicate) else head.predicate
        result.append(Stage(name, frozenset([fold.head.predicate]), False, fold=fold))
    if plain:
        result.append(_stage(", ".join(in_order), whole, recursive, plain, is_native))
    return result


def _stage(
    name: str,
    predicates: Iterable[str],
    recursive: bool,
    rules: Iterable[NormalRule],
    is_native: Callable[[Expression], bool],
) -> Stage:
    memos: list[Memo] = []
    lifted: list[NormalRule] = []
    for rule in rules:
        if rule.computations or rule.tests:
            lifted += _lift_foreign(rule, is_native, memos)
        else:
            lifted.append(rule)
    if not memos:
        return Stage(name, frozenset(predicates), recursive, tuple(lifted))
    asks = {memo.ask for memo in memos}
    asking = tuple(r for r in lifted if r.head is not None and r.head.predicate in asks)
    own = tuple(r for r in lifted if r.head is None or r.head.predicate not in asks)
    return Stage(name, frozenset(predicates), recursive, own, asking, tuple(memos))


def _split_aggregates(rule: NormalRule) -> tuple[list[NormalRule], Fold]:
    assert rule.head is not None
    positions = {column.position for column in rule.aggregates}
    group = tuple(
        dict.fromkeys(
            a for i, a in enumerate(rule.head.arguments) if i not in positions and isinstance(a, Variable)
        )
    )
    direct = _fold_over_body(rule, group)
    if direct is not None:
        return [], direct
    relations: dict[tuple[Argument, ...], str] = {}
    rules: list[NormalRule] = []
    columns: list[FoldColumn] = []
    for column in rule.aggregates:
        relation = relations.get(column.arguments)
        if relation is None:
            relation = relations[column.arguments] = f"#group:{rule_key(rule)}:{len(relations)}"
            rules.append(_collecting_rule(rule, relation, group, column))
        width = len(group)
        values = tuple(range(width, width + len(column.arguments)))
        variable = _result_variable(rule.head, column)
        columns.append(
            FoldColumn(
                variable, column.operator, relation, width + len(values), tuple(range(width)), values, False
            )
        )
    return rules, Fold(rule.name, rule.head, group, tuple(columns))


def _fold_over_body(rule: NormalRule, group: tuple[Variable, ...]) -> Fold | None:
    """A body of one atom whose arguments are different variables is its own relation of tuples."""
    if len(rule.atoms) != 1 or rule.negations or rule.computations or rule.tests:
        return None
    atom = rule.atoms[0]
    if len(atom.variables) != len(atom.arguments):
        return None
    column_of = {v: i for i, v in enumerate(atom.arguments) if isinstance(v, Variable)}
    columns: list[FoldColumn] = []
    assert rule.head is not None
    for column in rule.aggregates:
        used = [a for a in column.arguments if isinstance(a, Variable)]
        if len(used) != len(column.arguments):
            return None
        distinct = column.operator not in ("min", "max") and not atom.variables <= {*group, *used}
        columns.append(
            FoldColumn(
                _result_variable(rule.head, column),
                column.operator,
                atom.predicate,
                len(atom.arguments),
                tuple(column_of[v] for v in group),
                tuple(column_of[v] for v in used),
                distinct,
            )
        )
    return Fold(rule.name, rule.head, group, tuple(columns))


def _result_variable(head: NormalAtom, column: AggregateColumn) -> Variable:
    variable = head.arguments[column.position]
    assert isinstance(variable, Variable)
    return variable


def _collecting_rule(
    rule: NormalRule, relation: str, group: tuple[Variable, ...], column: AggregateColumn
) -> NormalRule:
    return replace(rule, head=NormalAtom(relation, group + column.arguments), aggregates=())


def _lift_foreign(
    rule: NormalRule, is_native: Callable[[Expression], bool], memos: list[Memo]
) -> list[NormalRule]:
    """Replaces foreign expressions by memos one after the other, in the order in which their inputs are
    bound."""
    foreign_tests = [t for t in rule.tests if not is_native(t)]
    foreign = _foreign_computations(rule.computations, foreign_tests, is_native)
    if not foreign and not foreign_tests:
        return [rule]
    native_computations = [c for c in rule.computations if c not in foreign]
    native_tests = [t for t in rule.tests if is_native(t)]
    atoms = list(rule.atoms)
    rules: list[NormalRule] = []
    pending: list[Computation | Expression] = [*foreign_tests, *foreign]
    first = len(memos)
    while pending:
        bound = _bound(atoms, native_computations)
        ready = next(p for p in pending if set(variables(_expression(p))) <= bound)
        pending.remove(ready)
        expression = _expression(ready)
        inputs = tuple(dict.fromkeys(variables(expression)))
        number = f"{_relation(rule)}:{len(memos) - first}"
        memo = Memo(rule.name, f"#ask:{number}", f"#memo:{number}", inputs, expression)
        memos.append(memo)
        rules.append(
            replace(
                rule,
                head=NormalAtom(memo.ask, inputs),
                atoms=tuple(atoms),
                negations=tuple(n for n in rule.negations if _is_ready(n, rule, bound)),
                computations=_needed(native_computations, _bound(atoms, native_computations)),
                tests=tuple(t for t in native_tests if set(variables(t)) <= bound),
            )
        )
        result: Argument = ready.variable if isinstance(ready, Computation) else TRUE
        atoms.append(NormalAtom(memo.memo, (*inputs, result)))
    rules.append(
        replace(rule, atoms=tuple(atoms), computations=tuple(native_computations), tests=tuple(native_tests))
    )
    return rules


def _foreign_computations(
    computations: Sequence[Computation], tests: Sequence[Expression], is_native: Callable[[Expression], bool]
) -> list[Computation]:
    """The computations that become memos: foreign ones, and those whose results foreign expressions read.  A
    memo is an atom over its inputs, and no atom binds the variable of a computation."""
    found = {c for c in computations if not is_native(c.expression)}
    read = {v for test in tests for v in variables(test)}
    while True:
        read |= {v for c in found for v in variables(c.expression)}
        added = {c for c in computations if c.variable in read} - found
        if not added:
            return [c for c in computations if c in found]
        found |= added


def _relation(rule: NormalRule) -> str:
    """The name of a rule's hidden relations: a rule with aggregates may have become several."""
    assert rule.head is not None
    return rule.head.predicate[1:] if is_hidden(rule.head.predicate) else rule_key(rule)


def rule_key(rule: NormalRule) -> str:
    """A key that no other rule has: a later rule may get the name of this one."""
    return f"{rule.name}:{crc32(repr(rule).encode()):08x}"


def _expression(item: Computation | Expression) -> Expression:
    return item.expression if isinstance(item, Computation) else item


def _bound(atoms: list[NormalAtom], computations: list[Computation]) -> set[Variable]:
    bound = {v for atom in atoms for v in atom.variables}
    for computation in computations:
        if set(variables(computation.expression)) <= bound:
            bound.add(computation.variable)
    return bound


def _needed(computations: list[Computation], bound: set[Variable]) -> tuple[Computation, ...]:
    return tuple(c for c in computations if c.variable in bound)


def _is_ready(negation: NormalAtom, rule: NormalRule, bound: set[Variable]) -> bool:
    """A negation can be asked once its variables are bound, except those that are local to it."""
    elsewhere = {v for atom in rule.atoms for v in atom.variables}
    elsewhere |= {c.variable for c in rule.computations}
    return (negation.variables & elsewhere) <= bound
