"""What `run`, `apply`, `query` and `repl` have in common: a knowledge base filled from the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidalog.cli.options import STANDARD_INPUT, bad_option, read_pairs, read_size

if TYPE_CHECKING:
    from tidalog.cli.report import Report
    from tidalog.session.knowledge_base import KnowledgeBase


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


def prepared(work: Work, report: Report | None, query: str = "") -> KnowledgeBase:
    """A knowledge base with all programs and facts, not materialised yet; `report` has told the warnings.

    A parameter that is in the query to come is not one that nobody reads.
    """
    if work.on_error not in ("error", "skip"):
        raise bad_option(
            f"--on-error {work.on_error} is not known", "it is error or skip", "write --on-error skip"
        )
    skip = work.on_error == "skip"
    if work.quarantine is not None and not skip:
        raise bad_option(
            "--quarantine without --on-error skip", "bad rows are an error", "add --on-error skip"
        )
    memory = read_size(work.max_memory)
    facts = read_pairs(work.facts, "--facts", "--facts edge=edges.csv")
    parameters = dict(read_pairs(work.parameters, "--parameter", "--parameter limit=10"))

    import tidalog

    kb = tidalog.open(
        max_facts=work.max_facts, max_seconds=work.max_seconds, max_memory=memory, strict=work.strict
    )
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
    if report is not None:
        report.warn(w for w in kb.warnings if not (w.number == "W011" and f"${w.values['name']}" in query))
    return kb
