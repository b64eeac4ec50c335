"""What every part of the knowledge base stands on: its contents, its turns, materialisation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import pyarrow as pa

from tidalog.analysis import Analysis, PredicateInfo
from tidalog.api.contents import Change, Contents
from tidalog.api.diagnostics import Closed
from tidalog.api.limits import checked_limits
from tidalog.api.lock import Turns, in_turn
from tidalog.api.maintenance import Maintenance
from tidalog.api.naming import known_predicate, user_predicates
from tidalog.api.progress import ProgressBar, ProgressOption
from tidalog.api.relations import count_of, explicit_rows, rows_of
from tidalog.api.results import Result
from tidalog.api.sources import ReadProgram
from tidalog.builtins import PythonFunction
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.functions import is_native
from tidalog.engine.limits import Limits, RunStats
from tidalog.io import ntriples_text
from tidalog.maintain.choose import Options
from tidalog.maintain.materialise import materialise
from tidalog.model.errors import Diagnostic, UsageError
from tidalog.model.facts import Facts
from tidalog.model.program import DataBinding, Program
from tidalog.plan.compile import CompiledProgram, compile


class Core:
    def __init__(self, limits: Limits, options: Options) -> None:
        self._turns = Turns()
        self._limits = limits
        self._options = options
        self._contents: Contents | None = Contents()
        self._functions: dict[str, PythonFunction] = {}
        self._exports: list[tuple[DataBinding, Path]] = []
        self._text_warnings: list[Diagnostic] = []
        self._skipped: Counter[str] = Counter()
        self._run: RunStats | None = None
        """Figures of the materialisation, None if there is none or it is out of date."""
        self._maintenance: Maintenance | None = None
        """What keeps the materialisation right; None before the first update."""
        self._compiled: CompiledProgram | None = None
        """The program that was last compiled."""
        self._epoch = 0
        """How often what was derived went out of date as a whole."""

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
        self._outdate()

    def __repr__(self) -> str:
        if self._contents is None:
            return "<KnowledgeBase, closed>"
        predicates, rules = len(self.predicates), len(self.program.rules)
        state = "materialised" if self._run is not None else "to be materialised"
        return f"<KnowledgeBase: {rules} rules, {predicates} predicates, {state}>"

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
        self._outdate()
        with self._turns.work(), bar_for(None if callable(progress) else progress) as bar:
            self._run = materialise(
                contents.engine,
                self._compile(),
                functions=self._functions,
                limits=limits,
                progress=progress if callable(progress) else bar.on_run,
            )
        return self._run

    def _compile(self) -> CompiledProgram:
        """The program as it is now; what has not changed since it was last compiled keeps its plans."""
        analysis = self._open().analysis
        if self._compiled is None or self._compiled.analysis is not analysis:
            self._compiled = compile(analysis, is_native, self._compiled)
        return self._compiled

    def _outdate(self) -> None:
        """What was derived is to be derived anew before it is asked for."""
        self._run = self._maintenance = None
        self._epoch += 1

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
        return (*self._text_warnings, *self._open().warnings)

    # --- term ids, for whoever handles facts in bulk ------------------------------------------------

    @property
    @in_turn
    def dictionary(self) -> Dictionary:
        """Terms and their ids, which stay what they are."""
        return self._open().engine.dictionary

    @in_turn
    def id_rows(self, predicate: str, explicit: bool | None = None) -> Facts:
        """The facts of a predicate as columns of term ids: all, those asserted, or those only derived."""
        return self._rows(predicate, explicit)

    @in_turn
    def asserted_id_rows(self) -> list[Facts]:
        """All asserted facts by predicate, as columns of term ids."""
        contents = self._open()
        return [rows for rows in explicit_rows(contents.engine, contents.analysis.triples) if rows.count]

    # --- inside -------------------------------------------------------------------------------------

    def _open(self) -> Contents:
        if self._contents is None:
            raise UsageError(Closed())
        return self._contents

    def _noted(self, change: Change, loaded: ReadProgram | None = None) -> AbstractContextManager[None]:
        """Around whatever takes a change in: a store notes it before, and how it ended behind.  `loaded` is
        the program that the change comes from."""
        return nullcontext()

    def _rows(self, predicate: str, explicit: bool | None) -> Facts:
        contents = self._open()
        name = known_predicate(predicate, contents.analysis)
        return rows_of(contents.engine, contents.analysis, name, explicit)

    def _count(self, predicate: str, explicit: bool | None) -> int:
        contents = self._open()
        name = known_predicate(predicate, contents.analysis)
        return count_of(contents.engine, contents.analysis, name, explicit)

    def _result(self, names: Sequence[str], rows: Facts) -> Result:
        dictionary = self._open().engine.dictionary
        columns = [dictionary.decode(column) for column in rows.columns]
        return Result(names, columns, rows.count, self.program.prefixes)

    def _written(self, rows: Facts, as_rdf: bool) -> pa.Table:
        """Facts in the form that files have."""
        dictionary = self._open().engine.dictionary
        if as_rdf:
            columns = [dictionary.decode_text(column, ntriples_text) for column in rows.columns]
            return Result(argument_names(rows), columns, rows.count).table
        return self._result(argument_names(rows), rows).table


def argument_names(rows: Facts) -> list[str]:
    return [f"arg{number}" for number in range(1, len(rows.columns) + 1)]


def bar_for(progress: bool | None) -> ProgressBar:
    return ProgressBar(never=progress is False, always=progress is True)
