"""What `run`, `apply`, `query` and `repl` have in common: a knowledge base filled from the command line."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from tidalog.cli.options import STANDARD_INPUT, bad_option, read_pairs, read_size

if TYPE_CHECKING:
    from tidalog.api.knowledge_base import KnowledgeBase
    from tidalog.cli.report import Report


class Limits(TypedDict):
    max_facts: int | None
    max_seconds: float | None
    max_memory: int | None
    strict: bool


@dataclass(frozen=True)
class Work:
    """What to load, and within which limits."""

    programs: Sequence[Path]
    dialect: str | None = None
    facts: Sequence[str] | None = None
    parameters: Sequence[str] | None = None
    max_facts: int | None = None
    max_seconds: float | None = None
    max_memory: str | None = None
    strict: bool = False
    on_error: str = "error"
    quarantine: Path | None = None
    store: Path | None = None
    read_only: bool = False
    """Whether the store is only looked at."""


def prepared(work: Work, report: Report | None, query: str = "") -> KnowledgeBase:
    """A knowledge base with all programs and facts, not materialised yet; `report` has printed the warnings.

    A parameter used only in the query counts as used.
    """
    _check(work)
    facts = read_pairs(work.facts, "--facts", "--facts edge=edges.csv")
    parameters = dict(read_pairs(work.parameters, "--parameter", "--parameter limit=10"))
    kb = _opened(work)
    try:
        _fill(kb, work, facts, parameters)
    except BaseException:
        kb.close()
        raise
    if report is not None:
        report.warn(w for w in kb.warnings if not (w.number == "W011" and f"${w.values['name']}" in query))
    return kb


def _opened(work: Work) -> KnowledgeBase:
    import tidalog

    limits: Limits = {
        "max_facts": work.max_facts,
        "max_seconds": work.max_seconds,
        "max_memory": read_size(work.max_memory),
        "strict": work.strict,
    }
    if work.store is None:
        return tidalog.open(**limits)
    return tidalog.open(work.store, read_only=work.read_only, **limits)


def _check(work: Work) -> None:
    if work.on_error not in ("error", "skip"):
        raise bad_option(
            f"--on-error {work.on_error} is not known", "it is error or skip", "write --on-error skip"
        )
    if work.quarantine is not None and work.on_error != "skip":
        raise bad_option(
            "--quarantine without --on-error skip", "bad rows are an error", "add --on-error skip"
        )


def _fill(
    kb: KnowledgeBase, work: Work, facts: Sequence[tuple[str, str]], parameters: Mapping[str, str]
) -> None:
    skip = work.on_error == "skip"
    for path in work.programs:
        kb.load(
            sys.stdin.read() if str(path) == STANDARD_INPUT else path,
            dialect=work.dialect,
            parameters=parameters,
            on_error="skip" if skip else "error",
            quarantine_dir=work.quarantine,
        )
    for predicate, file in facts:
        kept = work.quarantine / f"{predicate}.quarantine.csv" if work.quarantine is not None else None
        kb.insert(predicate, Path(file), on_error="skip" if skip else "error", quarantine=kept)
