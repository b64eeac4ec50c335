"""Records: what the log says, as bytes.

A record is a header, which is JSON, and arrays.  Kinds:

    load      a program as text, its parameters, and the facts that it and its imports have
    updates   updates, each a change of its own; `source` and `batch` say where a batch came from, `goes on`
              that its first one is more of the last of the batch before
    updates with rules
              the same where some of them change rules; a version that knows no such updates refuses the log
    insert    explicit facts that are only taken in; what follows from them is derived when it is asked for
    delete    explicit facts that are only taken away
    rules     rules that are only taken in, or taken away
    done      changes up to a number are carried out, and whoever wanted to know of them knows
    rejected  a change was refused, and is passed over
    as one    updates from a number to another are one change

Every load, insert, delete, change of rules and update has a number, in order; the other kinds speak of these.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from tidalog.engine.dictionary import Dictionary
from tidalog.model.terms import Term
from tidalog.storage.columns import Arrays, Ids, ids_by_value, terms_by_value

Label = int | str
LOAD: Final = "load"
UPDATES: Final = "updates"
INSERT: Final = "insert"
DELETE: Final = "delete"
DONE: Final = "done"
REJECTED: Final = "rejected"
AS_ONE: Final = "as one"
UPDATES_WITH_RULES: Final = "updates with rules"
RULES: Final = "rules"
CHANGES: Final = frozenset({LOAD, UPDATES, UPDATES_WITH_RULES, INSERT, DELETE, RULES})
KNOWN: Final = CHANGES | {DONE, REJECTED, AS_ONE}

_DELETION, _INSERTION = 0, 1


class FactColumns(Protocol):
    """Facts of one predicate as term ids, column by column."""

    @property
    def predicate(self) -> str: ...
    @property
    def columns(self) -> list[Ids]: ...
    @property
    def rows(self) -> int: ...


class FactChange(Protocol):
    """What an update deletes and inserts."""

    @property
    def label(self) -> Label | None: ...
    @property
    def deletions(self) -> Sequence[FactColumns]: ...
    @property
    def insertions(self) -> Sequence[FactColumns]: ...
    @property
    def rules(self) -> RuleChange: ...


class RuleChange(Protocol):
    """Rules that an update adds and removes."""

    def __bool__(self) -> bool: ...
    def texts(self) -> tuple[list[tuple[str, str | None]], list[str]]: ...


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of one predicate as term ids, column by column."""

    predicate: str
    columns: list[Ids]
    rows: int


@dataclass(frozen=True, slots=True)
class Change:
    """Facts to delete and to insert, as ids of a dictionary, and rules."""

    label: Label | None = None
    deletions: list[Facts] = field(default_factory=list)
    insertions: list[Facts] = field(default_factory=list)
    rules: RuleTexts = field(default_factory=lambda: RuleTexts())


@dataclass(slots=True)
class RuleTexts:
    """Rules to add, each with the name that was told apart from its text, and names of rules to remove."""

    added: list[tuple[str, str | None]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def texts(self) -> tuple[list[tuple[str, str | None]], list[str]]:
        return self.added, self.removed


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it was read; arrays are views of its bytes."""

    header: Mapping[str, object]
    arrays: Arrays

    @property
    def kind(self) -> str:
        return str(self.header["kind"])

    @property
    def has_updates(self) -> bool:
        """Whether each change in it is an update."""
        return self.kind in (UPDATES, UPDATES_WITH_RULES)

    def integer(self, name: str) -> int:
        value = self.header[name]
        assert isinstance(value, int)
        return value

    def text(self, name: str) -> str:
        value = self.header[name]
        assert isinstance(value, str)
        return value

    @property
    def source(self) -> str | None:
        value = self.header.get("source")
        return None if value is None else str(value)

    @property
    def batch(self) -> int | None:
        value = self.header.get("batch")
        return None if value is None else int(str(value))

    @property
    def labels(self) -> Sequence[Label | None]:
        labels = self.header.get("labels", ())
        assert isinstance(labels, Sequence)
        return labels

    @property
    def contents(self) -> Sequence[tuple[int, int]] | None:
        """What tells the content of each update from another, if somebody wanted that."""
        value = self.header.get("contents")
        assert value is None or isinstance(value, Sequence)
        return None if value is None else [(rows, total) for rows, total in value]

    @property
    def goes_on(self) -> bool:
        """Whether the first update is more of the one before it."""
        return bool(self.header.get("goes on"))

    @property
    def first(self) -> int:
        """The number of the first change in it."""
        return self.integer("number")

    @property
    def last(self) -> int:
        """The number of the last change; one less than the first if there is none."""
        return self.first + (len(self.labels) if self.has_updates else 1) - 1


# --- bytes ------------------------------------------------------------------------------------------

_HEADER_SIZE: Final = 4


def packed(header: Mapping[str, object], arrays: Mapping[str, npt.NDArray[np.generic]]) -> list[bytes]:
    """A record as pieces of bytes."""
    listed = [[name, array.dtype.str, len(array)] for name, array in arrays.items()]
    text = json.dumps({**header, "arrays": listed}, separators=(",", ":")).encode()
    pieces = [len(text).to_bytes(_HEADER_SIZE, "little"), text]
    pieces += [np.ascontiguousarray(array).tobytes() for array in arrays.values()]
    return pieces


def unpacked(payload: memoryview) -> Record:
    """The counterpart of `packed`.  Raises `ValueError` for what is no record."""
    size = int.from_bytes(payload[:_HEADER_SIZE], "little")
    at = _HEADER_SIZE + size
    header = json.loads(bytes(payload[_HEADER_SIZE:at]))
    arrays: Arrays = {}
    for name, dtype, length in header.pop("arrays"):
        kind = np.dtype(dtype)
        arrays[name] = np.frombuffer(payload, kind, length, at)
        at += kind.itemsize * length
    return Record(header, arrays)


# --- changes ----------------------------------------------------------------------------------------


def changes_packed(
    header: Mapping[str, object],
    changes: Sequence[FactChange],
    dictionary: Dictionary,
    more: Mapping[str, npt.NDArray[np.generic]] = MappingProxyType({}),
) -> list[bytes]:
    """A record of changes, with all their terms in one table, and more arrays."""
    groups = [
        (number, sign, facts)
        for number, change in enumerate(changes)
        for sign, part in ((_DELETION, change.deletions), (_INSERTION, change.insertions))
        for facts in part
    ]
    codes: dict[str, int] = {}
    table = np.array(
        [
            (number, sign, codes.setdefault(f.predicate, len(codes)), len(f.columns), f.rows)
            for number, sign, f in groups
        ],
        np.int32,
    ).reshape(-1)
    columns = [column for _, _, facts in groups for column in facts.columns]
    ids = np.concatenate(columns) if columns else np.empty(0, np.int32)
    terms, places = terms_by_value(dictionary, ids)
    whole = {**header, "labels": [change.label for change in changes], "predicates": list(codes)}
    if any(change.rules for change in changes):
        whole["rules"] = [change.rules.texts() for change in changes]
        if whole["kind"] == UPDATES:
            whole["kind"] = UPDATES_WITH_RULES
    return packed(whole, {"groups": table, **terms, "arguments": places, **more})


def changes_of(record: Record, dictionary: Dictionary) -> list[Change]:
    """The changes of a record, as ids of a dictionary."""
    changes = [Change(label) for label in record.labels]
    names = record.header["predicates"]
    assert isinstance(names, list)
    ids = ids_by_value(dictionary, record.arrays)
    arguments = ids[record.arrays["arguments"].astype(np.int32)]
    at = 0
    for number, sign, code, arity, rows in record.arrays["groups"].reshape(-1, 5).tolist():
        columns = [arguments[at + c * rows : at + (c + 1) * rows] for c in range(arity)]
        at += arity * rows
        change = changes[number]
        target = change.deletions if sign == _DELETION else change.insertions
        target.append(Facts(names[code], columns, rows))
    rules = record.header.get("rules", ())
    assert isinstance(rules, Sequence)
    for change, (added, removed) in zip(changes, rules, strict=False):  # there are none, or of each
        change.rules.added = [(text, name) for text, name in added]
        change.rules.removed = list(removed)
    return changes


def terms_packed(terms: Mapping[str, Term], dictionary: Dictionary) -> Arrays:
    """Named terms as arrays; the names go into a header."""
    table, places = terms_by_value(dictionary, dictionary.ids_of(terms.values()))
    return {**{f"named_{name}": array for name, array in table.items()}, "named": places}


def terms_of(
    names: Iterable[str], arrays: Mapping[str, npt.NDArray[np.generic]], dictionary: Dictionary
) -> Iterator[tuple[str, Term]]:
    """The counterpart of `terms_packed`."""
    start = "named_"
    table = {name[len(start) :]: array for name, array in arrays.items() if name.startswith(start)}
    ids = ids_by_value(dictionary, table)[arrays["named"].astype(np.int32)]
    for name, number in zip(names, ids.tolist(), strict=True):
        yield name, dictionary.term(number)
