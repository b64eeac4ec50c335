"""A program whose rules are edited one by one.

`EditedProgram` starts from an analysed program, adds and removes rules, and keeps names, normal forms, graphs
and components up to date.  An edit is applied as a whole or not at all: what `analyse` would refuse in the
program after the edit (an unsafe rule, another arity, a negation in a cycle) is refused with the same
message, and everything is as before.  Law: `edited.analysis` equals `analyse(edited.program)`.

The cost follows the edit: only the new rules are lowered.  In a program over triples a rule may change which
relations hold them, and with that the normal form of other rules.  Only then all rules are lowered, and those
with another normal form are removed from the graph and added again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from tidalog.analysis.component_diff import diff_of_edit
from tidalog.analysis.components import Component
from tidalog.analysis.diagnostics import UnknownRule
from tidalog.analysis.draft import Draft, Use, WorkingRule
from tidalog.analysis.edit_lowering import (
    about_the_change,
    lower_all,
    lower_new,
    name_taken,
    speaks_of_triples,
)
from tidalog.analysis.model import Analysis, PredicateInfo
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.parameters import substitute_parameters
from tidalog.analysis.passes import (
    RegisteredFunctions,
    function_ranges,
    predicate_infos,
    refuse_errors,
)
from tidalog.analysis.predicates import binding_uses, free_name, name_rules
from tidalog.analysis.rewrite import canonical_rule
from tidalog.analysis.rule_edit import (
    AlreadyThere,
    Entry,
    Lowered,
    RuleDiff,
    State,
    Undo,
    number_of,
)
from tidalog.analysis.rule_graph import GraphDiff, RuleGraph, mentioned
from tidalog.analysis.scc import natural_key
from tidalog.analysis.specialise import TripleUses
from tidalog.analysis.strata import check_stratification
from tidalog.analysis.suggestions import Suggestions
from tidalog.analysis.undo_journal import Journal
from tidalog.model.errors import Diagnostic
from tidalog.model.program import Fact, Program, Rule
from tidalog.model.rule_edit import NamedRemoval
from tidalog.model.terms import Term
from tidalog.rdf.layout import Layout
from tidalog.rdf.shorthand import lower_fact

BRIDGES: Final = 1 << 62
"""Bridges between relations of triples come after all written rules."""


class EditedProgram:
    def __init__(
        self,
        analysis: Analysis,
        parameters: Mapping[str, Term] | None = None,
        functions: RegisteredFunctions = (),
        facts: Sequence[Fact] | None = None,
    ) -> None:
        """`parameters` and `functions` are those of the analysis.  `facts` say which predicates have explicit
        facts, one of each is enough; without them, the facts of the program do."""
        program = analysis.program
        known = tuple(program.facts if facts is None else facts)
        self._program = replace(program, rules=(), facts=())
        self._parameters, self._functions = dict(parameters or {}), function_ranges(functions)
        self._witnesses = {_witness(fact): fact for fact in known}
        self._entries: dict[str, Entry] = {}
        self._equal: dict[Rule, dict[str, None]] = {}
        """canonical form → names of the rules that have it."""
        self._positions: dict[str, tuple[int, int]] = {}
        """normal rule → when its rule came, and which head it has."""
        self._triple_uses = TripleUses()
        self._counter = {"rules": 0}
        self._journal = Journal()
        layout = analysis.triples
        routed = _routed(known, layout)
        fixed, given = self._fixed(routed, layout)
        written = tuple(self._load(program, analysis))
        self._state = State(
            written,
            tuple(entry.rule for entry in written),
            analysis.rules,
            known,
            routed,
            layout,
            fixed,
            given,
            predicate_infos(self._program, layout, routed, analysis.rules, self._uses()),
        )
        self.graph = RuleGraph(analysis.rules, fixed)

    def _load(self, program: Program, analysis: Analysis) -> Iterable[Entry]:
        draft = Draft(program, self._parameters, self._functions)
        name_rules(draft)
        written = [replace(working.rule, name=working.name) for working in draft.rules]
        substitute_parameters(draft)
        for rule, working in zip(written, draft.rules, strict=True):
            entry = _entry(self._counter["rules"] + 1, rule, canonical_rule(working.rule))
            self._enter(entry, analysis.triples)
            yield entry
        bridges = (rule.name for rule in analysis.rules if rule.origin is None)
        self._positions.update((name, (BRIDGES, number)) for number, name in enumerate(bridges))

    # --- reading ------------------------------------------------------------------------------------

    @property
    def rules(self) -> Mapping[str, Rule]:
        """The written rules by name, in the order in which they came."""
        return MappingProxyType({entry.name: entry.rule for entry in self._state.written})

    @property
    def program(self) -> Program:
        """The program as it stands; every rule has its name."""
        return replace(self._program, rules=self._state.rules, facts=self._state.facts)

    @property
    def analysis(self) -> Analysis:
        """What `analyse` says of the program as it stands, without the warnings."""
        state = self._state
        if state.analysis is not None:
            return state.analysis
        found = Analysis(
            program=self.program,
            rules=state.normal,
            facts=state.routed,
            predicates=MappingProxyType(dict(state.predicates)),
            triples=state.layout,
            warnings=(),
        )
        self._state = replace(state, analysis=found)
        return found

    # --- edits --------------------------------------------------------------------------------------

    def change(
        self,
        added: Sequence[Rule] = (),
        removed: Iterable[str | NamedRemoval] = (),
        facts: Sequence[Fact] = (),
    ) -> RuleDiff:
        """Removes rules by name, then adds rules, which get names if they have none.

        `facts` are of predicates that have explicit facts from now on; one of each is enough.  A rule that is
        there already, up to the names of variables, is not added again.  Raises `ProgramError` with every
        error found, and then changes nothing.
        """
        draft = Draft(replace(self._program, rules=tuple(added)), self._parameters, self._functions)
        draft.facts = [fact for fact in facts if _witness(fact) not in self._witnesses]
        leaving = self._leaving(draft, removed)
        chosen, already_there = self._choose(draft, added, leaving)
        # Nothing is refused before the end, so that all errors show in one run.
        errors, draft.diagnostics = draft.diagnostics, []
        lowered = self._lowered(draft, leaving)
        undo = self._apply(chosen, leaving, lowered)
        try:
            self._check_strata(draft, undo.graph)
            found = [*errors, *(d for d in draft.diagnostics if not _among(d, errors))]
            warnings = refuse_errors(about_the_change(found, [entry.rule for entry in chosen]))
            components = diff_of_edit(self.graph, undo.graph, self._text_order)
        except BaseException:
            self._undo(undo)
            raise
        return RuleDiff(
            added=tuple(entry.rule for entry in chosen),
            removed=tuple(entry.rule for entry in leaving.values()),
            already_there=already_there,
            components=components,
            moved_triples=self._state.layout is not undo.state.layout,
            warnings=warnings,
            graph=self.graph,
            undo=undo,
        )

    def undo(self, diff: RuleDiff) -> None:
        """Undoes the last edit."""
        self._undo(diff.undo)

    def _leaving(self, draft: Draft, removed: Iterable[str | NamedRemoval]) -> dict[str, Entry]:
        leaving: dict[str, Entry] = {}
        for removal in removed:
            name, span = (removal, None) if isinstance(removal, str) else (removal.name, removal.span)
            if name in self._entries:
                leaving[name] = self._entries[name]
            else:
                near = Suggestions(self._entries).near(name, 0.6)
                suggestion = f"did you mean {near}?" if near else "tidalog check lists the rules by name"
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
            chosen[name] = _entry(self._counter["rules"] + len(chosen) + 1, named, canonical)
            kept.append(working)
        draft.rules = kept
        return list(chosen.values()), tuple(already_there)

    def _free_name(self, leaving: Mapping[str, Entry], chosen: Mapping[str, Entry], given: set[str]) -> str:
        """`r8` in a program of seven rules, or more if there is a rule of a higher number: the rules that are
        there decide, not those that once were."""
        names = {*(self._entries.keys() - leaving.keys()), *chosen}
        staying = (entry.number for entry in self._entries.values() if entry.name not in leaving)
        numbers = (*staying, *map(number_of, chosen), *map(number_of, given))
        return free_name(f"r{max(len(names), max(numbers, default=0)) + 1}", names | given)

    def _lowered(self, draft: Draft, leaving: Mapping[str, Entry]) -> Lowered:
        layout = self._state.layout
        facts = {_witness(fact): fact for fact in draft.facts}
        out = {name for entry in leaving.values() for name in entry.normal_names}
        if not (draft.rules or facts or out):
            return Lowered(layout, [], out, facts)
        if self._keeps_layout(draft, leaving, facts):
            draft.layout = layout
            lower_new(draft, self.graph, out, self._state.fixed)
            if not layout.active or all(d.is_warning for d in draft.diagnostics):
                return Lowered(layout, self._coming(draft.normal, out), out, facts)
            draft.diagnostics = []  # errors name the first use of a predicate in the whole program
        staying = [entry.rule for entry in self._state.written if entry.name not in leaving]
        whole = lower_all(draft, staying, [*self._witnesses.values(), *facts.values()])
        draft.diagnostics += whole.diagnostics
        draft.layout = whole.layout
        new = {rule.name: rule for rule in whole.normal}
        out |= {name for name, rule in self.graph.rules.items() if new.get(name) != rule}
        bridges = [name for name, rule in new.items() if rule.origin is None]
        if whole.layout != layout:
            layout = whole.layout
        return Lowered(layout, self._coming(whole.normal, out), out, facts, bridges)

    def _coming(self, normal: Iterable[NormalRule], going: Container[str]) -> list[NormalRule]:
        """The rules that are not in the graph; one under a name that is taken is reported elsewhere."""
        new = {rule.name: rule for rule in normal}
        return [rule for name, rule in new.items() if name not in self.graph.rules or name in going]

    def _keeps_layout(
        self, draft: Draft, leaving: Mapping[str, Entry], facts: Mapping[tuple[str, int], Fact]
    ) -> bool:
        """Whether the same relations hold the triples after the edit, whatever else the program says."""
        layout = self._state.layout
        if not layout.active:
            return not speaks_of_triples(draft.rules, facts)
        if facts:
            return False
        came = (working.rule for working in draft.rules)
        went = (entry.canonical for entry in leaving.values())
        return self._triple_uses.stay(came, went, layout.tables)

    def _apply(self, chosen: Sequence[Entry], leaving: Mapping[str, Entry], lowered: Lowered) -> Undo:
        self._journal = Journal()
        put, drop = self._journal.put, self._journal.drop
        before, layout = self._state, lowered.layout
        for witness, fact in lowered.facts.items():
            put(self._witnesses, witness, fact)
        facts, routed, fixed, given = before.facts, before.routed, before.fixed, before.given
        same = layout is before.layout and not lowered.facts
        if not same:
            facts = (*facts, *lowered.facts.values())
            routed = _routed(facts, layout)
            fixed, given = self._fixed(routed, layout)
        going = sorted(lowered.going, key=natural_key)
        diff = self.graph.change(lowered.coming, going, None if same else fixed)
        undo = Undo(diff, self._journal, before)
        for entry in leaving.values():
            drop(self._entries, entry.name)
            drop(self._equal[entry.canonical], entry.name)
            if not self._equal[entry.canonical]:
                drop(self._equal, entry.canonical)
            for name in entry.normal_names:
                drop(self._positions, name)
            if before.layout.active:
                self._triple_uses.remove(entry.canonical, before.layout.tables, self._journal)
        for entry in chosen:
            self._enter(entry, before.layout)
        for number, name in enumerate(lowered.bridges or ()):
            put(self._positions, name, (BRIDGES, number))
        if layout.active != before.layout.active:
            written_rules = (e.canonical for e in self._entries.values() if layout.active)
            self._triple_uses.count_anew(written_rules, layout.tables, self._journal)
        normal = before.normal
        if lowered.bridges is not None:
            normal = tuple(sorted(self.graph.rules.values(), key=self._text_order))
        elif diff.added or diff.removed:
            normal = self._spliced(normal, diff)
        written, rules = before.written, before.rules
        if leaving or chosen:
            written = (*(entry for entry in written if entry.name not in leaving), *chosen)
            rules = tuple(entry.rule for entry in written)
        predicates = before.predicates
        if not same:
            predicates = predicate_infos(self._program, layout, routed, normal, self._uses())
        elif diff.added or diff.removed:
            touched = {p for rule in (*diff.added, *diff.removed) for p in mentioned(rule)}
            predicates = self._infos(dict(predicates), touched, fixed, given)
        if leaving or chosen or diff.added or diff.removed or not same:
            self._state = State(written, rules, normal, facts, routed, layout, fixed, given, predicates)
        return undo

    def _spliced(self, normal: tuple[NormalRule, ...], diff: GraphDiff) -> tuple[NormalRule, ...]:
        """The normal rules after an edit that leaves the bridges alone."""
        going = {rule.name for rule in diff.removed}
        kept = [rule for rule in normal if rule.name not in going] if going else list(normal)
        end = bisect_left(kept, (BRIDGES, 0), key=self._text_order)
        return (*kept[:end], *diff.added, *kept[end:])

    def _infos(
        self,
        infos: dict[str, PredicateInfo],
        touched: Iterable[str],
        fixed: Mapping[str, int],
        given: frozenset[str],
    ) -> dict[str, PredicateInfo]:
        graph = self.graph
        for name in touched:
            if name not in graph.predicates:
                infos.pop(name, None)
                continue
            derived = bool(graph.derivers(name))
            user = next(iter(graph.derivers(name) or graph.readers(name)), None)
            arity = fixed[name] if user is None else _arity(graph.rules[user], name)
            infos[name] = PredicateInfo(name, arity, name in given or not derived, derived)
        return infos

    def _enter(self, entry: Entry, layout: Layout) -> None:
        put = self._journal.put
        put(self._counter, "rules", entry.sequence)
        put(self._entries, entry.name, entry)
        put(self._equal.setdefault(entry.canonical, {}), entry.name, None)
        for number, name in enumerate(entry.normal_names):
            put(self._positions, name, (entry.sequence, number))
        if layout.active:
            self._triple_uses.add(entry.canonical, layout.tables, self._journal)

    def _undo(self, undo: Undo) -> None:
        assert undo.journal is self._journal, "only the last edit can be undone"
        self.graph.undo(undo.graph)
        self._journal.roll_back()
        self._journal = Journal()
        self._state = undo.state

    def _check_strata(self, draft: Draft, diff: GraphDiff) -> None:
        """Reports cycles through a negation or an aggregate, which only a new rule can have closed."""
        components = [
            Component(
                number,
                tuple(sorted(self.graph.predicates_of_component(number), key=natural_key)),
                tuple(sorted(self.graph.rules_of_component(number), key=self._text_order)),
                True,
                frozenset(),
                frozenset(),
                0,
            )
            for number in sorted(diff.looped)
        ]
        check_stratification(draft, components)

    def _text_order(self, rule: NormalRule) -> tuple[int, int]:
        return self._positions.get(rule.name, (BRIDGES, 0))

    def _fixed(self, routed: Sequence[Fact], layout: Layout) -> tuple[dict[str, int], frozenset[str]]:
        """The predicates that are there whatever the rules, with their arities; and those of them that have
        facts from outside the rules."""
        infos = predicate_infos(self._program, layout, routed, (), self._uses())
        given = {fact.predicate for fact in routed}
        given.update(binding.predicate for binding in self._program.imports)
        given.update(layout.relations)
        return {name: info.arity for name, info in infos.items()}, frozenset(given)

    def _uses(self) -> dict[str, Use]:
        return dict(binding_uses(self._program))


def _entry(sequence: int, rule: Rule, canonical: Rule) -> Entry:
    return Entry(sequence, rule, canonical, number_of(rule.name or ""))


def _witness(fact: Fact) -> tuple[str, int]:
    return fact.predicate, len(fact.arguments)


def _routed(facts: tuple[Fact, ...], layout: Layout) -> tuple[Fact, ...]:
    """Facts by the relations that hold them."""
    if not layout.active:
        return facts
    return tuple(layout.routed(lower_fact(fact, layout.tables)) for fact in facts)


def _arity(rule: NormalRule, predicate: str) -> int:
    atoms = (*rule.atoms, *rule.negations, *(() if rule.head is None else (rule.head,)))
    return next(len(atom.arguments) for atom in atoms if atom.predicate == predicate)


def _among(diagnostic: Diagnostic, others: Iterable[Diagnostic]) -> bool:
    return any(other.render() == diagnostic.render() for other in others)
