"""The tables of a grammar are computed once and stored in the cache; parsers from both are the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from lark import Token, Tree

from tidalog.lang.grammar import Grammar
from tidalog.model.errors import Diagnostic, Source

STATEMENT = "path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
WRONG = "path(?x, ?z) :- path(?x ?y) ."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path / "tidalog"


def parsed() -> tuple[Tree[Token], list[str]]:
    grammar, errors = Grammar("main", ("statement", "query")), list[Diagnostic]()
    tree = grammar.parse("statement", STATEMENT, Source("a.rls", STATEMENT), 0, errors)
    assert tree is not None and tree.meta.end_pos == len(STATEMENT)
    assert grammar.parse("statement", WRONG, Source("b.rls", WRONG), 0, errors) is None
    return tree, [error.render() for error in errors]


def test_stored_tables_parse_as_computed_ones_do(folder: Path) -> None:
    computed = parsed()
    (stored,) = folder.iterdir()
    content = stored.read_bytes()
    assert parsed() == computed
    assert stored.read_bytes() == content


@pytest.mark.parametrize("damage", [b"", b"no tables", b"\x80\x04}."])
def test_damaged_tables_are_computed_again(folder: Path, damage: bytes) -> None:
    computed = parsed()
    (stored,) = folder.iterdir()
    stored.write_bytes(damage)
    assert parsed() == computed
    assert len(stored.read_bytes()) > len(damage)


def test_a_folder_that_cannot_be_written_is_done_without(folder: Path) -> None:
    folder.write_text("a file where the folder would be")
    assert parsed() == parsed()
