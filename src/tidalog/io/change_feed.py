"""The change feed: the facts that each update inserted and deleted, as a growing table.

    update,op,predicate,arg1,arg2,kind
    1,+,edge,a,b,explicit
    1,+,path,a,b,implicit

It is an update table (update_tables.py) with one more column, `kind`.  Terms are written in `any` form, so
that reading the feed gives the same facts.  CSV and NDJSON grow with every batch and can be continued later;
a Parquet file appears under its name when it is closed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Protocol, Self

import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.io.diagnostics import NotWritable
from tidalog.io.files import COMPRESSION_ENDINGS, AtomicFile, open_buffer, writing
from tidalog.io.formats import format_named
from tidalog.io.row_text import bytes_of, json_values, needs_quotes, with_quotes
from tidalog.io.text_form import column_text
from tidalog.lang.names import written_name
from tidalog.model.amounts import article
from tidalog.model.errors import DataError

if TYPE_CHECKING:
    import pyarrow.parquet as pq

Kind = Literal["explicit", "implicit", "expired", "rule"]
ADD_RULE, REMOVE_RULE, EMPTY = 2, -2, 3
_SIGNS: Final = {1: "+", -1: "-", ADD_RULE: "+rule", REMOVE_RULE: "-rule", EMPTY: "empty"}
_SLICE: Final = 1 << 18
"""How many rows are formatted at a time."""
_LONGEST_HEADER: Final = 1 << 16
_ROW_GROUP: Final = 1 << 17
"""How many rows are collected before they are written to a Parquet file."""
_MANY: Final = 1 << 10
"""How many tables are collected before they are concatenated."""


@dataclass(frozen=True)
class ChangeBatch:
    """Facts of one predicate that one update inserted (`op` +1) or deleted (-1), all of one kind; or a rule
    that it added (`ADD_RULE`) or removed (`REMOVE_RULE`), with its name as the predicate and its text as the
    argument; or one row without arguments for an evaluation that emitted all answers and had none (`EMPTY`).

    `columns` has one column of `rows` values for each argument: int64, float64, bool, or text in `any`
    form."""

    update: int | str
    op: int
    predicate: str
    kind: Kind
    columns: Sequence[pa.Array | pa.ChunkedArray]
    rows: int

    def __post_init__(self) -> None:
        if self.op not in _SIGNS:
            raise ValueError(f"an operation is one of {', '.join(map(str, _SIGNS))}, not {self.op}")
        if any(len(column) != self.rows for column in self.columns):
            raise ValueError(f"the columns of {self.predicate} do not have {self.rows} rows")

    @property
    def sign(self) -> str:
        return _SIGNS[self.op]

    @property
    def written_predicate(self) -> str:
        """The text that is read back as the predicate, or the name of a rule."""
        return self.predicate if self.kind == "rule" else written_name(self.predicate)

    def slices(self) -> Iterator[tuple[list[pa.ChunkedArray], int]]:
        """Columns of at most `_SLICE` rows, and their number of rows."""
        columns = [_chunked(column) for column in self.columns]
        for start in range(0, self.rows, _SLICE):
            yield [column.slice(start, _SLICE) for column in columns], min(_SLICE, self.rows - start)


def _chunked(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    return chunked.cast(pa.string()) if pa.types.is_large_string(chunked.type) else chunked


class _Form(Protocol):
    """The writer of one format."""

    def write(self, batch: ChangeBatch) -> None: ...

    def close(self) -> None: ...

    def abandon(self) -> None: ...


class ChangeFeedWriter:
    """Writes batches to a CSV (TSV), NDJSON or Parquet file; its ending or `format` selects the format.

    `arguments` is the largest number of arguments that a fact can have: CSV and Parquet have that many
    columns in every row.  With `append` an existing CSV or NDJSON file is continued.  Leaving a `with` block
    closes the file; on an exception a Parquet file is discarded, and the others keep what was written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        arguments: int,
        format: str | None = None,
        *,
        append: bool = False,
    ) -> None:
        self.path: Final = Path(path)
        self.arguments: Final = arguments
        kind = format_named(format, self.path)
        with writing(self.path):
            if kind.name == "parquet" and not append:
                self._form: _Form = _Parquet(self.path, arguments)
            elif kind.name == "ndjson":
                self._form = _JsonLines(self.path, append)
            elif kind.delimiter is not None:
                self._form = _Delimited(self.path, arguments, kind.delimiter, append)
            elif append:
                raise _refusal(self.path, f"{kind.name} files cannot be continued", "write to a new file")
            else:
                why = f"a change feed is not {article(kind.name)} file"
                raise _refusal(self.path, why, "write csv, ndjson or parquet")

    def write(self, batch: ChangeBatch) -> None:
        """Adds the rows of a batch."""
        if len(batch.columns) > self.arguments and not isinstance(self._form, _JsonLines):
            raise ValueError(
                f"{batch.predicate} has {len(batch.columns)} arguments, the feed {self.arguments}"
            )
        if batch.rows == 0:
            return
        with writing(self.path):
            self._form.write(batch)

    def close(self) -> None:
        """Closes the file; calling it again does nothing."""
        with writing(self.path):
            self._form.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            with suppress(OSError):
                self._form.abandon()


def _refusal(path: Path, why: str, hint: str) -> DataError:
    return DataError(NotWritable(path=path, why=why, hint=hint))


def write_change_feed(
    batches: Iterable[ChangeBatch],
    path: str | os.PathLike[str],
    arguments: int,
    format: str | None = None,
    *,
    append: bool = False,
) -> None:
    """Writes batches to a file, and closes it."""
    with ChangeFeedWriter(path, arguments, format, append=append) as writer:
        for batch in batches:
            writer.write(batch)


# --- text ---------------------------------------------------------------------------------------------------


class _TextFile:
    """A file that grows: others can read what was written after each batch.

    `first_line` is that of a file that is continued.  A last line without a line end gets one."""

    def __init__(self, path: Path, append: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        codec = COMPRESSION_ENDINGS.get(path.suffix.lower())
        continued = append and path.exists() and path.stat().st_size > 0
        if continued:
            content = open_buffer(path, None)
            self.first_line = (
                content.slice(0, min(_LONGEST_HEADER, content.size)).to_pybytes().split(b"\n")[0]
            )
            whole_lines = content.size == 0 or content.slice(content.size - 1).to_pybytes() == b"\n"
        else:
            self.first_line, whole_lines = b"", True
        self._file = open(path, "ab" if append else "wb")  # noqa: SIM115 - closed by close
        self._stream = pa.CompressedOutputStream(self._file, codec) if codec else self._file
        if not whole_lines:
            self._stream.write(b"\n")

    def put(self, lines: pa.ChunkedArray) -> None:
        """Appends lines of text."""
        for piece in bytes_of(lines):
            self._stream.write(piece)

    def flush(self) -> None:
        self._stream.flush()
        self._file.flush()

    def close(self) -> None:
        self._stream.close()
        self._file.close()

    abandon = close


class _Delimited(_TextFile):
    def __init__(self, path: Path, arguments: int, delimiter: str, append: bool) -> None:
        super().__init__(path, append)
        self._arguments = arguments
        self._delimiter = delimiter
        header = delimiter.join(["update", "op", "predicate", *_argument_names(arguments), "kind"]).encode()
        if not self.first_line:
            self._stream.write(header + b"\n")
            self.flush()
        elif self.first_line.rstrip(b"\r") != header:
            self.close()
            hint = f"they would have to be {header.decode()}"
            raise _refusal(path, "the existing file has other columns", hint)

    def write(self, batch: ChangeBatch) -> None:
        first = [str(batch.update), batch.sign, batch.written_predicate]
        before = self._delimiter.join(_quoted(field, self._delimiter) for field in first)
        ending = self._delimiter * (self._arguments - len(batch.columns) + 1) + batch.kind + "\n"
        for columns, rows in batch.slices():
            line: pa.ChunkedArray = pa.chunked_array([pa.repeat(before, rows)])
            for column in columns:
                line = pc.binary_join_element_wise(line, self._fields(column), self._delimiter)
            self.put(pc.binary_join_element_wise(line, ending, ""))
        self.flush()

    def _fields(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Fields, in quotes if necessary.  An empty field means a missing argument, so the empty text is
        written as a literal."""
        text = column_text(column)
        text = pc.if_else(pc.equal(text, ""), '""', text)
        return with_quotes(text, needs_quotes(text, self._delimiter))


def _quoted(field: str, delimiter: str) -> str:
    special = any(character in field for character in ('"', "\r", "\n", delimiter))
    return '"' + field.replace('"', '""') + '"' if special else field


class _JsonLines(_TextFile):
    def write(self, batch: ChangeBatch) -> None:
        first = {"update": batch.update, "op": batch.sign, "predicate": batch.written_predicate}
        before = json.dumps(first, ensure_ascii=False, separators=(",", ":"))[:-1]
        ending = f',"kind":"{batch.kind}"}}\n'
        names = _argument_names(len(batch.columns))
        for columns, rows in batch.slices():
            line: pa.ChunkedArray = pa.chunked_array([pa.repeat(before, rows)])
            for name, column in zip(names, columns, strict=True):
                line = pc.binary_join_element_wise(line, f',"{name}":', json_values(column), "")
            self.put(pc.binary_join_element_wise(line, ending, ""))
        self.flush()


def _argument_names(count: int) -> list[str]:
    return [f"arg{number}" for number in range(1, count + 1)]


# --- Parquet ------------------------------------------------------------------------------------------------


class _Parquet:
    """Collects rows until they fill a row group.  Labels are integers if the first one is."""

    def __init__(self, path: Path, arguments: int) -> None:
        self._arguments = arguments
        self._file = AtomicFile(path)
        self._writer: pq.ParquetWriter | None = None
        self._schema = self._schema_for(0)
        self._waiting: list[pa.Table] = []
        self._rows = 0
        self._open = True

    def _schema_for(self, label: int | str) -> pa.Schema:
        text = pa.string()
        labels = pa.int64() if isinstance(label, int) else text
        arguments = [(name, text) for name in _argument_names(self._arguments)]
        return pa.schema([("update", labels), ("op", text), ("predicate", text), *arguments, ("kind", text)])

    def write(self, batch: ChangeBatch) -> None:
        if self._writer is None:
            self._schema = self._schema_for(batch.update)
            self._writer = self._new_writer()
        whole = pa.types.is_integer(self._schema.field("update").type)
        if whole != isinstance(batch.update, int):
            raise ValueError("the labels of a feed are all integers or all text")
        missing = [pa.nulls(batch.rows, pa.string())] * (self._arguments - len(batch.columns))
        repeated = [
            pa.repeat(pa.scalar(batch.update, self._schema.field("update").type), batch.rows),
            pa.repeat(batch.sign, batch.rows),
            pa.repeat(batch.written_predicate, batch.rows),
        ]
        columns = [column_text(_chunked(column)) for column in batch.columns]
        kind = pa.repeat(batch.kind, batch.rows)
        self._waiting.append(pa.table([*repeated, *columns, *missing, kind], schema=self._schema))
        self._rows += batch.rows
        if self._rows >= _ROW_GROUP:
            self._write_waiting()
        elif len(self._waiting) >= _MANY:
            self._waiting = [pa.concat_tables(self._waiting).combine_chunks()]

    def _new_writer(self) -> pq.ParquetWriter:
        import pyarrow.parquet as pq

        return pq.ParquetWriter(self._file.stream, self._schema, compression="zstd")

    def _write_waiting(self) -> None:
        if self._writer is not None and self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting).combine_chunks())
            self._waiting, self._rows = [], 0

    def close(self) -> None:
        if not self._open:
            return
        self._open = False
        if self._writer is None:
            self._writer = self._new_writer()
        self._write_waiting()
        self._writer.close()
        self._file.commit()

    def abandon(self) -> None:
        self._open = False
        if self._writer is not None:
            self._writer.close()
        self._file.abandon()
