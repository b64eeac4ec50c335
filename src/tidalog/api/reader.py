"""The half of a knowledge base that reads: materialisation, results, figures, what it holds."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from tidalog.analysis import Analysis, PredicateInfo
from tidalog.api.arguments import check_text, checked_limits
from tidalog.api.database import Database
from tidalog.api.diagnostics import Closed, bad_argument
from tidalog.api.lock import Lock, locked
from tidalog.api.maintenance import DEFAULT
from tidalog.api.naming import is_hidden, known_predicate, parameter_terms, user_predicates
from tidalog.api.plans import program_plan
from tidalog.api.prepared import PreparedQueries
from tidalog.api.profile import Profile, profile_of
from tidalog.api.progress import ProgressOption, bar_for
from tidalog.api.queries import (
    argument_names,
    expiries_of,
    facts_of,
    literals_that_are_equal,
    representing,
    result_of,
    stats_of,
    written_table,
)
from tidalog.api.rdf_export import write_statements
from tidalog.api.relations import count_of, explicit_rows
from tidalog.api.results import Result
from tidalog.api.shown import SHOWN_PARTS, html_table, more
from tidalog.api.sparql import SparqlQueries
from tidalog.api.sparql_results import Solutions, Triples, Truth
from tidalog.api.stats import Stats
from tidalog.api.targets import check_targets
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.limits import Limits, RunStats
from tidalog.io.binding import is_rdf, write_binding
from tidalog.io.formats import endings_of, format_named
from tidalog.io.write import write_table
from tidalog.lang.names import written_name
from tidalog.maintain.choose import Options
from tidalog.model.amounts import counted
from tidalog.model.errors import Diagnostic, UsageError
from tidalog.model.facts import Facts
from tidalog.model.program import DataBinding, Program
from tidalog.model.registered import without_queries
from tidalog.plan.program_plan import ProgramPlan


class Reader:
    """Results of a database, under a lock."""

    def __init__(
        self, limits: Limits, after: Callable[[], None] = lambda: None, options: Options = DEFAULT
    ) -> None:
        """`after` is called after every call, when the lock is free."""
        self._lock = Lock(after)
        self._limits, self._options = limits, options
        self._database: Database | None = Database(limits)
        """None when closed."""
        self._queries = PreparedQueries()
        self._sparql = SparqlQueries()
        self._exports: list[tuple[DataBinding, Path]] = []
        self._text_warnings: list[Diagnostic] = []
        self._skipped: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @locked
    def close(self) -> None:
        """Releases all facts.  Results that were returned stay valid."""
        self._database = None
        self._queries.clear()
        self._sparql.clear()

    def __repr__(self) -> str:
        if self._database is None:
            return "<KnowledgeBase, closed>"
        rules, predicates = (
            counted(len(self.program.rules), "rule"),
            counted(len(self.predicates), "predicate"),
        )
        state = "materialised" if self._database.run is not None else "to be materialised"
        return f"<KnowledgeBase: {rules}, {predicates}, {state}>"

    @locked
    def _repr_html_(self) -> str:
        """The predicates; nothing is derived for it."""
        if self._database is None:
            return html_table((), (), repr(self))
        engine, analysis = self._database.engine, self._database.analysis
        rows = [
            (analysis.label(name), f"{info.arity:,}", f"{count_of(engine, analysis, name, None):,}")
            for name, info in islice(self.predicates.items(), SHOWN_PARTS)
        ]
        left_out = more(len(self.predicates), SHOWN_PARTS, "predicates")
        return html_table(("predicate", "arguments", "facts"), rows, *left_out, repr(self).strip("<>"))

    def _open(self) -> Database:
        if self._database is None:
            raise UsageError(Closed())
        return self._database

    # --- results ------------------------------------------------------------------------------------

    @locked
    def materialise(
        self,
        *,
        progress: ProgressOption = None,
        max_facts: int | None = None,
        max_seconds: float | None = None,
        max_memory: int | None = None,
        strict: bool | None = None,
    ) -> RunStats:
        """Derives everything that follows, if something changed since it was done last.

        Limits that are not given are those of `tidalog.open`.  A run that is stopped raises `RunError`, and
        nothing is derived.  `progress` is a callback, or whether to show a bar (None: on a terminal, after
        two seconds).
        """
        database = self._open()
        limits = checked_limits(max_facts, max_seconds, max_memory, strict, self._limits)
        if database.run is not None and database.is_current(limits):
            return database.run
        with self._lock.at_work(), bar_for(None if callable(progress) else progress) as bar:
            return database.materialise(limits, progress if callable(progress) else bar.run_callback)

    @locked
    def facts(
        self, predicate: str, explicit: bool | None = None, *, expiry: bool = False, expand: bool = True
    ) -> Result:
        """The facts of a predicate: all, only the explicit ones, or only those that are derived alone.

        With `expand=False` a term that is equal to others (`@equality`) stands for all of them.

        With `expiry` a last column says when each of them will go if nothing else comes; null: never, or not
        known, because what it follows from is not kept by expiries (`docs/windows.md`).
        """
        database = self._open()
        if explicit is not True:
            self.materialise()
        found = facts_of(database, predicate, explicit)
        if not expand:
            found = representing(database, found)
        if expiry and explicit is not True and database.windows:
            database.learn_expiries(found.predicate, self._options)
            found = facts_of(database, predicate, explicit)
        names = argument_names(database, found)
        return result_of(database, names, found, expiries_of(database, found, explicit) if expiry else None)

    @locked
    def count(self, predicate: str) -> int:
        """How many facts a predicate has."""
        self.materialise()
        database = self._open()
        name = known_predicate(predicate, database.analysis)
        return count_of(database.engine, database.analysis, name, None)

    @locked
    def query(self, text: str, /, **parameters: object) -> Result:
        """The answers to a query such as `?x, #count(?y) :- edge(?x, ?y), ~old(?y), ?x != b`.

        Without a head, the answers are the variables of the body.  `$name` is the keyword argument `name`.
        """
        names, found = self._ask(text, parameters)
        return result_of(self._open(), names, found)

    @locked
    def sparql(self, text: str, /) -> Solutions | Truth | Triples:
        """The result of a SPARQL 1.1 query over all triples, explicit and inferred.

        SELECT gives `Solutions`, ASK a `Truth` (true or false), CONSTRUCT and DESCRIBE `Triples`.  GRAPH,
        FROM and FROM NAMED are about the facts of `quad(?s, ?p, ?o, ?graph)`.  Prefixes of the program need
        not be declared.
        """
        check_text(text, "a query", 'write kb.sparql("SELECT ?x { ?x a ?class }")')
        with self._lock.at_work(), bar_for(None) as bar:
            return self._sparql.ask(self._open(), text, bar.run_callback)

    def _ask(
        self, text: str, parameters: Mapping[str, object], *, known_only: bool = True
    ) -> tuple[list[str], Facts]:
        check_text(text, "a query", 'write kb.query("p(?x)")')
        database, terms = self._open(), parameter_terms(parameters)
        with self._lock.at_work(), bar_for(None) as bar:
            return self._queries.ask(database, text, terms, bar.run_callback, known_only=known_only)

    @locked
    def export(
        self,
        predicate: str,
        path: str | os.PathLike[str],
        format: str | None = None,
        *,
        header: bool | None = None,
        terms: bool = False,
    ) -> Path:
        """Writes the facts of a predicate to a file, whole or not at all.  Without `format`, the ending of
        the file decides.  With `terms`, columns of Parquet and Arrow files are text in `any` form, as those
        of CSV files always are, and format `any` reads JSON too."""
        self.materialise()
        database, target = self._open(), Path(path)
        as_rdf = format_named(format, target).rdf
        table = written_table(database, facts_of(database, predicate, None), as_rdf)
        prefixes = self.program.prefixes
        write_table(table, target, format, header=header, prefixes=prefixes, predicate=predicate, terms=terms)
        return target

    @locked
    def write_rdf(
        self, path: str | os.PathLike[str], format: str | None = None, *, explicit: bool | None = None
    ) -> Path:
        """Writes `triple` and `quad` to one RDF file, whole or not at all: all statements, only the explicit
        ones, or only those that are inferred.  Without `format`, the ending of the file decides.

        Prefixes are those of the program and of the data.  Facts that are not RDF are left out, and counted
        in a warning (`warnings`).
        """
        target, database = Path(path), self._open()
        if not format_named(format, target).rdf:
            endings = " ".join(endings_of("rdf"))
            raise bad_argument(f"{path} is no RDF file", f"endings are {endings}", "kb.export writes tables")
        if explicit is not True:
            self.materialise()
        self._warn(write_statements(database, target, format, explicit))
        return target

    def _warn(self, warnings: Iterable[Diagnostic]) -> None:
        """Keeps warnings that were not given yet."""
        given = {warning.key for warning in self._text_warnings}
        self._text_warnings += [warning for warning in warnings if warning.key not in given]

    @locked
    def write_exports(self, base_dir: str | os.PathLike[str] | None = None) -> list[Path]:
        """Writes every @export; relative paths start at `base_dir`, or at the folder of its program.  Returns
        the paths written."""
        self.materialise()
        database = self._open()
        exports = [(b, Path(base_dir) if base_dir is not None else own) for b, own in self._exports]
        check_targets(exports)
        written: list[Path] = []
        for binding, folder in exports:
            table = written_table(
                database, facts_of(database, written_name(binding.predicate), None), is_rdf(binding, folder)
            )
            written.append(write_binding(binding, table, folder, prefixes=self.program.prefixes))
        return written

    @locked
    def plan(self, name: str | None = None, *, updates: bool = False) -> ProgramPlan:
        """The plans of the program, or of one predicate or rule: the operators that derive it, in order, with
        the planner's estimates and the rows of the last run from scratch, if there was one.  `updates`: the
        plans that maintain it, for each atom whose facts may change.  Derives nothing."""
        database = self._open()
        engine = database.engine
        return program_plan(
            database.compiled(), name, updates=updates, statistics=engine, executed=engine.executed
        )

    @locked
    def stats(self) -> Stats:
        """Figures of the facts and of the last materialisation."""
        self.materialise()
        return stats_of(self._open(), self._skipped)

    @locked
    def profile(self) -> Profile:
        """How each component of the program is maintained: the strategy for the last update that reached it,
        why it was chosen, and how often each was chosen since the last materialisation."""
        self.materialise()
        database = self._open()
        maintenance = database.maintained()
        maintainer, choices = maintenance.maintainer, maintenance.choices
        return profile_of(maintainer.components, choices, database.analysis, maintainer.marks)

    # --- what it holds ------------------------------------------------------------------------------

    @property
    def program(self) -> Program:
        """Rules and directives that were loaded.  Facts are data: see `facts(…, explicit=True)`."""
        return without_queries(self._open().program)

    @property
    def analysis(self) -> Analysis:
        return self._open().analysis

    @property
    @locked
    def predicates(self) -> Mapping[str, PredicateInfo]:
        """Predicates by name; triples are one, `triple`."""
        return MappingProxyType(user_predicates(self._open().analysis))

    @property
    @locked
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Warnings about the program."""
        database = self._open()
        return (*self._text_warnings, *database.warnings, *literals_that_are_equal(database))

    @property
    @locked
    def dictionary(self) -> Dictionary:
        """Terms and their ids, which never change."""
        return self._open().dictionary

    @locked
    def id_rows(self, predicate: str, explicit: bool | None = None) -> Facts:
        """The facts of a predicate as columns of term ids: all, those asserted, or those only derived."""
        return facts_of(self._open(), predicate, explicit)

    @locked
    def asserted_id_rows(self) -> list[Facts]:
        """All asserted facts by predicate, as columns of term ids."""
        database = self._open()
        found = explicit_rows(database.engine, database.analysis.triples)
        return [facts for facts in found if facts.count and not is_hidden(facts.predicate)]
