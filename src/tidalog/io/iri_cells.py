"""Columns of text in which IRIs are asked for: `<…>`, a name with a known prefix, or an IRI without brackets.

A column is read as `iri_named` reads each of its texts, and an unknown prefix makes a bad cell.  Prefixes are
looked up once for each distinct one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.io.text_form import any_text
from tidalog.lang.names import ABSOLUTE, IRI_CHARACTER, full_name, has_unknown_prefix
from tidalog.model.facts import Mask
from tidalog.model.term_text import parse_any
from tidalog.model.terms import IRI

_BARE: Final = f"^{IRI_CHARACTER}+$"
_BRACKETED: Final = f"^<({IRI_CHARACTER}*)>$"
_PREFIX: Final = "^(?P<prefix>[^:]*:(?://)?)"
"""What decides whether a text has a prefix, and which; two slashes make it a scheme."""
_MEANS_ITSELF: Final = rf"^(?:(?:{ABSOLUTE}){IRI_CHARACTER}*|[^:\x00-\x20<>\"{{}}|^`\\]+)$"
"""IRIs that need no brackets, whatever the prefixes are."""


def read_iris(text: pa.ChunkedArray, prefixes: Mapping[str, str]) -> tuple[pa.ChunkedArray, Mask]:
    """The IRIs of a column of text, and which cells are none."""
    read = [_read(chunk, prefixes) for chunk in text.chunks]
    bad = np.concatenate([np.zeros(0, np.bool_), *(bad for _, bad in read)])
    return pa.chunked_array([array for array, _ in read], pa.string()), bad


def written_iris(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """IRIs as texts that `read_iris` reads with any prefixes: in brackets where they are needed."""
    odd = pc.invert(pc.match_substring_regex(column, _MEANS_ITSELF))
    if not pc.any(odd, min_count=0).as_py():
        return column
    texts = any_text(column.filter(odd), "iri").combine_chunks().cast(column.type)
    return pa.chunked_array([pc.replace_with_mask(column.combine_chunks(), odd.combine_chunks(), texts)])


def _read(text: pa.Array, prefixes: Mapping[str, str]) -> tuple[pa.Array, Mask]:
    result, bad = _expanded(text, prefixes)
    bad |= ~_mask(pc.match_substring_regex(text, _BARE))
    bracketed = _mask(pc.starts_with(text, "<"))
    if not bracketed.any():
        return result, bad
    plain = _mask(pc.match_substring_regex(text, _BRACKETED))
    inner = pc.replace_substring_regex(text, _BRACKETED, r"\1")
    result = pc.if_else(pa.array(plain), inner, result)
    bad &= ~plain
    escaped = bracketed & ~plain
    if escaped.any():
        own = text.filter(pa.array(escaped)).dictionary_encode()
        terms = [parse_any(one) for one in own.dictionary.to_pylist()]
        values = [term.value if isinstance(term, IRI) else None for term in terms]
        found = pa.array(values, pa.string()).take(own.indices)
        bad[escaped] = _mask(found.is_null())
        result = pc.replace_with_mask(result, pa.array(escaped), found.fill_null(""))
    return result, bad


def _expanded(text: pa.Array, prefixes: Mapping[str, str]) -> tuple[pa.Array, Mask]:
    """The texts with namespaces for prefixes, and which prefixes are unknown."""
    encoded = pc.struct_field(pc.extract_regex(text, _PREFIX), "prefix").dictionary_encode()
    known: list[str] = encoded.dictionary.to_pylist()
    unknown = np.array([*(has_unknown_prefix(one, prefixes) for one in known), False], np.bool_)
    full = [one if is_bad else full_name(one, prefixes) for one, is_bad in zip(known, unknown, strict=False)]
    bad = unknown[_mask_free(encoded.indices, len(known))]
    if full == known:
        return text, bad
    namespaces = pa.array(full, pa.string()).take(encoded.indices)
    local = pc.replace_substring_regex(text, _PREFIX, "")
    return pc.coalesce(pc.binary_join_element_wise(namespaces, local, ""), text), bad


def _mask_free(indices: pa.Array, stand_in: int) -> npt.NDArray[np.int64]:
    numbers: npt.NDArray[np.int64] = indices.fill_null(stand_in).cast(pa.int64()).to_numpy()
    return numbers


def _mask(array: pa.Array) -> Mask:
    found: Mask = array.to_numpy(zero_copy_only=False)
    return found.copy()
