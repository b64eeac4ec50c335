"""Every door that takes the name of a predicate reads it alike: known prefixes, IRIs, unknown prefixes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tidalog
from tidalog import IRI, TidalogError, Update
from tidalog.api.knowledge_base import KnowledgeBase
from tidalog.lang.names import full_name, has_unknown_prefix, written_name

PROGRAM = """@prefix ex: <http://e/> .
q(?x) :- ex:p(?x, ?y) .
<foo:r>(1, 2, 3) .
"""
ROW = [(IRI("http://e/a"), 1)]
NAMES = ("ex:p", "<http://e/p>", "http://e/p")


def by_insert(kb: KnowledgeBase, name: str) -> None:
    kb.insert(name, ROW)


def by_update(kb: KnowledgeBase, name: str) -> None:
    kb.apply(Update(insertions={name: ROW}))


def by_open_update(kb: KnowledgeBase, name: str) -> None:
    with kb.update() as update:
        update.insert(name, ROW)


def by_table(kb: KnowledgeBase, name: str) -> None:
    path = Path("u.csv")
    path.write_text(f"op,predicate,arg1,arg2\n+,{name},<http://e/a>,1\n")
    for update in kb.read_updates(path):
        kb.apply(update)


def by_script(kb: KnowledgeBase, name: str) -> None:
    path = Path("u.upd")
    written = f"<{name}>" if name.startswith("http:") else name
    path.write_text(f"+{written}(<http://e/a>, 1).\n")
    for update in kb.read_updates(path):
        kb.apply(update)


def by_deletion(kb: KnowledgeBase, name: str) -> None:
    kb.insert("ex:p", [*ROW, (IRI("http://e/a"), 2)])
    assert kb.delete(name, [(IRI("http://e/a"), 2)]) == 1


WRITERS: list[Callable[[KnowledgeBase, str], None]] = [
    by_insert,
    by_update,
    by_open_update,
    by_table,
    by_script,
    by_deletion,
]


def by_delta(kb: KnowledgeBase, name: str) -> int:
    kb.materialise()
    return len(kb.apply(Update(deletions={"ex:p": ROW}))[name].deleted)


def by_subscription(kb: KnowledgeBase, name: str) -> int:
    kb.materialise()
    seen: list[int] = []
    kb.subscribe(name, lambda change: seen.append(len(change.deleted)))
    kb.delete("ex:p", ROW)
    return sum(seen)


def by_export(kb: KnowledgeBase, name: str) -> int:
    kb.export(name, Path("out.csv"))
    return len(Path("out.csv").read_text().splitlines())


READERS: list[Callable[[KnowledgeBase, str], int]] = [
    lambda kb, name: len(kb.facts(name)),
    lambda kb, name: kb.count(name),
    by_delta,
    by_subscription,
    by_export,
]


@pytest.fixture
def kb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KnowledgeBase:
    monkeypatch.chdir(tmp_path)
    kb = tidalog.open()
    kb.load(PROGRAM)
    return kb


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("write", WRITERS)
def test_every_door_in_expands_a_known_prefix(
    kb: KnowledgeBase, write: Callable[[KnowledgeBase, str], None], name: str
) -> None:
    write(kb, name)
    assert kb.facts("http://e/p").to_terms() == [(IRI("http://e/a"), tidalog.Integer(1))]
    assert set(kb.predicates) == {"http://e/p", "foo:r", "q"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("read", READERS)
def test_every_door_out_expands_a_known_prefix(
    kb: KnowledgeBase, read: Callable[[KnowledgeBase, str], int], name: str
) -> None:
    kb.insert("ex:p", ROW)
    assert read(kb, name) == 1


@pytest.mark.parametrize("door", [*WRITERS, *READERS])
def test_no_door_takes_an_unknown_prefix(
    kb: KnowledgeBase, door: Callable[[KnowledgeBase, str], object]
) -> None:
    kb.insert("ex:p", ROW)
    with pytest.raises(TidalogError) as raised:
        door(kb, "exx:p")
    assert "T003" in str(raised.value)
    assert "ex:" in str(raised.value)
    assert set(kb.predicates) == {"http://e/p", "foo:r", "q"}


@pytest.mark.parametrize(
    "more",
    [
        "",
        "@declare other(a: double) .",
        "@declare other(a: double, at: dateTime) . @window other :- range 1m, time at .",
    ],
)
def test_an_unknown_prefix_in_a_table_is_a_bad_row(kb: KnowledgeBase, more: str) -> None:
    """Whatever else the program declares."""
    kb.load(more)
    Path("u.csv").write_text("op,predicate,arg1\n+,q,a\n+,zz:q,b\n+,rdf:type,c\n")
    updates = kb.read_updates("u.csv", on_error="skip", quarantine="bad.csv")
    assert updates.bad.count == 1
    assert "unknown prefix" in Path("bad.csv").read_text()


def test_names_of_predicates_can_be_used_as_they_are_listed(kb: KnowledgeBase) -> None:
    """Even of an IRI whose scheme looks like a prefix."""
    assert kb.facts("foo:r").to_rows() == kb.facts("<foo:r>").to_rows() == [(1, 2, 3)]
    assert kb.query("?x :- <foo:r>(?x, ?y, ?z)").to_rows() == [(1,)]
    assert {name: kb.count(name) for name in kb.predicates} == {"foo:r": 1, "http://e/p": 0, "q": 0}


@pytest.mark.parametrize("name", ["p", "a-b", "http://e/p", "urn:a:b", "foo:r", ":x", "<", "a:<b>", "ex:p"])
def test_what_is_written_for_a_name_is_read_as_the_name(name: str) -> None:
    for prefixes in ({}, {"foo": "http://f/", "": "http://g/", "urn": "http://u/", "ex": "http://e/"}):
        assert full_name(written_name(name), prefixes) == name
        assert not has_unknown_prefix(written_name(name), prefixes)
