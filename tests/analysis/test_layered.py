"""`Layered` against a dictionary."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from tidalog.model.layered import Layered

ENTRIES = st.dictionaries(st.integers(0, 600).map(str), st.integers(), max_size=200)


@given(ENTRIES, st.lists(ENTRIES, max_size=6))
def test_a_layered_mapping_is_the_dictionary_of_its_entries(
    first: dict[str, int], later: list[dict[str, int]]
) -> None:
    mapping: Mapping[str, int] = first
    expected = dict(first)
    for entries in later:
        before, known = mapping, dict(expected)
        mapping, expected = Layered(mapping, entries), {**expected, **entries}
        assert dict(before) == known  # what was there stays as it is
        assert dict(mapping) == expected
        assert len(mapping) == len(list(mapping)) == len(expected)
        assert all(key in mapping for key in expected) and "x" not in mapping
        assert mapping.get("x") is None
