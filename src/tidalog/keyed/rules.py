"""The rules of a bucket, which rows of the stream change for all keys at once.

Every bucket gets every such row, and what it makes of it depends on nothing but the rules before: so all of
them have the same rules after each batch, or refuse the same change.  What is kept is text, so that rules
mean the same wherever a bucket is put together again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from tidalog.analysis import Analysis, analyse
from tidalog.analysis.edited_program import EditedProgram
from tidalog.analysis.keyed import KeyedProgram, keyed_program
from tidalog.analysis.rewrite import atoms
from tidalog.api.contents import same_relations, witness_of
from tidalog.api.rule_edits import rules_added
from tidalog.engine.engine import EmbeddedEngine
from tidalog.io.update_checks import ADD_RULE
from tidalog.keyed.diagnostics import RuleForbidsFacts, RuleMovesTriples, RuleTooWide
from tidalog.lang import parse, print_program
from tidalog.maintain.materialise import materialise
from tidalog.model.errors import ProgramError
from tidalog.model.rule_edit import NamedRemoval, RuleEdit, RuleText
from tidalog.model.terms import String

if TYPE_CHECKING:
    from tidalog.keyed.config import BucketConfig
    from tidalog.model.program import Fact, Program
    from tidalog.model.update import Label

PROGRAM, KNOWN, LABEL = "program", "known", "rule label"
"""Names in the header of a record."""
_WHERE: Final = "<stream>"


@dataclass(frozen=True)
class Rules:
    """Rules at one moment of the stream."""

    config: BucketConfig
    text: str
    """The program that somebody wrote, without facts; once rules have changed, with the names of all."""
    known: Mapping[str, int]
    """Predicates that rules speak of or have spoken of, and their number of arguments."""
    label: Label | None = None
    """The update of the last change."""
    moved: bool = False
    """Whether they are others than those that the stream began with, or a change was refused."""

    @cached_property
    def analysis(self) -> Analysis:
        if not self.moved or self.config.facts_only:
            return self.config.analysis()
        return analyse(self._keyed(parse(self.text)).program, functions=self.config.ranges)

    def after(self, label: Label | None, edits: RuleEdit) -> Rules:
        """Raises `ProgramError`, as the embedded engine does; besides, if facts would have more arguments
        than the stream tells of, or would have to be kept elsewhere."""
        config = self.config
        parameters, ranges = config.parameters, config.ranges
        before = replace(parse(self.text), facts=self._witnesses(parse(self.text)))
        moving = EditedProgram(analyse(before, parameters, ranges), parameters, ranges)
        moving.change(rules_added(edits, config.prefixes), edits.removed)
        program = replace(moving.program, facts=())
        keyed = self._keyed(program)
        if not same_relations(keyed.layout, config.layout) or keyed.key != config.key:
            raise ProgramError(RuleMovesTriples())
        arities = _arities(program)
        wide = [name for name, arity in arities.items() if arity > config.arguments]
        if wide:
            values = {"predicate": wide[0], "arity": arities[wide[0]], "arguments": config.arguments}
            raise ProgramError(RuleTooWide(**values))
        known = {**arities, **self.known}
        rules = Rules(config, print_program(program), known, label, moved=True)
        rules._check_first_facts()
        return rules

    def _check_first_facts(self) -> None:
        """A key that has nothing but the facts of the program violates no constraint.  Raises
        `ProgramError`."""
        config = self.config
        if not any(rule.head and rule.head.predicate == config.violated for rule in self.analysis.rules):
            return
        engine = EmbeddedEngine()
        key = np.array([engine.dictionary.id_of(String(""))], np.int32)
        engine.insert(config.key, [key], 1)
        for facts in config.shared_facts(engine.dictionary):
            engine.insert(facts.predicate, [np.repeat(key, facts.count), *facts.columns], facts.count)
        materialise(engine, self.analysis, functions=config.known_functions)
        found = engine.columns(config.violated)
        if found and len(found[1]):
            constraint = engine.dictionary.term(int(found[1][0]))
            raise ProgramError(RuleForbidsFacts(constraint=getattr(constraint, "value", constraint)))

    def refused(self, label: Label | None) -> Rules:
        """The same, after a change that was none."""
        return replace(self, label=label, moved=True)

    def _keyed(self, program: Program) -> KeyedProgram:
        config = self.config
        whole = replace(program, facts=self._witnesses(program))
        return keyed_program(whole, config.parameters, config.ranges, kept=config.layout)

    def _witnesses(self, program: Program) -> tuple[Fact, ...]:
        """Predicates that no rule speaks of any more keep their number of arguments."""
        spoken_of = _arities(program)
        return tuple(witness_of(name, n) for name, n in self.known.items() if name not in spoken_of)

    def header(self) -> dict[str, object]:
        """What a record says of them."""
        return {PROGRAM: self.text, KNOWN: dict(self.known), LABEL: self.label} if self.moved else {}


def rules_of(config: BucketConfig, header: Mapping[str, object] | None = None) -> Rules:
    """Those of a record; of none, those that the stream begins with."""
    if header is None or PROGRAM not in header:
        return Rules(config, config.original, config.known)
    text, known, label = header[PROGRAM], header[KNOWN], header[LABEL]
    assert isinstance(text, str) and isinstance(known, dict) and isinstance(label, int | str | None)
    return Rules(config, text, known, label, moved=True)


def _arities(program: Program) -> dict[str, int]:
    return {atom.predicate: len(atom.arguments) for rule in program.rules for atom in atoms(rule)}


@dataclass
class Coming:
    """Changes of rules in a batch, in order."""

    labels: list[Label | None] = field(default_factory=list)
    edits: list[RuleEdit] = field(default_factory=list)
    rows: int = 0
    skipped: int = 0
    """Rows of changes that were made before."""


def coming(table: pa.Table, last: Label | None) -> Coming:
    """The changes that rows ask for, behind the last one.  Without labels they are one."""
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
    return Coming(labels, [found[label] for label in labels], table.num_rows, skipped)
