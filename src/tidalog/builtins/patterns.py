"""Regular expressions by RE2: a search takes time in proportion to the text, whatever the pattern.

Patterns are written as in XPath and Python.  Differences from RE2's own syntax are translated: `\\w`, `\\d`
and `\\s` know all of Unicode, `\\u00E9` is a character, `\\Z` is the end, the flag `x` takes white space out.
What an automaton cannot do (back references, look-around) is refused, and so is `\\W` or `\\S` inside `[…]`.
REPLACE searches once for each match.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import re2

from tidalog.builtins.base import CannotCompute
from tidalog.model.terms import is_text

MOST_TEXT: Final = 2**22
"""Characters of a text that REPLACE or CONCAT makes: a longer one cannot be computed."""

_WORD, _SPACE = r"\p{L}\p{M}\p{N}_", r"\s\v\p{Z}"
_OUTSIDE: Final = {
    r"\w": f"[{_WORD}]",
    r"\W": f"[^{_WORD}]",
    r"\s": f"[{_SPACE}]",
    r"\S": f"[^{_SPACE}]",
    r"\d": r"\p{Nd}",
    r"\D": r"\P{Nd}",
    r"\Z": r"\z",
}
_INSIDE: Final = {r"\w": _WORD, r"\s": _SPACE, r"\d": r"\p{Nd}", r"\D": r"\P{Nd}"}
_TOKEN: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})|\[:\^?\w+:\]|\\.|.", re.DOTALL
)
_GROUP: Final = re.compile(r"\\([\\$])|\$([0-9])|([\\$])")
_INLINE: Final = "ims"
_FLAGS: Final = "imqsx"


def search(pattern: str, flags: str, text: str) -> bool:
    return _compiled(pattern, flags).search(_checked(text)) is not None


def replace(pattern: str, flags: str, replacement: str, text: str) -> str:
    """Every match replaced, from left to right."""
    regexp = _compiled(pattern, flags)
    template = [replacement] if "q" in flags else list(_template(replacement, regexp.groups))
    pieces: list[str] = []
    end = size = 0
    for match in regexp.finditer(_checked(text)):
        found = [part if isinstance(part, str) else match[part] or "" for part in template]
        size += match.start() - end + max(sum(map(len, found)), len(template))  # empty parts are work, too
        check_size(size)
        pieces += (text[end : match.start()], *found)
        end = match.end()
    check_size(size + len(text) - end)
    return "".join([*pieces, text[end:]])


def check_size(size: int) -> None:
    if size > MOST_TEXT:
        raise CannotCompute(f"the text has more than {MOST_TEXT:,} characters")


def problem(pattern: str, flags: str) -> str | None:
    """Why a pattern cannot be used; None if it can."""
    try:
        _compiled(pattern, flags)
    except CannotCompute as failure:
        return str(failure)
    return None


def _checked(text: str) -> str:
    if not is_text(text):
        raise CannotCompute("the text has half a surrogate pair, which UTF-8 cannot hold")
    return text


def _template(replacement: str, groups: int) -> Iterator[str | int]:
    """The texts and the numbers of groups in a replacement; a group that the pattern lacks is empty."""
    end = 0
    for mark in _GROUP.finditer(_checked(replacement)):
        if mark[3]:
            raise CannotCompute(f"'{mark[3]}' in a replacement is written '\\{mark[3]}'")
        if before := replacement[end : mark.start()] + (mark[1] or ""):
            yield before
        if mark[2] and int(mark[2]) <= groups:
            yield int(mark[2])
        end = mark.end()
    if end < len(replacement):
        yield replacement[end:]


@lru_cache(maxsize=256)
def _compiled(pattern: str, flags: str) -> re2._Regexp:
    for flag in flags:
        if flag not in _FLAGS:
            raise CannotCompute(f"a regular expression has no flag '{flag}'; there are i, m, q, s and x")
    options = re2.Options()
    options.log_errors = False
    if "q" in flags:
        options.literal, options.case_sensitive = True, "i" not in flags
        text = pattern
    else:
        inline = "".join(flag for flag in _INLINE if flag in flags)
        text = (f"(?{inline})" if inline else "") + "".join(_translated(pattern, "x" in flags))
    try:
        return re2.compile(_checked(text), options)
    except re2.error as error:
        reason = error.args[0]
        why = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise CannotCompute(f"the regular expression cannot be used: {why}") from None


def _translated(pattern: str, verbose: bool) -> Iterator[str]:
    """The pattern in RE2's syntax, piece by piece."""
    in_class = 0  # 2: just opened, where `]` and `^]` stand for themselves
    for token in _TOKEN.finditer(pattern):
        text, code = token[0], token[1] or token[2]
        if code:
            yield f"\\x{{{code}}}"
        elif in_class:
            if text in (r"\W", r"\S"):
                raise CannotCompute(f"the regular expression cannot be used: {text} inside […]")
            yield _INSIDE.get(text, text)
            if text == "]" and in_class == 1:
                in_class = 0
            elif not (text == "^" and in_class == 2):
                in_class = 1
        elif not (verbose and text in " \t\n\r"):
            yield _OUTSIDE.get(text, text)
            in_class = 2 if text == "[" else 0
