"""The knowledge base: rules and facts in, results out.

It has a `Database` under a lock, and puts names, files, progress bars and subscriptions around it; the half
that reads is in `reader`.  Errors in an input are found before anything changes.  Materialisation is lazy:
results ask for it, and it runs if something changed since that was not maintained.

Invariant.  Every change of the database goes through `Changes`, which a stored knowledge base gives a log.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, overload

from tidalog.analysis.functions import with_atoms
from tidalog.analysis.parameters import with_option_values
from tidalog.api.arguments import check_on_error, check_seconds, check_text, checked_options
from tidalog.api.change import Change
from tidalog.api.changes import Changes
from tidalog.api.continuous import ContinuousQuery, Queries, QueryOptions
from tidalog.api.data import DataOptions, Files, add_imports, check_known_facts, encoded_data, known_of
from tidalog.api.delta import Delta, Deltas
from tidalog.api.encoded_update import declared_script, encoded_script, encoded_updates
from tidalog.api.engine import EMBEDDED, Capabilities
from tidalog.api.evaluations import Evaluations
from tidalog.api.functions import argument_range, function_name
from tidalog.api.graphs import Graphs
from tidalog.api.lock import locked
from tidalog.api.naming import parameter_terms
from tidalog.api.open_update import OpenUpdate
from tidalog.api.progress import bar_for
from tidalog.api.reader import Reader
from tidalog.api.results import require
from tidalog.api.rules import Rules
from tidalog.api.sources import ProgramSource, ReadProgram, joined, read_program
from tidalog.api.sparql_update import update_of
from tidalog.api.streams import AnyUpdate, Encoder, Updates, prepared, source_of, taken_from
from tidalog.api.subscriptions import Subscription, Subscriptions, check_subscriber, watch_of
from tidalog.api.times import checked_time, shown_time
from tidalog.api.update_files import UpdateList, UpdatePath, read_updates
from tidalog.builtins import PythonFunction
from tidalog.engine.limits import Limits, ProgressCallback
from tidalog.io.give_back import give_back
from tidalog.io.result import OnError
from tidalog.io.update_tables import UpdateTable
from tidalog.io.update_times import Clock
from tidalog.lang import print_rule
from tidalog.lang.updates import ScriptUpdate
from tidalog.maintain.choose import Options
from tidalog.model.program import Program
from tidalog.model.registered import is_of_query
from tidalog.model.rule_edit import RuleEdit
from tidalog.model.terms import Term
from tidalog.model.update import EncodedUpdate, Label
from tidalog.storage.records import LOAD

if TYPE_CHECKING:
    import rdflib

    from tidalog.api.ontology import Ontology

F = TypeVar("F", bound=Callable[..., object])


class KnowledgeBase(Reader):
    """Rules, facts and what follows from them, in memory.  Use `tidalog.open()`."""

    def __init__(self, limits: Limits, options: Options) -> None:
        self._subscriptions = Subscriptions()
        super().__init__(limits, self._subscriptions.deliver, options)
        self._evaluations = Evaluations(self._open())
        self._continuous = Queries(self)
        self._ontology: Ontology | None = None
        self._changes = Changes(
            self._open,
            self._lock,
            self._subscriptions,
            options,
            self._note,
            self._evaluations,
            self._continuous._emit,
        )

    @locked
    def close(self) -> None:
        """Releases all facts.  Results that were returned stay valid."""
        self._continuous.close()
        super().close()

    @property
    def capabilities(self) -> Capabilities:
        """What this engine supports; see `api.engine`."""
        return EMBEDDED

    def _note(self, change: Change) -> None:
        """Called when a change is applied, before its outcome is logged."""
        if change.read is not None:
            self._skipped += change.skipped
            bound = [(binding, change.read.folder) for binding in change.read.program.exports]
            self._exports += [export for export in bound if export not in self._exports]
        self._changes.journal.note(change)

    # --- programs -----------------------------------------------------------------------------------

    @locked
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

        A `str` that names a file is a path.  Without `dialect` the file's ending decides.  @import reads its
        data now; relative paths start at `base_dir`, or at the folder of the file.  `parameters` are values
        of `$name`, which override those that the program declares.  Rows of data that are not facts are an
        error, or with `on_error="skip"` are counted and go to `PREDICATE.quarantine.csv` in `quarantine_dir`.
        """
        database = self._open()
        check_on_error(on_error)
        read = read_program(source, dialect, Path(base_dir) if base_dir is not None else None)
        given = parameter_terms(parameters or {})
        environment = database.environment.with_parameters(given)
        functions = database.environment.functions
        written = replace(
            read.program, rules=tuple(with_atoms(rule, functions) for rule in read.program.rules)
        )
        read = replace(read, program=with_option_values(written, environment.parameters))
        if self._has_loaded(read, given):
            return
        whole = joined(database.program, written)
        load = database.plan_load(whole, environment, written.facts)
        check_known_facts(database, whole)
        quarantine = Path(quarantine_dir) if quarantine_dir is not None else None
        with bar_for(progress) as bar:
            skipped, notices, prefixes = add_imports(
                load, written, read, database.dictionary, on_error, quarantine, bar
            )
            update = EncodedUpdate(insertions=load.facts)
            change = Change(LOAD, [update], load, read, self._digest(read, given), skipped)
            outcome = self._changes.perform(change, progress=bar.run_callback)
            if self._subscriptions:
                self._changes.publish(outcome)
            new = outcome.new
        self._warn([*read.warnings, *notices])
        self._learn(prefixes)
        del load, update, change
        give_back(new)

    def _has_loaded(self, read: ReadProgram, parameters: Mapping[str, Term]) -> bool:
        """Whether a store has this program already, so that there is nothing to do."""
        return False

    def _digest(self, read: ReadProgram, parameters: Mapping[str, Term]) -> str:
        """What identifies a program in a store."""
        return ""

    @contextmanager
    def as_one(self, *, progress: bool | None = None) -> Iterator[None]:
        """Applies the loads, insertions, deletions and changes of rules in a `with` block as one.

        Constraints and limits are checked at its end.  If they refuse the change, or an exception ends the
        block, everything is as it was before the block.
        """
        with self._lock.held():
            self._open()
            kept = [*self._exports], [*self._text_warnings], Counter(self._skipped)
            try:
                with self._changes.as_one(progress):
                    yield
            except BaseException:
                self._exports, self._text_warnings, self._skipped = kept
                raise

    # --- functions and queries ----------------------------------------------------------------------

    @overload
    def register(self, name: str, function: PythonFunction, /) -> None: ...
    @overload
    def register(
        self,
        name: str,
        query: str | None = None,
        callback: Callable[..., object] | None = None,
        /,
        *,
        emit: str | None = None,
        every: object = None,
        materialise: bool | None = None,
        to: str | os.PathLike[str] | None = None,
        changes: str | os.PathLike[str] | None = None,
        graphs: Graphs | None = None,
        base_dir: str | os.PathLike[str] | None = None,
    ) -> ContinuousQuery: ...
    @locked
    def register(
        self,
        name: str,
        what: PythonFunction | str | None = None,
        callback: Callable[..., object] | None = None,
        /,
        *,
        emit: str | None = None,
        every: object = None,
        materialise: bool | None = None,
        to: str | os.PathLike[str] | None = None,
        changes: str | os.PathLike[str] | None = None,
        graphs: Graphs | None = None,
        base_dir: str | os.PathLike[str] | None = None,
    ) -> ContinuousQuery | None:
        """Registers a Python function for rules and queries, or a continuous query.

        A function must be pure: equal arguments, equal result.  Numbers, booleans and strings are passed as
        Python values, other terms as they are; None means that there is no value.  Register a function before
        the rules that call it are loaded; upper and lower case of its name are the same.

        A query is a text: a rule body such as `?x, ?y :- path(?x, ?y), ?x != ?y`, or SPARQL with windows over
        streams, with its name or without.  It is evaluated at every change, or `every` period, and emits all
        answers (`emit="rstream"`), those that came (`istream`), those that went (`dstream`) or both
        (`changes`): to `callback`, to the file `to`, to a feed in the folder `changes`.  `materialise` says
        whether its answers are maintained, by default if it is evaluated without being asked for.
        `FROM <file.ttl>` loads a file, relative to `base_dir`; `graphs` says which file an IRI is.
        """
        self._open()
        if what is not None and not isinstance(what, str):
            self._changes.register(function_name(name), what, argument_range(name, what))
            return None
        folder = Path(base_dir) if base_dir is not None else Path()
        maintained = True if materialise is None and callback is not None else materialise
        options = QueryOptions(emit, every, maintained, to, changes, graphs, folder)
        found = self._continuous.register(None if what is None else name, what or name, options)
        if callback is not None:
            found.subscribe(callback)
        return found

    @property
    def queries(self) -> Queries:
        """The continuous queries by name."""
        return self._continuous

    def _emit(self) -> None:
        self._continuous._emit()

    @overload
    def function(self, function: F, /) -> F: ...
    @overload
    def function(self, name: str, /) -> Callable[[F], F]: ...
    def function(self, function: F | str, /) -> F | Callable[[F], F]:
        """Decorator: registers a function under its own name, or under the name given."""
        if isinstance(function, str):
            return partial(self._registered, function)
        return self._registered(function.__name__, function)

    def _registered(self, name: str, function: F) -> F:
        self.register(name, function)
        return function

    def register_aggregate(self, name: str, function: PythonFunction) -> None:
        """Registers a Python function as the aggregate `#name`, for rules and queries.

        It gets the list of the values of a group, in the order of terms: one for each distinct tuple of the
        aggregate's arguments.  A function of several parameters gets a list for each of the first arguments.
        Otherwise the rules for `register` hold; the same as `register("#name", function)`.
        """
        self.register(f"#{name}", function)

    @overload
    def aggregate(self, function: F, /) -> F: ...
    @overload
    def aggregate(self, name: str, /) -> Callable[[F], F]: ...
    def aggregate(self, function: F | str, /) -> F | Callable[[F], F]:
        """Decorator: registers an aggregate under the function's own name, or under the name given."""
        if isinstance(function, str):
            return partial(self._registered, f"#{function}")
        return self._registered(f"#{function.__name__}", function)

    @property
    def rules(self) -> Rules:
        """The rules by name; `add`, `remove` and `replace` change them."""
        self._open()
        return Rules(self)

    @locked
    def _named_rules(self) -> dict[str, str]:
        database = self._open()
        prefixes = database.program.prefixes
        return {
            name: print_rule(rule, prefixes)
            for name, rule in database.rules.rules.items()
            if not is_of_query(name)
        }

    @locked
    def _edit_rules(self, edit: RuleEdit) -> Delta:
        """Applies a rule edit as an update.  If nothing is derived yet, it only changes the program."""
        return self._changes.edit_rules(edit)

    @locked
    def ontology(
        self,
        source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
        *,
        profile: str | None = None,
        compiled: bool | None = None,
        strict: bool | None = None,
        format: str | None = None,
    ) -> Ontology:
        """Reads the axioms among the triples as rules, from now on, and adds those of files or a text in
        Turtle.

        `profile` is rdfs, rdfs-plus or owl2-rl, the default.  `compiled=False` uses its generic rules over
        triples.  With `strict`, a change that contradicts an axiom is refused.  Called again, it returns the
        same ontology, with more axioms.
        """
        from tidalog.api.ontologies import installed

        self._open()
        self._ontology = installed(self, self._ontology, source, profile, compiled, strict, format)
        return self._ontology

    # --- facts --------------------------------------------------------------------------------------

    @locked
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
        """Adds explicit facts and returns the number of those that were not explicit before.

        `data` is rows, a mapping of columns, a pandas or polars frame, an Arrow table or stream, a numpy
        array, or the path of a file (`format` names its format, `header` says that delimited text has one).
        `formats` says what each column means (`any`, `string`, `int` …); `columns` selects columns by name.
        Rows that are not facts are an error, or with `on_error="skip"` are counted and written to the file
        `quarantine`.

        What follows from the new facts is derived now if everything is derived already, if there are
        constraints or limits, or for subscribers; a run that is stopped or violates a constraint raises
        `RunError`, and nothing is inserted.  Otherwise it is derived when it is asked for.
        """
        options = DataOptions(format, formats, header, columns, on_error, quarantine, progress)
        return self._insert(predicate, data, options)

    @locked
    def _insert(self, predicate: str, data: object, options: DataOptions) -> int:
        progress = options.progress
        given = encoded_data(self._open(), predicate, data, options, inserts=True)
        new = self._changes.insert(given.facts, progress)
        self._warn(given.notices)
        self._skipped += given.skipped
        self._learn(given.prefixes)
        given.facts.clear()
        give_back(new)
        return new

    def read_rdf(
        self,
        paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        format: str | None = None,
        base: str | None = None,
        on_error: OnError = "error",
        quarantine: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> int:
        """Adds the statements of RDF files, folders and patterns, as one insertion: those in no named graph
        to `triple`, the others to `quad`.  Returns the number of those that were not explicit before.

        `base` is what relative IRIs are resolved against; the other arguments are those of `insert`.
        Prefixes that the files declare are known from now on, unless the program says otherwise.
        """
        given = Files([paths] if isinstance(paths, str | os.PathLike) else list(paths))
        options = DataOptions(format or "rdf", None, None, None, on_error, quarantine, progress, base)
        return self._insert("triple", given, options)

    def _learn(self, prefixes: Mapping[str, str]) -> None:
        """The prefixes of data, which do not change any that is known."""
        load = self._open().plan_prefixes(prefixes)
        if load is not None:
            read = ReadProgram(Program(prefixes=load.program.prefixes), (), Path())
            self._changes.perform(Change(LOAD, [EncodedUpdate()], load, read))

    @locked
    def delete(
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
        """Deletes explicit facts and returns the number of those that were explicit.  The arguments are those
        of `insert`.  A fact that rules derive stays true, and one that is not explicit is ignored."""
        options = DataOptions(format, formats, header, columns, on_error, quarantine, progress)
        given = encoded_data(self._open(), predicate, data, options)
        gone = self._changes.delete(given.facts, progress)
        self._warn(given.notices)
        self._skipped += given.skipped
        return gone

    # --- updates ------------------------------------------------------------------------------------

    def update(self, *, label: Label | None = None, time: object = None) -> OpenUpdate:
        """An update to fill in a `with` block, which is applied at the end of the block:

        with kb.update() as u:
            u.delete("edge", [("a", "b")])
            u.insert("edge", [("a", "c")])
        u.delta["path"].inserted

        `time` says when it takes place, for windows: a datetime, an xsd:dateTime or a number of seconds.
        """
        self._open()

        return OpenUpdate(self.apply, lambda predicate: known_of(self._open(), predicate), label, time)

    @locked
    def sparql_update(
        self, text: str, /, *, label: Label | None = None, time: object = None, progress: bool | None = None
    ) -> Delta:
        """Applies a SPARQL 1.1 update request, whole or not at all, and returns what it changed.

        INSERT DATA, DELETE DATA, DELETE and INSERT … WHERE, DELETE WHERE, CLEAR and DROP; operations are
        separated by `;`, and each pattern sees what those before it did.  Triples are facts of `triple`,
        those in GRAPH facts of `quad`.  `label` and `time` are those of an update.
        """
        check_text(text, "an update", 'write kb.sparql_update("INSERT DATA { … }")')
        with self._lock.at_work():
            update = update_of(self._open(), text)
        update.label, update.time = label, None if time is None else checked_time(time)
        return self._changes.maintain_shown([update], progress)

    def graph(self) -> rdflib.Graph:
        """The triples as a graph of rdflib, which must be installed: what is added to it and removed from it
        are updates, and SPARQL goes to this knowledge base."""
        self._open()
        require("rdflib")
        store = import_module("tidalog.rdflib_store").TidalogStore(kb=self)
        graph: rdflib.Graph = import_module("rdflib").Graph(store)
        return graph

    @locked
    def advance(self, time: object = None, *, progress: bool | None = None) -> Delta:
        """Moves the windows to a time, by default that of the clock, and returns what expired.  Time never
        goes back: an earlier one changes nothing."""
        update = self._changes.at_time(None if time is None else checked_time(time))
        return self._changes.maintain_shown([update], progress)

    @property
    def now(self) -> datetime | None:
        """The time of the windows; None before the first."""
        windows = self._open().windows
        return shown_time(windows.now) if windows.started else None

    @locked
    def apply(
        self, update: AnyUpdate, upcoming: Sequence[AnyUpdate] = (), *, progress: bool | None = None
    ) -> Delta:
        """Applies an update, whole or not at all, and returns what it changed.

        `upcoming` are the updates that are known to come next.  They are not applied; knowing them saves work
        when they are.  A run that is stopped or violates a constraint raises `RunError`; then everything is
        as it was.
        """
        following = Encoder(self._prepared).upcoming(upcoming)
        return self._changes.maintain_shown([self._prepared(update)], progress, following)

    @locked
    def encoded(self, update: AnyUpdate) -> EncodedUpdate:
        """An update in the form of those that `read_updates` reads.  Nothing is applied yet."""
        return self._prepared(update)

    def _prepared(self, update: AnyUpdate) -> EncodedUpdate:
        database = self._open()
        return prepared(update, database.dictionary, database.program)

    @locked
    def read_updates(
        self,
        paths: UpdatePath | Sequence[UpdatePath],
        *,
        on_error: OnError = "error",
        quarantine: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> UpdateList:
        """The updates of scripts (`.upd`), RDF Patch (`.rdfp`), update tables, folders of them, or several
        of these, for this knowledge base to apply.  Nothing is applied yet.

        Wrong rows of tables, and those of updates that come too late for windows, are an error, or with
        `on_error="skip"` are counted and written to the file `quarantine`.
        """
        check_on_error(on_error)
        database = self._open()
        windows, arguments = database.windows, database.program.time_arguments
        with bar_for(progress) as bar:
            updates = read_updates(
                [paths] if isinstance(paths, str | os.PathLike) else paths,
                database.dictionary,
                database.program,
                on_error=on_error,
                quarantine=Path(quarantine) if quarantine is not None else None,
                progress=bar.on_read("updates"),
                clock=Clock(windows.now, windows.late, arguments) if database.has_time else None,
            )
        self._learn(updates.prefixes)
        return updates

    @locked
    def prepare_updates(self, updates: UpdateTable | Sequence[ScriptUpdate]) -> list[EncodedUpdate]:
        """The updates of a table in memory, or of a script that was parsed, for this knowledge base to apply.
        Nothing is applied yet."""
        database = self._open()
        if isinstance(updates, UpdateTable):
            return encoded_updates(updates, database.dictionary, database.program.prefixes)
        return encoded_script(declared_script(updates, database.program.declared), database.dictionary)

    def stream(
        self,
        updates: Updates | Sequence[UpdatePath],
        *,
        look_ahead: int = 1,
        look_ahead_wait: float = 0.0,
        latest_only: bool = False,
        strategy: str | None = None,
        marking: str | None = None,
        order: str | None = None,
        on_error: OnError = "error",
        quarantine: str | os.PathLike[str] | None = None,
        progress: ProgressCallback | None = None,
    ) -> Deltas:
        """Applies updates one after the other and yields the delta of each, on demand.

        `updates` are updates, the path of a script or an update table, several paths, a folder, or a
        `tidalog.stream.Source`.  Up to `look_ahead` updates that are waiting already are looked at while one
        is applied, which saves work; they are waited for only if `look_ahead_wait` says how many seconds.
        With `latest_only` all that wait are applied as one, up to the next that changes rules: the state
        afterwards is the same.

        An update that fails raises, all as it was before this update, and the stream ends.  `strategy`,
        `marking` and `order` are those of `tidalog.open` unless they are given; `progress` is called while an
        update is applied.
        """
        options = checked_options(strategy, marking, order, look_ahead, self._changes.options)
        check_seconds("look_ahead_wait", look_ahead_wait)
        self._open()
        source = source_of(updates, self.read_updates, on_error, quarantine)
        taken = taken_from(source, look_ahead, look_ahead_wait, latest_only)
        encoder = Encoder(self._prepared)

        def apply(now: Sequence[AnyUpdate], following: Sequence[AnyUpdate]) -> Delta:
            encoded = encoder.taken(now)
            return self._changes.maintain(encoded, encoder.upcoming(following), options, progress, "soon")

        def deltas() -> Generator[Delta]:
            try:
                for one in taken:
                    yield self._lock.run(apply, *one)
            finally:
                self._lock.run(self._changes.journal.flush)

        return Deltas(deltas())

    @locked
    def subscribe(self, what: str, callback: Callable[..., object]) -> Subscription:
        """Calls `callback` after every change of facts or rules, loads included, that changes a predicate or
        the answers to a query.

        For a predicate it gets the change, `callback(change)`, as `delta[predicate]` has it; for a query the
        answers that came and those that went, `callback(inserted, deleted)`.  If it has one more parameter,
        named `update`, that gets the delta of the whole update, with its `label` and `time`.  An exception in
        it is logged and has no other effect.  It may use the knowledge base, from any thread.
        """
        check_subscriber(what, callback)
        watch = watch_of(what, self._open(), partial(self._ask, what, {}))
        return self._subscriptions.add(what, watch, callback)
