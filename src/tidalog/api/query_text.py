"""The text of a continuous query as rules, windows and the names of graphs; and those of all queries together
as a part of a program.

One text gives the same rules on every call, so a store keeps texts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from tidalog.analysis import Analysis
from tidalog.analysis.components import Component
from tidalog.analysis.datasets import Dataset, dataset_rules
from tidalog.analysis.edited_program import EditedProgram
from tidalog.analysis.passes import table_predicates
from tidalog.analysis.query import analyse_rules
from tidalog.analysis.rewrite import atoms
from tidalog.analysis.shared_windows import of_equal_step
from tidalog.api.load import Environment
from tidalog.api.naming import column_names
from tidalog.engine.functions import is_native
from tidalog.lang import parse_query
from tidalog.lang.diagnostics import BadStatement
from tidalog.lang.sparql import algebra as sparql
from tidalog.lang.sparql import parse_statements, translate
from tidalog.model.errors import Diagnostic, ProgramError
from tidalog.model.program import Program, Rule, Window
from tidalog.model.registered import (
    MARK,
    Emit,
    Registered,
    RegisteredQuery,
    is_of_query,
    without_queries,
)
from tidalog.model.rule_edit import RuleEdit
from tidalog.model.window_times import duration_text
from tidalog.rdf.layout import TRIPLE

_SPARQL: Final = re.compile(
    r"(\s|#[^\n]*\n)*(register|prefix|base|construct|ask|describe|select(?!\())\b(?!\s*\()", re.IGNORECASE
)
_SELECT: Final = re.compile(r"(\s|#[^\n]*\n)*select\s", re.IGNORECASE)
_NANOSECONDS: Final = 1000
_EMITS: Final[Mapping[str, Emit]] = {
    "RSTREAM": "rstream",
    "ISTREAM": "istream",
    "DSTREAM": "dstream",
    "CHANGES": "changes",
}


@dataclass(frozen=True)
class QueryRules:
    """What a text means."""

    rules: tuple[Rule, ...]
    """Over `triple`, if it reads triples."""
    predicate: str
    """That of the answers."""
    columns: tuple[str, ...]
    """Those of an answer; the predicate may have more columns, which order the answers."""
    order: tuple[tuple[int, bool], ...] = ()
    limit: int | None = None
    offset: int = 0
    windows: tuple[Window, ...] = ()
    streams: tuple[str, ...] = ()
    """The predicates whose triples are added to the background."""
    graphs: tuple[str, ...] = ()
    """IRIs of background knowledge."""
    is_stream: bool = False
    """Whether the answers are triples of a stream that has the query's name."""

    @property
    def reads_triples(self) -> bool:
        named = (atom for rule in self.rules for atom in atoms(rule))
        return any(atom.predicate == TRIPLE and atom.arity == 3 for atom in named)


@dataclass(frozen=True)
class ReadQuery:
    """One query of a text, with what the text says about its evaluation."""

    name: str | None
    text: str
    emit: Emit | None
    every: int | None
    graphs: tuple[str, ...]
    warnings: tuple[Diagnostic, ...]


def is_sparql(text: str) -> bool:
    return _SPARQL.match(text) is not None or _SELECT.match(text) is not None


def read_query(text: str, prefixes: Mapping[str, str]) -> ReadQuery:
    """Reads the text of one query.  Raises `ProgramError`."""
    if not is_sparql(text):
        parse_query(text, prefixes)
        return ReadQuery(None, text, None, None, (), ())
    found = parse_statements(text, prefixes, "<query>", several=False)
    return _read(found.statements[0], text, found.warnings)


def read_queries(text: str, prefixes: Mapping[str, str], name: str) -> list[ReadQuery]:
    """Reads the registrations of a text, one after the other.  Raises `ProgramError`."""
    found = parse_statements(text, prefixes, name)
    queries: list[ReadQuery] = []
    for statement, prologue in zip(found.statements, found.prologues, strict=True):
        assert isinstance(statement, sparql.Registration) and statement.span is not None
        own = text[statement.span.start : statement.span.end]
        inside = [warning for warning in found.warnings if _within(warning, statement)]
        queries.append(_read(statement, prologue + own, inside))
    return queries


def _within(warning: Diagnostic, statement: sparql.Registration) -> bool:
    span, whole = warning.span, statement.span
    return span is not None and whole is not None and whole.start <= span.start < whole.end


def _read(
    statement: sparql.Query | sparql.Registration, text: str, warnings: Sequence[Diagnostic]
) -> ReadQuery:
    if isinstance(statement, sparql.Query):
        return ReadQuery(None, text, None, None, _graphs(statement), tuple(warnings))
    every = statement.every
    return ReadQuery(
        statement.name,
        text,
        _EMITS[statement.answers],
        None if every is None else _microseconds(every, statement.query),
        _graphs(statement.query),
        tuple(warnings),
    )


def rules_of(query: RegisteredQuery) -> QueryRules:
    """What a registered query means."""
    return _rules_of(query.name, query.text, query.prefixes)


@lru_cache(maxsize=256)
def _rules_of(name: str, text: str, prefixes: tuple[tuple[str, str], ...]) -> QueryRules:
    predicate = f"{name}{MARK}answers"
    if not is_sparql(text):
        rule = parse_query(text, dict(prefixes))
        head = replace(rule.heads[0], predicate=predicate)
        return QueryRules((replace(rule, heads=(head,)),), predicate, tuple(column_names(rule.heads[0])))
    (statement,) = parse_statements(text, dict(prefixes), "<query>", several=False).statements
    is_stream = isinstance(statement, sparql.Registration) and statement.stream
    query = statement.query if isinstance(statement, sparql.Registration) else statement
    found = translate(query, predicate)
    windows = tuple(_windows(query))
    unwindowed = (g.iri for g in query.dataset if g.kind == "stream" and g.window is None)
    streams = tuple(dict.fromkeys((*(w.name for w in windows), *unwindowed)))
    return QueryRules(
        found.rules,
        predicate,
        found.columns,
        found.order,
        found.limit,
        found.offset,
        windows,
        streams,
        _graphs(query),
        is_stream,
    )


def _graphs(query: sparql.Query) -> tuple[str, ...]:
    return tuple(dict.fromkeys(g.iri for g in query.dataset if g.kind == "default"))


def _windows(query: sparql.Query) -> Iterable[Window]:
    for graph in query.dataset:
        given = graph.window
        if given is None:
            continue
        if given.triples is not None:
            yield Window(f"{graph.iri}{MARK}count {given.triples}", graph.iri, "count", given.triples)
            continue
        assert given.width is not None
        length = _microseconds(given.width, query)
        step = 1 if given.step is None else _microseconds(given.step, query)
        name = f"{graph.iri}{MARK}range {duration_text(length)} step {duration_text(step)}"
        yield Window(name, graph.iri, "range", length, step)


def _microseconds(nanoseconds: int, query: sparql.Query) -> int:
    if nanoseconds % _NANOSECONDS:
        raise ProgramError(
            BadStatement(
                query.span,
                problem=f"a duration of {nanoseconds} nanoseconds",
                why="times are whole microseconds",
                advice="write a longer one",
            )
        )
    return nanoseconds // _NANOSECONDS


# --- as a part of a program -------------------------------------------------------------------------


def with_queries(program: Program, registered: Registered) -> Program:
    """A program with the rules and windows of its continuous queries, in place of those that it has."""
    written = without_queries(program)
    if not registered:
        return written
    maintained = [query for query in registered if query.materialised and not query.paused]
    known = {window.name for window in written.windows}
    windows = {w.name: w for query in registered for w in rules_of(query).windows if w.name not in known}
    windowed = replace(
        written,
        windows=(*written.windows, *windows.values()),
        queries_triples=any(rules_of(query).reads_triples for query in registered),
    )
    return replace(windowed, rules=(*written.rules, *query_rules(windowed, maintained)))


def query_rules(program: Program, queries: Iterable[RegisteredQuery], prefix: str = "") -> tuple[Rule, ...]:
    """The rules of queries over a program, with names that follow from what they say.  Queries over the same
    windows share what follows from these, and so do queries over windows of equal step; names of relations
    start with `prefix`."""
    rules: list[Rule] = []
    over: dict[tuple[str, ...], list[Rule]] = {}
    windows: dict[tuple[str, ...], tuple[Window, ...]] = {}
    for query in queries:
        meaning = rules_of(query)
        streams = tuple(sorted(meaning.streams))
        over.setdefault(streams, []).extend(meaning.rules)
        windows[streams] = meaning.windows
    rules += over.pop((), ())
    tables = table_predicates(program)
    timed = {name for window in program.windows for name in (window.name, window.source)}
    for group in of_equal_step([(streams, windows[streams]) for streams in over]):
        datasets = [
            Dataset(over[streams], streams, f"{prefix}{' & '.join(streams)}{MARK}", lasting)
            for streams, lasting in group
        ]
        rules += dataset_rules(program.rules, datasets, tables, program.prefixes, timed, is_native)
    named = (replace(rule, name=f"{MARK}{_digest(rule)}") for rule in rules)
    return tuple({rule.name: rule for rule in named}.values())


def own_rules(query: RegisteredQuery, program: Program) -> tuple[Rule, ...]:
    """The rules of a query that is evaluated for itself."""
    return query_rules(without_queries(program), [query], f"{query.name}: ")


def components_of(
    query: RegisteredQuery, program: Program, analysis: Analysis, environment: Environment
) -> tuple[Component, ...]:
    """Those rules over an analysed program.  Raises `ProgramError`."""
    return analyse_rules(analysis, own_rules(query, program), environment.parameters, environment.arguments)


def edit_of_queries(
    program: Program,
    rules: EditedProgram,
    registered: Registered,
    added: Sequence[Rule],
    edit: RuleEdit,
) -> tuple[list[Rule], list[str]]:
    """The rules of continuous queries that come and go with a rule edit: those of datasets follow from the
    rules of the program."""
    maintained = [q for q in registered if q.materialised and not q.paused]
    if not any(rules_of(query).streams for query in maintained):
        return [], []
    leaving, known = {removal.name for removal in edit.removed}, rules.rules
    written = [r for name, r in known.items() if not is_of_query(name) and name not in leaving]
    wanted = query_rules(replace(program, rules=(*written, *added)), maintained)
    names = {rule.name for rule in wanted}
    more = [rule for rule in wanted if rule.name not in known]
    return more, [name for name in known if is_of_query(name) and name not in names]


def _digest(rule: Rule) -> str:
    return hashlib.sha256(repr(replace(rule, name=None)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
