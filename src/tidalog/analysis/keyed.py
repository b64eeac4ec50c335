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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from tidalog.analysis.draft import Draft
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
from tidalog.model.program import Atom, Program, Rule, Variable, variables
from tidalog.model.terms import String, Term
from tidalog.rdf.layout import Layout

_PREFIX: Final = "keyed:"


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
    kept: Layout | None = None,
) -> KeyedProgram:
    """Raises `ProgramError` with every error of the original program.  With `kept`, triples stay in the
    relations of that layout."""
    analyse(program, parameters, functions)
    draft = Draft(program, parameters or {}, function_ranges(functions), facts=program.facts, kept=kept)
    for step in (name_rules, substitute_parameters, lower_rdf_atoms, check_arity, specialise_triples):
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
