"""Data and programs for the evaluation of the paper on the Backward/Forward algorithm.

The paper's own data cannot be had here, so these have what it says about them:

*  `LUBM-L`: universities under the lower bound of the ontology, which has no existentials in heads.  Facts
   have few derivations.
*  `LUBM-LE`: the same with all that OWL 2 RL gives, and with chains of properties that most of the facts
   take part in: who knows whom by a course, an advisor or a publication, and membership up the organisation.
*  `UOBM-like`: universities whose people come from towns, few of them large.  Those of a town are connected
   by a symmetric and transitive property, given by some links for each person, as `:hasSameHomeTownWith` in
   UOBM and `:relatedPlaces` in Claros-LE; a property of friends is symmetric, and classes with an
   existential have the rules (R1) to (R4) of the paper.  Facts have many derivations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bench.lubm.generator import UB, triples
from bench.lubm.programs import axioms

LINKS_IN_TOWN = 4
"""Links of a person to others of the town."""
FRIENDS = 3
LARGEST_TOWN = 120
_PERSONS = ("Student", "Professor", "Lecturer")
_PREFIX = f"@prefix ub: <{UB}> .\n"
_CHAINS = """\
ub:memberOf(?x, ?z) :- ub:memberOf(?x, ?y), ub:subOrganizationOf(?y, ?z) .
ub:knows(?x, ?y) :- ub:teacherOf(?x, ?c), ub:takesCourse(?y, ?c) .
ub:knows(?x, ?y) :- ub:advisor(?y, ?x) .
ub:knows(?x, ?y) :- ub:publicationAuthor(?p, ?x), ub:publicationAuthor(?p, ?y) .
ub:knows(?y, ?x) :- ub:knows(?x, ?y) .
ub:Person(?x) :- ub:knows(?x, ?y) .
"""
_TOWNS = """\
ub:sameTown(?y, ?x) :- ub:sameTown(?x, ?y) .
ub:sameTown(?x, ?z) :- ub:sameTown(?x, ?y), ub:sameTown(?y, ?z) .
ub:friendOf(?y, ?x) :- ub:friendOf(?x, ?y) .
ub:knows(?x, ?y) :- ub:friendOf(?x, ?y) .
ub:neighbour(?x, ?y) :- ub:sameTown(?x, ?y), ub:friendOf(?x, ?y) .
ub:Person(?x) :- ub:sameTown(?x, ?y) .
ub:Person(?x) :- ub:friendOf(?x, ?y) .
ub:TeachingAssistant(?x) :- ub:Person(?x), ub:teachingAssistantOf(?x, ?y), ub:Course(?y) .
ub:Person(?x) :- ub:TeachingAssistant(?x) .
ub:Person(?x) :- ub:teachingAssistantOf(?x, ?y) .
ub:Course(?y) :- ub:teachingAssistantOf(?x, ?y) .
"""


@dataclass(frozen=True)
class Data:
    name: str
    paper: str
    """The row of the paper's table that it is set beside."""
    program: str
    triples: pa.Table
    """Subject, predicate and object, as N-Triples writes them."""


def datasets(universities: int) -> Iterator[Data]:
    own = _joined(triples(universities))
    yield Data("LUBM-L", "LUBM-1k-L", _PREFIX + _lower_bound(), own)
    yield Data("LUBM-LE", "Claros-L", _PREFIX + _all_axioms() + _CHAINS, own)
    towns = pa.concat_tables([own, people(own)])
    yield Data("UOBM-like", "UOBM-1k-Uo", _PREFIX + _lower_bound() + _TOWNS, towns)


def _joined(parts: Iterator[pa.Table]) -> pa.Table:
    plain = [pa.table([c.cast(pa.string()) for c in part.columns], part.column_names) for part in parts]
    return pa.concat_tables(plain)


def _all_axioms() -> str:
    return "".join(f"{rule} .\n" for rule in axioms())


def _lower_bound() -> str:
    """Without the rules by which members of a class have some value."""
    kept = (rule for rule in axioms() if not _is_existential(rule))
    return "".join(f"{rule} .\n" for rule in kept)


def _is_existential(rule: str) -> bool:
    head, body = rule.split(" :- ")
    return head.startswith("some_") and body.startswith("ub:") and ", " not in body


def people(own: pa.Table, seed: int = 0) -> pa.Table:
    """Links of people within their towns, and friends anywhere."""
    draw = np.random.default_rng(seed)
    predicate = own["predicate"].to_numpy(zero_copy_only=False)
    subjects = own["subject"].to_numpy(zero_copy_only=False)
    persons = np.unique(subjects[predicate == f"<{UB}emailAddress>"])
    draw.shuffle(persons)
    links = [_in_town(members, draw) for members in _towns(len(persons), draw)]
    links.append(_pairs(np.arange(len(persons)), FRIENDS, draw))
    names = [f"<{UB}sameTown>"] * sum(map(len, links[:-1])) + [f"<{UB}friendOf>"] * len(links[-1])
    rows = np.concatenate(links)
    cells = [persons[rows[:, 0]], np.array(names), persons[rows[:, 1]]]
    return pa.table([pa.array(column, pa.string()) for column in cells], own.column_names)


def _towns(people: int, draw: np.random.Generator) -> Iterator[np.ndarray]:
    """People by town: the largest first, each later one smaller."""
    begin, number = 0, 0
    while begin < people:
        size = max(3, round(LARGEST_TOWN / (1 + number / 8)))
        yield np.arange(begin, min(begin + size, people))
        begin, number = begin + size, number + 1


def _in_town(members: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    return _pairs(members, LINKS_IN_TOWN, draw) if len(members) > 1 else np.empty((0, 2), np.int64)


def _pairs(members: np.ndarray, each: int, draw: np.random.Generator) -> np.ndarray:
    """Different pairs of two: of each member, and some other one."""
    first = np.repeat(members, each)
    second = draw.choice(members, len(first))
    rows = np.stack([first, second], 1)[first != second]
    return np.unique(rows, axis=0)
