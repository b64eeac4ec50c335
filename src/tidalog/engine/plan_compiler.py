"""From logical plans to integers: registers, operands, live registers.

Every variable of a rule has one register, the same at every level; register 0 is the pivot's fact id.  An
operator keeps only the registers that a later one reads, so a block moves no more columns than it must.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

from tidalog.analysis.normal import Argument, NormalAtom
from tidalog.engine import opcodes as op
from tidalog.engine.aggregates import OPERATORS, PYTHON
from tidalog.engine.binding_blocks import PIVOT_REGISTER
from tidalog.engine.bitmaps import Bits
from tidalog.engine.expressions import encode
from tidalog.engine.plan_code import ANY_FACT, Code, Filter
from tidalog.model.program import Expression, Variable, variables
from tidalog.model.terms import Term
from tidalog.plan import join_order as logical
from tidalog.plan.join_order import LogicalPlan, given_later
from tidalog.plan.lowering import Fold, FoldColumn


@dataclass(slots=True)
class Catalogue:
    """What the compiler asks of the engine."""

    predicate: Callable[[str, int], int]
    index: Callable[[int, tuple[int, ...]], int]
    term: Callable[[Term], int]
    terms_in: Callable[[int, int], Bits | None]
    """The terms in a column of a predicate of which no fact is deleted; None: an index answers as well."""
    is_small: Callable[[int], bool]
    """Whether a predicate has so few facts that an index of its own answers faster than the fact table."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which facts each part of a plan may match: the pivot, the body's atoms by position, negated atoms."""

    atom: Callable[[int], Filter]
    pivot: Filter = ANY_FACT
    negation: Filter = ANY_FACT
    is_complete: bool = False
    """Whether negated predicates have all their facts before the plan runs, and none of them is deleted."""


def compile_plan(
    plan: LogicalPlan,
    catalogue: Catalogue,
    code: Code,
    filters: Filters,
    is_new: bool = False,
    own: Container[str] | None = None,
) -> int:
    """Appends a plan and returns its number.  `is_new`: no head is derived twice, and none is present before.
    `own`: the predicates of the rule's component; EMIT finds the facts of an instance in registers then."""
    writer = _Writer(catalogue, code, plan.rule.name)
    rule = plan.rule
    assert rule.head is not None
    if own is not None:
        writer.keep_body([atom.predicate in own for atom in rule.atoms], plan.pivot)
    unread = frozenset[Variable]() if plan.pivot is None else given_later(rule, plan.pivot)
    writer.pivot(plan.pivot_atom, filters.pivot, unread)
    for operator in plan.operators:
        match operator:
            case logical.Probe(atom, position, bound):
                writer.probe(atom, bound, filters.atom(position), position)
            case logical.Lookup(atom, position):
                writer.member(atom, filters.atom(position), position)
            case logical.AntiJoin(atom, _, bound):
                if not (filters.is_complete and writer.outside(atom, bound)):
                    writer.absent(atom, bound, filters.negation)
            case logical.Compute(variable, expression):
                writer.expression(op.COMPUTE, expression, variable)
            case logical.Filter(expression):
                writer.expression(op.TEST, expression, None)
    writer.emit(rule.head, is_new)
    return writer.finish()


def compile_fold(fold: Fold, catalogue: Catalogue, code: Code, is_new: bool) -> int:
    """Appends the plan that gives one head fact per group; its pivots are one fact of each group."""
    writer = _Writer(catalogue, code, fold.name)
    first = fold.columns[0]
    writer.pivot_columns(first, fold.group)
    for column in fold.columns:
        writer.fold(column, fold.group)
    writer.emit(fold.head, is_new)
    return writer.finish()


def group_index(column: FoldColumn, catalogue: Catalogue) -> int:
    """The index of a relation by its group."""
    return catalogue.index(catalogue.predicate(column.relation, column.arity), tuple(sorted(column.group)))


@dataclass(slots=True)
class _Draft:
    """An operator before its kept registers are known: numbers, then `keep`, then numbers."""

    before: list[int]
    reads: set[int]
    writes: set[int]
    after: list[int] = field(default_factory=list)
    keeps: bool = True


class _Writer:
    def __init__(self, catalogue: Catalogue, code: Code, name: str) -> None:
        self.catalogue, self.code, self.name = catalogue, code, name
        self.register: dict[Variable, int] = {}
        self.header: list[int] = []
        self.drafts: list[_Draft] = []
        self.levels = 1
        self.pivot_predicate = -1
        self.body: list[int] = []
        self.own: list[bool] = []
        self.proves = False
        """Whether the pivot is the head: then emit reads which fact it is."""

    def keep_body(self, own: list[bool], pivot: int | None) -> None:
        """Gives every atom of the body a register for its fact; the pivot's has one.  `own`: whether each is
        of the rule's component."""
        taken, atoms = len(self.register) + 1, len(own)
        self.own = own
        self.proves = pivot == logical.HEAD
        self.body = [PIVOT_REGISTER if i == pivot else taken + i for i in range(atoms)]
        self.register.update({Variable(f"#{i}"): taken + i for i in range(atoms)})

    def _body_register(self, position: int) -> int:
        return self.body[position] if self.body else -1

    def _number(self, variable: Variable) -> int:
        return self.register.setdefault(variable, len(self.register) + 1)

    def _operand(self, argument: Argument) -> int:
        if isinstance(argument, Variable):
            return self._number(argument)
        return -1 - self.catalogue.term(argument)

    def _filter(self, chosen: Filter) -> int:
        filters = self.code.filters
        return filters.setdefault(chosen, len(filters))

    def pivot_columns(self, column: FoldColumn, group: Sequence[Variable]) -> None:
        """A pivot of which only the columns of a group are read."""
        self.pivot_predicate = self.catalogue.predicate(column.relation, column.arity)
        loads = [n for c, v in zip(column.group, group, strict=True) for n in (c, self._number(v))]
        self.header = [self.pivot_predicate, self._filter(ANY_FACT), 0, 0, len(group), *loads]

    def pivot(
        self, atom: NormalAtom | None, chosen: Filter, unread: frozenset[Variable] = frozenset()
    ) -> None:
        """The atom whose facts are given; variables in `unread` get their values later."""
        if atom is None:
            self.header = [-1, 0, 0, 0, 0]
            return
        self.pivot_predicate = self.catalogue.predicate(atom.predicate, len(atom.arguments))
        constants: list[int] = []
        repeats: list[int] = []
        loads: list[int] = []
        seen: dict[Variable, int] = {}
        for column, argument in enumerate(atom.arguments):
            if not isinstance(argument, Variable):
                constants += [column, self._operand(argument)]
            elif argument in unread:
                continue
            elif argument in seen:
                repeats += [seen[argument], column]
            else:
                seen[argument] = column
                loads += [column, self._number(argument)]
        self.header = [self.pivot_predicate, self._filter(chosen)]
        self.header += [len(constants) // 2, *constants, len(repeats) // 2, *repeats]
        self.header += [len(loads) // 2, *loads]

    def probe(self, atom: NormalAtom, bound: tuple[int, ...], chosen: Filter, position: int) -> None:
        predicate = self.catalogue.predicate(atom.predicate, len(atom.arguments))
        keys = [self._operand(atom.arguments[c]) for c in bound]
        repeats, new = self._free_columns(atom, bound)
        reads = {k for k in keys if k >= 0} | _pivot_if(chosen)
        fact = self._body_register(position)
        index = self.catalogue.index(predicate, bound)
        self.code.indexes.add(index)
        head = [index, self._filter(chosen), fact]
        self.drafts.append(
            _Draft(
                [op.PROBE, 0, *head, len(keys), *keys, len(repeats) // 2, *repeats],
                reads,
                set(new[1::2]) | {r for r in (fact,) if r >= 0},
                [len(new) // 2, *new],
            )
        )
        self.levels += 1

    def _free_columns(self, atom: NormalAtom, bound: tuple[int, ...]) -> tuple[list[int], list[int]]:
        repeats: list[int] = []
        new: list[int] = []
        seen: dict[Variable, int] = {}
        for column, argument in enumerate(atom.arguments):
            if column in bound:
                continue
            assert isinstance(argument, Variable)
            if argument in seen:
                repeats += [seen[argument], column]
            else:
                seen[argument] = column
                new += [column, self._number(argument)]
        return repeats, new

    def member(self, atom: NormalAtom, chosen: Filter, position: int) -> None:
        predicate = self.catalogue.predicate(atom.predicate, len(atom.arguments))
        if self.catalogue.is_small(predicate):
            self.probe(atom, tuple(range(len(atom.arguments))), chosen, position)
            return
        fact = self._body_register(position)
        self.code.looked_up.add(predicate)
        operands = [self._operand(a) for a in atom.arguments]
        self.drafts.append(
            _Draft(
                [op.MEMBER, 0, predicate, self._filter(chosen), fact, len(operands), *operands],
                {o for o in operands if o >= 0} | _pivot_if(chosen),
                {r for r in (fact,) if r >= 0},
            )
        )

    def outside(self, atom: NormalAtom, bound: tuple[int, ...]) -> bool:
        """A negated atom by a set of terms, if it is bound by one variable and asks for nothing else."""
        free = [a for column, a in enumerate(atom.arguments) if column not in bound]
        if len(bound) != 1 or len(set(free)) < len(free):
            return False
        argument = atom.arguments[bound[0]]
        if not isinstance(argument, Variable):
            return False
        bits = self.catalogue.terms_in(
            self.catalogue.predicate(atom.predicate, len(atom.arguments)), bound[0]
        )
        if bits is None:
            return False
        register = self._number(argument)
        self.drafts.append(_Draft([op.OUTSIDE, 0, len(self.code.bitmaps), register], {register}, set()))
        self.code.bitmaps.append(bits)
        return True

    def absent(self, atom: NormalAtom, bound: tuple[int, ...], chosen: Filter) -> None:
        predicate = self.catalogue.predicate(atom.predicate, len(atom.arguments))
        keys = [self._operand(atom.arguments[c]) for c in bound]
        whole = len(bound) == len(atom.arguments) and not self.catalogue.is_small(predicate)
        index = -1 if whole else self.catalogue.index(predicate, bound)
        if whole:
            self.code.looked_up.add(predicate)
        else:
            self.code.indexes.add(index)
        seen: dict[Variable, int] = {}
        repeats: list[int] = []
        for column, argument in enumerate(atom.arguments):
            if column not in bound and isinstance(argument, Variable):
                if argument in seen:
                    repeats += [seen[argument], column]
                seen.setdefault(argument, column)
        self.drafts.append(
            _Draft(
                [
                    *(op.ABSENT, 0, index, predicate, self._filter(chosen)),
                    *(len(keys), *keys, len(repeats) // 2, *repeats),
                ],
                {k for k in keys if k >= 0},
                set(),
            )
        )

    def expression(self, opcode: int, expression: Expression, variable: Variable | None) -> None:
        body = encode(expression, self._number, self.catalogue.term)
        reads = {self._number(v) for v in variables(expression)}
        target = [] if variable is None else [self._number(variable)]
        self.drafts.append(_Draft([opcode, 0, *target, len(body), *body], reads, set(target)))

    def fold(self, column: FoldColumn, group: Sequence[Variable]) -> None:
        keys = [self._number(v) for _, v in sorted(zip(column.group, group, strict=True), key=lambda p: p[0])]
        target = self._number(column.variable)
        self.drafts.append(
            _Draft(
                [
                    *(op.FOLD, 0, group_index(column, self.catalogue), len(keys), *keys),
                    *(OPERATORS.get(column.operator, PYTHON), target, int(column.distinct)),
                    *(len(column.columns), *column.columns),
                ],
                {PIVOT_REGISTER, *keys},  # the pivot stands for a group that is left to Python
                {target},
            )
        )

    def emit(self, head: NormalAtom, is_new: bool) -> None:
        predicate = self.catalogue.predicate(head.predicate, len(head.arguments))
        operands = [self._operand(a) for a in head.arguments]
        self.code.looked_up.add(predicate)
        self.drafts.append(
            _Draft(
                [
                    *(op.EMIT, 0, predicate, int(is_new), len(operands), *operands),
                    *(len(self.body), *self.body, *map(int, self.own)),
                ],
                {o for o in operands if o >= 0}
                | set(self.body)
                | ({PIVOT_REGISTER} if self.proves else set()),
                set(),
                keeps=False,
            )
        )
        self.code.arity = max(self.code.arity, len(operands))

    def finish(self) -> int:
        """Fills in the kept registers, from the last operator to the first, and writes the plan."""
        live: set[int] = set()
        operators: list[list[int]] = []
        for draft in reversed(self.drafts):
            numbers = list(draft.before)
            if draft.keeps:
                kept = sorted(live - draft.writes)
                numbers += [len(kept), *kept]
            numbers += draft.after
            numbers[1] = len(numbers)
            operators.append(numbers)
            live = (live - draft.writes) | draft.reads
        code = self.code
        code.starts.append(len(code.numbers))
        code.names.append(self.name)
        code.pivots.append(self.pivot_predicate)
        code.numbers += self.header
        starts: list[int] = []
        for numbers in reversed(operators):
            starts.append(len(code.numbers))
            code.numbers += numbers
        code.operators.append(starts)
        code.levels = max(code.levels, self.levels)
        code.registers = max(code.registers, len(self.register) + 1)
        return len(code.starts) - 1


def _pivot_if(chosen: Filter) -> set[int]:
    return set() if chosen[2] == op.ANY_ID else {PIVOT_REGISTER}
