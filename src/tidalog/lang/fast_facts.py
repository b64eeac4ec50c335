"""The fast path: runs of ground facts, read by two regular expressions and a cache of terms.

It reads `p(a, 3, "x y").` and `ex:a ex:p "b" .` wherever statements begin, and stops before anything else.
The grammar reads the rest, including faulty facts, so the fast path reports nothing itself.  Whatever it
accepts means the same as under the grammar (a test compares the two).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tidalog.lang.names import Names
from tidalog.model.errors import Source, Span
from tidalog.model.program import Fact
from tidalog.model.term_text import NAME, BadEscape, parse_number, unescape
from tidalog.model.terms import FALSE, IRI, RDF_TYPE, TRUE, BlankNode, LangString, String, Term, literal

# Possessive quantifiers throughout: a text that is not a fact fails in linear time.
SKIP: Final = r"\s*+(?:(?:%|//)[^\n]*+\s*+)*+"
"""Blanks and comments to the end of a line."""
_WORD = r"[\w:+%-]++(?:\.[\w:+%-]++)*+"
_QUOTED = r'"(?!"")[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"'
_IRI = r"<(?:[A-Za-z][A-Za-z0-9+.-]*:(?:(?!,\?)[^<>\"{}|^`\\\x00-\x20])*+|[^<>\"{}|^`\\\x00-\x20(),?=$]*+)>"
_TERM = rf"(?:{_QUOTED}(?:@[A-Za-z0-9-]++|\^\^(?:{_IRI}|{_WORD}))?+|{_IRI}|{_WORD})"
_ATOM = rf"((?:{_IRI}|[\w:%-]++))\s*+\(((?:[\w\s,.:+%-]++|{_QUOTED}|@|\^\^|{_IRI})*+)\)"
_FACT: Final = re.compile(rf"{SKIP}(?:{_ATOM}|({_TERM})\s++({_TERM})\s++({_TERM}))\s*+\.")
_PIECE: Final = re.compile(rf'(?:[^",<]++|{_QUOTED}|{_IRI})++|.', re.DOTALL)

_LITERAL: Final = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^(.+))?\Z', re.DOTALL)
_PREFIXED: Final = re.compile(
    r"((?:[^\W\d](?:[\w-]*\w)?)?):((?:\w|%[0-9A-Fa-f]{2})+(?:[.-]+(?:\w|%[0-9A-Fa-f]{2})+)*)\Z"
)
_BLANK: Final = re.compile(r"_:((?:[\w-]|\.(?=[\w-]))+)\Z")


class _NotPlain(Exception):
    """The text is wrong, or too complex for the fast path."""


class _Terms(dict[str, Term]):
    """Terms by their text as arguments, including surrounding blanks."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def __missing__(self, text: str) -> Term:
        term = self[text] = self._read(text.strip())
        return term

    def _read(self, text: str) -> Term:
        if NAME.match(text):
            return TRUE if text == "true" else FALSE if text == "false" else String(text)
        number = parse_number(text) if text else None
        if number is not None:
            return number
        if text.startswith('"'):
            return self._literal(text)
        blank = _BLANK.match(text)
        return BlankNode(blank[1]) if blank else IRI(self.iri(text))

    def _literal(self, text: str) -> Term:
        found = _LITERAL.match(text)
        if not found:
            raise _NotPlain
        try:
            value = unescape(found[1])
        except BadEscape:
            raise _NotPlain from None
        if found[2]:
            return LangString(value, found[2])
        return literal(value, self.iri(found[3])) if found[3] else String(value)

    def iri(self, text: str) -> str:
        if text.startswith("<") and text.endswith(">") and "\\" not in text:
            return self.names.resolve(text[1:-1])
        found = _PREFIXED.match(text)
        namespace = self.names.namespace(found[1]) if found else None
        if found is None or namespace is None:
            raise _NotPlain
        return namespace + found[2]


class FactReader:
    """Reads runs of facts.  `first_spans` has the first occurrence of each predicate."""

    def __init__(self, source: Source, names: Names) -> None:
        self.source = source
        self.names = names
        self.first_spans: dict[str, Span] = {}
        self.names_changed()

    def names_changed(self) -> None:
        """Clears the cache.  Must be called after a @prefix or @base, which may change what a text means."""
        self._terms = _Terms(self.names)
        self._predicates: dict[str, str] = {}

    def read(self, offset: int, facts: list[Fact]) -> int:
        """Appends the facts at an offset; returns the offset after the last."""
        text, match, fact = self.source.text, _FACT.match, self._fact
        try:
            while found := match(text, offset):
                facts.append(fact(found, 0))
                offset = found.end()
        except _NotPlain:
            pass
        return offset

    def read_one(self, offset: int) -> tuple[Fact, int] | None:
        """The plain fact at an offset, and the offset after it; None if there is none."""
        found = _FACT.match(self.source.text, offset)
        try:
            return (self._fact(found, 0), found.end()) if found else None
        except _NotPlain:
            return None

    def read_alone(self, text: str, start: int) -> Fact | None:
        """The whole statement as a plain fact, or None if it is not one."""
        found = _FACT.fullmatch(text)
        try:
            return self._fact(found, start) if found else None
        except _NotPlain:
            return None

    def _fact(self, found: re.Match[str], shift: int) -> Fact:
        written, arguments, subject, verb, value = found.groups()
        if written is None:
            span = Span(self.source, shift + found.start(3), shift + found.end())
            return self._triple(subject, verb, value, span)
        span = Span(self.source, shift + found.start(1), shift + found.end())
        predicate = self._predicates.get(written) or self._predicate(written, span)
        terms = self._terms
        pieces = _split(arguments) if arguments else ()
        return Fact(predicate, tuple([terms[piece] for piece in pieces]), span)

    def _predicate(self, written: str, span: Span) -> str:
        if NAME.match(written) and written not in ("true", "false"):
            predicate = written
        else:
            predicate = self._terms.iri(written)
        self._predicates[written] = predicate
        self.first_spans.setdefault(predicate, span)
        return predicate

    def _triple(self, subject: str, verb: str, value: str, span: Span) -> Fact:
        first = self._terms[subject]
        if not isinstance(first, IRI | BlankNode):
            raise _NotPlain
        second = RDF_TYPE if verb == "a" else self._terms.iri(verb)
        return Fact("triple", (first, IRI(second), self._terms[value]), span)


def _split(arguments: str) -> Sequence[str]:
    """The texts between the commas that are not inside a string or an IRI."""
    if '"' not in arguments and "<" not in arguments:
        return arguments.split(",")
    pieces: list[str] = _PIECE.findall(arguments)
    if any(comma != "," for comma in pieces[1::2]):
        raise _NotPlain
    return pieces[::2]
