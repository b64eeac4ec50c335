"""`tidalog stream --key` as a person runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from keyed_oracle import in_batches, random_rows
from keyed_workspace import KEYS, POOL, PROGRAM, KeyedWorkspace

from tidalog.cli.app import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_folder_of_many_keys_becomes_a_feed_with_keys(spark: SparkSession, tmp_path: Path) -> None:
    """Also if it goes on with another number of buckets."""
    workspace = KeyedWorkspace(spark, tmp_path)
    batches = in_batches(random_rows(POOL, 31, KEYS, 60), 31, 3)
    (tmp_path / "rules.rls").write_text(PROGRAM)
    for buckets, fresh in ((3, batches[:2]), (2, batches[2:])):
        workspace.write(fresh)
        totals = streamed(tmp_path, buckets)
        assert totals["applied"] + totals["refused"] == sum(map(len, fresh))
        workspace.check()


def streamed(folder: Path, buckets: int) -> dict[str, int]:
    command = (
        f"stream rules.rls in --key farm --buckets {buckets} --checkpoint checkpoint --changes feed "
        "--quarantine quarantine --idle-advance 1h --trigger available-now --master local[2] --json"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "tidalog", *command.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    totals: dict[str, int] = json.loads(ended.stdout)["totals"]
    return totals


@pytest.mark.parametrize(
    "options",
    [
        "--key farm --store s",
        "--ttl 3",
        "--key farm --materialised m",
        "--buckets 2",
    ],
)
def test_options_that_do_not_go_together_are_refused(
    options: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rules.rls"
    path.write_text(PROGRAM)
    assert run(["stream", str(path), str(tmp_path), *options.split()]) == 2
    assert "--key" in capsys.readouterr().err
