"""What people see: short, of a bounded size however much there is, and in notebooks a table without markup
of others."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser

import pyarrow as pa
import pytest

import tidalog
from tidalog.api.results import Result

EVIL = "<script>alert('x')</script>&amp;"
MANY = 3000


class Tags(HTMLParser):
    """The tags of a text that are opened and not closed, and all there are."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def small() -> tidalog.KnowledgeBase:
    kb = tidalog.open()
    kb.load(f'path(?x, ?y) :- edge(?x, ?y), ?x != "{EVIL}" .')
    kb.insert("edge", [("a", "b"), (EVIL, "b")])
    return kb


def large() -> tidalog.KnowledgeBase:
    kb = tidalog.open()
    kb.load("\n".join(f"r{number}: p{number}(?x) :- e(?x), ?x > {number} ." for number in range(MANY)))
    return kb


def delta_of(kb: tidalog.KnowledgeBase) -> object:
    kb.materialise()
    return kb.apply(tidalog.Update(insertions={"edge": [("<b>", EVIL)], "e": [(MANY,)]}))


def stream_of(kb: tidalog.KnowledgeBase) -> object:
    deltas = kb.stream([tidalog.Update(insertions={"edge": [("c", "d")]})])
    next(deltas)
    return deltas


SHOWN: dict[str, Callable[[tidalog.KnowledgeBase], object]] = {
    "knowledge base": lambda kb: kb,
    "rules": lambda kb: kb.rules,
    "profile": lambda kb: kb.profile(),
    "stats": lambda kb: kb.stats(),
    "delta": delta_of,
    "change": lambda kb: delta_of(kb)["edge"],  # type: ignore[index]
    "stream": stream_of,
    "result": lambda kb: Result(["x", "<y>"], [pa.array([EVIL, "x" * 10**6]), pa.array([1, 2])], 2),
}


def html_of(shown: object) -> str:
    return shown._repr_html_()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("what", SHOWN)
def test_a_notebook_shows_a_table_of_text(what: str) -> None:
    shown = html_of(SHOWN[what](small()))
    assert "table" in Tags(shown).seen
    assert Tags(shown).seen <= {"table", "thead", "tbody", "tr", "th", "td", "p"}
    assert Tags(shown).open == []


@pytest.mark.parametrize("what", SHOWN)
def test_whatever_there_is_the_text_is_of_a_bounded_size(what: str) -> None:
    shown = SHOWN[what](large())
    assert len(repr(shown)) < 20_000
    assert len(html_of(shown)) < 40_000


def test_what_is_left_out_is_counted() -> None:
    kb = large()
    assert repr(kb.rules).endswith(f"… {MANY - 100:,} more rules")
    assert f"<p>… {MANY - 100:,} more rules</p>" in html_of(kb.rules)
    assert repr(delta_of(kb)).splitlines()[-2] == f"… {MANY + 2 - 100:,} more predicates"
    assert f"… {MANY - 100:,} more parts" in repr(kb.profile())


def test_a_knowledge_base_says_how_much_it_holds_and_derives_nothing_for_it() -> None:
    kb = small()
    assert repr(kb) == "<KnowledgeBase: 1 rule, 2 predicates, to be materialised>"
    assert "<td>edge</td><td>2</td><td>2</td>" in html_of(kb)
    assert "to be materialised" in repr(kb)
    kb.close()
    assert "closed" in html_of(kb)


def test_a_stream_says_how_far_it_is() -> None:
    kb = small()
    kb.materialise()
    updates = [tidalog.Update(insertions={"edge": [(n, n)]}) for n in range(3)]
    deltas = kb.stream(updates)
    assert repr(deltas) == "<stream: 0 updates applied>"
    assert next(deltas).inserted_count == 2
    assert repr(deltas) == "<stream: 1 update applied, 3 explicit and 2 implicit facts>"
    assert len(list(deltas)) == 2
    assert repr(deltas) == "<stream: 3 updates applied, 5 explicit and 4 implicit facts, ended>"


def test_a_stream_that_is_closed_applies_no_more() -> None:
    kb = small()
    deltas = kb.stream([tidalog.Update(insertions={"edge": [(n, n)]}) for n in range(3)])
    next(deltas)
    deltas.close()
    assert list(deltas) == []
    assert kb.count("edge") == 3
    assert repr(deltas).endswith("ended>")


def test_figures_print_as_lines() -> None:
    stats = small().stats()
    assert repr(stats).splitlines()[:2] == [f"edge  {2:>12}", f"path  {1:>12}"]
    assert repr(stats) == str(stats)
