"""Jena rules (`.jrules`): forward rules over triples, with the built-ins that only test or compute.

    [adult: (?x eg:age ?n) ge(?n, 18) noValue(?x eg:ward) -> (?x rdf:type eg:Adult)]

Built-ins with side effects (drop, print, makeTemp …) and backward rules have no meaning in an incrementally
maintained materialisation; each is refused with a hint what to do instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, cast

from lark import Token
from lark.tree import Meta
from lark.visitors import v_args

from tidalog.lang.diagnostics import TooDeep, Unterminated
from tidalog.lang.dialects.common import Reader, rdf_number
from tidalog.lang.dialects.jena_builtins import BUILTINS, REFUSED
from tidalog.lang.lexer import MAX_DEPTH, Statement
from tidalog.lang.lowering import BodyPart
from tidalog.model.amounts import counted
from tidalog.model.errors import Diagnostic, Source, Span
from tidalog.model.program import Atom, Expression, Program, Variable
from tidalog.model.terms import IRI, Term


def parse_source(source: Source) -> tuple[Program, list[Diagnostic]]:
    return _JenaReader(source).read()


@dataclass(frozen=True, slots=True)
class _BuiltinUse:
    """A built-in as written; whether it is in a body or a head is known later."""

    name: Token
    arguments: tuple[Expression, ...]
    at: Meta


_Part = Atom | _BuiltinUse
_Sides = tuple[tuple[Atom, ...], tuple[BodyPart, ...]]


class _JenaReader(Reader):
    dialect = "jena"
    example = "[name: (?x eg:near ?y), (?y eg:near ?z) -> (?x eg:far ?z)]"

    def statements(self) -> Iterator[Statement]:
        return _statements(self.source, self.diagnostics)

    @v_args(meta=True, inline=True)
    def rule(self, meta: Meta, *parts: str | _Sides | Token | None) -> None:
        name = next((part for part in parts if isinstance(part, str) and not isinstance(part, Token)), None)
        sides = parts[-1]
        if isinstance(sides, Token):
            self.refuse(
                sides,
                "a backward rule",
                "Tidalog materialises: rules run forward",
                "turn it round: [name: body -> head] has the same answers",
            )
        elif isinstance(sides, tuple):
            heads, body = sides
            self.add(meta, heads, body or None, name)

    @v_args(meta=True, inline=True)
    def forward(
        self, meta: Meta, body: tuple[BodyPart, ...], heads: tuple[Atom, ...] | None
    ) -> _Sides | None:
        if heads == ():
            advice = "write the head after ->, or remove the rule"
            self.refuse(meta, "a rule without a head", "nothing follows from this body", advice)
        return (heads, body) if heads else None

    def backward(self, children: list[Token | tuple[BodyPart, ...]]) -> Token:
        """Its arrow, whose position is all that an error needs."""
        return cast(Token, children[1])

    @v_args(meta=True, inline=True)
    def nested(self, meta: Meta, *parts: object) -> None:
        self.refuse(
            meta,
            "a rule inside a rule's head",
            "rules are not made while rules run",
            "write one rule with both bodies: [name: body, inner body -> inner head]",
        )

    def heads(self, children: list[_Part | None]) -> tuple[Atom, ...] | None:
        """The triples of a head; None if it has anything else."""
        for child in children:
            if isinstance(child, _BuiltinUse):
                self._refuse_in_head(child)
        atoms = tuple(child for child in children if isinstance(child, Atom))
        return atoms if len(atoms) == len(children) else None

    def _refuse_in_head(self, use: _BuiltinUse) -> None:
        why, advice = "a head has triples only", "test and compute in the body, before ->"
        if use.name in REFUSED:
            why, advice = REFUSED[str(use.name)]
        self.refuse(use.at, f"built-in {use.name} in a head", why, advice)

    def parts(self, children: list[_Part]) -> tuple[BodyPart, ...]:
        return self.body([self._lowered(c) if isinstance(c, _BuiltinUse) else c for c in children])

    def _lowered(self, use: _BuiltinUse) -> tuple[BodyPart, ...]:
        name, count = str(use.name), len(use.arguments)
        builtin = BUILTINS.get(name)
        if builtin is None:
            self._refuse_name(use)
            return ()
        if count < builtin.least or (builtin.most is not None and count > builtin.most):
            wanted = str(builtin.least)
            if builtin.most != builtin.least:
                wanted = f"{builtin.least} or more" if builtin.most is None else f"{wanted} or {builtin.most}"
            self.refuse(
                use.at,
                f"{name} with {counted(count, 'argument')}",
                f"{name} takes {wanted}",
                "add or remove arguments",
            )
            return ()
        arguments = use.arguments
        if name == "noValue" and count == 2:
            arguments = (*arguments, self.fresh())
        return builtin.lower(arguments, self.span(use.at))

    def _refuse_name(self, use: _BuiltinUse) -> None:
        name = str(use.name)
        if name in REFUSED:
            why, advice = REFUSED[name]
            self.refuse(use.at, f"built-in {name} is not supported", why, advice)
            return
        close = get_close_matches(name, BUILTINS, n=1, cutoff=0.7)
        advice = f"did you mean {close[0]}?" if close else f"known are {', '.join(sorted(BUILTINS))}"
        self.refuse(use.name, f"unknown built-in {name}", "no built-in has this name", advice)

    @v_args(meta=True, inline=True)
    def triple(self, meta: Meta, *nodes: Expression) -> Atom:
        return Atom("triple", nodes, self.span(meta))

    @v_args(meta=True, inline=True)
    def builtin(self, meta: Meta, name: Token, *arguments: Expression) -> _BuiltinUse:
        return _BuiltinUse(name, arguments, meta)

    @v_args(meta=True, inline=True)
    def functor(self, meta: Meta, name: Token, *arguments: Expression) -> IRI:
        self.refuse(
            meta,
            f"functor {name} as a node",
            "terms have no parts here",
            "use a node of its own with a triple for each part",
        )
        return IRI(str(name))

    def ANONYMOUS(self, token: Token) -> Variable:
        return self.fresh()

    def INTEGER(self, token: Token) -> Term:
        return rdf_number(token.lstrip("+"))

    DOUBLE = INTEGER

    def BARE_IRI(self, token: Token) -> IRI:
        return IRI(str(token))


# --- statements -------------------------------------------------------------------------------------

# Jena's text needs its own statement splitting: strings have either quote, a comment starts a line or follows
# a blank (an IRI needs no brackets and may contain // and #), and a rule in square brackets needs no full
# stop.
_TOKEN: Final = re.compile(
    r"""(?x)
  (?P<comment>(?<!\S)(?:\#|//)[^\n]*)
| (?P<space>\s+)
| (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
| (?P<endless>["'][^\n]*)
| (?P<iri><[^<>"{}|^`\s]*>|[A-Za-z][A-Za-z0-9+.-]*://[^\s()\[\],'"<>]+)
| (?P<word>(?:[^\W\d](?:[\w-]*\w)?)?:\w(?:[\w%-]|\.(?=[\w%-]))*|[0-9]+\.[0-9]+|\w+)
| (?P<open>[(\[])
| (?P<close>[)\]])
| (?P<stop>\.)
| (?P<other>.)
"""
)


def _statements(source: Source, errors: list[Diagnostic]) -> Iterator[Statement]:
    """Statements end with a full stop, with their closing bracket, or before a bracket that starts a line:
    there the next rule begins, even if this one is faulty."""
    text = source.text
    pieces: list[str] = []
    start = depth = square = 0
    broken = False

    def cut() -> Iterator[Statement]:
        nonlocal depth, square, broken
        whole = "".join(pieces).rstrip()
        if not broken and whole not in ("", "."):
            yield Statement(start, start + len(whole), whole, (), False)
        pieces.clear()
        depth = square = 0
        broken = False

    for found in _TOKEN.finditer(text):
        kind, piece = found.lastgroup, found[0]
        if kind in ("comment", "space"):
            if pieces:
                pieces.append(" " * len(piece))
            continue
        if piece == "[" and text[found.start() - 1 : found.start()] == "\n":
            yield from cut()
        if not pieces:
            start = found.start()
        pieces.append(piece)
        ends = kind == "stop"
        if kind == "open":
            depth += 1
            square += piece == "["
            if depth > MAX_DEPTH and not broken:
                broken = True
                errors.append(TooDeep(Span(source, found.start(), found.end()), limit=MAX_DEPTH))
        elif kind == "close":
            depth -= 1
            square -= piece == "]"
            ends = piece == "]" and square <= 0
        elif kind == "endless":
            broken = True
            errors.append(
                Unterminated(
                    Span(source, found.start(), found.start() + 1),
                    what="string",
                    closing="closing quote",
                    advice=f"close it with {piece[0]} on the same line; a line break is \\n",
                )
            )
            ends = piece.rstrip().endswith((".", "]"))
        if ends:
            yield from cut()
    yield from cut()
