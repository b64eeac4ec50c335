"""Changes as records of the write-ahead log, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tidalog.api.change import Change
from tidalog.api.database import Database
from tidalog.api.sources import ReadProgram, joined
from tidalog.engine.dictionary import Dictionary
from tidalog.lang import parse, print_program
from tidalog.model.registered import Registered
from tidalog.model.update import EncodedUpdate
from tidalog.storage import records
from tidalog.storage.inbox import Batch
from tidalog.storage.manifest import FORMAT
from tidalog.storage.recovery import Redo
from tidalog.storage.wal import as_one

EARLIER: Final = "earlier format: "
"""Begins the digest of a program that was loaded in an earlier format."""


def records_of(
    change: Change, number: int, dictionary: Dictionary, *, in_block: bool = False
) -> list[list[bytes]]:
    """The records that log a change, whose first update has this number."""
    header: dict[str, object] = {"kind": change.kind, "number": number}
    if in_block:
        header["block"] = True
    if change.kind == records.QUERIES:
        assert change.load is not None and change.load.registered is not None
        header["registered"] = change.load.registered.to_json()
    if change.load is None or change.read is None:
        written = [records.changes_packed(header, change.updates, dictionary)]
        if len(change.updates) > 1:
            written.append(as_one(number, number + len(change.updates) - 1))
        return written
    program, parameters = change.read.program, change.load.environment.parameters
    header |= {
        "text": print_program(replace(program, facts=())),
        "name": program.source.name if program.source is not None else "<program>",
        "folder": str(change.read.folder.absolute()),
        "parameters": list(parameters),
        "digest": change.digest,
    }
    named = records.terms_packed(parameters, dictionary)
    return [records.changes_packed(header, change.updates, dictionary, named)]


def batch_record(batch: Batch, updates: Sequence[EncodedUpdate], dictionary: Dictionary) -> list[bytes]:
    """The record that logs the updates of a batch."""
    header: dict[str, object] = {
        "kind": records.UPDATES,
        "number": batch.first,
        "source": batch.source,
        "batch": batch.number,
    }
    if batch.goes_on:
        header["goes on"] = True
    if batch.contents is not None:
        header["contents"] = batch.contents
    return records.changes_packed(header, updates, dictionary)


def change_of(redo: Redo, database: Database) -> Change:
    """The change that a record logs."""
    record = redo.record
    if record.has_updates:
        return Change(records.UPDATES, redo.updates)
    (update,) = redo.updates
    if record.kind == records.INSERT:
        load = database.plan_insertion(update.insertions)
        load.time = update.time
        return Change(record.kind, redo.updates, load)
    if record.kind == records.QUERIES:
        load = database.plan_queries(Registered.from_json(record.header["registered"]))
        load.add(*update.insertions)
        return Change(record.kind, redo.updates, load)
    if record.kind != records.LOAD:
        return Change(record.kind, redo.updates)
    read = ReadProgram(parse(record.text("text"), record.text("name")), (), Path(record.text("folder")))
    environment = database.environment.with_parameters(redo.parameters)
    load = database.plan_load(joined(database.program, read.program), environment)
    load.add(*update.insertions)
    return Change(record.kind, redo.updates, load, read, known_digest(record.text("digest"), record.format))


def known_digest(digest: str, format: int) -> str:
    """The digest of a program in a store.  In an earlier format it was that of a text with another meaning,
    and is marked."""
    return digest if format == FORMAT or digest.startswith(EARLIER) else EARLIER + digest
