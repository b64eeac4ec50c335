"""The rules of a bucket.  Rows of the stream edit them, for all keys at once.

Every bucket gets every such row, and the effect of a row depends only on the rules before it.  So all buckets
have the same rules after each batch, or refuse the same edit.  `Rules` edits the rules that users know, as a
knowledge base does, so that they mean the same wherever a bucket is restored; of what that changes, it makes
the edit of the database, whose rules have keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tidalog.analysis import EditedProgram, RuleDiff
from tidalog.analysis.functions import with_atoms
from tidalog.analysis.keyed import KeyedEdit, KeyedRules
from tidalog.analysis.rewrite import atoms
from tidalog.api.database import Database
from tidalog.api.load import Environment, Load, analysed, witness_of
from tidalog.api.rules import rules_added
from tidalog.io.update_checks import ADD_RULE
from tidalog.keyed.diagnostics import RuleForbidsFacts, RuleMovesTriples, RuleTooWide
from tidalog.lang import parse, print_program, print_rule
from tidalog.model.errors import ProgramError
from tidalog.model.program import Program, Rule
from tidalog.model.rule_edit import NO_EDIT, NamedRemoval, RuleEdit, RuleText
from tidalog.model.terms import String
from tidalog.model.update import EncodedUpdate

if TYPE_CHECKING:
    from tidalog.keyed.config import BucketConfig
    from tidalog.model.update import Label

PROGRAM, KNOWN, LABEL = "program", "known", "rule label"
"""Names in the header of a record."""
_WHERE: Final = "<stream>"


class Rules:
    """Rules that are edited.  An edit costs what its rules cost; the first one analyses the program."""

    def __init__(self, config: BucketConfig) -> None:
        self.config = config
        self.known = dict(config.known)
        """Predicates of the rules now or earlier, and their arities."""
        self.label: Label | None = None
        """The update of the last edit."""
        self.edited = False
        """Whether an edit was applied or refused since the stream started."""
        self._restored: str | None = config.original if config.facts_only else None
        """The text of rules that are only kept."""
        self._first_key: Database | None = None
        """A database with one key, which has only the facts of the program; None until it is needed."""

    @cached_property
    def _written(self) -> EditedProgram:
        """The rules without keys."""
        config = self.config
        return EditedProgram(config.written, config.parameters, config.ranges)

    @cached_property
    def _keyed(self) -> KeyedRules:
        config = self.config
        program, key, violated = config.written.program, config.key, config.violated
        return KeyedRules(program, config.layout, key, violated, config.parameters, config.ranges)

    @cached_property
    def _lines(self) -> dict[str, str]:
        """The text of each rule, without prefixes."""
        return {name: print_rule(rule) for name, rule in self._written.rules.items()}

    @property
    def text(self) -> str:
        """The program without facts, with the names of all rules."""
        if self._restored is not None:
            return self._restored
        rest = print_program(replace(self._written.program, rules=(), facts=()))
        return "".join(f"{line}\n" for line in self._lines.values()) + rest

    def database(self) -> Database:
        """An empty database with the rules that the stream starts with."""
        program = parse(self.config.text)
        named = (replace(rule, name=rule.name or print_rule(rule)) for rule in program.rules)
        return self._database(tuple(named))

    def _database(self, rules: tuple[Rule, ...]) -> Database:
        """An empty database with these rules, in which all their predicates may have explicit facts."""
        config = self.config
        environment = Environment(functions=config.known_functions, arguments=config.ranges)
        arities = {config.key: 1, **arities_of(rules)}
        witnesses = {witness: witness_of(*witness) for witness in arities.items()}
        program, database = Program(rules), Database()
        database.load(Load(program, environment, witnesses, analysed(program, environment, witnesses)))
        return database

    # --- edits --------------------------------------------------------------------------------------

    def edit(self, label: Label | None, edit: RuleEdit) -> KeyedEdit:
        """Raises `ProgramError` as the knowledge base does, and if facts would have more arguments than the
        stream has columns, or would have to move to other relations; then the rules stay as they are."""
        config = self.config
        self.label, self.edited = label, True
        added = [with_atoms(rule, config.known_functions) for rule in rules_added(edit, config.prefixes)]
        found = (self._written.rule(removal.name) for removal in edit.removed)
        # Predicates that are in no rule any more keep their arity.
        left = arities_of(rule for rule in found if rule is not None)
        with self._edited(added, edit.removed, left) as (diff, keyed):
            arities = arities_of(diff.added)
            wide = [name for name, arity in arities.items() if arity > config.arguments]
            if wide:
                values = {"predicate": wide[0], "arity": arities[wide[0]], "arguments": config.arguments}
                raise ProgramError(RuleTooWide(**values))
            self._check_first_facts(keyed)
        self.known = {**arities, **self.known}
        return keyed

    @contextmanager
    def _edited(
        self, added: Sequence[Rule], removed: Iterable[NamedRemoval], given: Mapping[str, int]
    ) -> Iterator[tuple[RuleDiff, KeyedEdit]]:
        """Edited rules; an error inside undoes the edit.  The `given` predicates keep their arity."""
        lines, keyed_rules = self._lines, self._keyed
        diff = self._written.change(added, removed, [witness_of(*one) for one in given.items()])
        try:
            keyed = keyed_rules.edit_of(diff.added, diff.removed)
            if keyed is None:
                raise ProgramError(RuleMovesTriples())
            yield diff, keyed
        except BaseException:
            self._written.undo_edit(diff)
            raise
        keyed_rules.commit(keyed)
        for rule in diff.removed:
            del lines[str(rule.name)]
        lines.update((str(rule.name), print_rule(rule)) for rule in diff.added)

    def _check_first_facts(self, keyed: KeyedEdit) -> None:
        """Raises `ProgramError` if a key with only the facts of the program violates a constraint after an
        edit."""
        config, database = self.config, self._first_key
        if database is not None:
            database.apply([EncodedUpdate(rules=keyed.edit)])
        elif all(rule.heads for rule in self._written.program.rules):
            return
        else:
            database = self._first_key = self._database(self._keyed.whole(self._written.program.rules))
            key = database.dictionary.ids_of([String("")])
            facts = config.first_facts(key, config.shared_facts(database.dictionary))
            database.load(database.plan_insertion(facts))
            database.materialise()
        found = database.engine.columns(config.violated)
        if found and len(found[1]):
            constraint = database.dictionary.term(int(found[1][0]))
            database.apply([EncodedUpdate(rules=keyed.inverse)])
            raise ProgramError(RuleForbidsFacts(constraint=getattr(constraint, "value", constraint)))

    # --- records ------------------------------------------------------------------------------------

    def header(self) -> dict[str, object]:
        """What a record says about the rules."""
        return {PROGRAM: self.text, KNOWN: self.known, LABEL: self.label} if self.edited else {}

    def restore(self, header: Mapping[str, object]) -> RuleEdit:
        """Gets the rules of a record, if it has any.  Returns the edit of the rewritten ones."""
        if PROGRAM not in header:
            return NO_EDIT
        text, known, label = header[PROGRAM], header[KNOWN], header[LABEL]
        if not (isinstance(text, str) and isinstance(known, dict) and isinstance(label, int | str | None)):
            raise ValueError("the rules of a record are damaged")
        self.known, self.label, self.edited = known, label, True
        if self._restored is not None:
            self._restored = text
            return NO_EDIT
        if text == self.text:
            return NO_EDIT
        present, wanted = self._written.rules, {str(rule.name): rule for rule in parse(text).rules}
        added = [rule for name, rule in wanted.items() if present.get(name) != rule]
        removed = [NamedRemoval(name) for name, rule in present.items() if wanted.get(name) != rule]
        in_rules = arities_of(wanted.values())
        given = {name: arity for name, arity in known.items() if name not in in_rules}
        self._first_key = None
        with self._edited(added, removed, given) as (_, keyed):
            return keyed.edit


def arities_of(rules: Iterable[Rule]) -> dict[str, int]:
    return {atom.predicate: len(atom.arguments) for rule in rules for atom in atoms(rule)}


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
