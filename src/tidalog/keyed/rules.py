"""The rules of a bucket.  Rows of the stream edit them, for all keys at once.

Every bucket gets every such row, and the effect of a row depends only on the rules before it.  So all buckets
have the same rules after each batch, or refuse the same edit.  Rules are kept as the text that users know, so
that they mean the same wherever a bucket is restored; its database has them with keys, and gets from one
version to the next by a rule edit, as the knowledge base does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tidalog.analysis.keyed import KeyedProgram, keyed_program
from tidalog.analysis.rewrite import atoms
from tidalog.api.database import Database
from tidalog.api.load import Environment, Load, analysed, witness_of
from tidalog.io.update_checks import ADD_RULE
from tidalog.keyed.diagnostics import RuleForbidsFacts, RuleMovesTriples, RuleTooWide
from tidalog.lang import parse, print_program, print_rule
from tidalog.model.errors import ProgramError
from tidalog.model.rule_edit import NamedRemoval, RuleEdit, RuleText
from tidalog.model.terms import String

if TYPE_CHECKING:
    from tidalog.keyed.config import BucketConfig
    from tidalog.model.program import Program
    from tidalog.model.update import Label

PROGRAM, KNOWN, LABEL = "program", "known", "rule label"
"""Names in the header of a record."""
_WHERE: Final = "<stream>"


@dataclass(frozen=True)
class Rules:
    """Rules at one moment of the stream."""

    config: BucketConfig
    text: str
    """The program without facts; after an edit, with the names of all rules."""
    known: Mapping[str, int]
    """Predicates of the rules now or earlier, and their arities."""
    label: Label | None = None
    """The update of the last edit."""
    edited: bool = False
    """Whether an edit was applied or refused since the stream started."""

    @cached_property
    def program(self) -> Program:
        """With the key as the first argument.  Every rule has a name; that of a bridge between relations of
        triples is its text."""
        if not self.edited or self.config.facts_only:
            program = parse(self.config.text)
        else:
            program = self._keyed(parse(self.text)).program
        named = (replace(rule, name=rule.name or print_rule(rule)) for rule in program.rules)
        return replace(program, rules=tuple(named))

    def database(self) -> Database:
        """An empty database with these rules, in which all their predicates may have explicit facts."""
        config = self.config
        environment = Environment(functions=config.known_functions, arguments=config.ranges)
        return _database(self.program, environment, {config.key: 1, **_arities(self.program)})

    def edit_of(self, database: Database) -> RuleEdit:
        """The edit that gives a database these rules."""
        present = database.rules.rules
        wanted = {str(rule.name): rule for rule in self.program.rules}
        added = (rule for name, rule in wanted.items() if present.get(name) != rule)
        removed = (NamedRemoval(name) for name, rule in present.items() if wanted.get(name) != rule)
        return RuleEdit(tuple(added), tuple(removed))

    def after(self, label: Label | None, edit: RuleEdit) -> Rules:
        """Raises `ProgramError` as the knowledge base does, and if facts would have more arguments than the
        stream has columns, or would have to move to other relations."""
        config, before = self.config, parse(self.text)
        given = Environment(config.parameters, config.known_functions, config.ranges)
        database = _database(before, given, self._in_no_rule(before))
        database.edit_rules(edit)
        program = database.program
        keyed = self._keyed(program)
        if not keyed.layout.same_relations(config.layout) or keyed.key != config.key:
            raise ProgramError(RuleMovesTriples())
        arities = _arities(program)
        wide = [name for name, arity in arities.items() if arity > config.arguments]
        if wide:
            values = {"predicate": wide[0], "arity": arities[wide[0]], "arguments": config.arguments}
            raise ProgramError(RuleTooWide(**values))
        known = {**arities, **self.known}
        rules = Rules(config, print_program(program), known, label, edited=True)
        rules._check_first_facts()
        return rules

    def _check_first_facts(self) -> None:
        """Raises `ProgramError` if a key with only the facts of the program violates a constraint."""
        config = self.config
        if all(rule.heads[0].predicate != config.violated for rule in self.program.rules):
            return
        database = self.database()
        key = database.dictionary.ids_of([String("")])
        facts = config.first_facts(key, config.shared_facts(database.dictionary))
        database.load(database.plan_insertion(facts))
        database.materialise()
        found = database.engine.columns(config.violated)
        if found and len(found[1]):
            constraint = database.dictionary.term(int(found[1][0]))
            raise ProgramError(RuleForbidsFacts(constraint=getattr(constraint, "value", constraint)))

    def refused(self, label: Label | None) -> Rules:
        """The same rules after an edit that was refused."""
        return replace(self, label=label, edited=True)

    def _keyed(self, program: Program) -> KeyedProgram:
        config = self.config
        witnesses = (witness_of(name, arity) for name, arity in self._in_no_rule(program).items())
        whole = replace(program, facts=tuple(witnesses))
        return keyed_program(whole, config.parameters, config.ranges, kept=config.layout)

    def _in_no_rule(self, program: Program) -> dict[str, int]:
        """Predicates that are in no rule any more.  They keep their arity."""
        in_rules = _arities(program)
        return {name: arity for name, arity in self.known.items() if name not in in_rules}

    def header(self) -> dict[str, object]:
        """What a record says about the rules."""
        return {PROGRAM: self.text, KNOWN: dict(self.known), LABEL: self.label} if self.edited else {}


def rules_of(config: BucketConfig, header: Mapping[str, object] | None = None) -> Rules:
    """The rules of a record; without one, those that the stream starts with."""
    if header is None or PROGRAM not in header:
        return Rules(config, config.original, config.known)
    text, known, label = header[PROGRAM], header[KNOWN], header[LABEL]
    if not (isinstance(text, str) and isinstance(known, dict) and isinstance(label, int | str | None)):
        raise ValueError("the rules of a record are damaged")
    return Rules(config, text, known, label, edited=True)


def _database(program: Program, environment: Environment, arities: Mapping[str, int]) -> Database:
    """An empty database, in which predicates of these arities may have explicit facts."""
    witnesses = {witness: witness_of(*witness) for witness in arities.items()}
    database = Database()
    database.load(Load(program, environment, witnesses, analysed(program, environment, witnesses)))
    return database


def _arities(program: Program) -> dict[str, int]:
    return {atom.predicate: len(atom.arguments) for rule in program.rules for atom in atoms(rule)}


@dataclass
class EditRows:
    """The rule edits of a batch, in order."""

    labels: list[Label | None] = field(default_factory=list)
    edits: list[RuleEdit] = field(default_factory=list)
    rows: int = 0
    skipped: int = 0
    """Rows of edits that were applied before."""


def edits_in(table: pa.Table, last: Label | None) -> EditRows:
    """The edits that rows ask for, after the last one.  Without labels they are one edit."""
    found: dict[Label | None, RuleEdit] = {}
    skipped = 0
    # Rows come in any order, and not in the same one to every bucket.
    rows = sorted(table.to_pylist(), key=lambda row: (row["op"], row["predicate"] or "", str(row["arg1"])))
    for row in rows:
        label = row.get("update")
        if label is not None and last is not None and label <= last:
            skipped += 1
            continue
        if row["op"] == ADD_RULE:
            edit = RuleEdit(added=(RuleText(str(row["arg1"]), row["predicate"], _WHERE),))
        else:
            edit = RuleEdit(removed=(NamedRemoval(row["predicate"]),))
        found[label] = found.get(label, RuleEdit()) + edit
    labels = sorted(found, key=lambda label: (label is not None, label))
    return EditRows(labels, [found[label] for label in labels], table.num_rows, skipped)
