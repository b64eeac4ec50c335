"""What changes the rules of a knowledge base: `kb.rules`, and updates that add and remove rules.

A change of rules is part of an update and is maintained with its facts, whole or not at all.  Where it lays
triples out in other relations, or gives a predicate another number of arguments, everything is derived anew
instead, and the delta is the difference of the two states.  If nothing has been derived yet, `kb.rules` only
changes the program.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from tidalog.analysis import Analysis, analyse
from tidalog.api.deltas import change_of
from tidalog.api.encoded_update import routed_update
from tidalog.api.lock import in_turn
from tidalog.api.maintenance import Maintenance
from tidalog.api.rule_edits import replacement, rule_edit, rules_added, told
from tidalog.api.state_diff import differences, visible
from tidalog.api.update import Delta, PredicateChange, RuleChanges
from tidalog.api.updating import Updating
from tidalog.engine.limits import ProgressCallback
from tidalog.lang import print_rule
from tidalog.maintain.choose import Options
from tidalog.maintain.counters import Counters
from tidalog.maintain.maintainer import Maintainer
from tidalog.model.program import Program
from tidalog.model.rule_edit import RuleEdit
from tidalog.model.update import EncodedUpdate


class Ruling(Updating):
    @property
    def rules(self) -> Rules:
        """The rules by name; `add`, `remove` and `replace` change them."""
        self._open()
        return Rules(self)

    @in_turn
    def _named_rules(self) -> dict[str, str]:
        contents = self._open()
        prefixes = contents.program.prefixes
        return {name: print_rule(rule, prefixes) for name, rule in contents.moving.rules.items()}

    @in_turn
    def _edit_rules(self, edits: RuleEdit) -> Delta:
        """An update that is nothing but a change of rules."""
        if self._run is not None or self._subscriptions:
            update = EncodedUpdate(rules=edits)
            return self._applied([update], None)
        with self._noted_rules(edits):
            rules = self._take_in_rules(edits)
        return self._delta_of_nothing(rules)

    def _take_in_rules(self, edits: RuleEdit) -> RuleChanges:
        """Other rules from now on, and nothing is derived."""
        contents = self._open()
        before = contents.analysis
        added = rules_added(edits, contents.program.prefixes)
        change, take_back = contents.change_rules(added, edits.removed)
        try:
            contents.lay_out(before.triples)
        except BaseException:
            take_back()
            raise
        if change:
            self._outdate()
        return told(change, contents.program.prefixes)

    def _noted_rules(self, edits: RuleEdit) -> AbstractContextManager[None]:
        """`_noted` for rules that are only taken in."""
        return nullcontext()

    # --- in updates ---------------------------------------------------------------------------------

    def _made(
        self,
        updates: Sequence[EncodedUpdate],
        following: Sequence[EncodedUpdate],
        options: Options,
        progress: ProgressCallback | None,
    ) -> Delta:
        if not any(update.changes_rules for update in updates):
            return super()._made(updates, following, options, progress)
        (update,) = updates
        contents = self._open()
        added = rules_added(update.rules, contents.program.prefixes)
        self.materialise()
        before = contents.analysis
        if self._maintenance is None:
            self._maintenance = Maintenance(contents.engine, before, self._functions)
        change, take_back = contents.change_rules(
            added, update.rules.removed, contents.unknown(update.insertions)
        )
        try:
            contents.check_known(update.deletions)
            rules = told(change, contents.program.prefixes)
            if contents.is_laid_out(before.triples):
                return self._carried_out(updates, following, options, progress, before, rules)
            return self._made_anew(update, before, rules, progress)
        except BaseException:
            take_back()
            raise

    def _made_anew(
        self,
        update: EncodedUpdate,
        before: Analysis,
        rules: RuleChanges,
        progress: ProgressCallback | None,
    ) -> Delta:
        """Everything is derived again by the rules that hold now."""
        start = time.perf_counter()
        contents = self._open()
        engine, analysis = contents.engine, contents.analysis
        facts = visible(engine, before)
        known = self._run, self._maintenance, self._epoch, self._explicit_alone
        arrays = engine.__dict__.copy()
        try:
            contents.lay_out(before.triples)
            ignored = self._change_explicit(update)
            self._outdate()
            run = self.materialise(progress=progress)
            found = differences(facts, visible(engine, analysis))
        except BaseException:
            engine.__dict__.update(arrays)
            self._run, self._maintenance, self._epoch, self._explicit_alone = known
            raise
        self._maintenance = Maintenance(engine, analysis, self._functions)
        counters = Counters(derivations=run.derivations, seconds=time.perf_counter() - start)
        return self._maintenance.delta(
            found,
            analysis,
            counters,
            self._in_turn,
            label=update.label,
            ignored=ignored,
            chosen={node.name: "recompute" for node in self._maintenance.maintainer.components},
            rules=rules,
        )

    def _change_explicit(self, update: EncodedUpdate) -> int:
        """Changes explicit facts where there are no others; gives how many changes had nothing to do."""
        contents = self._open()
        without_rules = Maintainer(contents.engine, analyse(Program()))
        outcome = without_rules.apply(
            routed_update(update, contents.analysis.triples, contents.engine.dictionary)
        )
        # Ids that are gone are no place to derive from: the store is to be made anew before that.
        contents.engine.derived = True
        return outcome.ignored

    def _delta_of_nothing(self, rules: RuleChanges) -> Delta:
        contents = self._open()
        engine, analysis = contents.engine, contents.analysis

        def of_others(predicate: str) -> PredicateChange:
            name, change = self._in_turn(lambda: change_of(engine, analysis, {}, predicate))
            return PredicateChange(name, change, engine.dictionary, analysis.program.prefixes)

        return Delta({}, of_others, Counters(), rules=rules, derived=False)


class Rules(Mapping[str, str]):
    """Rules by name, as text, in the order in which they came.  What it shows is what there is when it is
    looked at."""

    def __init__(self, kb: Ruling) -> None:
        self._kb = kb

    def add(self, text: str) -> Delta:
        """Adds a rule, or several, with or without names: `far(?x) :- path(a, ?x)`.  `rules` of what it gives
        says which names they have now, and which of them were there already, up to names of variables."""
        return self._kb._edit_rules(rule_edit([text], []))

    def remove(self, *names: str) -> Delta:
        """Removes rules by their names."""
        return self._kb._edit_rules(rule_edit([], names))

    def replace(self, name: str, text: str) -> Delta:
        """Puts a rule in the place of another, whose name it gets unless it has its own."""
        return self._kb._edit_rules(replacement(name, text, self._kb.program.prefixes))

    def __getitem__(self, name: str) -> str:
        return self._kb._named_rules()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kb._named_rules())

    def __len__(self) -> int:
        return len(self._kb._named_rules())

    def __repr__(self) -> str:
        rules = self._kb._named_rules()
        width = max(map(len, rules), default=0)
        indented = "\n" + " " * (width + 2)
        lines = [f"{name:<{width}}  {_without_name(text, name)}" for name, text in rules.items()]
        return "\n".join(line.replace("\n", indented) for line in lines) or "no rules"


def _without_name(text: str, name: str) -> str:
    return text.removeprefix(f"{name}: ")
