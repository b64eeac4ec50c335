"""Axioms from a file, or from a text in Turtle."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import pyoxigraph as ox

from tidalog.api.data import DataOptions, encoded_data
from tidalog.io.formats import FORMATS
from tidalog.model.errors import ProgramError
from tidalog.model.foreign_terms import foreign_term
from tidalog.model.program import Program
from tidalog.model.term_text import STANDARD_PREFIXES
from tidalog.model.terms import BlankNode, Term
from tidalog.owl.diagnostics import MalformedAxiom
from tidalog.owl.vocabulary import Triple
from tidalog.rdf.layout import TRIPLE

if TYPE_CHECKING:
    from tidalog.api.knowledge_base import KnowledgeBase

_PREFIX: Final = re.compile(rb"(?mi)^\s*@?prefix\s+([\w-]*):\s*<([^>\s]*)>")
_HEAD: Final = 1 << 16
"""Prefixes are looked for in this many bytes of a file."""
_ENDINGS: Final = tuple(ending for format in FORMATS if format.rdf for ending in format.endings)


@dataclass(frozen=True)
class ReadAxioms:
    triples: list[Triple]
    is_text: bool


def read_axioms(source: str | os.PathLike[str], format: str | None, kb: KnowledgeBase) -> ReadAxioms:
    """The triples of a file or a text.  The knowledge base gets the prefixes that they declare."""
    if isinstance(source, str) and not _is_path(source):
        declare(kb, _declared(source.encode()))
        return ReadAxioms(_parsed(source, kb.program.prefixes), True)
    path = Path(source).expanduser()
    facts = encoded_data(kb._open(), TRIPLE, path, DataOptions(format), inserts=True).facts
    declare(kb, _declared(head_of(path)))
    columns = (map(kb.dictionary.term, column.tolist()) for column in facts.columns)
    return ReadAxioms(list(zip(*columns, strict=True)), False)


def head_of(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(_HEAD)


def declare(kb: KnowledgeBase, prefixes: Mapping[str, str]) -> None:
    """Gives the program prefixes that it has no other meaning for."""
    known = {**STANDARD_PREFIXES, **kb.program.prefixes}
    new = {name: iri for name, iri in prefixes.items() if name not in known}
    if new:
        kb.load(Program(prefixes=new))


def _declared(text: bytes) -> dict[str, str]:
    found = ((name.decode(), iri.decode("utf-8", "replace")) for name, iri in _PREFIX.findall(text))
    return dict(found)


def _is_path(source: str) -> bool:
    if "\n" in source or len(source) > 4096:
        return False
    return source.strip().endswith(_ENDINGS) or (bool(source.strip()) and os.path.isfile(source))


def _parsed(text: str, prefixes: Mapping[str, str]) -> list[Triple]:
    known = {**STANDARD_PREFIXES, **prefixes}
    head = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in known.items())
    lines = head.count("\n")
    try:
        found = [quad.triple for quad in ox.parse(head + text, ox.RdfFormat.TURTLE)]
    except SyntaxError as error:
        line = (error.lineno or lines + 1) - lines
        why = (error.msg or "").split(": ", 1)[-1]
        hint = "write axioms in Turtle: ex:A rdfs:subClassOf ex:B ."
        raise ProgramError(MalformedAxiom(axiom=f"line {line} of the axioms", why=why, hint=hint)) from None
    return [cast(Triple, tuple(map(foreign_term, triple))) for triple in found]


# --- nodes without names --------------------------------------------------------------------------------


def same_nodes(triples: Iterable[Triple], known: Iterable[Triple]) -> list[Triple]:
    """Triples with those blank nodes of known ones for their own of which the same is said."""
    wanted, there = list(triples), set(known)
    own, theirs = _descriptions(wanted), _descriptions(there)
    of: dict[object, list[BlankNode]] = {}
    for node, description in theirs.items():
        of.setdefault(description, []).append(node)
    inner = {object_ for subject, _, object_ in wanted if isinstance(subject, BlankNode)}
    replaced: dict[Term, Term] = {node: node for node in own if node in theirs}
    for mine in own:
        if mine in replaced or mine in inner:
            continue
        used = [(subject, property_) for subject, property_, object_ in wanted if object_ == mine]
        for node in of.get(own[mine], ()):
            fits = all((subject, property_, node) in there for subject, property_ in used)
            if fits and node not in replaced.values():
                _pair(mine, node, (wanted, own), (there, theirs), replaced)
                break
    return [cast(Triple, tuple(replaced.get(term, term) for term in triple)) for triple in wanted]


Described = tuple[Iterable[Triple], Mapping[BlankNode, object]]


def _pair(
    mine: BlankNode, theirs: BlankNode, own: Described, known: Described, replaced: dict[Term, Term]
) -> None:
    """Pairs two nodes with the same description, and the nodes below them."""
    waiting = [(mine, theirs)]
    while waiting:
        mine, theirs = waiting.pop()
        replaced[mine] = theirs
        others = list(_about(theirs, known[0]))
        for property_, object_ in _about(mine, own[0]):
            if isinstance(object_, BlankNode) and object_ not in replaced:
                waiting += [
                    (object_, other)
                    for other_property, other in others
                    if isinstance(other, BlankNode)
                    and (other_property, known[1][other]) == (property_, own[1][object_])
                ][:1]


def _about(node: BlankNode, triples: Iterable[Triple]) -> Iterator[tuple[Term, Term]]:
    return ((property_, object_) for subject, property_, object_ in triples if subject == node)


def _descriptions(triples: Iterable[Triple]) -> dict[BlankNode, object]:
    """What is said about each blank node, down to names; nodes on a circle stand for themselves."""
    about: dict[BlankNode, list[tuple[Term, Term]]] = {}
    for subject, property_, object_ in triples:
        if isinstance(subject, BlankNode):
            about.setdefault(subject, []).append((property_, object_))
        if isinstance(object_, BlankNode):
            about.setdefault(object_, [])
    found: dict[BlankNode, object] = {}
    for start in about:
        stack: list[tuple[BlankNode, bool]] = [(start, False)]
        open_: set[BlankNode] = set()
        while stack:
            node, leaving = stack.pop()
            if leaving:
                parts = ((p, found.get(o, o) if isinstance(o, BlankNode) else o) for p, o in about[node])
                found[node] = frozenset(parts)
                open_.discard(node)
            elif node not in found and node not in open_:
                open_.add(node)
                stack.append((node, True))
                stack += [(o, False) for _, o in about[node] if isinstance(o, BlankNode)]
    return found
