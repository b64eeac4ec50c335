"""What every backend offers: the `Engine` protocol, and the capabilities that a backend declares.

Invariant.  After each call an engine holds the stratified least model of its rules over its explicit facts.
`apply` is atomic: an update that raises changes nothing.  A program or a call that needs a capability which
the engine does not declare raises `NotSupported` and changes nothing.

`tests/conformance` checks both halves of a declaration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from tidalog.analysis.expand import has_aggregate
from tidalog.analysis.passes import mentions_triples
from tidalog.model.program import Atom, Negation, Program, Rule, flat_literals
from tidalog.model.terms import Term

if TYPE_CHECKING:
    from tidalog.api.knowledge_base import KnowledgeBase
    from tidalog.api.stored import StoredKnowledgeBase
    from tidalog.api.update import Update


class Capability(StrEnum):
    """A part of the language or of the interface that a backend may lack."""

    RECURSION = "recursion"
    NEGATION = "negation"
    AGGREGATES = "aggregates"
    CONSTRAINTS = "constraints"
    TRIPLES = "triples"
    IMPORTS = "imports"
    WINDOWS = "windows"
    RULE_EDITS = "rule edits"
    QUERIES = "queries"
    DURABLE = "durable"
    """What was applied is still there after the engine is closed and opened again."""


Capabilities = frozenset[Capability]
EMBEDDED: Final[Capabilities] = frozenset(Capability) - {Capability.DURABLE}
STORED: Final[Capabilities] = frozenset(Capability)


class NotSupported(Exception):
    """A program or a call needs what the engine does not declare."""

    def __init__(self, missing: Capabilities) -> None:
        super().__init__(f"this engine does not support {', '.join(sorted(missing))}")
        self.missing = missing


class FactTable(Protocol):
    """Facts or answers, in no particular order and each once."""

    def __len__(self) -> int: ...

    def to_terms(self) -> list[tuple[Term, ...]]: ...


class NetChange(Protocol):
    """The net change of one predicate."""

    @property
    def inserted_explicit(self) -> FactTable: ...
    @property
    def inserted_implicit(self) -> FactTable: ...
    @property
    def deleted_explicit(self) -> FactTable: ...
    @property
    def deleted_implicit(self) -> FactTable: ...
    @property
    def became_explicit(self) -> FactTable: ...
    @property
    def became_implicit(self) -> FactTable: ...


class Engine(Protocol):
    @property
    def capabilities(self) -> Capabilities: ...

    def load(self, source: Program | Path, /) -> None:
        """Adds rules and facts."""

    def apply(self, update: Update, upcoming: Sequence[Update] = ()) -> Mapping[str, NetChange]:
        """Applies an update and returns its net change, by predicate; predicates that did not change may be
        left out.  `upcoming` are updates that will probably follow: they may save work and never change a
        result, even if others follow instead."""

    @property
    def predicates(self) -> Mapping[str, object]:
        """Predicates by name; all triples are one predicate, `triple`."""

    @property
    def rules(self) -> Mapping[str, str]:
        """The text of each rule by its name."""

    def facts(self, predicate: str, explicit: bool | None = None) -> FactTable:
        """The facts of a predicate: all, the explicit ones, or those that are only derived."""

    def query(self, text: str, /) -> FactTable: ...

    def close(self) -> None: ...


def check_supported(program: Program, declared: Capabilities) -> None:
    """Raises `NotSupported` if the program needs more than an engine declares."""
    if missing := required_capabilities(program) - declared:
        raise NotSupported(missing)


def required_capabilities(program: Program) -> Capabilities:
    """What an engine must support to run a program."""
    needs = {
        Capability.RECURSION: _is_recursive(program.rules),
        Capability.NEGATION: any(
            isinstance(part, Negation) for rule in program.rules for part in flat_literals(rule.body)
        ),
        Capability.AGGREGATES: any(
            has_aggregate(argument)
            for rule in program.rules
            for head in rule.heads
            for argument in head.arguments
        ),
        Capability.CONSTRAINTS: any(rule.is_constraint for rule in program.rules),
        Capability.TRIPLES: mentions_triples(program),
        Capability.IMPORTS: bool(program.imports),
        Capability.WINDOWS: bool(program.windows),
    }
    return frozenset(capability for capability, needed in needs.items() if needed)


def _is_recursive(rules: Sequence[Rule]) -> bool:
    """Whether a predicate depends on itself.  A name that is an IRI is a predicate like any other here."""
    graph: TopologicalSorter[str] = TopologicalSorter()
    for rule in rules:
        for head in rule.heads:
            graph.add(head.predicate, *(atom.predicate for atom in body_atoms(rule)))
    try:
        graph.prepare()
    except CycleError:
        return True
    return False


def body_atoms(rule: Rule) -> Iterator[Atom]:
    for literal in flat_literals(rule.body):
        if isinstance(literal, Atom):
            yield literal
        elif isinstance(literal, Negation):
            yield literal.atom


if TYPE_CHECKING:

    def _conforms(memory: KnowledgeBase, stored: StoredKnowledgeBase) -> tuple[Engine, Engine]:
        """Lets the type checker compare both knowledge bases with the protocol."""
        return memory, stored
