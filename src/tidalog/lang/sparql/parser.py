"""From the text of a query to its algebra.  Texts are parsed without recursion; the depth of what comes out
is bounded, so that whatever walks a query may recurse."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from lark import Token, Tree

from tidalog.lang.diagnostics import (
    NotAnUpdate,
    NotAQuery,
    TooDeep,
    UnexpectedText,
    Unterminated,
    half_character,
)
from tidalog.lang.grammar import grammar
from tidalog.lang.names import Names
from tidalog.lang.sparql.algebra import Query, Registration
from tidalog.lang.sparql.reader import QueryReader
from tidalog.lang.sparql.terms import MAX_DEPTH
from tidalog.lang.sparql.update_reader import UpdateReader
from tidalog.lang.sparql.updates import Operation
from tidalog.model.errors import Diagnostic, ProgramError, Source, Span

Statement = Query | Registration

_EXAMPLE: Final = "a query reads like this: SELECT ?x WHERE { ?x ex:near ?y . FILTER(?y > 3) }"
_DECLARATION: Final = re.compile(r"#[^\n]*\n|\b(?:prefix\s+[^\s:]*:|base)\s*<[^>]*>", re.IGNORECASE)
_BARE_CONDITION: Final = re.compile(r"\b(filter|having)\s*\Z", re.IGNORECASE)
_STARTS: Final = ("start", "registrations", "updates")
_WORD: Final = re.compile(r"[A-Za-z]+")
_UPDATES: Final = ("INSERT", "DELETE", "WITH", "CLEAR", "DROP", "LOAD", "CREATE", "ADD", "MOVE", "COPY")
_QUERIES: Final = ("SELECT", "CONSTRUCT", "ASK", "DESCRIBE", "REGISTER")
_SHORT: Final = "it is short for other operations"
_OTHER_UPDATES: Final = {
    "LOAD": ('kb.insert("triple", "file.ttl") loads a file', "nothing is fetched from the network"),
    "CREATE": ("leave it out: a graph is there as soon as it has a triple", "empty graphs are not kept"),
    "ADD": ("write INSERT { GRAPH <b> { ?s ?p ?o } } WHERE { GRAPH <a> { ?s ?p ?o } }", _SHORT),
    "MOVE": ("write DELETE { … } INSERT { … } WHERE { … }", _SHORT),
    "COPY": ("write CLEAR GRAPH <b> ; INSERT { … } WHERE { … }", _SHORT),
}


def parse_statement(
    text: str, prefixes: Mapping[str, str] | None = None, name: str = "<query>"
) -> Query | Registration:
    """A query, or its registration.  `prefixes` are those that the text need not declare.  Raises
    `ProgramError` with all errors found."""
    return cast(Statement, _read("start", Source(name, text), prefixes))


def parse_registrations(
    text: str, prefixes: Mapping[str, str] | None = None, name: str = "<queries>"
) -> tuple[Registration, ...]:
    """The registrations of a file, one after the other, with or without `;` between them.  A prefix is known
    to the rest of the file."""
    return cast("tuple[Registration, ...]", _read("registrations", Source(name, text), prefixes))


@dataclass(frozen=True, slots=True)
class Parsed:
    """The statements of a text."""

    statements: tuple[Statement, ...]
    warnings: tuple[Diagnostic, ...]
    prologues: tuple[str, ...]
    """What each registration can read: prefixes and base, as text."""


def parse_statements(
    text: str, prefixes: Mapping[str, str] | None = None, name: str = "<queries>", *, several: bool = True
) -> Parsed:
    """The registrations of a file, or one statement, with warnings."""
    return _parsed("registrations" if several else "start", Source(name, text), prefixes)


def parse_updates(
    text: str, prefixes: Mapping[str, str] | None = None, name: str = "<update>"
) -> tuple[Operation, ...]:
    """The operations of an update request.  Raises `ProgramError` with all errors found."""
    return cast("tuple[Operation, ...]", _parsed("updates", Source(name, text), prefixes).statements)


def _read(start: str, source: Source, prefixes: Mapping[str, str] | None) -> object:
    statements = _parsed(start, source, prefixes).statements
    return statements if start == "registrations" else statements[0]


def _parsed(start: str, source: Source, prefixes: Mapping[str, str] | None) -> Parsed:
    errors: list[Diagnostic] = []
    unreadable = half_character(source)
    if unreadable is not None:
        raise ProgramError([unreadable])
    tree = grammar("sparql", *_STARTS).parse(start, source.text.rstrip(), source, 0, errors)
    if tree is None:
        raise ProgramError(
            [_other_statement(error, start) or _for_queries(error, source) for error in errors]
        )
    deep = _too_deep(tree, source)
    if deep is not None:
        raise ProgramError([deep])
    reader_of = UpdateReader if start == "updates" else QueryReader
    reader = reader_of(source, Names(dict(prefixes or {})), errors)
    found: object = reader.transform(tree)
    wrong = [error for error in errors if not error.is_warning]
    if wrong:
        raise ProgramError(wrong)
    statements = found if isinstance(found, tuple) else (found,)
    return Parsed(cast("tuple[Statement, ...]", statements), tuple(errors), tuple(reader.prologues))


def _other_statement(error: Diagnostic, start: str) -> Diagnostic | None:
    """An update where a query is expected, or the reverse."""
    span = error.span
    found = _WORD.match(span.source.text, span.start) if span is not None else None
    if span is None or found is None or not _begins_statement(span):
        return None
    word = found[0].upper()
    at = Span(span.source, found.start(), found.end())
    if start == "start" and word in _UPDATES:
        return NotAQuery(at, word=word, why="it changes facts", advice="run it with kb.sparql_update(…)")
    if start == "updates" and word in _QUERIES:
        problem, advice = f"{word} is not an update", "ask it with kb.sparql(…)"
        return NotAnUpdate(at, problem=problem, why="it only reads facts", advice=advice)
    if start == "updates" and word in _OTHER_UPDATES:
        advice, why = _OTHER_UPDATES[word]
        return NotAnUpdate(at, problem=f"{word} is not supported", why=why, advice=advice)
    return None


def _begins_statement(span: Span) -> bool:
    """Whether only declarations stand before it in its statement."""
    before = _DECLARATION.sub("", span.source.text[: span.start])
    return not before.strip() or before.rstrip().endswith(";")


def _for_queries(error: Diagnostic, source: Source) -> Diagnostic:
    """The grammar's advice is about rules; a lone quote is a string that never ends."""
    span = error.span
    if span is not None and source.text[span.start : span.start + 1] in ('"', "'"):
        quote = source.text[span.start]
        advice = f"close it with {quote} on the same line, or write {quote * 3} … {quote * 3}"
        return Unterminated(span, what="string", closing="closing quote", advice=advice)
    advice = _EXAMPLE
    before = _BARE_CONDITION.search(source.text[: span.start]) if span is not None else None
    if before is not None:
        advice = f"write {before[1].upper()}(?x > 3)"
        return UnexpectedText(span, found=error.values["found"], expected="`(` or a function", advice=advice)
    if "`.`" in str(error.values["expected"]) and span is not None:
        rest = source.text[span.start : span.start + 1]
        if not rest.strip():
            advice = "every { needs a }"
        elif rest in "?$<_[(:" or rest.isalnum():
            advice = "is a full stop missing before it?"
    return UnexpectedText(span, **{**error.values, "advice": advice})


def _too_deep(tree: Tree[Token], source: Source) -> Diagnostic | None:
    level = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in node.children if isinstance(child, Tree)]
        if not level:
            return None
    meta = level[0].meta
    start, end = (0, 0) if meta.empty else (meta.start_pos, meta.end_pos)
    return TooDeep(Span(source, start, end), limit=MAX_DEPTH)
