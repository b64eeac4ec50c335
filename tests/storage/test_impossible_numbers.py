"""Data with a right checksum and numbers that were never written is damage with an error number: compiled
code does not see them, and nothing is half opened."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from stored import State, state

import tidalog
from tidalog.engine.dictionary_kernels import BLANK, LANGUAGE, LITERAL, STRING
from tidalog.storage import records
from tidalog.storage.frames import Frames, framed
from tidalog.storage.manifest import File, read_manifest


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, State]:
    """A store with a snapshot, which the whole log can replace."""
    path = tmp_path_factory.mktemp("made") / "s.tidalog"
    with tidalog.open(path) as kb:
        kb.load(
            "path(?x, ?y) :- edge(?x, ?y). path(?x, ?z) :- path(?x, ?y), edge(?y, ?z). "
            'edge("a"@en, "b"^^<http://example.org/t>). edge(1, 2.5). edge(true, <http://example.org/x>). on.'
        )
        kb.apply(tidalog.Update().insert("edge", [("x", "y"), (2.5, "x")]).delete("edge", [(1, 2.5)]))
        kb.snapshot()
        kb.apply(tidalog.Update().insert("edge", [("y", "z"), ("z", 3)]))
        held = state(kb)
    return path, held


@pytest.fixture
def copy(made: tuple[Path, State], tmp_path: Path) -> Path:
    return shutil.copytree(made[0], tmp_path / "copy.tidalog")


def opened(store: Path) -> State:
    with tidalog.open(store, read_only=True) as kb:
        return state(kb)


# --- the log ------------------------------------------------------------------------------------------------

Change = Callable[[dict[str, object], dict[str, np.ndarray]], None]
ABSURD = (-(2**31), -2, -1, 2**16, 2**31 - 1)


def absurd_arrays() -> Iterator[tuple[str, Change]]:
    """One number of one array is another, or an array has another length or type."""
    arrays = ("groups", "arguments", "term_kind", "term_value", "term_length", "term_extra", "term_text")
    for name in arrays:
        for how, change in (
            ("shorter", lambda a: a[:-1]),
            ("longer", lambda a: np.append(a, a[-1:])),
            ("of doubles", lambda a: a.astype(np.float64)),
        ):
            yield f"{name} {how}", lambda h, a, name=name, change=change: a.update({name: change(a[name])})
    for name, positions in (("groups", 5), ("arguments", 1), ("term_length", 1), ("term_extra", 1)):
        for position in range(positions):
            for number in ABSURD:
                if (name, number) != ("term_extra", -1):
                    yield f"{name}[{position}] = {number}", putting(name, position, number)
    yield "a text that is not UTF-8", putting("term_text", 0, 0xFF)
    for name in ("term_kind", "term_value"):
        yield f"{name} = 200", putting(name, 0, 200)


def putting(name: str, position: int, number: int) -> Change:
    def change(header: dict[str, object], arrays: dict[str, np.ndarray]) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name][position] = number

    return change


def absurd_headers() -> Iterator[tuple[str, Change]]:
    for name, value in (
        ("labels", [[]]),
        ("predicates", [1]),
        ("predicates", []),
        ("rules", [[[["p(?x) :- q(?x).", 1]], []]]),
        ("rules", [1]),
        ("number", 10**15),
        ("number", -5),
        ("source", 3),
    ):
        yield f"{name} = {value}", lambda h, a, name=name, value=value: h.update({name: value})


def rewritten(store: Path, kind: str, change: Change) -> int:
    """Changes the last record of a kind; gives where it begins."""
    log = store / read_manifest(store).segments[-1]
    whole = log.read_bytes()
    frames = [
        (frame.start, frame.end, records.unpacked(frame.payload)) for frame in Frames(memoryview(whole))
    ]
    start, end, record = [one for one in frames if one[2].kind == kind][-1]
    header, arrays = dict(record.header), dict(record.arrays)
    change(header, arrays)
    log.write_bytes(whole[:start] + framed(records.packed(header, arrays)) + whole[end:])
    return start


@pytest.mark.parametrize(("what", "change"), [*absurd_arrays(), *absurd_headers()])
def test_a_record_with_impossible_numbers_is_damage_at_its_offset(
    copy: Path, what: str, change: Change
) -> None:
    start = rewritten(copy, records.UPDATES, change)
    for options in ({"read_only": True}, {}):
        with pytest.raises(tidalog.StoreError) as error:
            tidalog.open(copy, **options)  # type: ignore[call-overload]
        (found,) = error.value.diagnostics
        assert found.number == "T093", str(error.value)
        assert f"byte {start:,}" in str(error.value)


@pytest.mark.parametrize("kind", [LITERAL, LANGUAGE])
def test_a_record_whose_literal_has_another_term_for_its_type_is_damage_at_its_offset(
    copy: Path, kind: int
) -> None:
    """The type of a literal is an IRI, its language a string."""

    def change(header: dict[str, object], arrays: dict[str, np.ndarray]) -> None:
        kinds, extras = arrays["term_kind"].copy(), arrays["term_extra"].copy()
        literal = int(np.flatnonzero(kinds == STRING)[-1])
        assert literal > 0
        kinds[0], kinds[literal], extras[literal] = BLANK, kind, 0
        arrays.update({"term_kind": kinds, "term_extra": extras})

    start = rewritten(copy, records.UPDATES, change)
    with pytest.raises(tidalog.StoreError) as error:
        opened(copy)
    assert error.value.diagnostics[0].number == "T093"
    assert f"byte {start:,}" in str(error.value)


@pytest.mark.parametrize("last", [10**15, -1])
def test_an_outcome_of_a_change_that_is_not_there_is_damage(copy: Path, last: int) -> None:
    rewritten(copy, records.DONE, lambda header, _: header.update({"number": last}))
    with pytest.raises(tidalog.StoreError) as error:
        tidalog.open(copy)
    assert error.value.diagnostics[0].number == "T093"


# --- snapshots ----------------------------------------------------------------------------------------------


def columns_changed(store: Path, file: str, change: Callable[[dict[str, pa.Array]], None]) -> None:
    """Changes the columns of the newest snapshot, with the checksums that belong to them."""
    folder = store / read_manifest(store).snapshots[0].folder
    with pa.ipc.open_file(folder / file) as reader:
        batch = reader.get_batch(0)
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    change(columns)
    batch = pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
    with pa.ipc.new_file(folder / file, batch.schema) as writer:
        writer.write_batch(batch)
    checksums_follow(store)


def checksums_follow(store: Path) -> None:
    manifest = read_manifest(store)
    entry = manifest.snapshots[0]
    contents = [(file.name, (store / entry.folder / file.name).read_bytes()) for file in entry.files]
    files = tuple(File(name, len(content), zlib.crc32(content)) for name, content in contents)
    replace(manifest, snapshots=(replace(entry, files=files), *manifest.snapshots[1:])).write(store)


COLUMNS = [
    *(("terms.arrow", "kind", number) for number in (8, 255)),
    *(("terms.arrow", "value", number) for number in (15, 255)),
    *(("terms.arrow", "extra", number) for number in (-2, -1, 10**6, -(2**31))),
    *(("facts.arrow", "relation", number) for number in (-1, 10**6, -(2**31))),
    *(("arguments.arrow", "term", number) for number in (-1, 10**6, -(2**31))),
]


@pytest.mark.parametrize(("file", "column", "number"), COLUMNS)
def test_a_snapshot_with_impossible_numbers_is_made_good_by_the_log(
    made: tuple[Path, State], copy: Path, file: str, column: str, number: int
) -> None:
    """The last entry that can be wrong: the extra of a literal, not that of a name."""

    def change(columns: dict[str, pa.Array]) -> None:
        values = columns[column].to_numpy().copy()
        position = int(np.flatnonzero(values >= 0)[-1]) if column == "extra" else len(values) - 1
        values[position] = number
        columns[column] = pa.array(values)

    columns_changed(copy, file, change)
    with tidalog.open(copy) as kb:
        assert state(kb) == made[1]
        assert file in kb.recovery.damaged[0]
        assert "T094" in kb.recovery.damaged[0]


@pytest.mark.parametrize("kind", [LITERAL, LANGUAGE])
def test_a_snapshot_whose_literal_has_another_term_for_its_type_is_made_good_by_the_log(
    made: tuple[Path, State], copy: Path, kind: int
) -> None:
    def change(columns: dict[str, pa.Array]) -> None:
        kinds, extras = columns["kind"].to_numpy().copy(), columns["extra"].to_numpy()
        kinds[extras[np.flatnonzero(kinds == kind)[-1]]] = BLANK
        columns["kind"] = pa.array(kinds)

    columns_changed(copy, "terms.arrow", change)
    with tidalog.open(copy) as kb:
        assert state(kb) == made[1]
        assert "T094" in kb.recovery.damaged[0]


@pytest.mark.parametrize(
    "texts", [(b"\xff", b"x"), (b"\xc3", b"\xa4")], ids=["a byte", "a character cut in two"]
)
def test_a_snapshot_with_text_that_is_not_utf_8_is_made_good_by_the_log(
    made: tuple[Path, State], copy: Path, texts: tuple[bytes, bytes]
) -> None:
    def change(columns: dict[str, pa.Array]) -> None:
        strings = columns["text"].to_pylist()
        last = [row for row, text in enumerate(strings) if text][-2:]
        for row, text in zip(last, texts, strict=True):
            strings[row] = text
        columns["text"] = pa.array(strings, pa.large_binary())

    columns_changed(copy, "terms.arrow", change)
    with tidalog.open(copy) as kb:
        assert state(kb) == made[1]
        assert "T094" in kb.recovery.damaged[0]


@pytest.mark.parametrize("file", ["terms.arrow", "facts.arrow", "arguments.arrow"])
@pytest.mark.parametrize("how", ["missing", "shorter", "of another type", "with nulls"])
def test_a_snapshot_with_another_table_is_made_good_by_the_log(
    made: tuple[Path, State], copy: Path, file: str, how: str
) -> None:
    def change(columns: dict[str, pa.Array]) -> None:
        if how == "shorter":
            columns.update({name: values.slice(0, len(values) - 1) for name, values in columns.items()})
            return
        name = next(iter(columns))
        values = columns.pop(name)
        if how == "of another type":
            columns[name] = values.cast(pa.int16())
        elif how == "with nulls":
            columns[name] = pa.array([None, *values.to_pylist()[1:]], values.type)

    columns_changed(copy, file, change)
    with tidalog.open(copy) as kb:
        assert state(kb) == made[1]
        assert "T094" in kb.recovery.damaged[0]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("parameters", {"limit": 10**6}),
        ("parameters", {"limit": -1}),
        ("parameters", {"limit": "x"}),
        ("witnesses", [1]),
        ("triples", {}),
        ("run", {"unknown": 1}),
        ("sources", {"s": {}}),
        ("relations", [["edge", 10**9]]),
        ("relations", [["edge", 2], ["edge", 2]]),
        ("relations", [1]),
    ],
)
def test_fields_of_a_snapshot_with_impossible_content_are_damage(
    made: tuple[Path, State], copy: Path, field: str, value: object
) -> None:
    path = copy / read_manifest(copy).snapshots[0].folder / "meta.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    checksums_follow(copy)
    try:
        with tidalog.open(copy) as kb:
            assert state(kb) == made[1]
            assert "T094" in kb.recovery.damaged[0]
    except tidalog.StoreError as error:
        assert error.diagnostics[0].number == "T094"


def test_a_manifest_with_impossible_content_is_damage(copy: Path) -> None:
    manifest = read_manifest(copy)
    entry = manifest.snapshots[0]
    for wrong in (replace(entry, offset=-1), replace(entry, segment="none"), replace(entry, number=-1)):
        replace(manifest, snapshots=(wrong,)).write(copy)
        with pytest.raises(tidalog.StoreError) as error:
            opened(copy)
        assert error.value.diagnostics[0].number == "T094"
