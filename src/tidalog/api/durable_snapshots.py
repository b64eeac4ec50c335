"""Snapshots of a store: taken by size of the log, in the background, and read when it is opened.

A snapshot is what is in memory, so it is taken only where everything that was applied is acknowledged: what
comes behind it in the log is what must be done again.  The arrays are copied between two changes; a thread
writes them and then replaces the manifest, while changes go on.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tidalog.analysis import Analysis, TripleLayout
from tidalog.api.durable_labels import KnownLabels
from tidalog.api.durable_log import SourceState
from tidalog.api.durable_replay import Replaying
from tidalog.api.lock import in_turn
from tidalog.api.maintenance import Maintenance
from tidalog.api.update import Delta, RuleChanges
from tidalog.engine.facts import FactStore
from tidalog.engine.limits import Limits, ProgressCallback, RunStats
from tidalog.lang import parse, print_program
from tidalog.maintain.choose import Options
from tidalog.model.errors import RunError, StoreError
from tidalog.model.update import EncodedUpdate
from tidalog.storage import faults
from tidalog.storage.diagnostics import StoreNotWritable
from tidalog.storage.snapshot import Image, Snapshot, fill_table_of, image_of, write_snapshot
from tidalog.storage.store import Store

_LOG: Final = logging.getLogger("tidalog")
_SHARE: Final = 2
"""A snapshot is worth while once the log is one part in so many of the last one."""


class Snapshots(Replaying):
    def __init__(
        self, limits: Limits, options: Options, path: Path, store: Store | None, snapshot_after: int
    ) -> None:
        super().__init__(limits, options, path, store)
        self._snapshot_after = snapshot_after
        self._writing: threading.Thread | None = None
        self._failure: Exception | None = None
        """Of the last snapshot in the background."""
        self._untabled: FactStore | None = None
        """The facts of a snapshot, if nothing has been changed since it was read."""

    # --- taking -------------------------------------------------------------------------------------

    @in_turn
    def snapshot(self) -> int:
        """Writes a snapshot of everything that has been applied, so that opening the store begins there, and
        gives the number of the last change in it."""
        self._writable("a snapshot")
        self._check_acknowledged("a snapshot")
        self._wait_for_snapshot()
        try:
            self.materialise()
        except RunError as error:
            _LOG.warning("%s: the snapshot holds explicit facts alone, for %s", self.path, error)
        begun = self._begin_snapshot()
        if begun is not None:
            self._write_snapshot(*begun)
        return self._applied_to

    def _settled(self) -> None:
        store = self._store
        if store is None or self._handed or self._run is None or not self._is_due(store):
            return
        if self._writing is not None and self._writing.is_alive():
            return
        try:
            begun = self._begin_snapshot()
        except StoreError as error:
            self._note_failure(error)
            return
        if begun is not None:
            write = partial(self._write_behind, *begun)
            self._writing = threading.Thread(target=write, name="tidalog-snapshot")
            self._writing.start()

    def _is_due(self, store: Store) -> bool:
        newest = store.manifest.snapshots[0].size if store.manifest.snapshots else 0
        return store.grown >= max(self._snapshot_after, newest // _SHARE)

    def _begin_snapshot(self) -> tuple[Store, Image, int, str, int] | None:
        """Copies everything and lets the log go on in a new file; nothing if that is a snapshot already."""
        store, number = self._writable("a snapshot"), self._applied_to
        if any(entry.number == number for entry in store.manifest.snapshots):
            return None
        image = image_of(self._open().engine, self._meta(), derived=self._run is not None)
        faults.at("snapshot begun")
        store.rotate(self._logged_to + 1)
        place = self._waiting[0].place if self._waiting else store.place
        return store, image, number, *place

    def _write_snapshot(self, store: Store, image: Image, number: int, segment: str, offset: int) -> None:
        try:
            entry = write_snapshot(store.folder, image, number, segment, offset)
        except OSError as error:
            why, state = error.strerror or str(error), "the store is as it was, with its log"
            hint = "make room on the disk"
            raise StoreError(StoreNotWritable(path=store.folder, why=why, state=state, hint=hint)) from error
        store.take_snapshot(entry)

    def _write_behind(self, store: Store, image: Image, number: int, segment: str, offset: int) -> None:
        try:
            self._write_snapshot(store, image, number, segment, offset)
        except Exception as error:
            self._note_failure(error)

    def _note_failure(self, error: Exception) -> None:
        self._failure = error
        _LOG.warning("%s: no snapshot was written, and the log stays: %s", self.path, error)

    def _wait_for_snapshot(self) -> None:
        if self._writing is not None:
            self._writing.join()
            self._writing = None

    def _carried_out(
        self,
        updates: Sequence[EncodedUpdate],
        following: Sequence[EncodedUpdate],
        options: Options,
        progress: ProgressCallback | None,
        before: Analysis | None = None,
        rules: RuleChanges | None = None,
    ) -> Delta:
        self.get_ready()
        return super()._carried_out(updates, following, options, progress, before, rules)

    @in_turn
    def get_ready(self) -> None:
        """Makes the table of all facts, which looking things up does not need and updates do.  Else the first
        update makes it, if the store was opened from a snapshot."""
        engine = self._open().engine
        if self._untabled is engine.store:
            fill_table_of(engine)
        self._untabled = None

    # --- what is not columns ------------------------------------------------------------------------

    def _meta(self) -> dict[str, object]:
        contents, program = self._open(), self.program
        maintenance, layout = self._maintenance, self._open().analysis.triples
        id_of = contents.engine.dictionary.id_of
        return {
            "writer": version("tidalog"),
            "program": print_program(program),
            "name": program.source.name if program.source is not None else "<program>",
            "exports": [[program.exports.index(b), str(folder.absolute())] for b, folder in self._exports],
            "parameters": {name: id_of(term) for name, term in contents.setting.parameters.items()},
            "witnesses": contents.witnesses,
            "triples": {
                "active": layout.active,
                "properties": dict(layout.properties),
                "classes": dict(layout.classes),
                "tables": sorted(layout.tables),
            },
            "run": asdict(self._run) if self._run is not None else None,
            "unranked": [node.name for node in maintenance.maintainer.components if not node.is_ranked]
            if maintenance is not None
            else [],
            "skipped": dict(self._skipped),
            "programs": self._programs,
            "only loaded": self._only_loaded,
            "label": self._last_label,
            **({"labels": self._known_labels.to_json()} if self._last_label is not None else {}),
            "sources": {
                name: {
                    "logged": state.logged,
                    "applied": self.last_applied(name),
                    "label": state.label,
                    "open": list(state.open),
                }
                for name, state in self._sources.items()
            },
        }

    # --- bringing back ------------------------------------------------------------------------------

    def _restore(self, snapshot: Snapshot) -> None:
        """All as it was when the snapshot was taken.  Facts that another version derived are derived anew."""
        contents, meta = self._open(), _Meta(snapshot.meta)
        engine = contents.engine
        snapshot.fill(engine)
        program = parse(meta.text("program"), meta.text("name"))
        term = engine.dictionary.term
        parameters = {name: term(number) for name, number in meta.mapping("parameters").items()}
        triples = meta.mapping("triples")
        layout = TripleLayout(
            triples["active"],
            MappingProxyType(triples["properties"]),
            MappingProxyType(triples["classes"]),
            frozenset(triples["tables"]),
        )
        same = contents.restore(
            program,
            replace(contents.setting, parameters=parameters),
            [(name, arity) for name, arity in meta.list("witnesses")],
            layout,
        )
        run = snapshot.meta["run"]
        engine.derived = run is not None
        if same and isinstance(run, dict) and meta.text("writer") == version("tidalog"):
            self._run = RunStats(**run)
            self._untabled = engine.store
            self._restore_ranks(set(meta.list("unranked")))
        self._exports = [(program.exports[place], Path(folder)) for place, folder in meta.list("exports")]
        self._skipped = Counter(meta.mapping("skipped"))
        self._applied_to = self._logged_to = snapshot.number
        self._programs = list(meta.list("programs"))
        self._only_loaded = bool(snapshot.meta["only loaded"])
        label = snapshot.meta["label"]
        self._last_label = label if isinstance(label, int | str) else None
        labels = snapshot.meta.get("labels", {"complete": label is None, "known": []})
        assert isinstance(labels, dict)
        self._known_labels = KnownLabels(labels["known"], complete=labels["complete"])
        for name, state in meta.mapping("sources").items():
            batches = deque((batch, last) for batch, last in state["open"])
            self._sources[name] = SourceState(state["logged"], state["applied"], state["label"], batches)

    def _restore_ranks(self, unranked: set[str]) -> None:
        """Ids are ranks, but in components where they were not."""
        if not unranked:
            return
        contents = self._open()
        self._maintenance = Maintenance(contents.engine, contents.analysis, self._functions)
        for node in self._maintenance.maintainer.components:
            node.in_rank_order = node.name not in unranked


class _Meta:
    """What JSON says, by the kind that it is known to have."""

    def __init__(self, content: Mapping[str, object]) -> None:
        self._content = content

    def text(self, name: str) -> str:
        value = self._content[name]
        assert isinstance(value, str)
        return value

    def list(self, name: str) -> list[Any]:
        value = self._content[name]
        assert isinstance(value, list)
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        value = self._content[name]
        assert isinstance(value, dict)
        return value
