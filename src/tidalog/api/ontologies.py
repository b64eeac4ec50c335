"""`kb.ontology(…)`: installs an ontology, or adds to the one that there is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from tidalog.api.ontology import Ontology
from tidalog.api.ontology_text import read_axioms
from tidalog.api.relations import rows_of
from tidalog.engine.interrupts import nowhere
from tidalog.model.errors import UsageError
from tidalog.owl import PROFILES
from tidalog.owl.diagnostics import AnotherProfile, UnknownProfile
from tidalog.owl.vocabulary import Triple
from tidalog.rdf.layout import TRIPLE

if TYPE_CHECKING:
    from tidalog.api.knowledge_base import KnowledgeBase

_DEFAULT = "owl2-rl"


def installed(
    kb: KnowledgeBase,
    known: Ontology | None,
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    profile: str | None,
    compiled: bool | None,
    strict: bool | None,
    format: str | None,
) -> Ontology:
    check_profile(profile)
    if known is not None and not known.is_dropped:
        _check_same(known, profile, compiled, strict)
        ontology = known
    else:
        chosen = _DEFAULT if profile is None else profile
        ontology = Ontology(kb, chosen, compiled=compiled is not False, strict=strict is True)
    sources = [source] if isinstance(source, str | os.PathLike) else list(source)
    triples = [triple for one in sources for triple in read_axioms(one, format, kb).triples]
    ontology.check(triples)
    new = _not_explicit(kb, triples)
    kb._changes.axioms = None
    try:
        if triples:
            kb.insert(TRIPLE, triples)
    finally:
        ontology.lost()
        kb._changes.axioms = ontology
    try:
        if ontology.strict:
            kb.materialise()  # so that rules are refused, and not what is read first
        ontology.catch_up()
    except BaseException:
        with nowhere():
            kb._changes.axioms = None
            if new:
                kb.delete(TRIPLE, new)
            ontology.lost()
            if ontology is not known:
                ontology.drop()
            else:
                kb._changes.axioms = ontology
                ontology.catch_up()
        raise
    return ontology


def _not_explicit(kb: KnowledgeBase, triples: Sequence[Triple]) -> list[Triple]:
    """Those that the knowledge base does not have as explicit facts."""
    database = kb._open()
    if not database.analysis.triples.active:
        return list(triples)
    id_of = database.dictionary.id_of
    rows = [tuple(map(id_of, triple)) for triple in triples]
    subject, *others = rows_of(database.engine, database.analysis, TRIPLE, True).columns
    about = np.isin(subject, np.array([row[0] for row in rows], np.int32))
    there = set(zip(*(column[about].tolist() for column in (subject, *others)), strict=True))
    return [triple for triple, row in zip(triples, rows, strict=True) if row not in there]


def check_profile(name: str | None) -> None:
    if name is not None and name not in PROFILES:
        near = get_close_matches(str(name).lower(), PROFILES, 1, 0.3)
        hint = f"did you mean {near[0]}?" if near else "leave it out for owl2-rl"
        raise UsageError(UnknownProfile(name=name, known=", ".join(PROFILES), hint=hint))


def _check_same(known: Ontology, profile: str | None, compiled: bool | None, strict: bool | None) -> None:
    wanted = (profile, known.profile), (compiled, known.compiled), (strict, known.strict)
    if any(asked is not None and asked != there for asked, there in wanted):
        settings = f"profile={known.profile!r}, compiled={known.compiled}, strict={known.strict}"
        raise UsageError(AnotherProfile(settings=settings))
