"""Tables for people, in a terminal and in a notebook: of a bounded size, with every text escaped."""

from __future__ import annotations

import html
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final

SHOWN_ROWS: Final = 20
"""Rows of facts that are printed."""
SHOWN_PARTS: Final = 100
"""Rules, predicates and components that are printed."""
_LONGEST: Final = 300


def short(text: str) -> str:
    """A text of a bounded length."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def more(count: int, shown: int, noun: str) -> list[str]:
    """A line that says how many are left out, if any are."""
    return [f"… {count - shown:,} more {noun}"] if count > shown else []


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Container[int]) -> Iterator[str]:
    """The lines of a table of texts.  Columns with a number in `right` are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]

    def line(row: Sequence[str]) -> str:
        cells = zip(row, widths, strict=True)
        padded = (c.rjust(w) if n in right else c.ljust(w) for n, (c, w) in enumerate(cells))
        return "   ".join(padded).rstrip()

    yield line(header)
    yield "─" * (sum(widths) + 3 * (len(widths) - 1))
    yield from map(line, rows)


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]], *remarks: str) -> str:
    """A table for a notebook, and what is said below it."""
    head = "".join(f"<th>{html.escape(short(name))}</th>" for name in header)
    cells = ("".join(f"<td>{html.escape(short(cell))}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    below = "".join(f"<p>{html.escape(remark)}</p>" for remark in remarks)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
