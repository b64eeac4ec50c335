"""What comes out of a knowledge base: facts, answers, files, figures."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from tidalog.analysis import analyse_query
from tidalog.api.core import Core, argument_names, bar_for
from tidalog.api.lock import in_turn
from tidalog.api.naming import check_query, column_names, parameter_terms
from tidalog.api.plans import program_plan
from tidalog.api.results import Result
from tidalog.api.stats import Stats
from tidalog.api.targets import check_targets
from tidalog.engine.limits import RunStats
from tidalog.io import is_rdf, write_binding, write_table
from tidalog.io.formats import format_named
from tidalog.lang import parse_query
from tidalog.maintain.materialise import answer
from tidalog.model.facts import Facts
from tidalog.plan.program_plan import ProgramPlan

_NO_RUN: Final = RunStats()


class Asking(Core):
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
        names, rows = self._asked(text, parameters)
        return self._result(names, rows)

    def _asked(
        self, text: str, parameters: Mapping[str, object], *, known_alone: bool = True
    ) -> tuple[list[str], Facts]:
        """The names of a query's columns, and its answers.  A predicate that nothing speaks of is an error,
        or else empty."""
        contents = self._open()
        rule = parse_query(text, contents.program.prefixes)
        if known_alone:
            check_query(rule, contents.analysis)
        given = {**contents.setting.parameters, **parameter_terms(parameters)}
        rules = analyse_query(contents.analysis, rule, given, contents.setting.functions)
        self.materialise()
        with self._turns.work(), bar_for(None) as bar:
            found = answer(
                contents.engine,
                # Hidden relations are named after rules: no name may be one of the program's.
                [replace(rule, name=f"(query) {rule.name}") for rule in rules],
                functions=self._functions,
                limits=self._limits,
                progress=bar.on_run,
            )
        return column_names(rule.heads[0]), Facts("", found.columns, found.rows)

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

    @in_turn
    def plan(self, name: str | None = None, *, updates: bool = False) -> ProgramPlan:
        """The plans of the program, or of one predicate or rule: the operators that derive it, in order, with
        the planner's estimates and the rows of the last run from scratch, if there was one.  `updates`: the
        plans that maintain it, for each atom whose facts may change.  Derives nothing."""
        engine = self._open().engine
        return program_plan(
            self._compile(), name, updates=updates, statistics=engine, executed=engine.executed
        )

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
