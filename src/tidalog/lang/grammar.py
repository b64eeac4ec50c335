"""Grammars: builds a parser from a lark file on first use, and turns its errors into T001."""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Final

import lark
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken
from lark.grammar import Terminal
from lark.lexer import PatternStr

from tidalog.lang.diagnostics import UnexpectedText
from tidalog.lang.statement_shapes import StatementShapes
from tidalog.model.errors import Diagnostic, Source, Span
from tidalog.user_cache import cache_folder, write_whole

Node = Tree[Token] | Token
"""The result of a grammar: a tree over tokens, or a token where a rule matched only one."""

_FOLDER: Final = Path(__file__).parent

_WORDS: Final = {
    "VARIABLE": "a variable",
    "PARAMETER": "a parameter such as $limit",
    "NAME": "a name",
    "PREFIXED_NAME": "a prefixed name",
    "NAMESPACE": "a prefix such as ex:",
    "IRI_REFERENCE": "an IRI in < >",
    "BLANK_NODE": "a blank node",
    "STRING": "a string",
    "LONG_STRING": "a string",
    "LANGUAGE_TAG": "a language tag",
    "INTEGER": "a number",
    "RADIX_INTEGER": "a number",
    "DOUBLE": "a number",
    "NUMBER": "a number",
    "DURATION": "a duration such as 10s",
    "COMPARISON": "a comparison",
    "AGGREGATE": "an aggregate",
    "$END": "the end of the text",
}
_TERM: Final = frozenset(
    [
        "VARIABLE",
        "ANONYMOUS",
        "PARAMETER",
        "NAME",
        "PREFIXED_NAME",
        "IRI_REFERENCE",
        "BLANK_NODE",
        "STRING",
        "LONG_STRING",
        "INTEGER",
        "RADIX_INTEGER",
        "DOUBLE",
        "TRUE",
        "FALSE",
        "FORMAT_STRING",
        "AGGREGATE",
        "MINUS",
        "LPAR",
    ]
)
_ARITHMETIC: Final = frozenset({"+", "-", "*", "/", "%", "**"})
_MANY: Final = 4  # above this, kinds of terms or operators are summarised in one word

_ADVICE: Final = (
    # beginning of the text found, advice
    ("<-", "a rule is written head :- body"),
    ("->", "a rule is written head :- body"),
    ("==", "equality is a single ="),
    ("<>", "inequality is !="),
    ("'", 'strings are written in double quotes: "text"'),
    (";", "literals are separated by commas"),
    ("&", "literals are separated by commas"),
    ("∧", "literals are separated by commas, or read the file with --dialect zodiac"),
    ("[", "atoms are written p(?x, ?y); [?x, ?p, ?y] is the RDFox dialect (--dialect rdfox)"),
)

_COMPARISONS: Final = {
    "==": "equality is a single =, and at most is <=",
    "<=": "equality is a single =, and at most is <=",
    "=>": "at least is >=, and a rule is written head :- body",
    "=<": "at most is <=",
    "<>": "inequality is !=",
}
"""Advice for two characters that are no comparison here."""


class Grammar:
    """A lark file of this folder, ready to parse from any of its start rules."""

    def __init__(self, name: str, starts: tuple[str, ...]) -> None:
        self._lark = _parser(name, starts)
        _pass_on_only_children(self._lark)
        self._patterns = {terminal.name: terminal.pattern for terminal in self._lark.terminals}
        self._shapes = {start: StatementShapes() for start in starts} if name == "main" else {}

    def parse(
        self, start: str, text: str, source: Source, offset: int, errors: list[Diagnostic]
    ) -> Tree[Token] | None:
        """The tree of `text`, which is at `offset` of the source (with comments blanked).  If it does not
        follow the grammar, adds an error and returns None."""
        shapes = self._shapes.get(start)
        shape = None if shapes is None else shapes.shape(text)
        if shapes is not None and shape is not None:
            copied = shapes.copied(*shape, text)
            if copied is not None:
                return copied
        try:
            tree: Tree[Token] = self._lark.parse(text, start=start)
        except UnexpectedInput as error:
            errors.append(self._unexpected(error, start, text, source, offset))
            return None
        if shapes is not None and shape is not None:
            shapes.keep(*shape, tree)
        return tree

    def _unexpected(
        self, error: UnexpectedInput, start: str, text: str, source: Source, offset: int
    ) -> UnexpectedText:
        at, length, accepted = _unexpected_text(error, text)
        if isinstance(error, UnexpectedCharacters):
            accepted = self._accepted_after(text[:at], start) or accepted
        found = "end of the text" if at >= len(text) else _shown(text[at : at + length])
        expected = self._in_words(accepted)
        return UnexpectedText(
            Span(source, offset + at, offset + at + length),
            found=found,
            expected=expected,
            advice=_advice(text, at, length, expected),
        )

    def _accepted_after(self, text: str, start: str) -> set[str]:
        """The terminals that can follow a text, as far as known."""
        parser = self._lark.parse_interactive(text, start=start)
        try:
            parser.exhaust_lexer()
        except UnexpectedInput:
            return set()
        return set(parser.accepts())  # type: ignore[no-untyped-call]

    def _in_words(self, accepted: Iterable[str]) -> str:
        names = set(accepted)
        words: list[str] = []
        texts = {name: self._text(name) for name in names}
        if "@prefix" in texts.values():
            return "a fact, a rule or a directive"
        operators = {name for name in names if texts[name] in _ARITHMETIC or name == "COMPARISON"}
        if len(operators) > _MANY:  # after an operand; the verb of a triple could follow too
            names -= operators | _TERM | {"A"}
            words.append("an operator")
        elif len(names & _TERM) > _MANY:
            names -= _TERM
            words.append("a term")
        named = {_WORDS.get(name) for name in names} - {None}
        exact = {f"`{text}`" for name in names if (text := texts[name]) is not None}
        words += sorted(str(word) for word in named) + sorted(exact)
        if not words:
            return "something else"
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"

    def _text(self, terminal: str) -> str | None:
        if terminal.startswith("_") and not terminal.startswith("__"):
            return terminal[1:]  # a keyword that may be written in any case
        pattern = self._patterns.get(terminal)
        return str(pattern.value) if isinstance(pattern, PatternStr) else None


@cache
def grammar(name: str, *starts: str) -> Grammar:
    """The grammar in `name.lark`, built once in a process."""
    return Grammar(name, starts)


def _parser(name: str, starts: tuple[str, ...]) -> Lark:
    """The parser of a grammar.  Its tables are computed once and stored in the user's cache."""
    tables = cache_folder() / f"grammar-{name}-{_digest_of_grammars(starts)}"
    try:
        with tables.open("rb") as file:
            return Lark.load(file)
    except Exception:  # not stored yet, or damaged
        parser = Lark.open(
            str(_FOLDER / f"{name}.lark"),
            parser="lalr",
            lexer="contextual",
            start=list(starts),
            maybe_placeholders=False,
            propagate_positions=True,
        )
    content = io.BytesIO()
    parser.save(content)
    with suppress(OSError):  # a folder that cannot be written: computed in every process
        write_whole(tables, content.getvalue())
    return parser


def _pass_on_only_children(parser: Lark) -> None:
    """A rule `?sum: product | …` that matched a product alone is that product.  Most reductions of a parse
    are of this kind, and lark looks for the position of each again."""
    callbacks = parser._callbacks
    for rule in callbacks:
        if rule.options.expand1 and rule.alias is None and len(rule.expansion) == 1:
            (symbol,) = rule.expansion
            is_kept = not symbol.filter_out if isinstance(symbol, Terminal) else symbol.name[0] != "_"
            if is_kept:
                callbacks[rule] = _only_child


_only_child: Final = itemgetter(0)


def _digest_of_grammars(starts: tuple[str, ...]) -> str:
    """A digest of everything the tables depend on: the grammars, which import each other, lark and Python."""
    digest = hashlib.sha256(f"{starts} {lark.__version__} {sys.version_info[:2]}".encode())
    for file in (*sorted(_FOLDER.glob("*.lark")), Path(__file__)):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:24]


def _unexpected_text(error: UnexpectedInput, text: str) -> tuple[int, int, Iterable[str]]:
    """The offset and length of the unexpected text, and the terminals that were expected."""
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        return int(error.token.start_pos or 0), max(1, len(error.token)), error.accepts or error.expected
    if isinstance(error, UnexpectedCharacters):
        return int(error.pos_in_stream or 0), 1, error.allowed or ()
    accepted: Iterable[str] = ()
    if isinstance(error, UnexpectedToken):
        accepted = error.accepts or error.expected
    elif isinstance(error, UnexpectedEOF):
        accepted = error.expected
    return len(text.rstrip()), 1, accepted


def _shown(text: str) -> str:
    first = text.split("\n", 1)[0]
    return f"`{first}`" if len(first) <= 40 else f"`{first[:39]}…`"


def _advice(text: str, at: int, length: int, expected: str) -> str:
    rest, before = text[at:], text[:at].rstrip()
    for beginning, advice in _ADVICE:
        if rest.startswith(beginning):
            return advice
    comparison = _COMPARISONS.get(before[-1:] + rest[:1])
    if comparison is not None:
        return comparison
    if rest[:1] == "-" and before.endswith("<"):
        return "a rule is written head :- body"
    if rest[:1] == "!" and "`~`" in expected:
        return "negation is written ~p(?x)"
    if rest[:1] == "!" and rest[1:2].isalpha():
        return "existential variables are not part of the language; every variable is written ?x"
    word = before.rsplit(None, 1)[-1].lower() if before else ""
    if word == "not":
        return "negation is written ~p(?x)"
    if rest[:length].lower() in ("and", "not"):
        return "literals are separated by commas, and a negated one starts with ~"
    if rest[:length] in ("DIV", "MOD"):
        return f"it is a function: {rest[:length]}(7, 2)"
    if rest[:length].upper() == "IN":
        return "IN is followed by a list: ?x IN (1, 2, 3).  A range gives values: ?x = RANGE(1, 3)"
    new_line = "\n" in text[len(before) : at]
    if rest[:1].isalnum() and "`,`" in expected and not new_line:
        quotes = " A text of several words is written in double quotes" if before[-1:].isalnum() else ""
        return f"is a comma missing before it?{quotes}"
    if "`.`" in expected and (at >= len(text) or new_line):
        return "a statement ends with a full stop"
    return ""
