"""What a knowledge base knows: a program, its analysis, and the explicit facts in an engine, in step.

Invariant.  `engine` holds the explicit facts in the relations that `analysis` names.  A change is prepared as
a `Change`, which touches nothing; `take` carries it out whole or not at all.

Facts live in the engine alone.  The analysis sees one *witness* for each predicate and number of arguments
that has explicit facts, which is all that it needs to know of them.

Rules that come and go one by one are the business of a `EditedProgram`, which is made for the first of them
and let go when the program changes in another way.  Names of rules stay what they are all the while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidalog.analysis import Analysis, EditedProgram, RuleDiff, TripleLayout, analyse
from tidalog.analysis.draft import ArgumentRange
from tidalog.api.bulk_terms import ids_of_many
from tidalog.api.relations import explicit_rows, routed
from tidalog.engine.engine import EmbeddedEngine
from tidalog.io import ReadResult
from tidalog.model.errors import Diagnostic
from tidalog.model.facts import Facts
from tidalog.model.program import Fact, Program, Rule
from tidalog.model.rule_edit import NamedRemoval
from tidalog.model.terms import IRI, Term
from tidalog.plan.lowering import constraint_rule

Witness = tuple[str, int]
"""A predicate and its number of arguments."""


@dataclass(frozen=True)
class Setting:
    """What comes from outside the program: values of parameters, and the functions that rules may call."""

    parameters: Mapping[str, Term] = field(default_factory=dict)
    functions: Mapping[str, ArgumentRange] = field(default_factory=dict)


@dataclass
class Change:
    """A program and data to be known from now on; `analysis` fits both."""

    program: Program
    setting: Setting
    facts: Sequence[Fact]
    """New facts of a text."""
    witnesses: dict[Witness, Fact]
    analysis: Analysis
    tables: list[tuple[str, ReadResult]] = field(default_factory=list)
    """New facts of data, by predicate."""
    rows: list[Facts] = field(default_factory=list)
    """New facts whose terms have ids already, by predicate."""

    def add_rows(self, facts: Facts) -> None:
        """`add_table` for facts whose terms have ids already."""
        self.rows.append(facts)
        if facts.count or facts.columns:
            self.add_witness(facts.predicate, len(facts.columns))

    def add_table(self, predicate: str, table: ReadResult) -> None:
        """Data for a predicate.  Raises `ProgramError` if the program cannot have it."""
        self.tables.append((predicate, table))
        arity = len(table.columns)
        if table.rows or arity:  # else not even the number of arguments is known
            self.add_witness(predicate, arity)

    def add_witness(self, predicate: str, arity: int) -> None:
        """A predicate has facts with so many arguments.  Raises `ProgramError` if the program cannot have
        them."""
        if (predicate, arity) not in self.witnesses:
            self.witnesses[predicate, arity] = witness_of(predicate, arity)
            self.analysis = analysed(self.program, self.setting, self.witnesses, self.facts)

    def text_facts(self) -> Iterator[tuple[str, list[tuple[Term, ...]]]]:
        """New facts of the text by the relation that holds them."""
        grouped: dict[str, list[tuple[Term, ...]]] = {}
        for fact in self.analysis.facts[len(self.witnesses) :]:
            grouped.setdefault(fact.predicate, []).append(fact.arguments)
        yield from grouped.items()


class Contents:
    def __init__(self) -> None:
        self.program = Program()
        self.analysis = analyse(self.program)
        self.engine = EmbeddedEngine()
        self.setting = Setting()
        self._witnesses: dict[Witness, Fact] = {}
        self._moving: EditedProgram | None = None
        """None if rules have not been looked at since the program changed as a whole."""

    def change(self, program: Program, setting: Setting, facts: Sequence[Fact] = ()) -> Change:
        """The change to a program, with more facts.  Raises `ProgramError` if they do not go together."""
        witnesses = dict(self._witnesses)
        if program is self.program and setting is self.setting and not facts:
            return Change(program, setting, facts, witnesses, self.analysis)
        analysis = analysed(program, setting, witnesses, facts)
        return Change(program, setting, facts, witnesses, analysis)

    def take(self, change: Change) -> tuple[int, bool]:
        """Carries a change out.  Gives the number of explicit facts that are new, and whether anything that
        was derived may be out of date."""
        layout = change.analysis.triples
        moved = not (same_relations(self.analysis.triples, layout) and self._fits(change.analysis))
        new_rules = change.analysis.rules != self.analysis.rules
        batches = list(self._batches(change, layout))
        if moved:
            self._lay_out_anew(self.analysis.triples, layout)
        new = self._insert(batches) if batches else 0
        for fact in change.facts:
            key = fact.predicate, len(fact.arguments)
            if key not in change.witnesses:
                change.witnesses[key] = fact
        self.program, self.setting = change.program, change.setting
        self.analysis = replace(change.analysis, program=change.program, facts=())
        self._witnesses = change.witnesses
        self._moving = None
        return new, moved or new_rules or bool(batches)

    # --- rules that come and go ---------------------------------------------------------------------

    @property
    def moving(self) -> EditedProgram:
        """The program, by the names of its rules."""
        if self._moving is None:
            setting, facts = self.setting, tuple(self._witnesses.values())
            self._moving = EditedProgram(self.analysis, setting.parameters, setting.functions, facts)
        return self._moving

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What is odd about the program as it stands.  A change of rules looks at new rules alone, so they
        are looked for when they are asked for."""
        if self._moving is None:
            return self.analysis.warnings
        return analysed(self.program, self.setting, self._witnesses, ()).warnings

    def change_rules(
        self, added: Sequence[Rule], removed: Sequence[NamedRemoval], witnesses: Iterable[Witness] = ()
    ) -> tuple[RuleDiff, Callable[[], None]]:
        """Other rules from now on, and predicates that are to have explicit facts; facts stay where they are.
        Gives what was done, and what takes it all back.  Raises `ProgramError`, and nothing is changed."""
        moving = self.moving
        facts = {witness: witness_of(*witness) for witness in witnesses if witness not in self._witnesses}
        known = self.program, self.analysis, self._witnesses
        change = moving.change(added, removed, tuple(facts.values()))
        try:
            if change or facts:
                self.program = replace(moving.program, facts=())
                self.analysis = replace(moving.analysis, program=self.program, facts=())
                self._witnesses = {**self._witnesses, **facts}
        except BaseException:
            moving.undo(change)
            self.program, self.analysis, self._witnesses = known
            raise

        def take_back() -> None:
            moving.undo(change)
            self.program, self.analysis, self._witnesses = known
            self._moving = moving

        return change, take_back

    def is_laid_out(self, before: TripleLayout) -> bool:
        """Whether facts that were laid out in one way can stay where they are: triples are kept in the same
        relations, and no predicate, and no constraint, has another number of arguments than the engine
        knows."""
        return same_relations(before, self.analysis.triples) and self._fits(self.analysis)

    def _fits(self, analysis: Analysis) -> bool:
        wanted = {name: info.arity for name, info in analysis.predicates.items()}
        for rule in map(constraint_rule, analysis.constraints):
            assert rule.head is not None
            wanted[rule.head.predicate] = len(rule.head.arguments)
        relations = zip(self.engine.names, self.engine.arities, strict=True)
        return all(wanted.get(name, arity) == arity for name, arity in relations)

    def lay_out(self, before: TripleLayout) -> None:
        """Explicit facts go where the program has them now; if that is elsewhere, others go."""
        if not self.is_laid_out(before):
            self._lay_out_anew(before, self.analysis.triples)

    def _lay_out_anew(self, before: TripleLayout, layout: TripleLayout) -> None:
        """Explicit facts alone are left.  A relation without any is made when it is needed, with as many
        arguments as it has then."""
        engine = self.engine
        engine.replace_facts(
            (part.predicate, part.columns, part.count)
            for whole in explicit_rows(engine, before)
            if whole.count
            for part in routed(whole, layout, engine.dictionary)
        )

    @property
    def witnesses(self) -> list[Witness]:
        """Predicates that have or had explicit facts."""
        return list(self._witnesses)

    def restore(
        self, program: Program, setting: Setting, witnesses: Iterable[Witness], layout: TripleLayout
    ) -> bool:
        """The engine holds facts of a program, with triples in the relations of `layout`.  Gives whether they
        stay there; if not, explicit facts alone are left."""
        self._witnesses = {(predicate, arity): witness_of(predicate, arity) for predicate, arity in witnesses}
        analysis = analysed(program, setting, self._witnesses, ())
        self.program, self.setting, self._moving = program, setting, None
        self.analysis = replace(analysis, program=program, facts=())
        if self.is_laid_out(layout):
            return True
        self._lay_out_anew(layout, analysis.triples)
        return False

    def unknown(self, facts: Iterable[Facts]) -> list[Witness]:
        """Predicates of facts, with their number of arguments, that have had no explicit facts yet."""
        found = ((rows.predicate, len(rows.columns)) for rows in facts)
        return [witness for witness in found if witness not in self._witnesses]

    def check_known(self, facts: Iterable[Facts]) -> None:
        """Facts that are to be deleted have as many arguments as their predicate; one that nobody knows has
        none to delete.  Raises `ProgramError`."""
        for predicate, arity in self.unknown(facts):
            known = self.analysis.predicates.get(predicate)
            if known is not None and known.arity != arity:
                self.change(self.program, self.setting).add_witness(predicate, arity)

    def admit(self, witnesses: Iterable[Witness]) -> tuple[bool, Callable[[], None]]:
        """Predicates are to have explicit facts from now on.  Gives whether what was derived is out of date,
        and what takes it all back.  Raises `ProgramError` if the program cannot have such facts."""
        change = self.change(self.program, self.setting)
        for predicate, arity in witnesses:
            change.add_witness(predicate, arity)
        known = self.analysis, self._witnesses
        engine = self.engine.__dict__.copy()
        _, outdated = self.take(change)

        def take_back() -> None:
            self.analysis, self._witnesses = known
            if outdated:  # then the engine has made new arrays and left the old ones as they were
                self.engine.__dict__.update(engine)

        return outdated, take_back

    def _batches(self, change: Change, layout: TripleLayout) -> Iterator[Facts]:
        """All new facts by relation.  Terms get their ids here, which no fact notices."""
        dictionary = self.engine.dictionary
        for relation, rows in change.text_facts():
            arity = len(rows[0])
            columns = [ids_of_many(dictionary, [row[place] for row in rows]) for place in range(arity)]
            yield Facts(relation, columns, len(rows))
        for predicate, table in change.tables:
            if table.rows:
                columns = [dictionary.encode(column.array, column.reading) for column in table.columns]
                yield from routed(Facts(predicate, columns, table.rows), layout, dictionary)
        for facts in change.rows:
            if facts.count:
                yield from routed(facts, layout, dictionary)

    def _insert(self, batches: Iterable[Facts]) -> int:
        self.engine.forget_derived()
        mark = self.engine.mark()
        try:
            return sum(self.engine.insert(b.predicate, b.columns, b.count) for b in batches)
        except BaseException:
            self.engine.back_to(mark)
            raise


def witness_of(predicate: str, arity: int) -> Fact:
    return Fact(predicate, (IRI("…"),) * arity)


def analysed(
    program: Program, setting: Setting, witnesses: Mapping[Witness, Fact], facts: Sequence[Fact]
) -> Analysis:
    """The analysis of a program with its facts; those of the witnesses come first in `Analysis.facts`."""
    whole = replace(program, facts=(*witnesses.values(), *facts))
    return analyse(whole, setting.parameters, setting.functions)


def same_relations(one: TripleLayout, other: TripleLayout) -> bool:
    """Whether two layouts keep every explicit triple in the same place."""
    return (one.active, dict(one.properties), dict(one.classes), one.tables) == (
        other.active,
        dict(other.properties),
        dict(other.classes),
        other.tables,
    )
