"""Terms that come in bulk get the ids that they would get one by one."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from tidalog.api.bulk_terms import ids_of_many
from tidalog.engine.dictionary import Dictionary
from tidalog.model.terms import IRI, BlankNode, Boolean, Double, Integer, LangString, Literal, String, Term

_TEXT = st.text(st.characters(), max_size=6)  # lone surrogates too: an escape may write one
_TERMS: st.SearchStrategy[Term] = st.one_of(
    st.builds(IRI, _TEXT),
    st.builds(String, _TEXT),
    st.builds(Integer, st.integers(-(2**63), 2**63 - 1)),
    st.builds(Double, st.floats()),
    st.builds(Boolean, st.booleans()),
    st.builds(BlankNode, st.text("ab", min_size=1, max_size=2)),
    st.builds(LangString, _TEXT, st.sampled_from(["en", "de"])),
    st.just(Literal("2020-01-01", "http://www.w3.org/2001/XMLSchema#date")),
)
_ALIKE: tuple[Term, ...] = (
    IRI("<a>"),
    IRI("a"),
    String("a"),
    String("<a>"),
    String("1"),
    Integer(1),
    Double(1.0),
    Double(math.nan),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_TERMS, max_size=20), st.booleans())
def test_an_id_is_the_same_whichever_way_a_term_came(few: list[Term], known_before: bool) -> None:
    terms = [*few, *_ALIKE] * 40  # enough of them to go by columns
    dictionary = Dictionary()
    if known_before:
        dictionary.ids_of(terms[:10])
    ids = ids_of_many(dictionary, terms).tolist()
    assert [dictionary.term(number) for number in ids] == terms
    assert ids == dictionary.ids_of(terms).tolist()
