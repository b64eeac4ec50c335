"""The pages about Spark run as printed, like the others (see test_docs.py), in the shared session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doc_pages import ON_SPARK, Page

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def folder(
    spark: SparkSession, spark_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The current folder, empty.  Commands and code use the shared session and leave no query running.

    Spark's processes are in this folder, so it stays; what is in it is moved away."""
    for path in spark_folder.iterdir():
        path.rename(tmp_path / path.name)
    monkeypatch.chdir(spark_folder)
    monkeypatch.setattr(type(spark), "stop", lambda session: None)
    yield spark_folder
    for query in spark.streams.active:
        query.stop()


@pytest.mark.parametrize("page", ON_SPARK)
def test_every_block_of_a_page_works_as_printed(page: str, folder: Path) -> None:
    Page(page, folder).run()
