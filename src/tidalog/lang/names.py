"""The meaning of names at a position of a text: prefixes and the base.

A declaration holds until the end of the text, or until a later one for the same prefix.
"""

from __future__ import annotations

from difflib import get_close_matches
from urllib.parse import urljoin

from tidalog.model.term_text import STANDARD_PREFIXES, is_absolute


class Names:
    """`declared` are the prefixes that the text declares, which become the program's."""

    def __init__(self, declared: dict[str, str] | None = None, base: str | None = None) -> None:
        self.declared: dict[str, str] = dict(declared or {})
        self.base = base

    def declare(self, prefix: str, iri: str) -> None:
        self.declared[prefix] = iri

    def namespace(self, prefix: str) -> str | None:
        """What a prefix stands for, or None."""
        return self.declared[prefix] if prefix in self.declared else STANDARD_PREFIXES.get(prefix)

    def resolve(self, reference: str) -> str:
        """The IRI of a reference in angle brackets, resolved against the base if it has no scheme."""
        if self.base is None or is_absolute(reference):
            return reference
        joined = urljoin(self.base, reference)
        return joined if joined != reference else self.base + reference

    def similar(self, prefix: str) -> str | None:
        """A known prefix that may have been meant."""
        known = [*self.declared, *STANDARD_PREFIXES]
        close = get_close_matches(prefix, known, n=1)
        return close[0] if close else None
