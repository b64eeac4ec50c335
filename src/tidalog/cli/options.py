"""Options that commands share, and the parsing of their values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from tidalog.api.diagnostics import BadArgument
from tidalog.maintain.registry import AUTO, MARKING_OPTIONS, ORDERS, STRATEGY_OPTIONS
from tidalog.model.errors import DataError, UsageError
from tidalog.model.term_text import parse_any
from tidalog.model.terms import Term
from tidalog.owl import PROFILES

STANDARD_INPUT: Final = "-"
SHOWN_ROWS: Final = 20
"""How many rows of a table are printed by default."""
_SIZE: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kMGT]?)(i?)B?\s*", re.IGNORECASE)
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def value(metavar: str, help: str, *names: str, min: float | None = None) -> Any:
    """An option with a value; its name is that of the field unless `names` has others."""
    return typer.Option(*names, metavar=metavar, help=help, min=min)


def flag(help: str, *names: str) -> Any:
    return typer.Option(*names, help=help)


def choice(help: str, names: Sequence[str]) -> Any:
    """An option that has one of a few values."""
    return value("NAME", f"{help}: {', '.join(names[:-1])} or {names[-1]}.")


Programs = Annotated[list[Path], typer.Argument(metavar="PROGRAM…", help="Files of rules; - is stdin.")]
ProgramsAndData = Annotated[
    list[Path],
    typer.Argument(metavar="PROGRAM… [DATA…]", help="Rules; - is stdin.  RDF files, folders."),
]
OneProgram = Annotated[Path, typer.Argument(metavar="PROGRAM", help="A file of rules; - is stdin.")]
DialectName = Annotated[
    str | None, value("NAME", "main, zodiac, rdfox or jena.  Default: by the file extension.", "--dialect")
]
Parameters = Annotated[
    list[str] | None,
    value("NAME=VALUE", "The value of $NAME, as in a cell of a table.", "--parameter", "-p"),
]
RowLimit = Annotated[int, value("N", "Rows to print of each table; 0 prints all.", "--rows", min=0)]
AsJson = Annotated[bool, flag("Print one JSON object on stdout, errors included.", "--json")]
Quiet = Annotated[bool, flag("Print nothing but errors.", "--quiet", "-q")]
Store = Annotated[Path | None, value("FOLDER", "Keep everything in a store; created if missing.")]
ExportFolder = Annotated[
    Path | None, value("FOLDER", "Where @export writes.  Default: the program's folder.", "--export-dir")
]


@dataclass(frozen=True)
class Inputs:
    """What to load besides programs, and the limits."""

    facts: Annotated[
        list[str] | None, value("PREDICATE=FILE", "Facts: CSV, Parquet, JSON lines, RDF …", "--facts", "-f")
    ] = None
    header: Annotated[
        bool, flag("The first line of delimited text given with -f has column names.", "--header")
    ] = False
    ontology: Annotated[
        list[Path] | None, value("FILE", "Read the axioms of this RDF file as rules.", "--ontology")
    ] = None
    profile: Annotated[
        str | None, choice("Read the axioms among all triples as rules, by this profile", PROFILES)
    ] = None
    parameter: Parameters = None
    dialect: DialectName = None
    max_facts: Annotated[int | None, value("N", "Stop beyond this many facts.", min=1)] = None
    max_seconds: Annotated[float | None, value("SECONDS", "Stop after this time.", min=0)] = None
    max_memory: Annotated[str | None, value("SIZE", "Stop beyond this memory, e.g. 2GB.")] = None
    strict: Annotated[
        bool, flag("A built-in that cannot be computed is an error, not false.", "--strict")
    ] = False


@dataclass(frozen=True)
class BadRows:
    """What to do with rows that are not facts."""

    on_error: Annotated[
        str, value("error|skip", "Whether a row that is not a fact is an error or left out.", "--on-error")
    ] = "error"
    quarantine: Annotated[
        Path | None, value("FOLDER", "Where rows left out go, in PREDICATE.quarantine.csv.")
    ] = None

    @property
    def skip(self) -> bool:
        return self.on_error == "skip"

    def check(self) -> None:
        check_choice("--on-error", self.on_error, ("error", "skip"))
        if self.quarantine is not None and not self.skip:
            raise bad_option(
                "--quarantine without --on-error skip", "bad rows are an error", "add --on-error skip"
            )

    def file_of(self, name: str) -> Path | None:
        """The file for the bad rows of a predicate."""
        return self.quarantine / f"{name}.quarantine.csv" if self.quarantine is not None else None


@dataclass(frozen=True)
class Maintenance:
    """How updates are applied."""

    strategy: Annotated[str, choice("How facts to delete are found", STRATEGY_OPTIONS)] = AUTO
    marking: Annotated[str, choice("How coming updates mark facts", MARKING_OPTIONS)] = AUTO
    order: Annotated[str, choice("The order of work of bf", ORDERS)] = ORDERS[0]
    look_ahead: Annotated[int, value("K", "How many coming updates to look at.", min=0)] = 1
    latest_only: Annotated[bool, flag("Apply all waiting updates as one.", "--latest-only")] = False

    def check(self) -> None:
        check_choice("--strategy", self.strategy, STRATEGY_OPTIONS)
        check_choice("--marking", self.marking, MARKING_OPTIONS)
        check_choice("--order", self.order, ORDERS)


@dataclass(frozen=True)
class ChangeFiles:
    """Where changes are written, and how."""

    out: Annotated[Path | None, value("FOLDER", "Write what changed, as changes.csv.")] = None
    materialised: Annotated[
        bool, flag("With --out: write all facts after each update, too.", "--materialised")
    ] = False
    format: Annotated[str, value("FORMAT", "What --out writes: csv, ndjson or parquet.")] = "csv"

    def check(self) -> None:
        check_choice("--format", self.format, ("csv", "ndjson", "parquet"))
        if self.materialised and self.out is None:
            why = "the facts have nowhere to go"
            raise bad_option("--materialised without --out", why, "add --out FOLDER")


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


def check_choice(option: str, value: str, known: Collection[str]) -> None:
    """Checks an option that has one of a few values."""
    from difflib import get_close_matches

    if value not in known:
        near = get_close_matches(value, known, 1)
        hint = f"did you mean {near[0]}?" if near else "see --help"
        raise bad_option(f"{option} {value} is not known", f"it is one of {', '.join(known)}", hint)


def read_parameters(texts: Iterable[str] | None) -> dict[str, Term]:
    """Values are read as cells of a table are."""
    pairs = read_pairs(texts, "--parameter", "--parameter limit=10")
    return {name: parse_any(text) for name, text in pairs}


def read_text(file: Path, what: str) -> str:
    """The text of a file that holds a query or a request."""
    from tidalog.io.diagnostics import FileNotReadable

    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        why = error.strerror or str(error)
    except UnicodeDecodeError as error:
        why = f"the byte at offset {error.start:,} is not UTF-8"
    raise DataError(FileNotReadable(path=file, why=why, hint=f"{what} is a file of UTF-8 text"))
