"""The common part of `run`, `apply`, `query` and `repl`: a knowledge base filled from the command line."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from tidalog.cli.options import (
    STANDARD_INPUT,
    BadRows,
    Inputs,
    bad_option,
    read_pairs,
    read_parameters,
    read_size,
)

if TYPE_CHECKING:
    from tidalog.api.knowledge_base import KnowledgeBase
    from tidalog.cli.report import Report
    from tidalog.io.result import OnError
    from tidalog.model.terms import Term


class Limits(TypedDict):
    max_facts: int | None
    max_seconds: float | None
    max_memory: int | None
    strict: bool


@dataclass(frozen=True)
class Work:
    """What to load, and the limits."""

    programs: Sequence[Path]
    inputs: Inputs
    store: Path | None = None
    bad_rows: BadRows = field(default_factory=BadRows)
    read_only: bool = False
    """Whether the store must not change."""
    late: str = "0s"
    """How much older than the time of windows an update may be."""

    @property
    def has_ontology(self) -> bool:
        return bool(self.inputs.ontology or self.inputs.profile)


def prepared(work: Work, report: Report | None, query: str = "") -> KnowledgeBase:
    """A materialised knowledge base with all programs and facts; prints the warnings.

    A parameter used only in the query counts as used.
    """
    work.bad_rows.check()
    facts = read_pairs(work.inputs.facts, "--facts", "--facts edge=edges.csv")
    if work.inputs.header and not facts:
        raise bad_option("--header without --facts", "it is about the files given with -f", "leave it out")
    parameters = read_parameters(work.inputs.parameter)
    kb = _opened(work)
    try:
        with kb.as_one():
            _fill(kb, work, facts, parameters)
    except BaseException:
        kb.close()
        raise
    if report is not None and work.has_ontology:
        report.warn(kb.ontology().warnings)
    if report is not None:
        report.warn(w for w in kb.warnings if not (w.number == "W011" and f"${w.values['name']}" in query))
    return kb


def _opened(work: Work) -> KnowledgeBase:
    import tidalog

    given = work.inputs
    limits: Limits = {
        "max_facts": given.max_facts,
        "max_seconds": given.max_seconds,
        "max_memory": read_size(given.max_memory),
        "strict": given.strict,
    }
    if work.store is None:
        return tidalog.open(late=work.late, **limits)
    return tidalog.open(work.store, read_only=work.read_only, late=work.late, **limits)


def _fill(
    kb: KnowledgeBase, work: Work, facts: Sequence[tuple[str, str]], parameters: Mapping[str, Term]
) -> None:
    bad = work.bad_rows
    on_error: OnError = "skip" if bad.skip else "error"
    data = [path for path in work.programs if is_rdf(path)]
    for path in work.programs:
        if path in data:
            continue
        kb.load(
            sys.stdin.read() if str(path) == STANDARD_INPUT else path,
            dialect=work.inputs.dialect,
            parameters=parameters,
            on_error=on_error,
            quarantine_dir=bad.quarantine,
        )
    if data:
        kb.read_rdf(data, on_error=on_error, quarantine=bad.file_of("triple"))
    for predicate, file in facts:
        header = has_header(Path(file)) if work.inputs.header else None
        kb.insert(predicate, Path(file), header=header, on_error=on_error, quarantine=bad.file_of(predicate))
    if work.has_ontology:
        kb.ontology(work.inputs.ontology or (), profile=work.inputs.profile)


def is_rdf(path: Path) -> bool:
    """Whether an argument names RDF data and not a program."""
    from tidalog.io.formats import is_rdf_file

    return is_rdf_file(path) or path.is_dir()


def has_header(path: Path) -> bool | None:
    """True for delimited text; None for formats in which columns have names or have none."""
    from tidalog.io.formats import format_named

    return "header" in format_named(None, path).read_options or None
