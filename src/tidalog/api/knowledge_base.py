"""The knowledge base: rules and facts in, results out.

Whatever can go wrong with an input is found before anything changes, so after an error the knowledge base is
as it was.  Materialisation is lazy: results ask for it, and it runs if something changed since that was not
maintained.  The class has its parts in `core`, `asking`, `updating` and `streaming`, each on the one before,
and programs here.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, overload

from tidalog.api.core import bar_for
from tidalog.api.engine import EMBEDDED, Capabilities
from tidalog.api.functions import argument_range, function_name
from tidalog.api.lock import in_turn
from tidalog.api.naming import check_on_error, parameter_terms
from tidalog.api.sources import ProgramSource, ReadProgram, import_number, joined, read_program
from tidalog.api.streaming import Streaming
from tidalog.builtins import PythonFunction
from tidalog.io import read_binding
from tidalog.io.result import OnError
from tidalog.model.terms import Term

F = TypeVar("F", bound=Callable[..., object])


class KnowledgeBase(Streaming):
    """Rules, facts and what follows from them, in memory.  Use `tidalog.open()`."""

    @property
    def capabilities(self) -> Capabilities:
        """What this engine supports; see `api.engine`."""
        return EMBEDDED

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
        given = parameter_terms(parameters or {})
        if self._has_loaded(read, given):
            return
        setting = replace(contents.setting, parameters={**contents.setting.parameters, **given})
        program = joined(contents.program, read.program)
        change = contents.change(program, setting, read.program.facts)
        skipped: Counter[str] = Counter()
        with bar_for(progress) as bar:
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
            with self._noted(change, read):
                _, outdated = contents.take(change)
                if outdated:
                    self._outdate()
        self._skipped += skipped
        bound = [(binding, read.folder) for binding in read.program.exports]
        self._exports += [export for export in bound if export not in self._exports]
        shown = {warning.render() for warning in self._text_warnings}
        self._text_warnings += [warning for warning in read.warnings if warning.render() not in shown]

    def _has_loaded(self, read: ReadProgram, parameters: Mapping[str, Term]) -> bool:
        """Whether a program is one that a store was made with, and there is nothing to do."""
        return False

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
            self._outdate()
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
