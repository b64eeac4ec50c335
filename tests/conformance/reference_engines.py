"""The reference implementations behind the `Engine` protocol: from scratch, and the papers' algorithms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from golden_data import Row, imported_facts
from tidalog.api.engine import EMBEDDED, Capabilities, Capability, NotSupported, body_atoms, check_supported
from tidalog.api.update import Update
from tidalog.io.result import ReadResult, TermColumn
from tidalog.lang import parse_file, parse_query, print_rule
from tidalog.lang.fragments import parse_rules
from tidalog.model import program as model
from tidalog.model.program import Program, Rule
from tidalog.model.term_text import parse_any, term_text
from tidalog.model.terms import IRI, Boolean, Double, Integer, String, Term
from tidalog.reference import Maintenance, NotEvaluable, Violation, evaluate, violations
from tidalog.reference.clauses import declared_row, explicit_facts

Fact = tuple[str, Row]


class ConstraintViolated(Exception):
    """Holds each violation as golden folders write it: the name of the constraint and its bindings."""

    def __init__(self, found: Sequence[Violation]) -> None:
        self.violations = [_text(violation) for violation in found]
        super().__init__("\n".join(self.violations))


def _text(violation: Violation) -> str:
    bindings = ", ".join(f"?{name} = {term_text(term)}" for name, term in violation.bindings)
    return f"{violation.rule.name}: {bindings}"


@dataclass(frozen=True)
class Table:
    rows: frozenset[Row]

    def __len__(self) -> int:
        return len(self.rows)

    def to_terms(self) -> list[Row]:
        return list(self.rows)


@dataclass(frozen=True)
class State:
    explicit: frozenset[Fact]
    facts: frozenset[Fact]

    def rows(self, predicate: str, explicit: bool | None) -> Table:
        wanted = {None: self.facts, True: self.explicit, False: self.facts - self.explicit}[explicit]
        return _table(wanted, predicate)


@dataclass(frozen=True)
class StateChange:
    """One predicate in two states."""

    inserted_explicit: Table
    inserted_implicit: Table
    deleted_explicit: Table
    deleted_implicit: Table
    became_explicit: Table
    became_implicit: Table


def changes(before: State, after: State) -> dict[str, StateChange]:
    new, gone, kept = after.facts - before.facts, before.facts - after.facts, before.facts & after.facts
    parts = (
        new & after.explicit,
        new - after.explicit,
        gone & before.explicit,
        gone - before.explicit,
        kept & after.explicit - before.explicit,
        kept & before.explicit - after.explicit,
    )
    names = {name for part in parts for name, _ in part}
    return {name: StateChange(*(_table(part, name) for part in parts)) for name in names}


def _table(facts: Iterable[Fact], predicate: str) -> Table:
    return Table(frozenset(row for name, row in facts if name == predicate))


class _Readable:
    """The part of an engine that reads a program and a state."""

    _program: Program

    @property
    def state(self) -> State:
        raise NotImplementedError

    @property
    def predicates(self) -> Mapping[str, object]:
        return _predicates(self._program, self.state)

    @property
    def rules(self) -> Mapping[str, str]:
        return {str(rule.name): print_rule(rule, self._program.prefixes) for rule in self._program.rules}

    def facts(self, predicate: str, explicit: bool | None = None) -> Table:
        return self.state.rows(predicate, explicit)


class NaiveEngine(_Readable):
    """Evaluates the whole program after each change.  Windows have another oracle: `reference.windows`."""

    capabilities: Capabilities = EMBEDDED - {Capability.WINDOWS}

    def __init__(self) -> None:
        self._program = Program()
        self._explicit: frozenset[Fact] = frozenset()
        self._state: State | None = None

    def load(self, source: Program | Path, /) -> None:
        program = parse_file(source) if isinstance(source, Path) else source
        check_supported(program, self.capabilities)
        data = imported_facts(source.parent, program) if isinstance(source, Path) else {}
        given = {*self._explicit, *_flat(explicit_facts(program, data))}
        self._change(_joined(self._program, program), given)

    def apply(self, update: Update, upcoming: Sequence[Update] = ()) -> Mapping[str, StateChange]:
        if update.changes_rules and Capability.RULE_EDITS not in self.capabilities:
            raise NotSupported(frozenset([Capability.RULE_EDITS]))
        before, saved = self.state, (self._program, self._explicit, self._state)
        try:
            program = _edited(self._program, update)
            _check_arities(program)
            self._change(program, self._explicit)
            deletions, insertions = (
                _flat(explicit_facts(replace(program, facts=()), facts)) for facts in term_update(update)
            )
            self._change(program, self._explicit - deletions | insertions)
            return changes(before, self.state)
        except Exception:
            self._program, self._explicit, self._state = saved
            raise

    def _change(self, program: Program, explicit: Iterable[Fact]) -> None:
        self._program = replace(program, facts=())
        self._explicit = frozenset(_flat(explicit_facts(self._program, _grouped(explicit))))
        self._state = None

    @property
    def state(self) -> State:
        if self._state is None:
            model = evaluate(self._program, _grouped(self._explicit))
            if found := violations(self._program, model):
                raise ConstraintViolated(found)
            self._state = State(self._explicit, frozenset(_flat(model)))
        return self._state

    def query(self, text: str, /) -> Table:
        question = parse_query(text, self._program.prefixes)
        asked = replace(self._program, rules=(*self._program.rules, question))
        return Table(evaluate(asked, _grouped(self._explicit))[question.heads[0].predicate])

    def close(self) -> None:
        self._state = None


class PaperEngine(_Readable):
    """One of the papers' algorithms, which are stated for positive programs."""

    def __init__(self, algorithm: Callable[[Program], Maintenance], capabilities: Capabilities) -> None:
        self._algorithm = algorithm
        self.capabilities = capabilities
        self._program = Program()
        self._maintenance: Maintenance | None = None

    def load(self, source: Program | Path, /) -> None:
        program = parse_file(source) if isinstance(source, Path) else source
        check_supported(program, self.capabilities)
        evaluate(program)  # refuses what has no meaning
        self._program = _joined(self._program, program)
        self._maintenance = None

    def apply(self, update: Update, upcoming: Sequence[Update] = ()) -> Mapping[str, StateChange]:
        if update.changes_rules:
            raise NotSupported(frozenset([Capability.RULE_EDITS]))
        before = self.state
        program = self._program
        self.maintenance.apply(_pair(update, program), [_pair(other, program) for other in upcoming])
        return changes(before, self.state)

    @property
    def maintenance(self) -> Maintenance:
        if self._maintenance is None:
            self._maintenance = self._algorithm(self._program)
        return self._maintenance

    @property
    def state(self) -> State:
        return State(frozenset(self.maintenance.explicit), frozenset(self.maintenance.materialisation))

    def query(self, text: str, /) -> Table:
        raise NotSupported(frozenset([Capability.QUERIES]))

    def close(self) -> None:
        self._maintenance = None


# --- programs ---------------------------------------------------------------------------------------


def _predicates(program: Program, state: State) -> dict[str, None]:
    heads = (head.predicate for rule in program.rules for head in rule.heads)
    return dict.fromkeys([*heads, *(name for name, _ in state.facts)])


def _joined(program: Program, other: Program) -> Program:
    """Rules without a name get the name `r` and their number."""
    rules = [*program.rules, *other.rules]
    return replace(
        other,
        rules=tuple(replace(rule, name=rule.name or f"r{n}") for n, rule in enumerate(rules, 1)),
        facts=(*program.facts, *other.facts),
        imports=(*program.imports, *other.imports),
        exports=(*program.exports, *other.exports),
        declarations=(*program.declarations, *other.declarations),
    )


def _edited(program: Program, update: Update) -> Program:
    """Removes rules and adds others; a rule that is there already, up to the names of its variables, is not
    added."""
    names = [rule.name for rule in program.rules]
    if unknown := [name for name in update.rules_removed if name not in names]:
        raise NotEvaluable(f"there is no rule {unknown[0]}")
    rules = [rule for rule in program.rules if rule.name not in update.rules_removed]
    for text in update.rules_added:
        for rule in parse_rules(text, program.prefixes):
            if _canonical(rule) not in map(_canonical, rules):
                rules.append(rule)
    return replace(program, rules=tuple(rules))


def _check_arities(program: Program) -> None:
    """The reference itself takes predicates with several arities for several predicates."""
    arities: dict[str, int] = {}
    for rule in program.rules:
        for atom in (*rule.heads, *body_atoms(rule)):
            if ":" not in atom.predicate and arities.setdefault(atom.predicate, atom.arity) != atom.arity:
                raise NotEvaluable(f"{atom.predicate} has {arities[atom.predicate]} arguments elsewhere")


def _canonical(rule: Rule) -> str:
    numbers: dict[str, str] = {}
    text = print_rule(replace(rule, name=None))
    return re.sub(r"\?\w+", lambda found: numbers.setdefault(found[0], f"?{len(numbers)}"), text)


# --- facts ------------------------------------------------------------------------------------------


def _grouped(facts: Iterable[Fact]) -> dict[str, set[Row]]:
    found: dict[str, set[Row]] = {}
    for name, row in facts:
        found.setdefault(name, set()).add(row)
    return found


def _flat(facts: Mapping[str, Iterable[Row]]) -> set[Fact]:
    return {(name, row) for name, rows in facts.items() for row in rows}


def term_update(update: Update) -> tuple[dict[str, set[Row]], dict[str, set[Row]]]:
    """The deletions and insertions of an update as terms."""
    deletions, insertions = (
        _grouped((name.strip("<>"), row) for name, table in part for row in _rows(table))
        for part in (update.deletions, update.insertions)
    )
    return deletions, insertions


def _pair(update: Update, program: Program) -> tuple[set[Fact], set[Fact]]:
    """The deletions and insertions of an update as terms of the declared types."""
    deletions, insertions = (
        {(name, declared_row(program, model.Fact(name, row))) for name, row in _flat(part)}
        for part in term_update(update)
    )
    return deletions, insertions


def _rows(table: ReadResult) -> list[Row]:
    if not table.columns:
        return [()] * table.rows
    return list(zip(*map(_terms, table.columns), strict=True))


def _terms(column: TermColumn) -> list[Term]:
    values = column.array.to_pylist()
    if column.reading == "native":
        kind = column.array.type
        make = Boolean if pa.types.is_boolean(kind) else Integer if pa.types.is_integer(kind) else Double
        return [make(value) for value in values]
    readers: dict[str, Callable[[str], Term]] = {"any": parse_any, "string": String, "iri": IRI}
    return [readers[column.reading](value) for value in values]
