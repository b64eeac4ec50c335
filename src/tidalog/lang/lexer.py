"""Splits a text into statements.

A text is split at each full stop that is not inside a string, a comment, an IRI, a number or a name; each
statement is then parsed by itself.  So an error affects only its own statement.  Errors that a grammar would
report badly are found here first: a string or comment that never ends, a malformed number, and nesting deeper
than `MAX_DEPTH`, which bounds the recursion of all later stages.

Comments are blanked out without changing offsets, so grammars need no rules for them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from tidalog.lang.diagnostics import BadLiteral, TooDeep, Unterminated, half_character
from tidalog.model.errors import Diagnostic, Source, Span
from tidalog.model.term_text import parse_number

MAX_DEPTH: Final = 200


@dataclass(frozen=True, slots=True)
class Statement:
    """Offsets [start, end) of a statement in its source, including its full stop if it has one.

    `text` has the same length, with blanks for comments.  `comments` are the offsets of the comments before
    the statement (since the previous one) and inside it.  `broken`: an error was already reported and there
    is nothing to parse.  If only comments are left at the end of the source, `text` is empty.
    """

    start: int
    end: int
    text: str
    comments: tuple[tuple[int, int], ...]
    broken: bool


class StatementReader:
    """Reads the statements of a source one by one, from any offset.

    `line_comments` are the markers that start a comment.  `%` is the remainder operator between two operands
    (`?n % 2`, `ABS(?n) %(?m + 1)`), and starts a comment everywhere else.
    """

    def __init__(
        self, source: Source, errors: list[Diagnostic], line_comments: tuple[str, ...] = ("%", "//")
    ) -> None:
        self.source = source
        self.errors = errors
        unreadable = half_character(source)
        if unreadable is not None:
            errors.append(unreadable)
        marks = "|".join(re.escape(mark) for mark in line_comments)
        self._token = re.compile(_TOKEN.replace("LINE_COMMENT", marks), re.DOTALL)

    def read(self, offset: int) -> Statement | None:
        """The next statement at or after an offset; None if there is neither a statement nor a comment."""
        text, match = self.source.text, self._token.match
        at, size = offset, len(text)
        start = last = -1
        comments: list[tuple[int, int]] = []
        broken = False
        before = ""
        nesting = _Nesting()
        while at < size:
            found = match(text, at)
            assert found is not None  # the last alternative takes any character
            kind, end = found.lastgroup, found.end()
            if kind == "space":
                before = "" if "\n" in found[0] else before
                at = end
                continue
            if kind == "comment" and not _is_remainder(text, at, before):
                comments.append((at, end))
                at = end
                continue
            if start < 0:
                start = at
            if kind == "stop":
                return self._statement(start, end, comments, broken)
            if kind == "quote" or kind == "block":
                self._unterminated(at)
                of_many_lines = kind == "block" or text.startswith('"""', at)
                end = size if of_many_lines else _end_of_line(text, at)
                return self._statement(start, end, comments, True)
            if kind == "comment":
                kind, end = "operator", at + 1
            is_bad = kind == "number" and parse_number(found[0]) is None and not broken
            if is_bad and not text.startswith("@window", start):  # which has durations, such as 10s
                broken = True
                self.errors.append(_bad_number(found[0], self._span(at, end)))
            nesting.take(kind)
            if nesting.depth > MAX_DEPTH and not broken:
                broken = True
                self.errors.append(TooDeep(self._span(at, end), limit=MAX_DEPTH))
            before, at = kind or "", end
            last = end
        if start < 0 and not comments:
            return None
        if start < 0:
            return Statement(size, size, "", tuple(comments), False)
        return self._statement(start, last, [c for c in comments if c[0] < last], broken)

    def _statement(self, start: int, end: int, comments: list[tuple[int, int]], broken: bool) -> Statement:
        text = self.source.text[start:end]
        for first, last in comments:
            if first >= start:
                blank = re.sub(r"[^\n]", " ", text[first - start : last - start])
                text = text[: first - start] + blank + text[last - start :]
        return Statement(start, end, text, tuple(comments), broken)

    def _span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def _unterminated(self, at: int) -> None:
        text = self.source.text
        if text.startswith("/*", at):
            what, closing, advice = "comment", "*/", "close it with */"
        elif text.startswith('"""', at):
            what, closing, advice = "string", '"""', 'close it with """'
        else:
            what, closing = "string", "closing quote"
            advice = 'close it with " on the same line; a line break is \\n, or use """ … """'
        length = 3 if text.startswith('"""', at) else 2 if what == "comment" else 1
        span = self._span(at, at + length)
        self.errors.append(Unterminated(span, what=what, closing=closing, advice=advice))


def nesting(text: str) -> int:
    """The maximal depth of the tree of a text without comments: for text inside an f-string."""
    levels = _Nesting()
    deepest = 0
    for found in _PLAIN_TOKEN.finditer(text):
        levels.take(found.lastgroup)
        deepest = max(deepest, levels.depth)
    return deepest


class _Nesting:
    """The maximal depth of the tree of the text read so far: open brackets, plus the operators chained at
    each open level since its last comma."""

    def __init__(self) -> None:
        self.depth = 0
        self._levels = [0]

    def take(self, kind: str | None) -> None:
        levels = self._levels
        if kind == "open":
            levels.append(0)
            self.depth += 1
        elif kind == "close":
            if len(levels) > 1:
                self.depth -= levels.pop() + 1
        elif kind == "comma":
            self.depth -= levels[-1]
            levels[-1] = 0
        elif kind == "operator":
            levels[-1] += 1
            self.depth += 1


def _is_remainder(text: str, at: int, before: str) -> bool:
    """Whether a `%` is an operator: between two operands of the same line."""
    if text[at] != "%" or before not in _OPERANDS:
        return False
    found = _REMAINDER.match(text, at)
    return found is not None and (found["blank"] is None or before in ("number", "variable"))


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _bad_number(text: str, span: Span) -> BadLiteral:
    problem = "not a number, and a name does not start with a digit"
    advice = f'write "{text}" for a text, or start the name with a letter'
    base = _BASES.get(text[:2].lower())
    if base:
        problem = f"not a number of base {base}"
        advice = "hexadecimal is 0x1F, octal 0o17, binary 0b101"
    return BadLiteral(span, what=f"number {text}", problem=problem, advice=advice)


_BASES: Final = {"0x": 16, "0o": 8, "0b": 2}
_OPERANDS: Final = ("number", "variable", "close", "name", "prefixed", "iri", "string", "blank")
_REMAINDER = re.compile(
    r"%[ \t]*(?:[?$]\w+|[0-9](?:(?<=[0-9.][eE])[+-]|\w|\.(?=[0-9]))*)\s*(?:(?=[-,;.()<>=!+*/%:]|IN\s*\()|\Z)"
    r"|%(?P<blank>[ \t]+)?\("
)
"""A variable or number after which an expression can continue or end, or a parenthesis; a blank before the
parenthesis makes it a comment, unless the operand before the % is surely a number."""

# One token at a time; the first alternative that matches is taken.
_TOKEN = r"""(?x)
  (?P<space>\s+)
| (?P<comment>/\*.*?\*/|(?:LINE_COMMENT)[^\n]*)
| (?P<block>/\*)
| (?P<string>f?"(?!"")(?:[^"\\\n]|\\.)*"|f?"{3}(?:[^"\\]|\\.|"(?!""))*"{3})
| (?P<quote>")
| (?P<iri><(?:[A-Za-z][A-Za-z0-9+.-]*:(?:(?!,\?)[^<>"{}|^`\x00-\x20])*|[^<>"{}|^`\x00-\x20(),?=$]*)>)
| (?P<number>0[xXoObB]\w*|[0-9](?:(?<=[0-9.][eE])[+-]|\w|\.(?=[0-9]))*)
| (?P<blank>_:(?:[\w-]|\.(?=[\w\\-])|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})+)
| (?P<variable>[?$]\w+)
| (?P<prefixed>(?:[^\W\d](?:[\w-]*\w)?)?:(?!-)(?:(?:\w|%[0-9A-Fa-f]{2})+(?:[.-]+(?:\w|%[0-9A-Fa-f]{2})+)*)?)
| (?P<name>[^\W\d]\w*(?:-(?=[^\W\d])\w+)*)
| (?P<stop>\.)
| (?P<open>[(\[{])
| (?P<close>[)\]}])
| (?P<comma>,|:-|;|∧)
| (?P<operator>\*\*|[-+*/~!<>=&|]=?)
| (?P<other>.)
"""
_PLAIN_TOKEN = re.compile(_TOKEN.replace("LINE_COMMENT", "(?!)"), re.DOTALL)
