"""The checkpoint of a keyed stream: a note with everything its state depends on, and Spark's own files.

Another number of buckets starts a new generation in a folder of its own: keys are resharded and the source is
read from its start; applied updates are recognised by their labels.  The old generation does not change, and
the note names the new one only once it is complete.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidalog.keyed.config import BucketConfig
from tidalog.keyed.diagnostics import BucketsFixed, NoKeyedState, StateOfAnotherProgram
from tidalog.spark.checkpoints import read_checkpoint
from tidalog.spark.diagnostics import SparkError
from tidalog.spark.keyed.clock import copy_clock
from tidalog.storage.manifest import FORMAT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NOTE: Final = "tidalog-keyed.json"
_RESHARDED: Final = "tidalog-dealt"
_FORMAT: Final = f"{FORMAT}:"
"""Stands before the digest of a program; earlier formats had nothing there."""


@dataclass(frozen=True)
class Note:
    program: str
    """The format of the state and the digest of the program."""
    key: str
    labels: str | None
    buckets: int
    generation: str = ""
    """The folder of Spark's files, within the checkpoint."""
    first: int = 0
    """The number of its first batch; earlier generations have smaller ones."""


def read_note(checkpoint: Path) -> Note | None:
    try:
        return Note(**json.loads((checkpoint / _NOTE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def note_of(checkpoint: Path) -> Note:
    """Raises `SparkError` (T123, T124)."""
    found = read_note(checkpoint)
    if found is None:
        why = "no keyed stream was started with it"
        raise SparkError(NoKeyedState(path=checkpoint, why=why))
    _check_format(checkpoint, found)
    return found


def _check_format(checkpoint: Path, note: Note) -> None:
    if not note.program.startswith(_FORMAT):
        why = f"{checkpoint} is of an earlier format, in which a bare name was an IRI; it is a string now"
        raise SparkError(StateOfAnotherProgram(why=why))


def resharded_keys(checkpoint: Path, note: Note) -> Path | None:
    """The initial keys of a generation, if it is not the first."""
    folder = checkpoint / note.generation / _RESHARDED
    return folder if note.generation and folder.exists() else None


def checked_note(spark: SparkSession, checkpoint: Path, config: BucketConfig, key: str) -> Note:
    """The note of a stream with this config: the one in the checkpoint, or that of a new generation.

    Raises `SparkError` if the state is that of another program (T123), or if keys cannot change their buckets
    (T125).
    """
    digest = _FORMAT + replace(config, buckets=1).digest
    new = Note(digest, key, config.labels, config.buckets)
    found = read_note(checkpoint)
    if found is None:
        checkpoint.mkdir(parents=True, exist_ok=True)
        return _written(checkpoint, new)
    _check_format(checkpoint, found)
    differs = [name for name in ("program", "key", "labels") if getattr(found, name) != getattr(new, name)]
    if differs:
        raise SparkError(StateOfAnotherProgram(why=f"{checkpoint} differs in {' and '.join(differs)}"))
    if found.buckets == config.buckets:
        return found
    if config.labels is None:
        raise SparkError(BucketsFixed(path=checkpoint, buckets=found.buckets, asked=config.buckets))
    return _new_generation(spark, checkpoint, found, config.buckets)


def _new_generation(spark: SparkSession, checkpoint: Path, old: Note, buckets: int) -> Note:
    from tidalog.spark.keyed.resharding import reshard

    committed = read_checkpoint(checkpoint / old.generation).committed
    first = old.first + committed + 1
    name = f"generation-{first:09d}-{buckets}"
    shutil.rmtree(checkpoint / name, ignore_errors=True)  # left by a run that ended here
    (checkpoint / name).mkdir()
    copy_clock(checkpoint / old.generation, checkpoint / name)
    if committed >= 0:
        reshard(spark, checkpoint, checkpoint / name / _RESHARDED, buckets)
    return _written(checkpoint, Note(old.program, old.key, old.labels, buckets, name, first))


def _written(checkpoint: Path, note: Note) -> Note:
    part = checkpoint / f"{_NOTE}.part"
    part.write_text(json.dumps(asdict(note)), encoding="utf-8")
    part.replace(checkpoint / _NOTE)
    return note
