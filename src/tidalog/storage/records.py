"""Records: the entries of the log, as bytes.

A record is a header, which is JSON, and arrays.  Kinds:

    load      a program as text, its parameters, and the facts that it and its imports have
    updates   updates, each a change of its own; `source` and `batch` say where a batch came from, `goes on`
              that its first one continues the last of the batch before
    updates with rules
              the same if some of them change rules; a version without such updates refuses the log
    insert    explicit facts that are only stored; what follows from them is derived later
    delete    explicit facts that are only removed
    rules     a rule edit that derives nothing
    queries   all continuous queries from here on, and the background knowledge that a new one loads
    done      changes up to a number are applied, and their deltas acknowledged
    rejected  a change was refused, and is skipped
    as one    updates from a number to another are one change

Every load, insert, delete, change of rules and update has a number, in order; the other kinds refer to these.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tidalog.engine.dictionary import Dictionary
from tidalog.engine.kernel_object import KernelError
from tidalog.lang import print_rule
from tidalog.model.facts import Facts, Ids
from tidalog.model.program import Rule
from tidalog.model.rule_edit import NO_EDIT, NamedRemoval, RuleEdit, RuleText
from tidalog.model.terms import Term
from tidalog.model.update import EncodedUpdate, Label
from tidalog.model.window_times import START
from tidalog.storage.columns import Arrays, ids_by_value, terms_by_value
from tidalog.storage.manifest import FORMAT

LOAD: Final = "load"
UPDATES: Final = "updates"
INSERT: Final = "insert"
DELETE: Final = "delete"
DONE: Final = "done"
REJECTED: Final = "rejected"
AS_ONE: Final = "as one"
UPDATES_WITH_RULES: Final = "updates with rules"
RULES: Final = "rules"
QUERIES: Final = "queries"
CHANGES: Final = frozenset({LOAD, UPDATES, UPDATES_WITH_RULES, INSERT, DELETE, RULES, QUERIES})
KNOWN: Final = CHANGES | {DONE, REJECTED, AS_ONE}

_DELETION, _INSERTION = 0, 1
MOST_ARITY: Final = 1 << 16
"""Arguments of a fact, at most: more are damage."""
_MOST_ROWS: Final = 1 << 24
"""Facts without arguments that an update repeats, at most: nothing else says how many there are."""
UNDECODABLE: Final = (ValueError, KeyError, TypeError, IndexError, AttributeError, KernelError)
"""What decoding raises for data that was never written by this code."""


_TYPES: Final[Mapping[str, type]] = MappingProxyType(
    {
        **dict.fromkeys(("number", "first", "last", "batch"), int),
        **dict.fromkeys(("source", "text", "name", "folder", "digest"), str),
        **dict.fromkeys(("labels", "contents", "predicates", "rules", "parameters"), list),
        "registered": dict,
    }
)
"""The types of the fields of a header."""
_CHANGE: Final = ("number", "labels", "predicates")
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        **dict.fromkeys(CHANGES, _CHANGE),
        LOAD: (*_CHANGE, "text", "name", "folder", "parameters", "digest"),
        QUERIES: (*_CHANGE, "registered"),
        DONE: ("number",),
        REJECTED: ("first", "last"),
        AS_ONE: ("first", "last"),
    }
)
"""The fields that a record of a kind has."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record that was read; arrays are views of its bytes.

    Invariant.  Its header has the fields of its kind, with the types of `_TYPES`: `unpacked` checks it.
    """

    header: Mapping[str, Any]
    arrays: Arrays
    format: int = FORMAT
    """The format of its file."""

    @property
    def kind(self) -> str:
        return str(self.header["kind"])

    @property
    def has_updates(self) -> bool:
        """Whether each change in it is an update."""
        return self.kind in (UPDATES, UPDATES_WITH_RULES)

    def integer(self, name: str) -> int:
        return int(self.header[name])

    def text(self, name: str) -> str:
        return str(self.header[name])

    def sequence(self, name: str) -> list[Any]:
        """A field that is a list; one that is missing is empty."""
        found: list[Any] = self.header.get(name, [])
        return found

    @property
    def source(self) -> str | None:
        return self.header.get("source")

    @property
    def batch(self) -> int:
        """The number of a batch in its source."""
        return int(self.header.get("batch", 0))

    @property
    def labels(self) -> Sequence[Label | None]:
        return self.sequence("labels")

    @property
    def contents(self) -> Sequence[tuple[int, int]] | None:
        """Number and hash of the rows of each update, if they were given."""
        if "contents" not in self.header:
            return None
        return [(rows, total) for rows, total in self.sequence("contents")]

    @property
    def goes_on(self) -> bool:
        """Whether the first update continues the one before it."""
        return bool(self.header.get("goes on"))

    @property
    def in_block(self) -> bool:
        """Whether it is one of several changes that are applied as one."""
        return bool(self.header.get("block"))

    @property
    def first(self) -> int:
        """The number of the first change in it."""
        return self.integer("number")

    @property
    def last(self) -> int:
        """The number of the last change; one less than the first if there is none."""
        return self.first + (len(self.labels) if self.has_updates else 1) - 1


def _check_header(header: Mapping[str, object]) -> None:
    """Raises `ValueError` if a field is missing or has another type."""
    required = _REQUIRED.get(str(header["kind"]))
    if required is None:  # a kind that the log does not have
        return
    for name in required:
        if name not in header:
            raise ValueError(f"{name} is missing")
    for name, type_ in _TYPES.items():
        if name in header and not isinstance(header[name], type_):
            raise ValueError(f"{name} is {header[name]!r}")
    for label in header["labels"] if "labels" in required else ():  # type: ignore[attr-defined]
        if label is not None and not isinstance(label, int | str):
            raise ValueError(f"a label is {label!r}")


# --- bytes ------------------------------------------------------------------------------------------

_HEADER_SIZE: Final = 4


def packed(header: Mapping[str, object], arrays: Mapping[str, npt.NDArray[np.generic]]) -> list[bytes]:
    """A record as pieces of bytes."""
    listed = [[name, array.dtype.str, len(array)] for name, array in arrays.items()]
    text = json.dumps({**header, "arrays": listed}, separators=(",", ":")).encode()
    pieces = [len(text).to_bytes(_HEADER_SIZE, "little"), text]
    pieces += [np.ascontiguousarray(array).tobytes() for array in arrays.values()]
    return pieces


def unpacked(payload: memoryview, format: int = FORMAT) -> Record:
    """The counterpart of `packed`.  Raises `UNDECODABLE` for other bytes."""
    size = int.from_bytes(payload[:_HEADER_SIZE], "little")
    at = _HEADER_SIZE + size
    header = json.loads(bytes(payload[_HEADER_SIZE:at]))
    arrays: Arrays = {}
    for name, dtype, length in header.pop("arrays"):
        kind = np.dtype(dtype)
        if not isinstance(length, int) or length < 0:
            raise ValueError(f"{name} has the length {length!r}")
        arrays[name] = np.frombuffer(payload, kind, length, at)
        at += kind.itemsize * length
    _check_header(header)
    return Record(header, arrays, format)


# --- changes ----------------------------------------------------------------------------------------


def changes_packed(
    header: Mapping[str, object],
    changes: Sequence[EncodedUpdate],
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
            (number, sign, codes.setdefault(f.predicate, len(codes)), len(f.columns), f.count)
            for number, sign, f in groups
        ],
        np.int32,
    ).reshape(-1)
    columns = [column for _, _, facts in groups for column in facts.columns]
    ids = np.concatenate(columns) if columns else np.empty(0, np.int32)
    terms, positions = terms_by_value(dictionary, ids)
    whole = {**header, "labels": [change.label for change in changes], "predicates": list(codes)}
    if any(change.time is not None for change in changes):
        # Times that facts have are read from them again.
        whole["times"] = [
            (None if change.times is not None else change.time, change.arrived) for change in changes
        ]
    if any(change.rules for change in changes):
        whole["rules"] = [edit_packed(change.rules) for change in changes]
        if whole["kind"] == UPDATES:
            whole["kind"] = UPDATES_WITH_RULES
    return packed(whole, {"groups": table, **terms, "arguments": positions, **more})


def changes_of(record: Record, dictionary: Dictionary) -> list[EncodedUpdate]:
    """The changes of a record, as ids of a dictionary.  Raises `UNDECODABLE` for impossible numbers."""
    edits = [_edit_of(*edit) for edit in record.sequence("rules")] or [NO_EDIT] * len(record.labels)
    parts: list[tuple[list[Facts], list[Facts]]] = [([], []) for _ in record.labels]
    names = record.sequence("predicates")
    if not all(isinstance(name, str) for name in names):
        raise ValueError("the name of a predicate is not text")
    arguments = _terms_at(record, "arguments", ids_by_value(dictionary, record.arrays, record.format))
    at = 0
    for number, sign, code, arity, count in _integers(record, "groups").reshape(-1, 5).tolist():
        is_known = 0 <= number < len(parts) and 0 <= code < len(names) and sign in (_DELETION, _INSERTION)
        size = arity * count
        if not is_known or not 0 <= arity <= MOST_ARITY or not 0 <= count <= _MOST_ROWS + size:
            raise ValueError("a group of facts has impossible numbers")
        if size > len(arguments) - at:
            raise ValueError("a group of facts has impossible numbers")
        columns = [arguments[at + c * count : at + (c + 1) * count] for c in range(arity)]
        at += size
        parts[number][sign].append(Facts(names[code], columns, count))
    if at != len(arguments):
        raise ValueError(f"its facts have {at:,} arguments, and {len(arguments):,} are there")
    times = record.sequence("times") or [(None, False)] * len(parts)
    if not all(time is None or (type(time) is int and abs(time) <= -START) for time, _ in times):
        raise ValueError("a time is out of range")
    return [
        EncodedUpdate(deletions, insertions, edit, label, dictionary, time=time, arrived=bool(arrived))
        for (deletions, insertions), edit, label, (time, arrived) in zip(
            parts, edits, record.labels, times, strict=True
        )
    ]


def _integers(record: Record, name: str) -> Ids:
    found: npt.NDArray[Any] = record.arrays[name]
    if found.dtype != np.int32:
        raise ValueError(f"{name} are not integers of 32 bits")
    return found


def _terms_at(record: Record, name: str, ids: Ids) -> Ids:
    """The terms at positions of a table.  As unsigned numbers, negative ones are out of range too."""
    result: Ids = ids[_integers(record, name).view(np.uint32)]
    return result


def edit_packed(edit: RuleEdit) -> tuple[list[tuple[str, str | None]], list[str]]:
    """Texts of rules with their names, and names of rules to remove."""
    added = [(print_rule(one), None) if isinstance(one, Rule) else (one.text, one.name) for one in edit.added]
    return added, [removal.name for removal in edit.removed]


def _edit_of(added: Sequence[tuple[str, str | None]], removed: Sequence[str]) -> RuleEdit:
    """The counterpart of `edit_packed`."""
    texts = (*removed, *(text for text, _ in added), *(name for _, name in added if name is not None))
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a rule is not text")
    return RuleEdit(tuple(RuleText(text, name) for text, name in added), tuple(map(NamedRemoval, removed)))


def terms_packed(terms: Mapping[str, Term], dictionary: Dictionary) -> Arrays:
    """Named terms as arrays; the names go into a header."""
    table, positions = terms_by_value(dictionary, dictionary.ids_of(terms.values()))
    return {**{f"named_{name}": array for name, array in table.items()}, "named": positions}


def terms_of(record: Record, dictionary: Dictionary) -> Iterator[tuple[str, Term]]:
    """The counterpart of `terms_packed`, for the parameters of a program."""
    start, arrays = "named_", record.arrays
    table = {name[len(start) :]: array for name, array in arrays.items() if name.startswith(start)}
    ids = _terms_at(record, "named", ids_by_value(dictionary, table, record.format))
    for name, number in zip(record.sequence("parameters"), ids.tolist(), strict=True):
        yield name, dictionary.term(number)
