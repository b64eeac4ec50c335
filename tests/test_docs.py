"""Every code block of README.md and docs/ runs as printed, from a fresh folder (see `doc_pages`).

Pages that need Spark are run in tests/spark/test_spark_docs.py, with the shared session.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tidalog
from doc_pages import ON_SPARK, PAGES, ROOT, Block, Page, blocks_of, messages, steady

BLOCKS = [block for page in PAGES for block in blocks_of(page)]
NOT_RUN = 2
"""Blocks that cannot run here: one needs a Kafka broker, one is written by a script."""
HIDDEN = 0
"""Files that pages take for granted: a new user has to guess them."""


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ON_SPARK])
def test_every_block_of_a_page_works_as_printed(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Page(page, tmp_path).run()


@pytest.mark.parametrize(
    "block",
    [
        block
        for block in BLOCKS
        if block.page == "docs/errors.md" and block.language in ("prolog", "upd") and not block.file
    ],
    ids=lambda block: block.heading,
)
def test_the_example_of_an_error_gives_that_error(block: Block) -> None:
    assert block.heading in messages(block)


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    skipped = [f"{block.where}: {block.not_run}" for block in BLOCKS if block.not_run]
    assert len(skipped) <= NOT_RUN, "\n".join(skipped)


def test_users_need_no_module_of_the_package_but_tidalog_and_tidalog_spark() -> None:
    code = "\n".join(block.text for block in BLOCKS if block.language == "python")
    imported = re.findall(r"^\s*(?:from|import) (tidalog\S*)", code, re.MULTILINE)
    assert set(imported) == {"tidalog", "tidalog.spark"}
    named = set(re.findall(r"(?<![\w.])tidalog\.(\w+)", code))
    assert {"open", "Update", "parse_file"} <= named <= {*tidalog.__all__, "spark"}
    assert all(getattr(tidalog, name) is not None for name in tidalog.__all__)


def test_few_files_are_hidden() -> None:
    hidden = [f"{block.where}: {block.file}" for block in BLOCKS if not block.language]
    assert len(hidden) <= HIDDEN, "\n".join(hidden)


@pytest.mark.parametrize("page", PAGES)
def test_commands_stand_in_blocks_that_are_run(page: str) -> None:
    lines = (ROOT / page).read_text().splitlines()
    assert [line for line in lines if line.startswith(("    tidalog ", "    $ tidalog "))] == []


def test_only_times_rates_and_memory_may_differ() -> None:
    assert steady("2 rows, 3 facts, 0.12 s, 1.2 k facts/s, 12 ms, 3.1 MB") == (
        "2 rows, 3 facts, N unit, N unit, N unit, N unit"
    )
