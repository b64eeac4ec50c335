"""Many small knowledge bases in one: the key becomes the first argument of every predicate.

    path(?x, ?z) :- path(?x, ?y), edge(?y, ?z)   path(?key, ?x, ?z) :- path(?key, ?x, ?y), edge(?key, ?y, ?z)
    n(#count(?x)) :- p(?x)                       n(?key, #count(?x)) :- p(?key, ?x)
    dry :- ~rain                                 dry(?key) :- <keyed:key>(?key), ~rain(?key)
    c1: :- p(?x), q(?x)                          c1: <keyed:violated>(?key, "c1") :- p(?key, ?x), q(?key, ?x)

Law.  Over the union of keyed facts, with one fact `<keyed:key>(k)` for every key k, the program derives for
each key what the original derives from that key's facts alone; and `<keyed:violated>(k, c)` exactly if these
violate the constraint c.  So a violation is reported for its key and does not stop the others.

Only rules are rewritten.  The facts of the original program belong to every key: the caller inserts a copy
of them for each new key, so that one key can delete them while the others keep them.  Triples were assigned
to relations before (`specialise`); here these are ordinary predicates with names that no program has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from tidalog.analysis.draft import Draft, WorkingRule
from tidalog.analysis.equality import refuse_equality
from tidalog.analysis.functions import read_parentheses
from tidalog.analysis.parameters import substitute_parameters
from tidalog.analysis.passes import (
    RegisteredFunctions,
    analyse,
    function_ranges,
    lower_rdf_atoms,
    specialise_triples,
)
from tidalog.analysis.predicates import check_arity, name_rules
from tidalog.analysis.rewrite import atoms, map_atoms
from tidalog.analysis.specialise import fits, special_rule
from tidalog.lang import print_rule
from tidalog.model.program import Atom, Program, Rule, Variable, variables
from tidalog.model.rule_edit import NamedRemoval, RuleEdit
from tidalog.model.terms import String, Term
from tidalog.rdf.bridges import RelationUse, bridges, relation_uses
from tidalog.rdf.layout import Layout

_PREFIX: Final = "keyed:"
_LOWERING: Final = (name_rules, read_parentheses, substitute_parameters, lower_rdf_atoms)


@dataclass(frozen=True)
class KeyedProgram:
    """`program` has the rewritten rules.  `layout` says which relations hold the triples of the original;
    `names` has the new names of the relations that were renamed."""

    program: Program
    layout: Layout
    names: Mapping[str, str]
    key: str
    """The predicate of known keys."""
    violated: str
    """The predicate of keys and the names of constraints that they violate."""

    def name(self, relation: str) -> str:
        """The name of a relation of the original."""
        return self.names.get(relation, relation)


def keyed_program(
    program: Program,
    parameters: Mapping[str, Term] | None = None,
    functions: RegisteredFunctions = (),
) -> KeyedProgram:
    """Raises `ProgramError` with every error of the original program."""
    analyse(program, parameters, functions)
    refuse_equality(
        program,
        "keys",
        "terms that are equal for one key would be equal for all",
        "stream without --key, or leave @equality out",
    )
    draft = Draft(program, parameters or {}, function_ranges(functions), facts=program.facts)
    for step in (*_LOWERING, check_arity, specialise_triples):
        step(draft)
    layout = draft.layout
    prefix = _free_prefix(draft)
    # `triple` itself is renamed too: with a key, `triple` of two arguments would look like RDF.
    names = layout.renamed(prefix)
    rewriting = _Rewriting(names, f"{prefix}key", f"{prefix}violated")
    rules = tuple(
        rewriting.rule(working.rule, working.name, written=working.origin is not None)
        for working in draft.rules
    )
    keyed = Program(rules, prefixes=program.prefixes, base=program.base, source=program.source)
    return KeyedProgram(keyed, layout, names, rewriting.key, rewriting.violated)


@dataclass(frozen=True, slots=True)
class KeyedEdit:
    """The rewritten rules that an edit adds and removes."""

    added: tuple[Rule, ...] = ()
    removed: tuple[Rule, ...] = ()
    uses: Counter[RelationUse] = field(default_factory=Counter)
    """How many more uses of relations there are, or fewer."""

    @property
    def edit(self) -> RuleEdit:
        return _replaced(self.removed, self.added)

    @property
    def inverse(self) -> RuleEdit:
        return _replaced(self.added, self.removed)


def _replaced(old: Iterable[Rule], new: tuple[Rule, ...]) -> RuleEdit:
    return RuleEdit(new, tuple(NamedRemoval(str(rule.name)) for rule in old), exact=True)


class KeyedRules:
    """The rules of a keyed program while they are edited.  Triples stay in the relations that they have.  An
    edit costs what its rules cost, except where other bridges are needed.

    Every rule has a name; that of a bridge is its text.
    """

    def __init__(
        self,
        program: Program,
        layout: Layout,
        key: str,
        violated: str,
        parameters: Mapping[str, Term],
        functions: RegisteredFunctions,
    ) -> None:
        self._program, self._layout = replace(program, rules=(), facts=()), layout
        self._parameters, self._functions = parameters, function_ranges(functions)
        self._prefix = key.removesuffix("key")
        self._rewriting = _Rewriting(layout.renamed(self._prefix), key, violated)
        self._uses = self._uses_of(self._special(program.rules) or ())

    def whole(self, rules: Sequence[Rule]) -> tuple[Rule, ...]:
        """All rules of the keyed program, from all that are written."""
        special = self._special(rules) or ()
        return *self._keyed(special), *self._bridges(self._uses_of(special))

    def edit_of(self, added: Sequence[Rule], removed: Sequence[Rule]) -> KeyedEdit | None:
        """What an edit of the written rules, which have names, does to the rewritten ones; None if that would
        move facts to other relations."""
        new, old = self._special(added), self._special(removed)
        if new is None or old is None:
            return None
        uses = self._uses_of(new)
        uses.subtract(self._uses_of(old))
        coming, going = self._keyed(new), self._keyed(old)
        if any((self._uses[use] > 0) != (self._uses[use] + more > 0) for use, more in uses.items()):
            before, after = self._bridges(self._uses), self._bridges(self._added_up(uses))
            coming += [bridge for bridge in after if bridge not in before]
            going += [bridge for bridge in before if bridge not in after]
        return KeyedEdit(tuple(coming), tuple(going), uses)

    def commit(self, edit: KeyedEdit) -> None:
        self._uses = self._added_up(edit.uses)

    def _added_up(self, more: Counter[RelationUse]) -> Counter[RelationUse]:
        total = self._uses.copy()
        total.update(more)
        return total

    def _special(self, rules: Sequence[Rule]) -> list[WorkingRule] | None:
        """Rules over the relations of the layout; None if it has no place for them."""
        draft = Draft(replace(self._program, rules=tuple(rules)), self._parameters, self._functions)
        draft.layout = self._layout
        for step in _LOWERING:
            step(draft)
        lowered = [working.rule for working in draft.rules]
        if draft.layout is not self._layout or not fits(self._layout, lowered):
            return None
        if self._layout.active:
            lowered = [special_rule(rule, self._layout) for rule in lowered]
        if any(atom.predicate.startswith(self._prefix) for rule in lowered for atom in atoms(rule)):
            return None
        return [working.with_rule(rule) for working, rule in zip(draft.rules, lowered, strict=True)]

    def _keyed(self, special: Iterable[WorkingRule]) -> list[Rule]:
        return [self._rewriting.rule(working.rule, working.name, written=True) for working in special]

    def _uses_of(self, special: Iterable[WorkingRule]) -> Counter[RelationUse]:
        if not self._layout.active:
            return Counter()
        return Counter(use for working in special for use in relation_uses(working.rule, self._layout))

    def _bridges(self, uses: Counter[RelationUse]) -> list[Rule]:
        present = [use for use, count in uses.items() if count > 0]
        found = bridges(self._layout, present, self._program.prefixes) if self._layout.active else ()
        rewritten = (self._rewriting.rule(bridge, "", written=False) for bridge in found)
        return [replace(rule, name=print_rule(rule)) for rule in rewritten]


def _free_prefix(draft: Draft) -> str:
    taken = {atom.predicate for working in draft.rules for atom in atoms(working.rule)} | set(draft.uses)
    prefix = _PREFIX
    while any(predicate.startswith(prefix) for predicate in taken):
        prefix = f"{prefix[:-1]}-:"
    return prefix


@dataclass(frozen=True)
class _Rewriting:
    names: Mapping[str, str]
    key: str
    violated: str

    def rule(self, rule: Rule, name: str, *, written: bool) -> Rule:
        """`written`: the author wrote the rule and knows it by its name."""
        key = _free_variable(rule)
        changed = map_atoms(rule, self._with(key))
        heads, body = changed.heads, changed.body
        if not heads:
            heads = (Atom(self.violated, (key, String(name))),)
        if not any(isinstance(literal, Atom) for literal in body):
            body = (Atom(self.key, (key,)), *body)
        return replace(changed, heads=heads, body=body, name=name if written else None)

    def _with(self, key: Variable) -> Callable[[Atom], Atom]:
        def change(atom: Atom) -> Atom:
            return Atom(self.names.get(atom.predicate, atom.predicate), (key, *atom.arguments), atom.span)

        return change


def _free_variable(rule: Rule) -> Variable:
    used = {variable.name for literal in (*rule.heads, *rule.body) for variable in variables(literal)}
    name = "key"
    while name in used:
        name += "_"
    return Variable(name)
