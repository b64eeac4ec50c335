"""The catalog of a stream: the predicates of the program by all their names, and those of added rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidalog.analysis.rewrite import atoms
from tidalog.io.declared_rows import Declarations
from tidalog.lang import parse_rules
from tidalog.lang.names import full_name, written_name
from tidalog.model.errors import ProgramError
from tidalog.model.program import Declaration
from tidalog.model.term_text import STANDARD_PREFIXES

if TYPE_CHECKING:
    from tidalog.api.knowledge_base import KnowledgeBase


@dataclass(frozen=True)
class KnownPredicates:
    """`arities` has the number of arguments by name: the name itself, `<iri>`, `prefix:name`.  With
    `open_iris`, in programs about triples, any other IRI is a property (two arguments) or a class (one)."""

    arities: Mapping[str, int]
    open_iris: bool = False
    prefixes: Mapping[str, str] = field(default_factory=dict)
    """Those of the program and the predefined ones."""
    declared: Mapping[str, Declaration] = field(default_factory=dict)
    """Declarations by the full names of predicates."""

    @property
    def declarations(self) -> Declarations:
        return Declarations(self.declared, self.prefixes)

    @property
    def widest(self) -> int:
        """The largest number of arguments."""
        return max([3 if self.open_iris else 0, *self.arities.values()])

    def of_rules(self, texts: Iterable[str]) -> set[tuple[str, int]]:
        """The predicates of rules and their arities, under all their names.  A text that cannot be parsed has
        none; its error is reported when the rule is applied."""
        found: set[tuple[str, int]] = set()
        for text in texts:
            try:
                rules = parse_rules(text, self.prefixes)
            except ProgramError:
                continue
            for atom in (atom for rule in rules for atom in atoms(rule)):
                names = _aliases(atom.predicate, self.prefixes)
                found |= {(name, len(atom.arguments)) for name in names}
        return {(name, arity) for name, arity in found if self.arities.get(name) != arity}


def known_predicates(kb: KnowledgeBase) -> KnownPredicates:
    analysis = kb.analysis
    layout = analysis.triples
    prefixes = {**STANDARD_PREFIXES, **kb.program.prefixes}
    arities: dict[str, int] = {}
    filled = {window.name for window in kb.program.windows if window.name != window.source}
    for name, info in kb.predicates.items():
        if name in filled:
            continue  # facts come in by the stream of the window
        if layout.is_shorthand(name) and info.arity in (1, 2):
            continue  # a class and a property may have the same name
        for alias in _aliases(name, prefixes):
            arities[alias] = info.arity
    return KnownPredicates(arities, layout.active, prefixes, kb.program.declared)


def time_arguments(kb: KnowledgeBase, known: KnownPredicates) -> dict[str, int]:
    """The arguments, from 0, with the times of facts, by all names of their predicates."""
    arguments = kb.program.time_arguments
    names = {alias: full_name(alias, known.prefixes) for alias in known.arities} if arguments else {}
    return {alias: arguments[name] for alias, name in names.items() if name in arguments}


def _aliases(name: str, prefixes: Mapping[str, str]) -> list[str]:
    """The texts that `full_name` reads as a predicate."""
    found = [(p, base) for p, base in prefixes.items() if base and name.startswith(base)]
    shortened = (f"{prefix}:{name.removeprefix(base)}" for prefix, base in found)
    return [written_name(name), f"<{name}>", *shortened]
