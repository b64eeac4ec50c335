"""RDF Patch: each transaction is one update, and the last operation on a statement wins."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from error_goldens import check_golden
from hypothesis import given, settings
from hypothesis import strategies as st

import tidalog

GOLDENS = Path(__file__).parent / "update_errors"
ROWS = st.tuples(
    st.booleans(),
    st.sampled_from(["<http://e/a>", "_:b"]),
    st.sampled_from(["<http://e/p>", "<http://e/q>"]),
    st.sampled_from(['"1"', '"x"@en', "<http://e/a>", '"caf\\u00E9"']),
    st.sampled_from([None, "<http://e/g>"]),
)
TRANSACTIONS = st.tuples(st.lists(ROWS, max_size=6), st.booleans())


@given(st.lists(TRANSACTIONS, max_size=4))
@settings(max_examples=60, deadline=None)
def test_a_patch_is_its_operations_in_order(
    tmp_path_factory: pytest.TempPathFactory,
    transactions: list[tuple[list[tuple[bool, str, str, str, str | None]], bool]],
) -> None:
    lines = ["H id <urn:uuid:1> .", "# a patch"]
    expected: set[tuple[str, ...]] = set()
    for rows, commits in transactions:
        state = set(expected)
        lines.append("TX .")
        for adds, *terms in rows:
            fact = tuple(term for term in terms if term is not None)
            lines.append(f"{'A' if adds else 'D'} {' '.join(fact)} .")
            (state.add if adds else state.discard)(fact)
        lines.append("TC ." if commits else "TA .")
        expected = state if commits else expected
    path = tmp_path_factory.mktemp("patch") / "a.rdfp.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    kb = tidalog.open()
    kb.load("@declare n(x: any) .")
    deltas = list(kb.stream([path]))
    assert len(deltas) == sum(commits for _, commits in transactions)
    found: set[tuple[str, ...]] = set()
    for name in ("triple", "quad"):
        if name in kb.predicates:
            terms = kb.facts(name, True).to_terms()
            found |= {tuple(tidalog.rdf.ntriples.ntriples_text(term) for term in row) for row in terms}
    assert found == {tuple(term.replace("\\u00E9", "é") for term in row) for row in expected}


def test_prefixes_of_committed_transactions_are_known(tmp_path: Path) -> None:
    path = tmp_path / "a.rdfp"
    path.write_text(
        'TX .\nPA "ex" "http://e/" .\nA <http://e/a> <http://e/p> <_:b1> .\nTC .\n'
        'TX .\nPA "no" "http://n/" .\nTA .\n'
    )
    kb = tidalog.open()
    list(kb.stream([path]))
    assert dict(kb.program.prefixes) == {"ex": "http://e/"}
    assert kb.query("?x :- ex:p(ex:a, ?x)").to_rows() == [("_:b1",)]


def test_what_cannot_be_read_is_left_out_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "a.rdfp"
    path.write_text('A <http://e/a> <http://e/p> "1" .\nA oops .\nA <http://e/a> <http://e/p> "2" .\n')
    updates = tidalog.open().read_updates(path, on_error="skip")
    assert (len(updates), updates.bad.count) == (1, 1)


CASES: dict[str, str] = {
    "T191-row": "TX .\nFOO bar .\nTC .\n",
    "T191-term": "A <http://e/a> <http://e/p> oops .\n",
    "T192-outside": "TX .\nTC .\nA <http://e/a> <http://e/p> <http://e/b> .\n",
    "T192-open": "TX .\nA <http://e/a> <http://e/p> <http://e/b> .\n",
    "T192-twice": "TX .\nTX .\nTC .\n",
    "T192-none": "TX .\nTC .\nTC .\n",
}


@pytest.mark.parametrize("name", CASES)
def test_the_message_is_the_golden(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("day.rdfp").write_text(CASES[name])
    read: Callable[[], object] = lambda: tidalog.open().read_updates("day.rdfp")  # noqa: E731
    check_golden(read, GOLDENS / "patch" / f"{name}.txt")
