"""Snapshots: terms and facts in order of id, as Arrow files.

    meta.json         what is not columns: program, names of relations, sources, figures
    terms.arrow       kind, value, number, extra, text of every term, in order of id
    facts.arrow       relation and whether it is explicit, of every fact, in order of id
    arguments.arrow   the arguments of all facts one after the other, as ids of terms

Invariant.  Facts keep their order, so ids that were ranks are ranks again, and nothing is derived again.
Indexes are built when they are first needed; the table of facts is built before the first change
(`fill_table_of`).
"""

from __future__ import annotations

import json
import mmap
import shutil
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog.engine.bits import EXPLICIT
from tidalog.engine.dictionary import Dictionary
from tidalog.engine.dictionary_kernels import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    KINDS,
    LANGUAGE,
    LITERAL,
    TERMS,
    TEXT,
)
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.fact_kernels import ENTRIES, FACTS, USED
from tidalog.model.errors import StoreError
from tidalog.storage import faults
from tidalog.storage.columns import extras_fit, is_text
from tidalog.storage.diagnostics import damaged
from tidalog.storage.files import CheckedFile, sync_folder
from tidalog.storage.kernels.facts import fill_fact_table, gather_facts, place_facts
from tidalog.storage.kernels.terms import MOST_VALUE, fill_table
from tidalog.storage.manifest import FORMAT, File, SnapshotEntry
from tidalog.storage.records import MOST_ARITY, UNDECODABLE

T = TypeVar("T")
Columns = dict[str, npt.NDArray[np.generic]]
META: Final = "meta.json"
_TERMS, _FACTS, _ARGUMENTS = "terms.arrow", "facts.arrow", "arguments.arrow"
_FILES: Final = (_TERMS, _FACTS, _ARGUMENTS)
_NUMBERS: Final = (INTEGER, DOUBLE, BOOLEAN)
_WITH_EXTRA: Final = (LITERAL, LANGUAGE)
_COLUMNS: Final[Mapping[str, Mapping[str, pa.DataType]]] = MappingProxyType(
    {
        _TERMS: {
            "kind": pa.uint8(),
            "value": pa.uint8(),
            "number": pa.int64(),
            "extra": pa.int32(),
            "text": pa.large_binary(),
        },
        _FACTS: {"relation": pa.int32(), "explicit": pa.uint8()},
        _ARGUMENTS: {"term": pa.int32()},
    }
)


def folder_name(number: int, *, again: bool = False) -> str:
    """The folder of the snapshot of all changes up to one; `again` if there is one of an earlier format."""
    return f"snapshot-{number:016d}{f'-{FORMAT}' if again else ''}"


@dataclass(frozen=True)
class Image:
    """Copies of everything that a snapshot holds."""

    meta: Mapping[str, object]
    terms: Columns
    text: npt.NDArray[np.uint8]
    facts: Columns
    arguments: npt.NDArray[np.int32]


# --- out of an engine ---------------------------------------------------------------------------------------


def image_of(engine: EmbeddedEngine, meta: Mapping[str, object], *, derived: bool) -> Image:
    """A copy of all facts, or of the explicit ones, between two updates."""
    arrays, count = engine.store.arrays, len(engine.store)
    arities = np.array([*engine.arities, 0], np.int64)
    wanted = np.array([derived or not name.startswith(("#", "?")) for name in [*engine.names, ""]])
    predicates, explicit = np.empty(count, np.int32), np.empty(count, np.uint8)
    arguments = np.empty(engine.store.used, np.int32)
    found, used = gather_facts(
        arrays.arguments,
        arrays.offset[:count],
        arrays.status[:count],
        arities,
        wanted,
        0 if derived else int(EXPLICIT),
        predicates,
        explicit,
        arguments,
    )
    terms, n = engine.dictionary.arrays, len(engine.dictionary)
    columns: Columns = {
        name: getattr(terms, name)[:n].copy() for name in ("kind", "value", "number", "extra", "length")
    }
    text = terms.text[: int(terms.state[TEXT])].copy()
    whole = {**meta, "relations": list(zip(engine.names, engine.arities, strict=True))}
    facts: Columns = {"relation": predicates[:found], "explicit": explicit[:found]}
    return Image(whole, columns, text, facts, arguments[:used])


def write_snapshot(
    store: Path, name: str, image: Image, number: int, segment: str, offset: int
) -> SnapshotEntry:
    """Writes the files of a snapshot into a folder and syncs them.  An error leaves no file."""
    folder = store / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        ends = np.zeros(len(image.terms["length"]) + 1, np.int64)
        np.cumsum(image.terms["length"], out=ends[1:])
        terms = {name: _arrow(column) for name, column in image.terms.items() if name != "length"}
        terms["text"] = pa.Array.from_buffers(
            pa.large_binary(), len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(image.text)]
        )
        files = (
            _write_json(folder / META, image.meta),
            _write_columns(folder / _TERMS, terms),
            _write_columns(folder / _FACTS, {name: _arrow(c) for name, c in image.facts.items()}),
            _write_columns(folder / _ARGUMENTS, {"term": _arrow(image.arguments)}),
        )
        sync_folder(folder)
        sync_folder(store)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    faults.at("snapshot written")
    return SnapshotEntry(folder.name, number, files, segment, offset)


def _write_json(path: Path, content: Mapping[str, object]) -> File:
    with closing(CheckedFile(path)) as file:
        file.write(json.dumps(content).encode())
    return File(path.name, file.size, file.checksum)


def _write_columns(path: Path, columns: Mapping[str, pa.Array]) -> File:
    with closing(CheckedFile(path)) as file:
        batch = pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
        with pa.ipc.new_file(pa.PythonFile(file, "w"), batch.schema) as writer:
            writer.write_batch(batch)
    return File(path.name, file.size, file.checksum)


def _arrow(values: npt.NDArray[np.generic]) -> pa.Array:
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


# --- into an engine -----------------------------------------------------------------------------------------


class Meta:
    """The fields of `meta.json`.  Raises `StoreError` for one that is missing or has another type."""

    def __init__(self, path: Path, content: object) -> None:
        self._path = path
        if not isinstance(content, dict):
            raise self.damaged("it is not an object")
        self._content: dict[str, Any] = content

    def text(self, name: str) -> str:
        value: str = self._typed(name, str)
        return value

    def list(self, name: str) -> list[Any]:
        value: list[Any] = self._typed(name, list)
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        value: dict[str, Any] = self._typed(name, dict)
        return value

    def optional(self, name: str, type_: type[T] | UnionType) -> T | None:
        """A field that may be missing or null."""
        if self._content.get(name) is None:
            return None
        value: T = self._typed(name, type_)
        return value

    def _typed(self, name: str, type_: type | UnionType) -> Any:
        value = self._content.get(name)
        if not isinstance(value, type_):
            raise self.damaged(f"{name} is {'missing' if name not in self._content else 'of another type'}")
        return value

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Fields with content that was never written raise `StoreError`."""
        try:
            yield
        except UNDECODABLE as error:
            raise self.damaged(f"a field cannot be read ({error})") from error

    def damaged(self, why: str) -> StoreError:
        return damaged(self._path, why)


class Snapshot:
    """The files of a snapshot, read and checked.  Raises `StoreError` if one is damaged or missing."""

    def __init__(self, store: Path, entry: SnapshotEntry) -> None:
        folder = store / entry.folder
        content = {file.name: _checked(folder / file.name, file) for file in entry.files}
        self.number, self.format = entry.number, entry.format
        try:
            self.meta = Meta(folder / META, json.loads(bytes(content[META])))
            self._columns = {name: _read_columns(folder / name, content[name]) for name in _FILES}
        except (KeyError, ValueError) as error:
            raise damaged(folder, f"it cannot be read ({error})") from error
        with self.meta.reading():
            self.relations = [(str(name), int(arity)) for name, arity in self.meta.list("relations")]
        self._check(folder)

    def _check(self, folder: Path) -> None:
        """Compiled code relies on these numbers.  A few passes over whole columns."""
        terms, facts = self._columns[_TERMS], self._columns[_FACTS]
        kind, value, extra = (_numpy(terms[name]) for name in ("kind", "value", "extra"))
        relation, argument = _numpy(facts["relation"]), _numpy(self._columns[_ARGUMENTS]["term"])
        ends, text = _text(terms["text"])
        length, count, own = np.diff(ends), len(kind), np.arange(len(kind))
        names = [name for name, _ in self.relations]
        arities = np.array([arity for _, arity in self.relations], np.int64)
        laws = (
            (META, len(set(names)) == len(names) and _lie_in(arities, 0, MOST_ARITY + 1)),
            (_TERMS, _lie_in(kind, 0, KINDS) and _lie_in(value, 0, MOST_VALUE + 1)),
            (_TERMS, ends[0] == 0 and _lie_in(length, 0, 1 << 31) and ends[-1] <= len(text)),
            (_TERMS, not length[np.isin(kind, _NUMBERS)].any()),
            (_TERMS, is_text(text[: max(0, ends[-1])], ends[:-1])),
            (_TERMS, _lie_in(extra, -1, count) and bool((extra < own).all())),
            (_TERMS, np.array_equal(np.isin(kind, _WITH_EXTRA), extra >= 0) and extras_fit(kind, extra)),
            (_FACTS, _lie_in(relation, 0, len(names))),
            (_ARGUMENTS, _lie_in(argument, 0, count)),
        )
        for name, holds in laws:
            if not holds:
                raise damaged(folder / name, "its checksum is right, and it has impossible numbers")
        if len(relation) and arities[relation].sum() != len(argument):
            raise damaged(folder / _ARGUMENTS, "facts and arguments do not match")

    def fill(self, engine: EmbeddedEngine) -> None:
        """Puts all terms and facts into an engine that has none."""
        self._fill_dictionary(engine.dictionary)
        for name, arity in self.relations:
            engine.predicate(name, arity)
        facts = self._columns[_FACTS]
        predicates, explicit = np.array(_numpy(facts["relation"])), np.array(_numpy(facts["explicit"]))
        flat = np.array(_numpy(self._columns[_ARGUMENTS]["term"]))
        count, store = len(predicates), engine.store
        if not count:
            return
        store.ensure(count, -(-len(flat) // count))
        arities = np.array([*engine.arities, 0], np.int64)
        used = place_facts(store.at, predicates, explicit, arities, flat)
        store.arrays.state[FACTS], store.arrays.state[USED] = count, used

    def _fill_dictionary(self, dictionary: Dictionary) -> None:
        columns = self._columns[_TERMS]
        ends, text = _text(columns["text"])
        count, size = len(ends) - 1, int(ends[-1])
        dictionary.ensure(count, size)
        terms = dictionary.arrays
        for name in ("kind", "value", "number", "extra"):
            getattr(terms, name)[:count] = _numpy(columns[name])
        terms.length[:count] = np.diff(ends)
        terms.start[:count] = np.where(np.isin(terms.kind[:count], _NUMBERS), 0, ends[:-1])
        terms.text[:size] = text[:size]
        terms.state[TERMS], terms.state[TEXT] = count, size
        fill_table(dictionary.at)


def fill_table_of(engine: EmbeddedEngine) -> None:
    """Enters the facts of a snapshot into the table, if nothing has been changed since."""
    if engine.store.arrays.state[ENTRIES]:  # some are there, looked up by a query
        for number in range(len(engine.names)):
            engine.store.add_to_table(number)
    else:
        fill_fact_table(engine.store.at)


def _checked(path: Path, file: File) -> memoryview:
    try:
        with open(path, "rb") as opened:
            content = memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
    except FileNotFoundError:
        raise damaged(path, "the manifest names it as a part of a snapshot", "is missing") from None
    except (OSError, ValueError) as error:
        raise damaged(path, str(error), "cannot be read") from error
    if len(content) != file.size or zlib.crc32(content) != file.checksum:
        raise damaged(path, "its content does not match its checksum")
    return content


def _read_columns(path: Path, content: memoryview) -> dict[str, pa.Array]:
    batch = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(content))).get_batch(0)
    batch.validate()
    found = dict(zip(batch.schema.names, batch.columns, strict=True))
    for name, type_ in _COLUMNS[path.name].items():
        if name not in found or found[name].type != type_ or found[name].null_count:
            raise ValueError(f"{path.name} has no column {name} of the type {type_}")
    return found


def _text(column: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Where each text begins, and where the last one ends; all texts."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int64)[: len(column) + 1] if len(column) else np.zeros(1, np.int64)
    return ends, np.frombuffer(data or b"", np.uint8)


def _lie_in(numbers: npt.NDArray[Any], first: int, end: int) -> bool:
    return not len(numbers) or bool(numbers.min() >= first and numbers.max() < end)


def _numpy(column: pa.Array) -> npt.NDArray[Any]:
    """A view of a column of numbers."""
    dtype = np.dtype(column.type.to_pandas_dtype())
    return np.frombuffer(column.buffers()[1] or b"", dtype)[: len(column)]
