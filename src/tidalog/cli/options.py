"""Options that commands share, and how their texts are read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

import typer

from tidalog.api.diagnostics import BadArgument
from tidalog.model.errors import UsageError

STANDARD_INPUT: Final = "-"
SHOWN_ROWS: Final = 20
"""Rows of a table that are printed by default."""
_SIZE: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kMGT]?)(i?)B?\s*", re.IGNORECASE)
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}

Programs = Annotated[list[Path], typer.Argument(metavar="PROGRAM…", help="Files of rules; - is stdin.")]
OneProgram = Annotated[Path, typer.Argument(metavar="PROGRAM", help="A file of rules; - is stdin.")]
DialectName = Annotated[
    str | None,
    typer.Option("--dialect", help="main, zodiac, rdfox or jena.  Default: by the file's ending."),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="The value of $NAME in the program."),
]
FactFiles = Annotated[
    list[str] | None,
    typer.Option("--facts", "-f", metavar="PREDICATE=FILE", help="Facts: CSV, Parquet, JSON lines, RDF …"),
]
MaxFacts = Annotated[int | None, typer.Option(min=1, help="Stop beyond this many facts.")]
MaxSeconds = Annotated[float | None, typer.Option(min=0, help="Stop after this many seconds.")]
MaxMemory = Annotated[str | None, typer.Option(metavar="SIZE", help="Stop beyond this memory, e.g. 2GB.")]
Strict = Annotated[
    bool, typer.Option("--strict", help="A built-in that cannot be computed is an error, not false.")
]
OnBadRow = Annotated[
    str,
    typer.Option("--on-error", metavar="error|skip", help="What to do with rows that are not facts."),
]
Quarantine = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Where skipped rows go, in PREDICATE.quarantine.csv."),
]
RowLimit = Annotated[int, typer.Option("--rows", min=0, help="Rows to print of each table; 0 prints all.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, errors included.")]

StoreFolder = Annotated[
    Path | None,
    typer.Option("--store", metavar="FOLDER", help="Keep everything in a store, which is made if need be."),
]

Strategy = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="auto, ranked, counting, bf, fbf, dred or recompute: how what is deleted is found.",
    ),
]
Marking = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="auto, none, paper, linked or complete: what is noted of updates to come."
    ),
]
Order = Annotated[str, typer.Option(metavar="NAME", help="ours or paper: the order of work of bf.")]
LookAhead = Annotated[
    int, typer.Option(min=0, metavar="K", help="How many of the next updates are looked at in advance.")
]


def bad_option(problem: str, why: str, hint: str = "") -> UsageError:
    return UsageError(BadArgument(problem=problem, why=why, hint=hint))


def read_pairs(texts: Iterable[str] | None, option: str, example: str) -> list[tuple[str, str]]:
    """`name=value` as pairs."""
    pairs: list[tuple[str, str]] = []
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not (equals and name.strip() and value):
            why = "it needs a name, = and a value"
            raise bad_option(f"{option} {text} is not a pair", why, f"write {example}")
        pairs.append((name.strip(), value))
    return pairs


def read_size(text: str | None) -> int | None:
    """Bytes in `2GB`, `512 MiB`, `1000000`; powers of 1000, or of 1024 with an i."""
    if text is None:
        return None
    found = _SIZE.fullmatch(text)
    if found is None or float(found[1]) == 0:
        why = "a size is a number and a unit"
        raise bad_option(f"--max-memory {text} is not a size", why, "write 500MB or 2GB")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** _POWERS[found[2].lower()])


def read_limit(rows: int) -> int | None:
    """Rows to print; None for all."""
    return rows or None


def check_choice(option: str, value: str, known: Iterable[str]) -> None:
    """An option that has one of a few values."""
    if value not in known:
        names = ", ".join(known)
        raise bad_option(
            f"{option} {value} is not known", f"it is one of {names}", "see tidalog apply --help"
        )
