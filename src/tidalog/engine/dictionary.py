"""The dictionary: terms ↔ 32-bit ids, one by one and in columns.

Columns come and go as Arrow arrays and are encoded and decoded in compiled code; Python sees only the
distinct texts that the plain cases do not cover.  Ids are given out in order and never reused, except by
`truncate`, which undoes additions from the end.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.engine import dictionary_kernels as kernels
from tidalog.engine import term_formatting as cells_out
from tidalog.engine import term_parsing as cells_in
from tidalog.engine.addresses import Owner
from tidalog.engine.dictionary_kernels import TERMS, TEXT, Terms
from tidalog.engine.hash_table import Table, fits
from tidalog.engine.memory import resized
from tidalog.engine.moments import moments_among
from tidalog.engine.questions import Questions
from tidalog.engine.span_encoding import SPANS_AT_ONCE, encode_spans
from tidalog.engine.value_kinds import INSTANT_VALUE, value_of_literal
from tidalog.model import term_text as termtext
from tidalog.model.facts import Ids, Mask
from tidalog.model.terms import (
    IRI,
    BlankNode,
    Boolean,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
    literal,
)

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Spans = npt.NDArray[np.int64]
"""A table: the bounds of each term of each statement."""

N = TypeVar("N", bound=np.generic)

_READINGS: Final = {
    "any": cells_in.READ_ANY,
    "ntriples": cells_in.READ_ANY,
    "string": cells_in.READ_STRING,
    "iri": cells_in.READ_IRI,
}
_PLAIN_DOUBLE: Final = r"^-?([1-9][0-9]*\.(0|[0-9]*[1-9])|0\.0{0,3}[1-9]([0-9]*[1-9])?)$"
_LENGTH_OF_PLAIN_DOUBLE: Final = 16
"""Fifteen digits and a point: every such text between 0.0001 and 10^15 is how its double is written."""
_MOST_TERMS: Final = 2**31 - 2
_MOST_TEXT: Final = 2**36
_INTEGERS: Final = 1 << kernels.INTEGER
_DOUBLES: Final = 1 << kernels.DOUBLE
_BOOLEANS: Final = 1 << kernels.BOOLEAN
_NATIVE: Final = (_INTEGERS, _DOUBLES, _BOOLEANS)


class Dictionary(Owner[Terms]):
    """Owns the arrays of terms and grows them."""

    def __init__(self, capacity: int = 1024) -> None:
        self._table = Table(capacity)
        super().__init__(
            Terms(
                kind=np.empty(capacity, np.uint8),
                value=np.empty(capacity, np.uint8),
                number=np.empty(capacity, np.int64),
                start=np.empty(capacity, np.int64),
                length=np.empty(capacity, np.int32),
                extra=np.empty(capacity, np.int32),
                text=np.empty(capacity * 16, np.uint8),
                slots=self._table.slots,
                state=np.zeros(kernels.STATE, np.int64),
            )
        )
        self.questions = Questions(self.arrays.state)
        self._ids: dict[Term, int] = {}

    def __len__(self) -> int:
        return int(self.arrays.state[TERMS])

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        a = self.arrays
        columns = (a.kind, a.value, a.number, a.start, a.length, a.extra)
        return (
            len(self) * sum(c.itemsize for c in columns)
            + int(a.state[TEXT])
            + a.slots.nbytes
            + self.questions.nbytes
        )

    def ensure(self, more: int, text: int = 0) -> None:
        """Capacity for `more` terms with `text` bytes in all."""
        a = self.arrays
        count, used = int(a.state[TERMS]) + more, int(a.state[TEXT]) + text
        columns = min(len(a.kind), len(a.value), len(a.number), len(a.start), len(a.length), len(a.extra))
        if count <= columns and used <= len(a.text) and fits(count, len(a.slots)):
            return
        if count > _MOST_TERMS:
            raise MemoryError("the dictionary holds at most 2^31 terms")
        n = len(self)
        a = a._replace(
            kind=resized(a.kind, n, count, _MOST_TERMS),
            value=resized(a.value, n, count, _MOST_TERMS),
            number=resized(a.number, n, count, _MOST_TERMS),
            start=resized(a.start, n, count, _MOST_TERMS),
            length=resized(a.length, n, count, _MOST_TERMS),
            extra=resized(a.extra, n, count, _MOST_TERMS),
            text=resized(a.text, int(a.state[TEXT]), used, _MOST_TEXT),
        )
        if not fits(count, len(a.slots)):
            self._table.grow(count)
            a = a._replace(slots=self._table.slots)
        self.replace(a)

    def truncate(self, length: int) -> None:
        """Forgets every term with an id of `length` or more."""
        kernels.truncate_terms(self.at, length)
        self.questions.forget(few=True)
        self._ids = {term: number for term, number in self._ids.items() if number < length}

    # --- one by one ---------------------------------------------------------------------------------

    def id_of(self, term: Term) -> int:
        """The id of a term, given out if it is new."""
        known = self._ids.get(term)
        if known is None:
            known = self._ids[term] = self._intern(term)
        return known

    def ids_of(self, terms: Iterable[Term]) -> Ids:
        return np.fromiter((self.id_of(t) for t in terms), np.int32)

    def _intern(self, term: Term) -> int:
        match term:
            case Integer(value):
                self.ensure(1)
                return int(kernels.intern_integer(self.at, value))
            case Double(value):
                self.ensure(1)
                return int(kernels.intern_double(self.at, value))
            case Boolean(value):
                self.ensure(1)
                return int(kernels.intern_boolean(self.at, int(value)))
            case IRI(value):
                return self._intern_text(kernels.IRI, -1, value)
            case BlankNode(label):
                return self._intern_text(kernels.BLANK, -1, label)
            case String(value):
                return self._intern_text(kernels.STRING, -1, value)
            case LangString(value, language):
                return self._intern_text(kernels.LANGUAGE, self.id_of(String(language)), value)
            case Literal(lexical, datatype):
                number = self._intern_text(kernels.LITERAL, self.id_of(IRI(datatype)), lexical)
                self._note_value(number, term)
                return number

    def _intern_text(self, kind: int, extra: int, text: str) -> int:
        data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
        self.ensure(1, len(data))
        return int(kernels.intern_text(self.at, kind, extra, data, 0, len(data)))

    def answer_questions(self) -> None:
        """Answers what compiled expressions have asked; see `questions`."""
        self.questions.answer(self.term, self.id_of)

    def refreshed(self, ids: Ids) -> Ids:
        """The ids of terms that come from an earlier version, which gave literals other texts and values."""
        ids = ids.copy()
        for offset in np.flatnonzero(self.arrays.kind[ids] == kernels.LITERAL).tolist():
            term = self.term(int(ids[offset]))
            assert isinstance(term, Literal)
            ids[offset] = self._intern(literal(term.lexical, term.datatype))
        return ids

    def _note_value(self, number: int, term: Literal) -> None:
        """What a typed literal counts as in arithmetic and comparison."""
        self.arrays.value[number], self.arrays.number[number] = value_of_literal(term)

    def term(self, number: int) -> Term:
        """The term of an id."""
        a = self.arrays
        kind, bits = int(a.kind[number]), int(a.number[number])
        if kind == kernels.INTEGER:
            return Integer(bits)
        if kind == kernels.DOUBLE:
            return Double(struct.unpack("<d", struct.pack("<q", bits))[0])
        if kind == kernels.BOOLEAN:
            return Boolean(bool(bits))
        start = int(a.start[number])
        text = a.text[start : start + int(a.length[number])].tobytes().decode("utf-8", "surrogatepass")
        if kind == kernels.IRI:
            return IRI(text)
        if kind == kernels.BLANK:
            return BlankNode(text)
        if kind == kernels.STRING:
            return String(text)
        extra = self.term(int(a.extra[number]))
        if kind == kernels.LANGUAGE:
            assert isinstance(extra, String)
            return LangString(text, extra.value)
        assert isinstance(extra, IRI)
        return Literal(text, extra.value)

    # --- columns in ---------------------------------------------------------------------------------

    def encode(self, column: pa.Array | pa.ChunkedArray, reading: str) -> Ids:
        """The ids of a column without nulls.  `reading`: `native` for int64, double and boolean columns;
        `any`, `ntriples`, `string` or `iri` for text; `ids` for ids themselves."""
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        parts = [self._encode_chunk(chunk, reading) for chunk in chunks if len(chunk)]
        return np.concatenate(parts) if parts else np.empty(0, np.int32)

    def _encode_chunk(self, chunk: pa.Array, reading: str) -> Ids:
        if reading == "ids":
            return _numpy_of(chunk, np.int32)
        ids = np.empty(len(chunk), np.int32)
        if reading == "native":
            if pa.types.is_boolean(chunk.type):
                false, true = self.id_of(Boolean(False)), self.id_of(Boolean(True))
                return np.where(_numpy_of(chunk.cast(pa.int8()), np.int8), true, false).astype(np.int32)
            if pa.types.is_floating(chunk.type):
                doubles = _numpy_of(chunk, np.float64)
                self._in_batches(
                    len(ids), 0, lambda begin: cells_in.encode_doubles(self.at, doubles, begin, ids)
                )
            else:
                integers = _numpy_of(chunk, np.int64)
                self._in_batches(
                    len(ids), 0, lambda begin: cells_in.encode_integers(self.at, integers, begin, ids)
                )
            return ids
        if not pa.types.is_string(chunk.type):
            chunk = chunk.cast(pa.string())
        _, offset_buffer, data_buffer = chunk.buffers()
        offsets = _elements(offset_buffer, np.int32, chunk.offset, len(chunk) + 1)
        data = np.frombuffer(data_buffer or b"", np.uint8)
        slow = np.empty(len(ids), np.int32)
        slow_count = np.zeros(1, np.int64)
        at_once = min(len(ids), cells_in.TEXTS_AT_ONCE)
        longest = int((offsets[at_once:] - offsets[:-at_once]).max())
        mode = _READINGS[reading]
        self._in_batches(
            len(ids),
            longest,
            lambda begin: cells_in.encode_texts(self.at, offsets, data, begin, mode, ids, slow, slow_count),
        )
        if slow_count[0]:
            rows = slow[: slow_count[0]]
            ids[rows] = self._encode_slowly(chunk.take(_arrow_of(rows)))
        return ids

    def encode_spans(self, data: Bytes, cuts: Spans, column: int) -> tuple[Ids, Ids]:
        """The ids of one term of each statement of N-Triples; `cuts` has the bounds of its terms.  Also
        returns the rows whose ids are missing, because compiled code does not read their terms."""
        ids, slow = np.empty(len(cuts), np.int32), np.empty(len(cuts), np.int32)
        slow_count = np.zeros(1, np.int64)
        width = cuts[:, 2 * column + 1] - cuts[:, 2 * column]
        longest = int(width.max(initial=0)) * SPANS_AT_ONCE
        self._in_batches(
            len(ids),
            longest,
            lambda begin: encode_spans(self.at, data, cuts, column, begin, ids, slow, slow_count),
        )
        return ids, slow[: slow_count[0]]

    def _in_batches(self, rows: int, longest: int, kernel: Callable[[int], int]) -> None:
        """Calls a kernel until it has processed all rows; grows the dictionary in between, in proportion to
        the rest."""
        done = 0
        while done < rows:
            now = int(kernel(done))
            if now < rows:
                more = min(rows - now, max(1024, len(self) // 2))
                text = max(longest, int(self.arrays.state[TEXT]) // 2)
                self.ensure(more, text)
            done = now

    def _encode_slowly(self, cells: pa.Array) -> Ids:
        """Cells that only `parse_any` can read: each distinct text once, doubles and dates by Arrow."""
        encoded = cells.dictionary_encode()
        distinct = encoded.dictionary
        numbers = np.empty(len(distinct), np.int32)
        is_double = pc.and_(
            pc.match_substring_regex(distinct, _PLAIN_DOUBLE),
            pc.less_equal(pc.binary_length(distinct), _LENGTH_OF_PLAIN_DOUBLE),
        )
        mask = _numpy_of(is_double.cast(pa.int8()), np.int8).astype(bool)
        if mask.any():
            numbers[mask] = self._encode_chunk(distinct.filter(is_double).cast(pa.float64()), "native")
        for rows, datatype, lexical, value, microseconds in moments_among(distinct):
            numbers[rows] = self._encode_literals(lexical, datatype, value, microseconds)
            mask[rows] = True
        rest = np.flatnonzero(~mask)
        numbers[rest] = self.ids_of(termtext.parse_any(t) for t in distinct.take(_arrow_of(rest)).to_pylist())
        result: Ids = numbers[_numpy_of(encoded.indices, np.int32)]
        return result

    def _encode_literals(self, lexical: pa.Array, datatype: str, value: int, values: Int64s) -> Ids:
        """Literals of one datatype that count as the kind `value`, each with its number."""
        _, offset_buffer, data_buffer = lexical.buffers()
        offsets = _elements(offset_buffer, np.int32, lexical.offset, len(lexical) + 1)
        data = np.frombuffer(data_buffer or b"", np.uint8)
        extra, ids = self.id_of(IRI(datatype)), np.empty(len(lexical), np.int32)
        self.ensure(len(ids), int(offsets[-1] - offsets[0]))
        cells_in.encode_literals(self.at, offsets, data, extra, value, values, ids)
        return ids

    # --- columns out --------------------------------------------------------------------------------

    def decode(self, ids: Ids) -> pa.Array:
        """A column of int64, double or boolean if every term is of that kind, else text of format `any`."""
        ids = np.ascontiguousarray(ids)  # of a delta, a column is a row of a table in the other order
        kinds = self.kinds_among(ids)
        if kinds not in _NATIVE:
            return self.decode_text(ids)
        numbers = np.empty(len(ids), np.int64)
        cells_out.gather_numbers(self.at, ids, numbers)
        if kinds == _BOOLEANS:
            return _arrow_of(numbers).cast(pa.bool_())
        return _arrow_of(numbers.view(np.float64) if kinds == _DOUBLES else numbers)

    def kinds_among(self, ids: Ids) -> int:
        """A bit for each kind of term (`dictionary_kernels`) that occurs."""
        return int(cells_out.kinds_among(self.at, np.ascontiguousarray(ids)))

    def instants(self, ids: Ids) -> Int64s:
        """The points in time that terms are, in microseconds; any number for others."""
        found: Int64s = self.arrays.number[ids]
        return found

    def is_instant(self, ids: Ids) -> Mask:
        """Which terms are dates and times (`value_kinds`)."""
        found: Mask = self.arrays.value[ids] == INSTANT_VALUE
        return found

    def is_iri(self, ids: Ids) -> Mask:
        found: Mask = self.arrays.kind[ids] == kernels.IRI
        return found

    def is_literal(self, ids: Ids) -> Mask:
        """Which terms are neither IRIs nor blank nodes."""
        found: Mask = self.arrays.kind[ids] > kernels.BLANK
        return found

    def is_typed(self, ids: Ids) -> Mask:
        """Which terms are literals with a datatype that are not 64-bit integers, doubles or booleans."""
        found: Mask = self.arrays.kind[ids] == kernels.LITERAL
        return found

    def decode_text(self, ids: Ids, write: Callable[[Term], str] | None = None) -> pa.Array:
        """Text of format `any`, or what `write` makes of every distinct term."""
        ids = np.ascontiguousarray(ids)
        forms, sizes = np.empty(len(ids), np.uint8), np.empty(len(ids), np.int64)
        if write is None:
            cells_out.measure_texts(self.at, ids, forms, sizes)
            write = termtext.format_any
        else:
            forms[:], sizes[:] = cells_out.BY_PYTHON, 0
        rows = np.flatnonzero(forms == cells_out.BY_PYTHON)
        distinct, which = np.unique(ids[rows], return_inverse=True)
        cells = [write(self.term(t)).encode("utf-8", "surrogatepass") for t in distinct.tolist()]
        starts = np.zeros(len(cells) + 1, np.int64)
        np.cumsum([len(c) for c in cells], out=starts[1:])
        sizes[rows] = np.diff(starts)[which]
        offsets, out = self._written(ids, forms, sizes)
        cells_out.place_texts(rows, which, starts, np.frombuffer(b"".join(cells), np.uint8), offsets, out)
        return _arrow_text(offsets, out)

    def contents(self, ids: Ids) -> pa.Array:
        """What strings hold, as it is."""
        ids = np.ascontiguousarray(ids)
        forms = np.full(len(ids), cells_out.RAW, np.uint8)
        return _arrow_text(*self._written(ids, forms, self.arrays.length[ids].astype(np.int64)))

    def _written(self, ids: Ids, forms: Bytes, sizes: Int64s) -> tuple[Int64s, Bytes]:
        """The offsets of the texts, and the texts except those that Python writes."""
        offsets = np.zeros(len(ids) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        out = np.empty(int(offsets[-1]), np.uint8)
        cells_out.write_texts(self.at, ids, forms, offsets, out)
        return offsets, out


def _arrow_text(offsets: Int64s, text: Bytes) -> pa.Array:
    rows = len(offsets) - 1
    if offsets[-1] < 2**31:
        small = offsets.astype(np.int32)
        return pa.StringArray.from_buffers(rows, pa.py_buffer(small), pa.py_buffer(text))
    return pa.LargeStringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(text))


# Arrow's own conversions ask pandas first, where it is installed, and importing that takes longer than a run.


def _numpy_of(array: pa.Array, dtype: type[N]) -> npt.NDArray[N]:
    """The values of a primitive Arrow array without nulls."""
    return _elements(array.buffers()[1], dtype, array.offset, len(array))


def _elements(buffer: pa.Buffer | None, dtype: type[N], begin: int, count: int) -> npt.NDArray[N]:
    """Elements of an Arrow buffer: a view, or a copy if they are not aligned, which Arrow allows and compiled
    code does not."""
    values = np.frombuffer(buffer or b"", dtype, count, begin * np.dtype(dtype).itemsize)
    return values if values.flags.aligned else values.copy()


def _arrow_of(values: npt.NDArray[np.generic]) -> pa.Array:
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(np.ascontiguousarray(values))]
    )
