"""A program whose rules come and go.

`EditedProgram` takes the rules of an analysed program, adds and removes rules, and keeps names, normal forms,
graphs and components in step.  A change is made whole or not at all: what `analyse` would refuse in the
program after the change (an unsafe rule, another arity, a negation in a cycle) is refused with the same
message, and everything is as before.  Law: `moving.analysis` equals `analyse(moving.program)`.

A change lowers the new rules alone.  In a program that speaks of triples a rule may change which relations
hold them, and with that the normal form of other rules: all rules are lowered then, and those whose normal
form is another one are taken out of the graph and put back.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from tidalog.analysis.components import check_stratification, ordered_components
from tidalog.analysis.diagnostics import UnknownRule
from tidalog.analysis.draft import Draft, WorkingRule
from tidalog.analysis.edit_impact import describe_change
from tidalog.analysis.edit_lowering import (
    about_the_change,
    lower_all,
    lower_new,
    name_taken,
    speaks_of_triples,
)
from tidalog.analysis.model import Analysis, Component
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.parameters import substitute_parameters
from tidalog.analysis.passes import (
    RegisteredFunctions,
    function_ranges,
    predicate_infos,
    refuse_errors,
    routed_fact,
)
from tidalog.analysis.predicates import binding_uses, free_name, name_rules
from tidalog.analysis.rewrite import canonical_rule
from tidalog.analysis.rule_edit import AlreadyThere, Entry, Lowered, RuleDiff, Undo
from tidalog.analysis.rule_graph import GraphDiff, RuleGraph
from tidalog.analysis.scc import natural_key
from tidalog.analysis.triples import TripleLayout, lower_fact
from tidalog.analysis.undo_journal import Journal
from tidalog.model.errors import Diagnostic
from tidalog.model.program import Fact, Program, Rule
from tidalog.model.rule_edit import NamedRemoval
from tidalog.model.terms import Term

BRIDGES: Final = 1 << 62
"""Bridges between relations of triples come behind all rules that somebody wrote."""
_NUMBERED: Final = re.compile(r"r([1-9][0-9]*)")


class EditedProgram:
    def __init__(
        self,
        analysis: Analysis,
        parameters: Mapping[str, Term] | None = None,
        functions: RegisteredFunctions = (),
        facts: Sequence[Fact] | None = None,
    ) -> None:
        """`parameters` and `functions` are those of the analysis.  `facts` say which predicates have explicit
        facts, one of each is enough; unless told, those of the program."""
        program = analysis.program
        self._facts = program.facts if facts is None else facts
        self._witnesses = {_witness(fact): fact for fact in self._facts}
        self._admitted: dict[tuple[str, int], Fact] = {}
        self._program = replace(program, rules=(), facts=())
        self._parameters, self._functions = dict(parameters or {}), function_ranges(functions)
        self._layout = analysis.triples
        self._entries: dict[str, Entry] = {}
        self._equal: dict[Rule, dict[str, None]] = {}
        """canonical form → names of the rules that have it."""
        self._places: dict[str, tuple[int, int]] = {}
        """normal rule → when its rule came, and which head it has."""
        self._counter = {"rules": 0}
        self._journal = Journal()
        self._analysis: Analysis | None = None
        self._fixed = self._fixed_arities(analysis.triples)
        """Predicates that are there whatever the rules."""
        self.graph = RuleGraph(analysis.rules, self._fixed)
        self._load(program, analysis)

    def _load(self, program: Program, analysis: Analysis) -> None:
        draft = Draft(program, self._parameters, self._functions)
        name_rules(draft)
        written = [replace(working.rule, name=working.name) for working in draft.rules]
        substitute_parameters(draft)
        for rule, working in zip(written, draft.rules, strict=True):
            self._enter(Entry(self._counter["rules"] + 1, rule, canonical_rule(working.rule)))
        bridges = (rule.name for rule in analysis.rules if rule.origin is None)
        self._places.update((name, (BRIDGES, number)) for number, name in enumerate(bridges))

    # --- what there is ------------------------------------------------------------------------------

    @property
    def rules(self) -> Mapping[str, Rule]:
        """The rules that somebody wrote, by name, in the order in which they came."""
        entries = sorted(self._entries.values(), key=lambda entry: entry.sequence)
        return MappingProxyType({entry.name: entry.rule for entry in entries})

    @property
    def program(self) -> Program:
        """The program as it stands; every rule has its name."""
        return replace(
            self._program, rules=tuple(self.rules.values()), facts=(*self._facts, *self._admitted.values())
        )

    @property
    def analysis(self) -> Analysis:
        """What `analyse` says of the program as it stands, but for the warnings, which are told once."""
        if self._analysis is None:
            self._analysis = self._analysed()
        return self._analysis

    def _analysed(self) -> Analysis:
        graph, layout, program = self.graph, self._layout, self.program
        rules = sorted(graph.rules.values(), key=self._place)
        facts = program.facts
        if layout.active:
            facts = tuple(routed_fact(lower_fact(fact, layout.tables), layout) for fact in facts)
        uses = dict(binding_uses(program))
        groups = [graph.predicates_of_component(number) for number in graph.component_numbers()]
        return Analysis(
            program=program,
            rules=tuple(rules),
            facts=facts,
            predicates=MappingProxyType(predicate_infos(program, layout, facts, rules, uses)),
            components=ordered_components([sorted(group, key=natural_key) for group in groups], rules),
            triples=layout,
            warnings=(),
        )

    # --- changes ------------------------------------------------------------------------------------

    def change(
        self,
        added: Sequence[Rule] = (),
        removed: Iterable[str | NamedRemoval] = (),
        facts: Sequence[Fact] = (),
    ) -> RuleDiff:
        """Removes rules by name, then adds rules, which get names if they have none.

        `facts` are of predicates that have explicit facts from now on; one of each is enough.  A rule that is
        there already, up to the names of variables, is not added again.  Raises `ProgramError` with all that
        is wrong, and changes nothing then.
        """
        draft = Draft(replace(self._program, rules=tuple(added)), self._parameters, self._functions)
        draft.facts = [fact for fact in facts if _witness(fact) not in self._witnesses]
        leaving = self._leaving(draft, removed)
        chosen, already_there = self._choose(draft, added, leaving)
        # Nothing is refused before the end, so that all that is wrong is told at once.
        errors, draft.diagnostics = draft.diagnostics, []
        lowered = self._lowered(draft, leaving)
        undo = self._move(chosen, leaving, lowered)
        try:
            self._check_strata(draft, undo.movement)
            found = [*errors, *(d for d in draft.diagnostics if not _among(d, errors))]
            warnings = refuse_errors(about_the_change(found, [entry.rule for entry in chosen]))
            graph = describe_change(self.graph, undo.movement)
        except BaseException:
            self._take_back(undo)
            raise
        return RuleDiff(
            added=tuple(entry.rule for entry in chosen),
            removed=tuple(entry.rule for entry in leaving.values()),
            already_there=already_there,
            graph=graph,
            moved_triples=self._layout != undo.layout,
            warnings=warnings,
            undo=undo,
        )

    def undo(self, change: RuleDiff) -> None:
        """Takes the last change back."""
        self._take_back(change.undo)

    def _leaving(self, draft: Draft, removed: Iterable[str | NamedRemoval]) -> dict[str, Entry]:
        leaving: dict[str, Entry] = {}
        for removal in removed:
            name, span = (removal, None) if isinstance(removal, str) else (removal.name, removal.span)
            if name in self._entries:
                leaving[name] = self._entries[name]
            else:
                near = get_close_matches(name, self._entries, 1, 0.6)
                suggestion = f"did you mean {near[0]}?" if near else "tidalog check lists the rules by name"
                draft.report(UnknownRule(span, name=name, suggestion=suggestion))
        return leaving

    def _choose(
        self, draft: Draft, added: Sequence[Rule], leaving: dict[str, Entry]
    ) -> tuple[list[Entry], tuple[AlreadyThere, ...]]:
        """Which rules are new, with their names, left in the draft without parameters; and which are not.
        One that is removed and added again as it was does not leave at all."""
        draft.rules = [WorkingRule(rule.name or "", rule, rule) for rule in added]
        substitute_parameters(draft)
        canonical_forms = [canonical_rule(working.rule) for working in draft.rules]
        for rule, canonical in zip(added, canonical_forms, strict=True):
            if rule.name in self._equal.get(canonical, {}):
                leaving.pop(rule.name, None)
        given = {rule.name for rule in added if rule.name is not None}
        chosen: dict[str, Entry] = {}
        equal: dict[Rule, str] = {}
        already_there: list[AlreadyThere] = []
        kept: list[WorkingRule] = []
        for rule, working, canonical in zip(added, draft.rules, canonical_forms, strict=True):
            names = self._equal.get(canonical, {})
            same = next((name for name in names if name not in leaving), None) or equal.get(canonical)
            if same is not None:
                already_there.append(AlreadyThere(rule, same))
                continue
            name = rule.name or self._free_name(leaving, chosen, given)
            named = replace(rule, name=name)
            first = chosen.get(name) or (None if name in leaving else self._entries.get(name))
            working = WorkingRule(name, replace(working.rule, name=name), named)
            if first is not None:
                draft.report(name_taken(working, first.rule))
                continue
            equal[canonical] = name
            chosen[name] = Entry(self._counter["rules"] + len(chosen) + 1, named, canonical)
            kept.append(working)
        draft.rules = kept
        return list(chosen.values()), tuple(already_there)

    def _free_name(self, leaving: Container[str], chosen: Iterable[str], given: Iterable[str]) -> str:
        """`r8` in a program of seven rules, or more if there is a rule of a higher number: the rules that are
        there decide, not those that once were."""
        names = {*(name for name in self._entries if name not in leaving), *chosen}
        taken = names.union(given)
        numbers = (int(found[1]) for name in taken if (found := _NUMBERED.fullmatch(name)))
        return free_name(f"r{max(len(names), max(numbers, default=0)) + 1}", taken)

    def _lowered(self, draft: Draft, leaving: Mapping[str, Entry]) -> Lowered:
        rules = self.graph.rules
        facts = {_witness(fact): fact for fact in draft.facts}
        out = {name for entry in leaving.values() for name in entry.normal_names}
        layout = self._layout
        if not (draft.rules or facts or out):
            new: dict[str, NormalRule] = {}
        elif not layout.active and not speaks_of_triples(draft.rules, facts):
            lower_new(draft, self.graph, out, self._fixed)
            new = {rule.name: rule for rule in draft.normal}
        else:
            staying = [rule for name, rule in self.rules.items() if name not in leaving]
            whole = lower_all(draft, staying, [*self._witnesses.values(), *facts.values()])
            draft.diagnostics += whole.diagnostics
            draft.layout = layout = whole.layout
            new = {rule.name: rule for rule in whole.normal}
            out |= {name for name, rule in rules.items() if new.get(name) != rule}
        coming = [rule for name, rule in new.items() if name not in rules or name in out]
        bridges = [name for name, rule in new.items() if rule.origin is None]
        return Lowered(layout, coming, out, bridges, facts)

    def _move(self, chosen: Sequence[Entry], leaving: Mapping[str, Entry], lowered: Lowered) -> Undo:
        self._journal = Journal()
        put, drop = self._journal.put, self._journal.drop
        for witness, fact in lowered.facts.items():
            put(self._witnesses, witness, fact)
            put(self._admitted, witness, fact)
        same = lowered.layout == self._layout and not lowered.facts
        fixed = self._fixed if same else self._fixed_arities(lowered.layout)
        going = sorted(lowered.going, key=natural_key)
        movement = self.graph.change(lowered.coming, going, None if same else fixed)
        undo = Undo(movement, self._journal, self._layout, self._fixed, self._analysis)
        for entry in leaving.values():
            drop(self._entries, entry.name)
            drop(self._equal[entry.canonical], entry.name)
            if not self._equal[entry.canonical]:
                drop(self._equal, entry.canonical)
            for name in entry.normal_names:
                drop(self._places, name)
        for entry in chosen:
            self._enter(entry)
        for number, name in enumerate(lowered.bridges):
            put(self._places, name, (BRIDGES, number))
        self._layout, self._fixed = lowered.layout, fixed
        if lowered.coming or lowered.going or not same:
            self._analysis = None
        return undo

    def _enter(self, entry: Entry) -> None:
        put = self._journal.put
        put(self._counter, "rules", entry.sequence)
        put(self._entries, entry.name, entry)
        put(self._equal.setdefault(entry.canonical, {}), entry.name, None)
        for number, name in enumerate(entry.normal_names):
            put(self._places, name, (entry.sequence, number))

    def _take_back(self, undo: Undo) -> None:
        assert undo.journal is self._journal, "only the last change can be taken back"
        self.graph.undo(undo.movement)
        self._journal.roll_back()
        self._journal = Journal()
        self._layout, self._fixed, self._analysis = undo.layout, undo.fixed, undo.analysis

    def _check_strata(self, draft: Draft, movement: GraphDiff) -> None:
        """Reports cycles through a negation or an aggregate, which only a new rule can have closed."""
        components = [
            Component(
                number,
                tuple(sorted(self.graph.predicates_of_component(number), key=natural_key)),
                tuple(sorted(self.graph.rules_of_component(number), key=self._place)),
                True,
                frozenset(),
                frozenset(),
                0,
            )
            for number in sorted(movement.looped)
        ]
        check_stratification(draft, components)

    def _place(self, rule: NormalRule) -> tuple[int, int]:
        return self._places.get(rule.name, (BRIDGES, 0))

    def _fixed_arities(self, layout: TripleLayout) -> dict[str, int]:
        facts: Iterable[Fact] = self._witnesses.values()
        if layout.active:
            facts = [routed_fact(lower_fact(fact, layout.tables), layout) for fact in facts]
        infos = predicate_infos(self._program, layout, facts, (), dict(binding_uses(self._program)))
        return {name: info.arity for name, info in infos.items()}


def _witness(fact: Fact) -> tuple[str, int]:
    return fact.predicate, len(fact.arguments)


def _among(diagnostic: Diagnostic, others: Iterable[Diagnostic]) -> bool:
    return any(other.render() == diagnostic.render() for other in others)
