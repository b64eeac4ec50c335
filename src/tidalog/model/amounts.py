"""Numbers as people read them: `1 row`, `2 rows`, `once`, `12 k`, `3.1 MB`, `2.4 ms`; and articles."""

from __future__ import annotations

from typing import Final

MEASURABLE: Final = 0.1
"""Seconds below which a rate says more about the clock than about the work."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def article(noun: str) -> str:
    """`a list`, `an int`."""
    return f"{'an' if noun[:1] in 'aeiouAEIOU' else 'a'} {noun}"


def times(count: int) -> str:
    """`once`, `3 times`."""
    return "once" if count == 1 else f"{count:,} times"


def amount(value: float) -> str:
    """`950`, `12 k`, `3.4 M`: three figures at most."""
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= limit:
            scaled = value / limit
            return f"{scaled:.1f}{unit}" if scaled < 100 else f"{scaled:.0f}{unit}"
    return f"{value:.0f}"


def size(count: int) -> str:
    """`3.1 MB`."""
    return f"{amount(count)}B" if count >= 1000 else f"{count} B"


def duration(seconds: float) -> str:
    """`2.4 ms`, `0.35 s`."""
    return f"{seconds:.2f} s" if seconds >= MEASURABLE else f"{seconds * 1000:.1f} ms"


def rate(count: int, seconds: float, noun: str, least: int = 1_000) -> list[str]:
    """`3.4 M facts/s`; nothing if there is too little time or work to measure."""
    return [f"{amount(count / seconds)} {noun}/s"] if seconds >= MEASURABLE and count >= least else []
