"""A step is the same wherever it is done, and nobody does one of another content than was asked for."""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import pyarrow as pa
import pytest
from keyed_oracle import row, setting_for, table_of, told_by

from tidalog.keyed.bucket import Bucket
from tidalog.keyed.engines import ENGINES, Asked, Kept, Step, advance
from tidalog.keyed.packing import BAD, arrow_stream, unpacked_rows
from tidalog.lang import parse
from tidalog.model.program import Fact
from tidalog.model.terms import IRI
from tidalog.spark.keyed import worker_rpc as homes

PROGRAM = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
QUERY, NUMBER = "query", 3


def batch(label: int, *edges: str) -> list[bytes]:
    table = table_of([row("k", label, "+", Fact("edge", tuple(map(IRI, edge)))) for edge in edges], 2)
    return [arrow_stream(table.append_column(BAD, pa.nulls(len(edges), pa.string())))]


FIRST = Asked(QUERY, NUMBER, b"", 0, 0, batch(1, "ab"))


def home(said: Connection) -> None:
    """A process that has had the first batch, and keeps the engine until it is told to end."""
    kept = Kept(Bucket(setting_for(parse(PROGRAM))))
    with ENGINES.lock:
        step = advance(kept, FIRST)
        ENGINES.put(QUERY, NUMBER, kept)
    homes.settle(QUERY, NUMBER)
    said.send_bytes(step.token)
    said.recv_bytes()


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """With a short name, for it is that of sockets."""
    path = Path(tempfile.mkdtemp(prefix="t"))
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(path))
    yield path
    shutil.rmtree(path)


@contextmanager
def at_home() -> Iterator[tuple[bytes, multiprocessing.process.BaseProcess]]:
    """The token of the content that another process has."""
    context = multiprocessing.get_context("spawn")
    said, other = context.Pipe()
    process = context.Process(target=home, args=(other,), daemon=True)
    process.start()
    assert said.poll(240)
    yield said.recv_bytes(), process
    process.kill()
    process.join()


def told(step: Step) -> list[tuple[object, ...]]:
    return sorted(told_by(unpacked_rows(step.changes), 2))


def test_a_step_elsewhere_is_the_step_here(folder: Path) -> None:
    here = Kept(Bucket(setting_for(parse(PROGRAM))))
    advance(here, FIRST)
    with at_home() as (token, _):
        for label, edges in ((2, ["bc", "cd"]), (3, ["de"])):
            asked = Asked(QUERY, NUMBER, token, 0, 0, batch(label, *edges))
            there = homes.ask(asked)
            assert there is not None
            mine = advance(here, asked)
            assert told(there) == told(mine)
            assert (there.counts, there.holds, len(there.record)) == (mine.counts, True, len(mine.record))
            assert there.token not in (token, mine.token)
            token = there.token


def test_nobody_answers_for_another_content_and_an_engine_asked_for_one_is_gone(
    folder: Path,
) -> None:
    with at_home() as (token, _):
        asked = Asked(QUERY, NUMBER, b"something", 0, 0, batch(2, "bc"))
        assert homes.ask(asked) is None
        assert homes.ask(replace(asked, token=token)) is None


def test_a_home_that_cannot_do_the_step_says_nothing(folder: Path) -> None:
    with at_home() as (token, _):
        assert homes.ask(Asked(QUERY, NUMBER, token, 0, 0, [b"no Arrow"])) is None


def test_a_home_that_is_dead_is_passed_over(folder: Path) -> None:
    with at_home() as (token, process):
        process.kill()
        process.join()
        assert homes.ask(Asked(QUERY, NUMBER, token, 0, 0, batch(2, "bc"))) is None


def test_without_folders_of_spark_there_are_no_homes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    assert homes.ask(Asked(QUERY, NUMBER, b"token", 0, 0, batch(2, "bc"))) is None
