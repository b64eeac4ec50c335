"""RDF Patch (`.rdfp`): a log of transactions, each an update.

    H id <urn:uuid:…> .          headers: read, and of no effect
    TX .                         begins a transaction
    PA "ex" "http://…" .         a prefix (PD takes it back)
    D <s> <p> <o> .              deletes a triple
    A <s> <p> <o> <g> .          adds a quad
    TC .                         commits; TA aborts: what it had has no effect

The last operation of a transaction on a statement wins.  A patch without transactions is one.  Blank nodes
keep their labels, which are those of the facts: a patch changes what is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog.engine.dictionary import Dictionary
from tidalog.engine.span_encoding import NO_TERM
from tidalog.io.diagnostics import DataDiagnostic, Position
from tidalog.io.encoding import line_text, require_utf8, without_mark
from tidalog.io.files import open_buffer
from tidalog.io.rdf_lines import Fault, KeptLabels, LineEncoder
from tidalog.io.result import BadRow, BadRowLog
from tidalog.io.update_diagnostics import PatchSyntax, PatchTransaction
from tidalog.model.facts import Facts, Ids
from tidalog.rdf.layout import TRIPLE
from tidalog.rdf.quads import QUAD

ENDING: Final = ".rdfp"
_BLANK_IRI: Final = re.compile(rb"<(_:[^\s<>]*)>")
_CONTROL: Final = re.compile(
    r"""\s*(?:
    (?P<end>T[XCA])
    | H \s+ \S+ \s+ \S.*?
    | (?P<prefix>P[AD]) \s+ "?(?P<name>[^"\s]*?):?"? (?: \s+ ["<](?P<iri>[^">]*)[">] )? (?:\s+<[^>]*>)?
    ) \s* \.? \s*""",
    re.VERBOSE,
)
_ADD, _DELETE, _COMMENT, _LF = (ord(c) for c in "AD#\n")
_BLANKS: Final = (ord(" "), ord("\t"))

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PatchUpdate:
    """What a transaction deletes and inserts."""

    deletions: list[Facts]
    insertions: list[Facts]


@dataclass
class _Transactions:
    """The lines of each transaction that is committed."""

    spans: list[tuple[int, int]] = field(default_factory=list)
    prefixes: dict[str, str] = field(default_factory=dict)


def is_patch(path: Path) -> bool:
    """Whether the ending of a name, but for that of a compression, is that of a patch."""
    return ENDING in [suffix.lower() for suffix in path.suffixes[-2:]]


def read_patch(
    path: Path, dictionary: Dictionary, log: BadRowLog
) -> tuple[list[PatchUpdate], Mapping[str, str]]:
    """The updates of a patch, and the prefixes that it adds.  Rows with errors go to the log."""
    text = without_mark(open_buffer(path, None), path)
    require_utf8(text, path)
    content = text.to_pybytes()
    if b"<_:" in content:
        content = _BLANK_IRI.sub(rb"\1", content)
    return _Patch(path, content, log).read(dictionary)


class _Patch:
    def __init__(self, path: Path, content: bytes, log: BadRowLog) -> None:
        self._path, self._content, self._log = path, content, log
        self._data = np.frombuffer(bytearray(content), np.uint8)
        ends = np.flatnonzero(self._data == _LF)
        self._starts = np.concatenate([np.zeros(1, np.int64), ends + 1])
        self._bad: dict[int, DataDiagnostic] = {}

    def read(self, dictionary: Dictionary) -> tuple[list[PatchUpdate], Mapping[str, str]]:
        ops = self._operations()
        found = self._transactions(ops)
        rows, columns = self._statements(dictionary)
        self._report()
        updates: list[PatchUpdate] = []
        for first, last in found.spans:
            own = slice(*np.searchsorted(rows, [first, last]))
            added = ops[rows[own]] > 0
            updates.append(_update([column[own] for column in columns], added))
        return updates, found.prefixes

    def _operations(self) -> npt.NDArray[np.int8]:
        """1 for a line that adds, -1 for one that deletes, 0 for others."""
        padded = np.append(self._data, [_LF, _LF])
        first, second = padded[self._starts], padded[self._starts + 1]
        is_statement = np.isin(second, _BLANKS)
        ops = np.zeros(len(self._starts), np.int8)
        ops[is_statement & (first == _ADD)] = 1
        ops[is_statement & (first == _DELETE)] = -1
        return ops

    def _transactions(self, ops: npt.NDArray[np.int8]) -> _Transactions:
        """Reads the lines that are no statements, and makes comments of them."""
        found, begun, prefixes = _Transactions(), -1, dict[str, str]()
        begins, ends = list[int](), list[int]()
        for line in np.flatnonzero(ops == 0).tolist():
            text = self._text(line)
            if not text.strip() or text.lstrip().startswith("#"):
                continue
            self._data[self._starts[line]] = _COMMENT
            match = _CONTROL.fullmatch(text)
            if match is None:
                why = "a row begins with H, TX, TC, TA, PA, PD, A or D"
                self._fault(line, PatchSyntax, why, "terms are written as in N-Triples")
            elif match["prefix"] == "PA" and match["iri"]:
                prefixes[match["name"]] = match["iri"]
            elif match["end"] == "TX":
                if begun >= 0:
                    self._fault(line, PatchTransaction, "another one is open", "TC or TA ends it")
                    continue
                begun, prefixes = line, {}
                begins.append(line)
            elif match["end"] is not None:
                if begun < 0:
                    self._fault(line, PatchTransaction, "none is open", "TX begins one")
                    continue
                ends.append(line)
                if match["end"] == "TC":
                    found.spans.append((begun, line))
                    found.prefixes |= prefixes
                begun = -1
        if begun >= 0:
            why = "the patch ends before it, so the transaction has no effect"
            self._fault(begun, PatchTransaction, why, "TC commits it")
        elif not begins and ops.any():
            found.spans.append((0, len(ops)))
            found.prefixes |= prefixes
        if begins:
            self._refuse_outside(ops, begins, ends)
        self._data[self._starts[ops != 0]] = _BLANKS[0]
        return found

    def _refuse_outside(self, ops: npt.NDArray[np.int8], begins: list[int], ends: list[int]) -> None:
        """Reports statements between transactions."""
        level = np.zeros(len(ops) + 1, np.int64)
        level[begins] += 1
        level[ends] -= 1
        for line in np.flatnonzero((np.cumsum(level[:-1]) <= 0) & (ops != 0)).tolist():
            self._fault(line, PatchTransaction, "the row is in none", "TX begins one")

    def _statements(self, dictionary: Dictionary) -> tuple[Rows, list[Ids]]:
        """The line of each statement, in order, and their terms."""
        encoder = LineEncoder(dictionary, KeptLabels(), graphs=True)

        def report(fault: Fault, _: int) -> None:
            line = (fault.line or 1) - 1
            self._fault(line, PatchSyntax, fault.why, "terms are written as in N-Triples", fault)

        encoder.add(pa.py_buffer(self._data), report)
        rows = np.searchsorted(self._starts, encoder.offsets(), "right") - 1
        order = np.argsort(rows, kind="stable")
        return rows[order], [column[order] for column in encoder.columns()]

    # --- errors -------------------------------------------------------------------------------------

    def _text(self, line: int) -> str:
        return line_text(pa.py_buffer(self._content), int(self._starts[line])).removesuffix("\r")

    def _fault(
        self,
        line: int,
        kind: type[PatchSyntax] | type[PatchTransaction],
        why: str,
        hint: str,
        fault: Fault | None = None,
    ) -> None:
        text = self._text(line)
        column, width = (fault.column, fault.width) if fault is not None else (1, len(text))
        position = Position(str(self._path), line + 1, min(column, len(text) + 1), text, max(1, width))
        self._bad.setdefault(line, kind(position, why=why, hint=hint))

    def _report(self) -> None:
        def rows() -> Iterator[BadRow]:
            for line in sorted(self._bad):
                yield BadRow(self._bad[line], None, self._text(line))

        self._log.add(rows(), len(self._bad))


def _update(columns: list[Ids], added: npt.NDArray[np.bool_]) -> PatchUpdate:
    """The net effect of operations in order."""
    table = np.stack(columns, axis=1)
    _, from_end = np.unique(table[::-1], axis=0, return_index=True)
    last = np.sort(len(table) - 1 - from_end)
    table, added = table[last], added[last]
    return PatchUpdate(_facts(table[~added]), _facts(table[added]))


def _facts(table: npt.NDArray[np.int32]) -> list[Facts]:
    named = table[:, 3] != NO_TERM
    found: list[Facts] = []
    for predicate, rows, width in ((TRIPLE, ~named, 3), (QUAD, named, 4)):
        count = int(np.count_nonzero(rows))
        if count:
            columns = [np.ascontiguousarray(table[rows, column]) for column in range(width)]
            found.append(Facts(predicate, columns, count))
    return found
