"""Errors: numbered, with a position, a reason and a hint.

A `Diagnostic` is one message for the author of the input: an error (`T012`) or a warning (`W001`).  Passes
collect diagnostics instead of stopping at the first; `ProgramError` carries them all.  Numbers are never
reused:

    T001–T009  text            T010–T029  program            T030–T049  data in and out
    T050–T069  running         T070–T089  knowledge base and command line
    T090–T109  stores
    T110–T129  Spark
    T130–T149  changes of rules, rewritings
    T150–T169  declarations and types
    T170–T189  windows and time
    T200–T219  ontologies
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from tidalog.model.amounts import counted

MOST_SHOWN: Final = 100
"""This many messages are shown at once."""


@dataclass(frozen=True)
class Source:
    """A text and its name, with the starts of its lines."""

    name: str
    text: str = field(repr=False)
    _starts: list[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0]
        find = self.text.find
        at = find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = find("\n", at + 1)
        object.__setattr__(self, "_starts", starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        start = self._starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets [start, end) into the text of a source."""

    source: Source
    start: int
    end: int


class Diagnostic:
    """One message.  Subclasses define `number`, `title`, `reason`, `hint` as format strings over the
    keyword arguments of the constructor; `reason` is shown beside the underlined text.  `second` is the
    position that explains the first, with `second_reason` beside it."""

    number: ClassVar[str]
    title: ClassVar[str]
    reason: ClassVar[str] = ""
    hint: ClassVar[str] = ""
    second_reason: ClassVar[str] = ""

    def __init__(self, span: Span | None = None, second: Span | None = None, /, **values: object) -> None:
        self.span = span
        self.second = second
        self.values = values

    @property
    def is_warning(self) -> bool:
        return self.number.startswith("W")

    def _fill(self, text: str) -> str:
        return _printable(text.format(**self.values))

    @property
    def message(self) -> str:
        return self._fill(self.title)

    def render(self) -> str:
        """The text that users see (examples in docs/errors.md)."""
        kind = "warning" if self.is_warning else "error"
        lines = [f"{kind}[{self.number}]: {self.message}"]
        reason, hint = self._fill(self.reason), self._fill(self.hint)
        if self.span is not None:
            lines += _underlined(self.span, "^", reason)
        elif reason:
            lines.append(f"   {reason}")
        if self.second is not None:
            lines += _underlined(self.second, "-", self._fill(self.second_reason))
        if hint:
            lines.append(f"   hint: {hint}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"<{self.number}: {self.message}>"

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for messages with the same text; much cheaper than the text."""
        return self.number, _key(self.span), _key(self.second), *map(str, self.values.values())

    def to_json(self) -> dict[str, object]:
        position: dict[str, object] = {}
        if self.span is not None:
            position = _position(self.span)
        if self.second is not None:
            position["second"] = {"reason": self._fill(self.second_reason), **_position(self.second)}
        return {
            "number": self.number,
            "kind": "warning" if self.is_warning else "error",
            "message": self.message,
            "reason": self._fill(self.reason),
            "hint": self._fill(self.hint),
            **position,
        }


def shown(diagnostics: Sequence[Diagnostic], render: Callable[[Diagnostic], str]) -> str:
    """The text of messages.  Of very many, the first are shown and the others counted."""
    parts = [render(diagnostic) for diagnostic in diagnostics[:MOST_SHOWN]]
    if len(diagnostics) > MOST_SHOWN:
        kind = "warning" if all(d.is_warning for d in diagnostics) else "error"
        parts.append(f"… and {counted(len(diagnostics) - MOST_SHOWN, f'more {kind}')}")
    return "\n\n".join(parts)


def _key(span: Span | None) -> tuple[object, ...]:
    if span is None:
        return ()
    line, column = span.source.position(min(span.start, len(span.source.text)))
    return span.source.name, line, column, span.end - span.start, span.source.line(line)


def _position(span: Span) -> dict[str, object]:
    line, column = span.source.position(span.start)
    return {"file": span.source.name, "line": line, "column": column}


def _underlined(span: Span, mark: str, reason: str) -> Iterator[str]:
    """The position, its line, and the reason beside the underlined text."""
    source, start = span.source, span.start
    number, column = source.position(min(start, len(source.text)))
    text, shift = _excerpt(_printable(source.line(number)), column)
    width = max(1, min(span.end - start, len(text) - (column - shift) + 1))
    blank = "".join("\t" if c == "\t" else " " for c in text[: column - shift - 1])
    yield f"  --> {source.name}:{number}:{column}"
    yield f"   {number} | {text}"
    yield f"   {' ' * len(str(number))} | {blank}{mark * width} {reason}".rstrip()


def _printable(text: str) -> str:
    """Replaces half a surrogate pair, which no stream accepts, by a question mark; columns do not change."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _excerpt(line: str, column: int, limit: int = 160) -> tuple[str, int]:
    """The part of a very long line around a column, and how many characters were cut before it."""
    if len(line) <= limit:
        return line, 0
    start = max(0, column - limit // 2)
    return line[start : start + limit], start


class TidalogError(Exception):
    """The base class of Tidalog's errors.  `diagnostics` has all messages; `str()` is the text for users."""

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = (
            (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        )
        super().__init__(shown(self.diagnostics, lambda diagnostic: diagnostic.render()))


class ProgramError(TidalogError):
    """The program's text or meaning is wrong (T001–T029)."""


class DataError(TidalogError):
    """Data that was read or written is wrong (T030–T049)."""


class RunError(TidalogError):
    """Evaluation stopped: a limit, an interrupt, a violated constraint (T050–T069).  State is unchanged."""


class UsageError(TidalogError):
    """A call or a command line with an error (T070–T089)."""


class StoreError(TidalogError):
    """A store on disk cannot be opened, read or written (T090–T109)."""
