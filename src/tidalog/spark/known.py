"""What a stream may speak of: the predicates of a program, by every name that they can be called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidalog.session.relations import is_rdf_name
from tidalog.termtext import STANDARD_PREFIXES

if TYPE_CHECKING:
    from tidalog.session.knowledge_base import KnowledgeBase


@dataclass(frozen=True)
class KnownPredicates:
    """`arities` has the number of arguments by name: the name itself, `<iri>`, `prefix:name`.  In a program
    about triples, `open_iris` says, any other IRI is a property (two arguments) or a class (one)."""

    arities: Mapping[str, int]
    open_iris: bool = False

    @property
    def widest(self) -> int:
        """The largest number of arguments."""
        return max([3 if self.open_iris else 0, *self.arities.values()])


def known_predicates(kb: KnowledgeBase) -> KnownPredicates:
    analysis = kb.analysis
    layout = analysis.triples
    prefixes = {**STANDARD_PREFIXES, **kb.program.prefixes}
    arities: dict[str, int] = {}
    for name, info in kb.predicates.items():
        if is_rdf_name(layout, name) and info.arity in (1, 2):
            continue  # a class and a property may have one name
        for alias in (name, f"<{name}>", *_prefixed(name, prefixes)):
            arities[alias] = info.arity
    return KnownPredicates(arities, layout.active)


def _prefixed(name: str, prefixes: Mapping[str, str]) -> list[str]:
    found = [(p, base) for p, base in prefixes.items() if base and name.startswith(base)]
    return [f"{prefix}:{name.removeprefix(base)}" for prefix, base in found]
