"""Tokens to terms: names, numbers and strings of one statement, with their spans.

A token without a meaning (an unknown prefix, a bad escape) is reported and stands for itself, so that the
rest of its statement is still checked; the caller discards a statement with errors.
"""

from __future__ import annotations

from typing import Final

from lark import Token

from tidalog.lang.diagnostics import BadLiteral, UnknownPrefix
from tidalog.lang.grammar import Node
from tidalog.lang.names import Names
from tidalog.model.errors import Diagnostic, Source, Span
from tidalog.model.term_text import BadEscape, parse_number, unescape
from tidalog.model.terms import FALSE, IRI, TRUE, BlankNode, LangString, String, Term, literal

_TRIPLE_QUOTE: Final = '"""'
_WELL_KNOWN: Final = {
    "foaf": "http://xmlns.com/foaf/0.1/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "schema": "http://schema.org/",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
}


class TokenReader:
    """Reads the tokens of a statement at `offset` of its source."""

    def __init__(self, source: Source, offset: int, names: Names, errors: list[Diagnostic]) -> None:
        self.source = source
        self.offset = offset
        self.names = names
        self.errors = errors

    def span(self, node: Node) -> Span:
        """The span of a token, or of a tree, in the source."""
        if isinstance(node, Token):
            start = self.offset + (node.start_pos or 0)
            return Span(self.source, start, start + len(node))
        meta = node.meta
        if meta.empty:  # nothing was written: no arguments, no options
            return Span(self.source, self.offset, self.offset)
        return Span(self.source, self.offset + meta.start_pos, self.offset + meta.end_pos)

    def iri(self, token: Token) -> str:
        """The constant or predicate that a name, a prefixed name or an IRI in brackets stands for."""
        if token.type == "IRI_REFERENCE":
            return self.names.resolve(self._unescaped(token, 1, len(token) - 1))
        if token.type != "PREFIXED_NAME":
            return str(token)
        prefix, local = token.split(":", 1)
        namespace = self.names.namespace(prefix)
        if namespace is None:
            start = self.offset + (token.start_pos or 0)
            span = Span(self.source, start, start + len(prefix) + 1)
            self.errors.append(UnknownPrefix(span, prefix=prefix, advice=self._prefix_advice(prefix, token)))
            return str(token)
        return namespace + local

    def term(self, token: Token) -> Term:
        """The term that one token stands for."""
        match token.type:
            case "NAME":
                return String(str(token))
            case "PREFIXED_NAME" | "IRI_REFERENCE":
                return IRI(self.iri(token))
            case "INTEGER" | "RADIX_INTEGER" | "DOUBLE":
                return self.number(token)
            case "STRING" | "LONG_STRING":
                return String(self.string(token))
            case "TRUE":
                return TRUE
            case "FALSE":
                return FALSE
            case "BLANK_NODE":
                return BlankNode(self._unescaped(token, 2, len(token)))
            case _:
                raise AssertionError(f"{token.type} is not a term")

    def number(self, token: Token, sign: str = "") -> Term:
        """A number; `sign` is `-` if a minus precedes it."""
        number = parse_number(sign + token)
        if number is None:
            self.errors.append(
                BadLiteral(self.span(token), what="number", problem="too long a number", advice="")
            )
            return String(str(token))
        return number

    def string(self, token: Token) -> str:
        """The text between the quotes of a string."""
        width = 3 if token.startswith(_TRIPLE_QUOTE) and len(token) >= 6 else 1
        return self._unescaped(token, width, len(token) - width)

    def language_string(self, text: Token, tag: Token) -> Term:
        return LangString(self.string(text), tag[1:])

    def typed_literal(self, text: Token, datatype: Token) -> Term:
        return literal(self.string(text), self.iri(datatype))

    def unescape_at(self, text: str, start: int) -> str:
        """`unescape`, with errors at their spans; `start` is the offset of the text in the statement."""
        try:
            return unescape(text)
        except BadEscape as bad:
            at = self.offset + start + bad.at
            self.errors.append(
                BadLiteral(
                    Span(self.source, at, at + len(bad.escape)),
                    what=f"escape {bad.escape}",
                    problem="this escape stands for no character",
                    advice='known are \\n \\t \\r \\" \\\\ \\uXXXX \\UXXXXXXXX; a backslash itself is \\\\',
                )
            )
            return text

    def _unescaped(self, token: Token, start: int, end: int) -> str:
        return self.unescape_at(token[start:end], (token.start_pos or 0) + start)

    def _prefix_advice(self, prefix: str, token: Token) -> str:
        similar = self.names.similar(prefix)
        if similar is not None:
            return f"did you mean {similar}: ?"
        if not token.start_pos and prefix and prefix not in _WELL_KNOWN:
            return (
                f"declare it: @prefix {prefix}: <http://…> .  "
                f"If {prefix} is the rule's name, put a space after the colon"
            )
        return f"declare it: @prefix {prefix}: <{_WELL_KNOWN.get(prefix, 'http://…')}> ."
