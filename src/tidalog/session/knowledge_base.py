"""The knowledge base: rules and facts in, results out.

Whatever can go wrong with an input is found before anything changes, so after an error the knowledge base is
as it was.  Materialisation is lazy: results ask for it, and it runs if something changed since.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Self, TypeVar, overload

import pyarrow as pa

from tidalog.analysis import Analysis, PredicateInfo, analyse_query
from tidalog.builtins import PythonFunction
from tidalog.engine.limits import Limits, RunStats
from tidalog.errors import Diagnostic, UsageError
from tidalog.io import (
    from_python,
    is_rdf,
    ntriples_text,
    read_binding,
    read_table,
    write_binding,
    write_table,
)
from tidalog.io.formats import format_named
from tidalog.io.result import OnError
from tidalog.lang import parse_query
from tidalog.maintain.materialise import answer, materialise
from tidalog.program import DataBinding, Program
from tidalog.results import Result
from tidalog.session.contents import Contents
from tidalog.session.diagnostics import Closed
from tidalog.session.functions import argument_range, function_name
from tidalog.session.limits import checked_limits
from tidalog.session.naming import (
    check_fitting,
    check_on_error,
    check_query,
    checked_name,
    column_names,
    known_predicate,
    parameter_terms,
    user_predicates,
)
from tidalog.session.progress import ProgressBar, ProgressOption
from tidalog.session.relations import Rows, count_of, is_rdf_name, rows_of
from tidalog.session.sources import ProgramSource, import_number, joined, read_program
from tidalog.session.stats import Stats
from tidalog.session.targets import check_targets
from tidalog.session.turns import Turns, in_turn

F = TypeVar("F", bound=Callable[..., object])
_NO_RUN: Final = RunStats()


class KnowledgeBase:
    """Rules, facts and what follows from them, in memory.  Use `tidalog.open()`."""

    def __init__(self, limits: Limits) -> None:
        self._turns = Turns()
        self._limits = limits
        self._contents: Contents | None = Contents()
        self._functions: dict[str, PythonFunction] = {}
        self._exports: list[tuple[DataBinding, Path]] = []
        self._text_warnings: list[Diagnostic] = []
        self._skipped: Counter[str] = Counter()
        self._run: RunStats | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @in_turn
    def close(self) -> None:
        """Lets go of all facts.  Results that were handed out stay."""
        self._contents = None
        self._run = None

    def __repr__(self) -> str:
        if self._contents is None:
            return "<KnowledgeBase, closed>"
        predicates, rules = len(self.predicates), len(self.program.rules)
        state = "materialised" if self._run is not None else "to be materialised"
        return f"<KnowledgeBase: {rules} rules, {predicates} predicates, {state}>"

    # --- in -----------------------------------------------------------------------------------------

    @in_turn
    def load(
        self,
        source: ProgramSource,
        *,
        dialect: str | None = None,
        parameters: Mapping[str, object] | None = None,
        base_dir: str | os.PathLike[str] | None = None,
        on_error: OnError = "error",
        quarantine_dir: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> None:
        """Adds a program: a path, a text or a `Program`.  Several loads add up.

        A `str` that names a file is a path.  Without `dialect` the file's ending decides.  @import is carried
        out now; relative paths start at `base_dir`, or at the folder of the file.  `parameters` are values of
        `$name`, which go before those that the program declares.  Rows of data that are no facts are an
        error, or with `on_error="skip"` are counted and go to `PREDICATE.quarantine.csv` in `quarantine_dir`.
        """
        contents = self._open()
        check_on_error(on_error)
        read = read_program(source, dialect, Path(base_dir) if base_dir is not None else None)
        setting = replace(
            contents.setting,
            parameters={**contents.setting.parameters, **parameter_terms(parameters or {})},
        )
        program = joined(contents.program, read.program)
        change = contents.change(program, setting, read.program.facts)
        skipped: Counter[str] = Counter()
        with _bar(progress) as bar:
            for binding in read.program.imports:
                known = change.analysis.predicates.get(binding.predicate)
                table = read_binding(
                    binding,
                    read.folder,
                    arity=known.arity if known is not None else None,
                    on_error=on_error,
                    quarantine_dir=Path(quarantine_dir) if quarantine_dir is not None else None,
                    number=import_number(program, binding),
                    progress=bar.on_read(binding.predicate),
                )
                skipped[binding.predicate] += table.bad.count
                change.add_table(binding.predicate, table)
            _, outdated = contents.take(change)
        if outdated:
            self._run = None
        self._skipped += skipped
        bound = [(binding, read.folder) for binding in read.program.exports]
        self._exports += [export for export in bound if export not in self._exports]
        shown = {warning.render() for warning in self._text_warnings}
        self._text_warnings += [warning for warning in read.warnings if warning.render() not in shown]

    @in_turn
    def insert(
        self,
        predicate: str,
        data: object,
        *,
        format: str | None = None,
        formats: Sequence[str] | None = None,
        header: bool | None = None,
        columns: Sequence[str] | None = None,
        on_error: OnError = "error",
        quarantine: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> int:
        """Adds explicit facts and gives the number of those that were not explicit before.

        `data` is rows, a mapping of columns, a pandas or polars frame, anything that speaks Arrow, a numpy
        array, or the path of a file (`format` names its format, `header` says that delimited text has one).
        `formats` says what each column means (`any`, `string`, `int` …); `columns` picks columns by name.
        Rows that are no facts are an error, or with `on_error="skip"` are counted and written to the file
        `quarantine`.
        """
        contents = self._open()
        check_on_error(on_error)
        from_file = isinstance(data, str | os.PathLike)
        check_fitting(from_file, format=format, header=header, columns=columns)
        name = checked_name(predicate, contents.program.prefixes)
        known = contents.analysis.predicates.get(name)
        arity = None if known is None or is_rdf_name(contents.analysis.triples, name) else known.arity
        kept = Path(quarantine) if quarantine is not None else None
        with _bar(progress) as bar:
            if isinstance(data, str | os.PathLike):
                table = read_table(
                    data,
                    format,
                    formats=formats,
                    header=header,
                    on_error=on_error,
                    quarantine=kept,
                    arity=arity,
                    progress=bar.on_read(name),
                )
            else:
                table = from_python(data, arity, columns, formats=formats, on_error=on_error, quarantine=kept)
            change = contents.change(contents.program, contents.setting)
            change.add_table(name, table)
            new, outdated = contents.take(change)
        if outdated:
            self._run = None
        self._skipped += Counter({name: table.bad.count})
        return new

    @in_turn
    def register(self, name: str, function: PythonFunction) -> None:
        """Makes a Python function known to rules and queries as `name`, in any case.

        It must be pure: equal arguments, equal answer.  Numbers, booleans and strings arrive as Python
        values, other terms as themselves; None means that there is no value.  Register a function before the
        rules that call it are loaded.
        """
        contents = self._open()
        upper = function_name(name)
        accepted = argument_range(name, function)
        functions = {**contents.setting.functions, upper: accepted}
        contents.take(contents.change(contents.program, replace(contents.setting, functions=functions)))
        if upper in self._functions:
            self._run = None
        self._functions[upper] = function

    @overload
    def function(self, function: F, /) -> F: ...
    @overload
    def function(self, name: str, /) -> Callable[[F], F]: ...
    def function(self, function: F | str, /) -> F | Callable[[F], F]:
        """Decorator: registers a function under its own name, or under the name given."""
        if not isinstance(function, str):
            self.register(function.__name__, function)
            return function
        name = function

        def registered(decorated: F) -> F:
            self.register(name, decorated)
            return decorated

        return registered

    # --- materialisation ----------------------------------------------------------------------------

    @in_turn
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
        contents = self._open()
        default = self._limits
        limits = checked_limits(
            max_facts if max_facts is not None else default.max_facts,
            max_seconds if max_seconds is not None else default.max_seconds,
            max_memory if max_memory is not None else default.max_memory,
            strict if strict is not None else default.strict,
        )
        if self._run is not None and not (limits.strict and self._run.uncomputed):
            return self._run
        self._run = None
        with self._turns.work(), _bar(None if callable(progress) else progress) as bar:
            self._run = materialise(
                contents.engine,
                contents.analysis,
                functions=self._functions,
                limits=limits,
                progress=progress if callable(progress) else bar.on_run,
            )
        return self._run

    # --- out ----------------------------------------------------------------------------------------

    @in_turn
    def facts(self, predicate: str, explicit: bool | None = None) -> Result:
        """The facts of a predicate: all, only the explicit ones, or only those that are derived alone."""
        if explicit is not True:
            self.materialise()
        else:
            self._open()
        rows = self._rows(predicate, explicit)
        return self._result(argument_names(rows), rows)

    @in_turn
    def count(self, predicate: str) -> int:
        """How many facts a predicate has."""
        self.materialise()
        return self._count(predicate, None)

    @in_turn
    def query(self, text: str, /, **parameters: object) -> Result:
        """The answers to a query such as `?x, #count(?y) :- edge(?x, ?y), ~old(?y), ?x != b`.

        Of a body alone the answers are its variables.  `$name` in it is the value of the keyword `name`.
        """
        contents = self._open()
        rule = parse_query(text, contents.program.prefixes)
        check_query(rule, contents.analysis)
        given = {**contents.setting.parameters, **parameter_terms(parameters)}
        rules = analyse_query(contents.analysis, rule, given, contents.setting.functions)
        self.materialise()
        with self._turns.work(), _bar(None) as bar:
            found = answer(
                contents.engine,
                # Hidden relations are named after rules: no name may be one of the program's.
                [replace(rule, name=f"(query) {rule.name}") for rule in rules],
                functions=self._functions,
                limits=self._limits,
                progress=bar.on_run,
            )
        return self._result(column_names(rule.heads[0]), Rows("", found.columns, found.rows))

    @in_turn
    def export(
        self,
        predicate: str,
        path: str | os.PathLike[str],
        format: str | None = None,
        *,
        header: bool | None = None,
    ) -> Path:
        """Writes the facts of a predicate to a file, whole or not at all; its ending says the format unless
        told."""
        self.materialise()
        target = Path(path)
        table = self._written(self._rows(predicate, None), format_named(format, target).rdf)
        write_table(table, target, format, header=header, prefixes=self.program.prefixes, predicate=predicate)
        return target

    @in_turn
    def write_exports(self, base_dir: str | os.PathLike[str] | None = None) -> list[Path]:
        """Carries out every @export; relative paths start at `base_dir`, or at the folder of the program that
        says so.  Gives the paths written."""
        self.materialise()
        written: list[Path] = []
        exports = [(b, Path(base_dir) if base_dir is not None else own) for b, own in self._exports]
        check_targets(exports)
        for binding, folder in exports:
            rows = self._rows(binding.predicate, None)
            table = self._written(rows, is_rdf(binding, folder))
            written.append(write_binding(binding, table, folder, prefixes=self.program.prefixes))
        return written

    # --- about it -----------------------------------------------------------------------------------

    @property
    def program(self) -> Program:
        """Rules and directives that were loaded.  Facts are data: see `facts(…, explicit=True)`."""
        return self._open().program

    @property
    def analysis(self) -> Analysis:
        return self._open().analysis

    @property
    @in_turn
    def predicates(self) -> Mapping[str, PredicateInfo]:
        """Predicates by name; triples are one, `triple`."""
        return MappingProxyType(user_predicates(self._open().analysis))

    @property
    @in_turn
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What is odd about the program, though not wrong."""
        return (*self._text_warnings, *self._open().analysis.warnings)

    @in_turn
    def stats(self) -> Stats:
        """Figures of what is held and of the last materialisation."""
        self.materialise()
        contents, run = self._open(), self._run or _NO_RUN
        counts = {name: self._count(name, None) for name in self.predicates}
        explicit = sum(self._count(name, True) for name in self.predicates)
        facts = sum(counts.values())
        return Stats(
            predicates=counts,
            facts=facts,
            explicit=explicit,
            implicit=facts - explicit,
            terms=len(contents.engine.dictionary),
            bytes=contents.engine.nbytes,
            peak_bytes=run.peak_memory,
            derivations=run.derivations,
            rounds=run.rounds,
            seconds=run.seconds,
            cpu_seconds=run.cpu_seconds,
            uncomputed=dict(run.uncomputed),
            skipped=dict(self._skipped),
        )

    # --- inside -------------------------------------------------------------------------------------

    def _open(self) -> Contents:
        if self._contents is None:
            raise UsageError(Closed())
        return self._contents

    def _rows(self, predicate: str, explicit: bool | None) -> Rows:
        contents = self._open()
        name = known_predicate(predicate, contents.analysis)
        return rows_of(contents.engine, contents.analysis, name, explicit)

    def _count(self, predicate: str, explicit: bool | None) -> int:
        contents = self._open()
        name = known_predicate(predicate, contents.analysis)
        return count_of(contents.engine, contents.analysis, name, explicit)

    def _result(self, names: Sequence[str], rows: Rows) -> Result:
        dictionary = self._open().engine.dictionary
        columns = [dictionary.decode(column) for column in rows.columns]
        return Result(names, columns, rows.rows, self.program.prefixes)

    def _written(self, rows: Rows, as_rdf: bool) -> pa.Table:
        """Facts in the form that files have."""
        dictionary = self._open().engine.dictionary
        if as_rdf:
            columns = [dictionary.decode_text(column, ntriples_text) for column in rows.columns]
            return Result(argument_names(rows), columns, rows.rows).table
        return self._result(argument_names(rows), rows).table


def argument_names(rows: Rows) -> list[str]:
    return [f"arg{number}" for number in range(1, len(rows.columns) + 1)]


def _bar(progress: bool | None) -> ProgressBar:
    return ProgressBar(never=progress is False, always=progress is True)
