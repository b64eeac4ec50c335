"""Registered continuous queries, and the mark in the names of what belongs to them.

Invariant.  Rules, predicates and windows of queries have names with `MARK`, which no program text and no data
gives to anything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, Literal, Self, cast, get_args

from tidalog.model.program import Program

MARK: Final = "|"
GIVEN: Final = f"{MARK}given"
"""Ends the name of the predicate that has the explicit facts of another one."""
OF_ONTOLOGY: Final = "ontology_"
"""Begins the names of the predicates that ontologies use inside."""

Emit = Literal["rstream", "istream", "dstream", "changes"]
"""What is emitted: all answers; those that came; those that went; both of these."""
EMITS: Final[tuple[Emit, ...]] = get_args(Emit)


@dataclass(frozen=True, slots=True)
class RegisteredQuery:
    name: str
    text: str
    """A rule body, or a query or registration in SPARQL."""
    prefixes: tuple[tuple[str, str], ...] = ()
    """Those that the text need not declare."""
    emit: Emit = "rstream"
    every: int | None = None
    """Microseconds from one evaluation to the next; None: at every update."""
    materialised: bool = True
    """Whether the answers are maintained as rules; else they are computed when they are needed."""
    paused: bool = False
    to: str | None = None
    """A file that has the answers of the last evaluation."""
    changes: str | None = None
    """A folder with the feed of what was emitted."""
    feed: str | None = None
    """The folder of the feed that a stream writes, whose updates alone evaluate the query."""

    def is_as(self, other: RegisteredQuery | None) -> bool:
        """Whether both are the same query, paused or not."""
        return other is not None and replace(self, paused=other.paused) == other

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """The counterpart of `to_json`.  Raises `ValueError` or `KeyError` for anything else."""
        if found["emit"] not in EMITS or not isinstance(found["text"], str):
            raise ValueError("a query cannot be read")
        known = {one.name: found[one.name] for one in fields(cls) if one.name in found}
        return cls(**{**known, "prefixes": tuple((a, b) for a, b in found["prefixes"])})


@dataclass(frozen=True, slots=True)
class Registered:
    """All continuous queries of a knowledge base, in the order in which they were registered."""

    queries: tuple[RegisteredQuery, ...] = ()
    graphs: tuple[str, ...] = ()
    """Files of background knowledge that queries have loaded."""

    def __bool__(self) -> bool:
        return bool(self.queries)

    def __iter__(self) -> Iterator[RegisteredQuery]:
        return iter(self.queries)

    def find(self, name: str) -> RegisteredQuery | None:
        return next((query for query in self.queries if query.name == name), None)

    def with_query(self, query: RegisteredQuery) -> Registered:
        """With a query more, or another one of its name."""
        if self.find(query.name) is None:
            return replace(self, queries=(*self.queries, query))
        return replace(self, queries=tuple(query if q.name == query.name else q for q in self.queries))

    def without(self, name: str) -> Registered:
        return replace(self, queries=tuple(query for query in self.queries if query.name != name))

    def to_json(self) -> dict[str, object]:
        return {"queries": [query.to_json() for query in self.queries], "graphs": list(self.graphs)}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        queries = tuple(RegisteredQuery.from_json(query) for query in found["queries"])
        return cls(queries, tuple(map(str, cast("list[object]", found["graphs"]))))


NO_QUERIES: Final = Registered()


def is_of_query(name: str | None) -> bool:
    """Whether a rule, predicate or window belongs to continuous queries."""
    return name is not None and MARK in name


def without_queries(program: Program) -> Program:
    """A program as users wrote it: without the rules and windows of queries."""
    rules = tuple(rule for rule in program.rules if not is_of_query(rule.name))
    windows = tuple(window for window in program.windows if not is_of_query(window.name))
    same = len(rules) == len(program.rules) and len(windows) == len(program.windows)
    if same and not program.queries_triples:
        return program
    return replace(program, rules=rules, windows=windows, queries_triples=False)
