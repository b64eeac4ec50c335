"""The meaning of names: prefixes, the base, and predicates that are named outside of a text.

In a text a declaration holds until the end, or until a later one for the same prefix.  Outside of a text
(Python, the command line, tables) `full_name` is the one function that reads the name of a predicate or of
an IRI; io/iri_cells.py applies it to columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final
from urllib.parse import urljoin

from tidalog.lang.diagnostics import UnknownPrefix
from tidalog.model.errors import UsageError
from tidalog.model.term_text import STANDARD_PREFIXES, iri_reference, is_absolute, parse_any
from tidalog.model.terms import IRI

ABSOLUTE: Final = r"[A-Za-z][A-Za-z0-9+.-]*://|(?:urn|tag|mailto|did|info|data|doi|tel|news|geo):"
"""How an IRI begins that needs no brackets outside of a text: its scheme is not taken for a prefix.  Python,
Java and RE2 read this pattern alike."""
IRI_CHARACTER: Final = r"[^\x00-\x20<>\"{}|^`\\]"
PREFIXED: Final = rf"[\w-]*:{IRI_CHARACTER}*"
"""A name with a prefix, known or not."""
NO_PREFIXES: Final[Mapping[str, str]] = MappingProxyType({})
"""Those of no program; the standard ones are known nevertheless."""
_ABSOLUTE: Final = re.compile(ABSOLUTE)
_PREFIX_NAME: Final = re.compile(r"(?:[^\W\d](?:[\w-]*\w)?)?")
_WHOLE_IRI: Final = re.compile(f"{IRI_CHARACTER}+")
_PREFIXED: Final = re.compile(PREFIXED)
_LISTED: Final = 12


def may_be_declared(prefix: str, iri: str) -> bool:
    """Whether a program can declare a prefix that data has."""
    return bool(_PREFIX_NAME.fullmatch(prefix)) and is_absolute(iri) and bool(_WHOLE_IRI.fullmatch(iri))


class Names:
    """`declared` are the prefixes that the text declares, which become the program's."""

    def __init__(self, declared: dict[str, str] | None = None, base: str | None = None) -> None:
        self.declared: dict[str, str] = dict(declared or {})
        self.base = base

    def declare(self, prefix: str, iri: str) -> None:
        self.declared[prefix] = iri

    @property
    def prologue(self) -> str:
        """The text that declares these names in SPARQL."""
        base = [] if self.base is None else [f"BASE <{self.base}>\n"]
        return "".join([*base, *(f"PREFIX {name}: <{iri}>\n" for name, iri in self.declared.items())])

    def namespace(self, prefix: str) -> str | None:
        """What a prefix stands for, or None."""
        return self.declared[prefix] if prefix in self.declared else STANDARD_PREFIXES.get(prefix)

    def resolve(self, reference: str) -> str:
        """The IRI of a reference in angle brackets, resolved against the base if it has no scheme."""
        if self.base is None or is_absolute(reference):
            return reference
        joined = urljoin(self.base, reference)
        if reference.endswith("#") and not joined.endswith("#"):  # urljoin drops an empty fragment
            joined += "#"
        return joined if joined != reference else self.base + reference

    def similar(self, prefix: str) -> str | None:
        """A known prefix that may have been meant."""
        close = get_close_matches(prefix, known_prefixes(self.declared), n=1)
        return close[0] if close else None


def known_prefixes(declared: Mapping[str, str]) -> list[str]:
    """The prefixes that a name may have, those of the program first."""
    return list({**declared, **STANDARD_PREFIXES})


def full_name(name: str, prefixes: Mapping[str, str]) -> str:
    """The predicate that a text names: `edge`, `ex:p` or an IRI, with or without angle brackets.

    Raises `UsageError` (T003) if nothing says what a prefix stands for.
    """
    if name.startswith("<"):
        term = parse_any(name)
        return term.value if isinstance(term, IRI) else name
    prefix, _, local = name.partition(":")
    if not _PREFIXED.fullmatch(name) or _ABSOLUTE.match(name):
        return name
    namespace = prefixes.get(prefix, STANDARD_PREFIXES.get(prefix))
    if namespace is None:
        raise UsageError(UnknownPrefix(prefix=prefix, advice=prefix_advice(prefix, name, prefixes)))
    return namespace + local


def has_unknown_prefix(name: str, prefixes: Mapping[str, str]) -> bool:
    """Whether `full_name` refuses a name."""
    prefix = name.partition(":")[0]
    known = prefix in prefixes or prefix in STANDARD_PREFIXES
    return not known and _PREFIXED.fullmatch(name) is not None and not _ABSOLUTE.match(name)


def iri_named(text: str, prefixes: Mapping[str, str]) -> IRI | None:
    """The IRI that a text stands for where one is asked for: `<…>`, `ex:a`, or an IRI without brackets; None
    if it is none, or nothing says what its prefix stands for."""
    if text.startswith("<"):
        term = parse_any(text)
        return term if isinstance(term, IRI) else None
    if not _WHOLE_IRI.fullmatch(text) or has_unknown_prefix(text, prefixes):
        return None
    return IRI(full_name(text, prefixes))


def written_name(predicate: str) -> str:
    """The text that `full_name` reads as this predicate, whatever the prefixes are."""
    needs_brackets = ":" in predicate or predicate.startswith("<")
    return iri_reference(predicate) if needs_brackets and not _ABSOLUTE.match(predicate) else predicate


def prefix_advice(prefix: str, name: str, prefixes: Mapping[str, str]) -> str:
    """What to do about an unknown prefix outside of a text."""
    known = known_prefixes(prefixes)
    near = get_close_matches(prefix, known, 1)
    meant = f"did you mean {near[0]}: ?  " if near else ""
    return f"{meant}known prefixes are {listed_prefixes(prefixes)}; an IRI is written <{name}>"


def listed_prefixes(prefixes: Mapping[str, str]) -> str:
    """The known prefixes, or the first of them, for a message."""
    known = known_prefixes(prefixes)
    return ", ".join(f"{one}:" for one in known[:_LISTED]) + (" …" if len(known) > _LISTED else "")
