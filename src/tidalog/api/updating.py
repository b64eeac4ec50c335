"""What changes the facts of a knowledge base: insertions, deletions and updates; and who is told.

A materialised knowledge base is maintained: an update derives what follows from it and takes back what no
longer does.  One that is not takes the facts in alone, and so does one that gets so many of them by `insert`
or `delete` that deriving everything anew is less work.
"""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

from tidalog.analysis import Analysis, analyse
from tidalog.api.asking import Asking
from tidalog.api.contents import Change
from tidalog.api.core import bar_for
from tidalog.api.diagnostics import BadArgument, OtherKnowledgeBase
from tidalog.api.encoded_update import encoded_table, encoded_update, net_update, routed_update
from tidalog.api.lock import in_turn
from tidalog.api.maintenance import Maintenance, newly_explicit, no_longer_explicit
from tidalog.api.naming import (
    check_fitting,
    check_on_error,
    checked_name,
    known_predicate,
    predicates_read,
)
from tidalog.api.open_update import OpenUpdate
from tidalog.api.profile import Profile, profile_of
from tidalog.api.relations import is_rdf_name, routed
from tidalog.api.subscriptions import (
    PredicateWatch,
    QueryWatch,
    Subscription,
    Subscriptions,
    is_predicate,
)
from tidalog.api.update import Delta, RuleChanges, Update
from tidalog.engine.facts import FactStore
from tidalog.engine.limits import Limits, ProgressCallback
from tidalog.io import ReadResult, from_python, read_table
from tidalog.io.result import OnError
from tidalog.lang import parse_query
from tidalog.maintain.choose import Options
from tidalog.maintain.maintainer import Maintainer
from tidalog.model.errors import TidalogError, UsageError
from tidalog.model.facts import Facts
from tidalog.model.program import Program
from tidalog.model.update import EncodedUpdate, Label

T = TypeVar("T")
AnyUpdate = Update | EncodedUpdate
_FEW: Final = 256
"""Facts that are maintained however few there are to derive anew."""
_BULK_SHARE: Final = 4
"""From one in so many of all facts on, deriving everything anew is taken to be less work."""


class Updating(Asking):
    def __init__(self, limits: Limits, options: Options) -> None:
        super().__init__(limits, options)
        self._subscriptions = Subscriptions()
        self._explicit_alone: weakref.ref[FactStore] | None = None
        """The store in which `delete` left explicit facts alone, and ids that are gone."""

    # --- facts --------------------------------------------------------------------------------------

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
        Facts that are no facts are an error, or with `on_error="skip"` are counted and written to the file
        `quarantine`.

        If everything is derived already, what follows from the new facts is derived now; a run that is
        stopped or violates a constraint raises `RunError`, and nothing is inserted.  A great many facts at
        once are only taken in, and what follows from them is derived when it is asked for.
        """
        contents = self._open()
        name, table = self._read(
            predicate, data, format, formats, header, columns, on_error, quarantine, progress
        )
        self._skipped += Counter({name: table.bad.count})
        if self._maintains(table.rows):
            prepared = self._prepared_rows(name, table)
            delta = self._applied([EncodedUpdate(insertions=prepared)], progress)
            return sum(newly_explicit(change.ids) for change in delta.values())
        change = contents.change(contents.program, contents.setting)
        change.add_table(name, table)
        return self._taken_in(change)

    def _taken_in(self, change: Change) -> int:
        """Facts are explicit from now on, and nothing is derived; gives the number of those that are new."""
        with self._noted(change):
            new, outdated = self._open().take(change)
            if outdated:
                self._outdate()
            return new

    @in_turn
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
        """Facts are explicit no longer; gives the number of those that were.  The arguments are those of
        `insert`.  A fact that rules derive stays true, and one that is not explicit is passed over."""
        contents = self._open()
        name, table = self._read(
            predicate, data, format, formats, header, columns, on_error, quarantine, progress
        )
        rows = self._prepared_rows(name, table)
        contents.check_known(rows)
        if self._maintains(table.rows):
            delta = self._applied([EncodedUpdate(rows)], progress)
            return sum(no_longer_explicit(change.ids) for change in delta.values())
        return self._taken_away(rows)

    def _taken_away(self, rows: Sequence[Facts]) -> int:
        """Facts are explicit no longer, and nothing is derived; gives the number of those that were."""
        contents = self._open()
        engine, layout = contents.engine, contents.analysis.triples
        parts = [part for whole in rows for part in routed(whole, layout, engine.dictionary)]
        self._outdate()
        if self._explicit_alone is None or self._explicit_alone() is not engine.store:
            engine.forget_derived()
        without_rules = Maintainer(engine, analyse(Program()))
        outcome = without_rules.apply(EncodedUpdate(parts))
        # Ids that are gone are no place to derive from: the store is to be made anew before that.
        self._explicit_alone, engine.derived = weakref.ref(engine.store), True
        return sum(no_longer_explicit(change) for change in outcome.delta.values())

    def _read(
        self,
        predicate: str,
        data: object,
        format: str | None,
        formats: Sequence[str] | None,
        header: bool | None,
        columns: Sequence[str] | None,
        on_error: OnError,
        quarantine: str | os.PathLike[str] | None,
        progress: bool | None,
    ) -> tuple[str, ReadResult]:
        """The full name of a predicate, and data for it."""
        check_on_error(on_error)
        from_file = isinstance(data, str | os.PathLike)
        check_fitting(from_file, format=format, header=header, columns=columns)
        name = checked_name(predicate, self._open().program.prefixes)
        arity = self._arity(name)
        kept = Path(quarantine) if quarantine is not None else None
        if not isinstance(data, str | os.PathLike):
            return name, from_python(
                data, arity, columns, formats=formats, on_error=on_error, quarantine=kept
            )
        with bar_for(progress) as bar:
            return name, read_table(
                data,
                format,
                formats=formats,
                header=header,
                on_error=on_error,
                quarantine=kept,
                arity=arity,
                progress=bar.on_read(name),
            )

    def _arity(self, name: str) -> int | None:
        analysis = self._open().analysis
        known = analysis.predicates.get(name)
        return None if known is None or is_rdf_name(analysis.triples, name) else known.arity

    def _maintains(self, rows: int) -> bool:
        """Whether so many facts are maintained, rather than everything derived anew.  Subscribers are to be
        told what changes, which is known only then."""
        if not rows or self._subscriptions:
            return rows > 0
        return self._run is not None and rows <= max(_FEW, self._open().engine.store.live // _BULK_SHARE)

    def _prepared_rows(self, name: str, table: ReadResult) -> list[Facts]:
        if not table.rows:
            return []
        dictionary = self._open().engine.dictionary
        return [encoded_table(name, table, dictionary)]

    # --- updates ------------------------------------------------------------------------------------

    def update(self, *, label: Label | None = None) -> OpenUpdate:
        """An update to fill in a `with` block, which is applied where the block ends:

        with kb.update() as u:
            u.delete("edge", [("a", "b")])
            u.insert("edge", [("a", "c")])
        u.delta["path"].inserted
        """
        self._open()

        def arity_of(predicate: str) -> int | None:
            return self._arity(checked_name(predicate, self._open().program.prefixes))

        return OpenUpdate(self.apply, arity_of, label)

    @in_turn
    def apply(
        self, update: AnyUpdate, upcoming: Sequence[AnyUpdate] = (), *, progress: bool | None = None
    ) -> Delta:
        """Carries an update out, whole or not at all, and gives what it changed.

        `upcoming` are the updates that are known to come next.  They are not applied; knowing them saves work
        when they are.  A run that is stopped or violates a constraint raises `RunError`; then all is as
        it was.
        """
        following = self._prepared_upcoming(upcoming, self._prepared)
        return self._applied([self._prepared(update)], progress, following)

    def _applied(
        self,
        updates: Sequence[EncodedUpdate],
        progress: bool | None,
        following: Sequence[EncodedUpdate] = (),
    ) -> Delta:
        with bar_for(progress) as bar:
            return self._maintained(updates, following, self._options, bar.on_run)

    def _prepared(self, update: AnyUpdate) -> EncodedUpdate:
        contents = self._open()
        if isinstance(update, Update):
            return encoded_update(update, contents.engine.dictionary, contents.program.prefixes)
        if not isinstance(update, EncodedUpdate):
            problem = f"a {type(update).__name__} is no update"
            hint = "write tidalog.Update(insertions={…}, deletions={…}, add_rules=[…], remove_rules=[…])"
            raise UsageError(BadArgument(problem=problem, why="an update is an Update", hint=hint))
        if update.dictionary is not contents.engine.dictionary:
            raise UsageError(OtherKnowledgeBase())
        return update

    def _prepared_upcoming(
        self, updates: Sequence[AnyUpdate], prepared: Callable[[AnyUpdate], EncodedUpdate]
    ) -> list[EncodedUpdate]:
        """As many as are right; what is wrong is told when its turn comes."""
        found: list[EncodedUpdate] = []
        for update in updates:
            try:
                found.append(prepared(update))
            except TidalogError:
                break
        return found

    def _maintained(
        self,
        updates: Sequence[EncodedUpdate],
        following: Sequence[EncodedUpdate],
        options: Options,
        progress: ProgressCallback | None,
    ) -> Delta:
        """Applies updates as one and tells of it.  All that changes a materialisation goes through here."""
        delta = self._made(updates, following, options, progress)
        self._subscriptions.tell(delta)
        return delta

    def _made(
        self,
        updates: Sequence[EncodedUpdate],
        following: Sequence[EncodedUpdate],
        options: Options,
        progress: ProgressCallback | None,
    ) -> Delta:
        contents = self._open()
        for update in updates:
            contents.check_known(update.deletions)
        self.materialise()
        unknown = contents.unknown(rows for update in updates for rows in update.insertions)
        if not unknown:
            return self._carried_out(updates, following, options, progress)
        before = self._run, self._maintenance, self._epoch
        outdated, take_back = contents.admit(unknown)
        try:
            if outdated:
                self._outdate()
                self.materialise()
            return self._carried_out(updates, following, options, progress)
        except BaseException:
            take_back()
            if outdated:
                self._run, self._maintenance, self._epoch = before
            raise

    def _carried_out(
        self,
        updates: Sequence[EncodedUpdate],
        following: Sequence[EncodedUpdate],
        options: Options,
        progress: ProgressCallback | None,
        before: Analysis | None = None,
        rules: RuleChanges | None = None,
    ) -> Delta:
        """Maintains what was derived.  `before` is the analysis that held up to now, if the update changes
        rules, and `rules` what it does to them."""
        contents = self._open()
        if self._maintenance is None:
            self._maintenance = Maintenance(contents.engine, contents.analysis, self._functions)
        layout, dictionary = contents.analysis.triples, contents.engine.dictionary
        with self._turns.work():
            return self._maintenance.apply(
                contents.analysis,
                net_update([routed_update(update, layout, dictionary) for update in updates]),
                list(self._fitting(routed_update(update, layout, dictionary) for update in following)),
                options,
                self._limits,
                progress,
                self._in_turn,
                updates[-1].label,
                len(updates),
                before,
                rules,
            )

    def _fitting(self, updates: Iterator[EncodedUpdate]) -> Iterator[EncodedUpdate]:
        """Updates to come up to the first that will be refused: the engine knows one arity of a relation."""
        engine = self._open().engine
        for update in updates:
            for batch in (*update.deletions, *update.insertions):
                if engine.has(batch.predicate) and engine.arity(batch.predicate) != len(batch.columns):
                    return
            yield update

    def _in_turn(self, call: Callable[[], T]) -> T:
        with self._turns.turn():
            return call()

    @in_turn
    def profile(self) -> Profile:
        """How each part of the program is maintained: the strategy that the last update which reached it had,
        why it had this one, and how often each was chosen since the last materialisation."""
        self.materialise()
        contents = self._open()
        if self._maintenance is None:
            self._maintenance = Maintenance(contents.engine, contents.analysis, self._functions)
        return profile_of(
            self._maintenance.maintainer.components, self._maintenance.choices, contents.analysis
        )

    # --- who is told --------------------------------------------------------------------------------

    @in_turn
    def subscribe(self, what: str, callback: Callable[..., object]) -> Subscription:
        """Calls `callback` after every update that changes a predicate or the answers to a query.

        Of a predicate it gets the change, `callback(change)`, as `delta[predicate]` has it; of a query the
        answers that came and those that went, `callback(inserted, deleted)`.  An exception in it is logged
        and harms nothing.  It may use the knowledge base.  What `load` changes is not told of.
        """
        contents = self._open()
        if is_predicate(what):
            name = known_predicate(what.strip(), contents.analysis)
            return self._subscriptions.add(what, PredicateWatch(name, callback))
        names, _ = self._asked(what, {})
        rule = parse_query(what, contents.program.prefixes)
        watch = QueryWatch(
            lambda: predicates_read(rule, contents.analysis),
            lambda: self._asked(what, {}, known_alone=False)[1],
            lambda rows: self._result(names, rows),
            lambda: self._epoch,
            callback,
        )
        return self._subscriptions.add(what, watch)
