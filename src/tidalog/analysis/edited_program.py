"""A program whose rules are edited incrementally.

`EditedProgram` starts from an analysed program, adds and removes rules, and keeps names, normal forms, graphs
and components up to date.  An edit is atomic: if `analyse` would refuse the program after the edit (an unsafe
rule, another arity, a negation in a cycle), the edit is refused with the same message and changes nothing.
Law: `edited.analysis` equals `analyse(edited.program, kept=edited.analysis.triples)`.

The cost is proportional to the edit: only the new rules are lowered.  In a program over triples, a property
or class that a rule names for the first time gets a relation of its own, which no other rule names; when
rules go, their relations stay.  Only where general triples are both read and derived may an edit change the
normal form of other rules.  Then all rules are lowered; those whose normal form changed are removed from the
graph and added again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tidalog.analysis.component_diff import diff_of_edit
from tidalog.analysis.components import Component
from tidalog.analysis.declarations import declared_uses
from tidalog.analysis.draft import Draft, Use
from tidalog.analysis.edit_lowering import (
    about_the_change,
    lower_all,
    lower_bridges,
    lower_new,
    uses_triples,
)
from tidalog.analysis.equality import check_equality
from tidalog.analysis.model import Analysis, PredicateInfo
from tidalog.analysis.normal import NormalRule
from tidalog.analysis.parameters import substitute_parameters
from tidalog.analysis.passes import (
    RegisteredFunctions,
    function_ranges,
    predicate_infos,
    refuse_errors,
)
from tidalog.analysis.predicates import binding_uses, name_rules
from tidalog.analysis.rewrite import canonical_rule
from tidalog.analysis.rule_edit import (
    Entry,
    Lowered,
    RuleDiff,
    State,
    Undo,
)
from tidalog.analysis.rule_graph import GraphDiff, RuleGraph, mentioned
from tidalog.analysis.scc import natural_key
from tidalog.analysis.specialise import EditedUses, TripleUses
from tidalog.analysis.strata import check_stratification
from tidalog.analysis.windows import with_windows
from tidalog.analysis.written_rules import BRIDGES, WrittenRules
from tidalog.model.program import Fact, Program, Rule
from tidalog.model.rule_edit import NamedRemoval
from tidalog.model.terms import Term
from tidalog.model.undo_journal import UndoJournal
from tidalog.rdf.bridges import bridges
from tidalog.rdf.layout import Layout
from tidalog.rdf.shorthand import lower_fact


class EditedProgram:
    def __init__(
        self,
        analysis: Analysis,
        parameters: Mapping[str, Term] | None = None,
        functions: RegisteredFunctions = (),
        facts: Sequence[Fact] | None = None,
    ) -> None:
        """`parameters` and `functions` are those of the analysis.  `facts` (by default those of the program)
        show which predicates have explicit facts; one fact per predicate is enough."""
        program = analysis.program
        known = tuple(program.facts if facts is None else facts)
        self._program = replace(program, rules=(), facts=())
        self._parameters, self._functions = dict(parameters or {}), function_ranges(functions)
        self._witnesses = {_witness(fact): fact for fact in known}
        self._written = WrittenRules()
        self._triple_uses = TripleUses()
        self._journal = UndoJournal()
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
            predicate_infos(self._program, layout, routed, analysis.rules, self._uses(layout)),
            tuple(rule.name for rule in analysis.rules if rule.origin is None),
        )
        same = self._state.predicates.keys() == analysis.predicates.keys()
        self.graph = RuleGraph(analysis.rules, fixed, analysis.components if same else None)
        predicates = with_windows(self._state.predicates, program.windows, self.graph.predicates)
        self._state = replace(self._state, predicates=predicates)

    def _load(self, program: Program, analysis: Analysis) -> Iterable[Entry]:
        draft = Draft(program, self._parameters, self._functions)
        name_rules(draft)
        written = [replace(working.rule, name=working.name) for working in draft.rules]
        substitute_parameters(draft)
        for rule, working in zip(written, draft.rules, strict=True):
            entry = self._written.new_entry(rule, canonical_rule(working.rule))
            self._enter(entry, analysis.triples)
            yield entry
        self._written.enter_bridges(
            (rule.name for rule in analysis.rules if rule.origin is None), self._journal
        )

    # --- reading ------------------------------------------------------------------------------------

    @property
    def rules(self) -> Mapping[str, Rule]:
        """The written rules by name, in the order in which they were added."""
        return MappingProxyType({entry.name: entry.rule for entry in self._state.written})

    def rule(self, name: str) -> Rule | None:
        entry = self._written.entries.get(name)
        return None if entry is None else entry.rule

    @property
    def program(self) -> Program:
        """The current program; every rule has a name."""
        return replace(self._program, rules=self._state.rules, facts=self._state.facts)

    @property
    def analysis(self) -> Analysis:
        """The analysis of the current program, as `analyse` gives it, without the warnings."""
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
        *,
        exact: bool = False,
    ) -> RuleDiff:
        """Removes rules by name, then adds rules, which get names if they have none.

        `facts` show which predicates have explicit facts after the edit; one fact per predicate is enough.  A
        rule that exists already, up to the names of variables, is not added again, unless the edit is `exact`
        and its name is new.  Raises `ProgramError` with every error found, and then changes nothing.
        """
        draft = Draft(replace(self._program, rules=tuple(added)), self._parameters, self._functions)
        draft.facts = [fact for fact in facts if _witness(fact) not in self._witnesses]
        leaving = self._written.leaving(draft, removed)
        chosen, already_there = self._written.choose(draft, added, leaving, exact=exact)
        # All errors are raised together at the end.
        errors, draft.diagnostics = draft.diagnostics, []
        lowered = self._lowered(draft, leaving)
        undo = self._apply(chosen, leaving, lowered)
        try:
            self._check_strata(draft, undo.graph)
            check_equality(draft, self._derivers)
            known = {error.key for error in errors}
            found = [*errors, *(d for d in draft.diagnostics if d.key not in known)]
            warnings = refuse_errors(about_the_change(found, [entry.rule for entry in chosen]))
            components = diff_of_edit(self.graph, undo.graph, self._written.text_order)
        except BaseException:
            self._undo(undo)
            raise
        return RuleDiff(
            added=tuple(entry.rule for entry in chosen),
            removed=tuple(entry.rule for entry in leaving.values()),
            already_there=already_there,
            components=components,
            moved_triples=not self._state.layout.same_relations(undo.state.layout),
            warnings=warnings,
            graph=self.graph,
            undo=undo,
        )

    def undo_edit(self, diff: RuleDiff) -> None:
        """Undoes the last edit."""
        self._undo(diff.undo)

    def _lowered(self, draft: Draft, leaving: Mapping[str, Entry]) -> Lowered:
        layout = self._state.layout
        facts = {_witness(fact): fact for fact in draft.facts}
        out = {name for entry in leaving.values() for name in entry.normal_names}
        if not (draft.rules or facts or out):
            return Lowered(layout, [], out, facts)
        found = self._uses_after(draft, leaving, facts)
        if found is not None:
            draft.layout = found.layout
            lower_new(draft, self.graph, out, self._state.fixed)
            if not layout.active or all(d.is_warning for d in draft.diagnostics):
                return self._lowered_new(draft, leaving, found, out, facts)
            draft.diagnostics = []  # errors name the first use of a predicate in the whole program
        staying = [entry.rule for entry in self._state.written if entry.name not in leaving]
        whole = lower_all(draft, staying, [*self._witnesses.values(), *facts.values()], layout)
        draft.diagnostics += whole.diagnostics
        draft.layout = whole.layout
        new = {rule.name: rule for rule in whole.normal}
        out |= {name for name, rule in self.graph.rules.items() if new.get(name) != rule}
        bridging = [name for name, rule in new.items() if rule.origin is None]
        if whole.layout != layout:
            layout = whole.layout
        return Lowered(layout, self._coming(whole.normal, out), out, facts, bridging)

    def _lowered_new(
        self,
        draft: Draft,
        leaving: Mapping[str, Entry],
        found: EditedUses,
        out: set[str],
        facts: dict[tuple[str, int], Fact],
    ) -> Lowered:
        """New rules in normal form, with the bridges, if these change."""
        layout, bridging = found.layout, None
        is_split = layout is not self._state.layout
        if found.uses is not None:
            names = {working.name for working in draft.rules}
            taken = {*(self._written.entries.keys() - leaving.keys()), *names}
            new = lower_bridges(draft, bridges(layout, found.uses, self._program.prefixes), taken)
            by_name = {rule.name: rule for rule in new}
            out |= {n for n in self._state.bridges if by_name.get(n) != self.graph.rules[n]}
            draft.normal += new
            bridging = list(by_name)
        return Lowered(layout, self._coming(draft.normal, out), out, facts, bridging, is_split)

    def _coming(self, normal: Iterable[NormalRule], going: Container[str]) -> list[NormalRule]:
        """The rules that are not in the graph; a name that is taken is reported elsewhere."""
        new = {rule.name: rule for rule in normal}
        return [rule for name, rule in new.items() if name not in self.graph.rules or name in going]

    def _uses_after(
        self, draft: Draft, leaving: Mapping[str, Entry], facts: Mapping[tuple[str, int], Fact]
    ) -> EditedUses | None:
        """How triples are used after the edit; None if other rules than its own are lowered again."""
        layout = self._state.layout
        if not layout.active:
            return None if uses_triples(draft.rules, facts) else EditedUses(layout, None)
        came = [working.rule for working in draft.rules]
        return self._triple_uses.after(came, [entry.canonical for entry in leaving.values()], layout)

    def _apply(self, chosen: Sequence[Entry], leaving: Mapping[str, Entry], lowered: Lowered) -> Undo:
        self._journal = UndoJournal()
        before, layout = self._state, lowered.layout
        for witness, fact in lowered.facts.items():
            self._journal.put(self._witnesses, witness, fact)
        facts, routed, fixed, given = before.facts, before.routed, before.fixed, before.given
        declared: set[str] = set()
        undeclared: set[str] = set()
        same = layout is before.layout
        if lowered.facts or not same:
            new = tuple(lowered.facts.values())
            facts = (*facts, *new)
            if same or lowered.is_split:
                added = _routed(new, layout)
                routed = (*routed, *added) if same else _routed(facts, layout)
                arities = {fact.predicate: len(fact.arguments) for fact in added}
                if not same:
                    arities.update(layout.arities)
                fixed, given = {**arities, **fixed}, given.union(arities)
            else:
                routed = _routed(facts, layout)
                fixed, given = self._fixed(routed, layout)
            declared, undeclared = fixed.keys() - before.fixed.keys(), before.fixed.keys() - fixed.keys()
        going = sorted(lowered.going, key=natural_key)
        diff = self.graph.change(lowered.coming, going, declared, undeclared)
        undo = Undo(diff, self._journal, before)
        normal = self._spliced(before.normal, diff) if lowered.bridges is None else ()
        for entry in leaving.values():
            self._written.remove(entry, self._journal)
            if before.layout.active:
                self._triple_uses.remove(entry.canonical, before.layout.tables, self._journal)
        for entry in chosen:
            self._enter(entry, before.layout)
        self._written.enter_bridges(lowered.bridges or (), self._journal)
        if layout.active != before.layout.active:
            written_rules = (e.canonical for e in self._written.entries.values() if layout.active)
            self._triple_uses.recount(written_rules, layout.tables, self._journal)
        bridging = before.bridges
        if lowered.bridges is not None:
            bridging = tuple(lowered.bridges)
            normal = tuple(sorted(self.graph.rules.values(), key=self._written.text_order))
        written, rules = before.written, before.rules
        if leaving or chosen:
            kept, kept_rules = list(written), list(rules)
            for entry in leaving.values():
                at = bisect_left(kept, entry.sequence, key=lambda other: other.sequence)
                del kept[at], kept_rules[at]
            written = (*kept, *chosen)
            rules = (*kept_rules, *(entry.rule for entry in chosen))
        predicates = before.predicates
        if not (same or lowered.is_split):
            predicates = predicate_infos(self._program, layout, routed, normal, self._uses(layout))
        elif diff.added or diff.removed or lowered.facts or not same:
            touched = {p for rule in (*diff.added, *diff.removed) for p in mentioned(rule)}
            touched |= given - before.given
            predicates = self._infos(dict(predicates), touched, fixed, given)
        if predicates is not before.predicates:
            predicates = with_windows(predicates, self._program.windows, self.graph.predicates)
        if leaving or chosen or diff.added or diff.removed or lowered.facts or not same:
            self._state = State(
                written, rules, normal, facts, routed, layout, fixed, given, predicates, bridging
            )
        return undo

    def _spliced(self, normal: tuple[NormalRule, ...], diff: GraphDiff) -> tuple[NormalRule, ...]:
        """The normal rules after an edit that does not change the bridges; removed rules still have
        positions."""
        if not (diff.added or diff.removed):
            return normal
        kept = list(normal)
        for rule in diff.removed:
            del kept[bisect_left(kept, self._written.text_order(rule), key=self._written.text_order)]
        end = bisect_left(kept, (BRIDGES, 0), key=self._written.text_order)
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
        self._written.enter(entry, self._journal)
        if layout.active:
            self._triple_uses.add(entry.canonical, layout.tables, self._journal)

    def _undo(self, undo: Undo) -> None:
        assert undo.journal is self._journal, "only the last edit can be undone"
        self.graph.undo(undo.graph)
        self._journal.roll_back()
        self._journal = UndoJournal()
        self._state = undo.state

    def _check_strata(self, draft: Draft, diff: GraphDiff) -> None:
        """Reports cycles through a negation or an aggregate.  Only a new rule can close one, in a component
        that it joins from several or itself reads as if it were complete."""
        graph, known = self.graph, self.graph.predicates
        joined = (p for p, old in diff.old_components.items() if old is not None and p in known)
        partial = (rule.head for rule in diff.added if rule.negations or rule.aggregates)
        names = (*joined, *(head.predicate for head in partial if head is not None))
        suspected = diff.looped.intersection(map(graph.component_of, names))
        components = [
            Component(
                number,
                self.graph.predicates_of_component(number),
                tuple(sorted(self.graph.rules_of_component(number), key=self._written.text_order)),
                True,
                frozenset(),
                frozenset(),
                0,
            )
            for number in sorted(suspected)
        ]
        check_stratification(draft, components)

    def _derivers(self, predicate: str) -> list[NormalRule]:
        return [self.graph.rules[name] for name in self.graph.derivers(predicate)]

    def _fixed(self, routed: Sequence[Fact], layout: Layout) -> tuple[dict[str, int], frozenset[str]]:
        """The predicates that exist independently of the rules, with their arities; and those of them that
        have explicit facts."""
        infos = predicate_infos(self._program, layout, routed, (), self._uses(layout))
        given = {fact.predicate for fact in routed}
        given.update(binding.predicate for binding in self._program.imports)
        given.update(layout.arities)
        return {name: info.arity for name, info in infos.items()}, frozenset(given)

    def _uses(self, layout: Layout) -> dict[str, Use]:
        program = self._program
        return dict(binding_uses((*program.imports, *program.exports))) | declared_uses(program, layout)


def _witness(fact: Fact) -> tuple[str, int]:
    return fact.predicate, len(fact.arguments)


def _routed(facts: tuple[Fact, ...], layout: Layout) -> tuple[Fact, ...]:
    """The facts as facts of the relations that hold them."""
    if not layout.active:
        return facts
    return tuple(layout.routed(lower_fact(fact, layout.tables)) for fact in facts)


def _arity(rule: NormalRule, predicate: str) -> int:
    atoms = (*rule.atoms, *rule.negations, *(() if rule.head is None else (rule.head,)))
    return next(len(atom.arguments) for atom in atoms if atom.predicate == predicate)
