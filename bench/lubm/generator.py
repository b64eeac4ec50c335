"""Universities: triples with the counts and links of the benchmark's own generator, department by department.

The terms are those of that generator; which of them are linked is drawn from a seed for each university, so
that a university is the same however many there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int32]

UB: Final = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
TYPE: Final = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
UNIVERSITIES: Final = 1000
"""Those that degrees come from."""
_RESEARCH: Final = 30
_FACULTY: Final = {
    "FullProfessor": ((7, 10), (15, 20)),
    "AssociateProfessor": ((10, 14), (10, 18)),
    "AssistantProfessor": ((8, 11), (5, 10)),
    "Lecturer": ((5, 7), (0, 5)),
}
"""How many a department has, and how many publications each has."""


def triples(universities: int, seed: int = 0) -> Iterator[pa.Table]:
    """For each university a table of its triples, each once, as N-Triples writes their terms.  The classes of
    universities come last."""
    mentioned = np.zeros(max(universities, UNIVERSITIES), np.bool_)
    mentioned[:universities] = True
    for number in range(universities):
        yield _University(number, np.random.default_rng((seed, number)), mentioned).table()
    yield _table([f"<{_university(u)}>" for u in np.flatnonzero(mentioned)], "University")


def write_ntriples(path: Path, universities: int, seed: int = 0) -> int:
    """Writes the triples into a file; how many they are."""
    count = 0
    with path.open("wb") as file:
        for table in triples(universities, seed):
            columns = [column.combine_chunks().dictionary_decode() for column in table.columns]
            lines = pc.binary_join_element_wise(*columns, ".\n", " ")
            # The bytes of the strings of an array are one after the other.
            file.write(lines.buffers()[2])
            count += len(table)
    return count


def _university(number: int) -> str:
    return f"http://www.University{number}.edu"


def _table(members: Sequence[str], class_: str) -> pa.Table:
    terms = _Terms()
    terms.link(terms.add(members), TYPE, terms.one(f"<{UB}{class_}>"))
    return terms.table()


@dataclass
class _Terms:
    """Terms by number, and triples of them."""

    texts: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    """Of terms that come up in many places."""
    columns: tuple[list[Numbers], list[Numbers], list[Numbers]] = field(default_factory=lambda: ([], [], []))

    def add(self, texts: Sequence[str]) -> Numbers:
        """New terms."""
        begin = len(self.texts)
        self.texts += texts
        return np.arange(begin, len(self.texts), dtype=np.int32)

    def one(self, text: str) -> Numbers:
        if text not in self.numbers:
            self.numbers[text] = len(self.texts)
            self.texts.append(text)
        return np.array([self.numbers[text]], np.int32)

    def link(self, subjects: Numbers, property_: str, objects: Numbers) -> None:
        """A triple for each pair; one subject or one object stands for as many as there are of the other."""
        count = max(len(subjects), len(objects)) if len(subjects) and len(objects) else 0
        name = property_ if property_.startswith("<") else f"<{UB}{property_}>"
        for column, part in zip(self.columns, (subjects, self.one(name), objects), strict=True):
            column.append(np.broadcast_to(part, (count,)) if len(part) == 1 else part)

    def table(self) -> pa.Table:
        texts = pa.array(self.texts, pa.string())
        columns = [pa.DictionaryArray.from_arrays(np.concatenate(c), texts) for c in self.columns]
        return pa.table(columns, ["subject", "predicate", "object"])


class _University:
    def __init__(self, number: int, random: np.random.Generator, mentioned: npt.NDArray[np.bool_]) -> None:
        self._number, self._random, self._mentioned = number, random, mentioned
        self._terms = _Terms()
        self._universities = self._terms.add([f"<{_university(u)}>" for u in range(len(mentioned))])
        self._research = self._terms.add([f'"Research{r}"' for r in range(_RESEARCH)])
        self._phone = self._terms.one('"xxx-xxx-xxxx"')

    def table(self) -> pa.Table:
        own = self._universities[self._number : self._number + 1]
        self._terms.link(own, "name", self._terms.one(f'"University{self._number}"'))
        for department in range(self._between(15, 25)):
            self._department(department, own)
        return self._terms.table()

    # --- drawing --------------------------------------------------------------------------------------

    def _between(self, least: int, most: int) -> int:
        return int(self._random.integers(least, most, endpoint=True))

    def _counts(self, among: int, least: int, most: int) -> Numbers:
        return self._random.integers(least, most, among, dtype=np.int32, endpoint=True)

    def _some(self, of: Numbers, share: tuple[int, int]) -> Numbers:
        """One in so many, in their order."""
        count = min(len(of), len(of) // self._between(*share))
        return np.sort(self._random.choice(of, count, replace=False))

    def _links(self, sources: Numbers, targets: Numbers, least: int, most: int) -> tuple[Numbers, Numbers]:
        """Pairs of each source and some different targets."""
        most = min(most, len(targets))
        order = np.argpartition(self._random.random((len(sources), len(targets))), most - 1, axis=1)
        chosen = np.arange(most) < self._counts(len(sources), least, most)[:, None]
        return np.repeat(sources, chosen.sum(1)), targets[order[:, :most][chosen]]

    # --- one department -------------------------------------------------------------------------------

    def _department(self, number: int, university: Numbers) -> None:
        terms, link = self._terms, self._terms.link
        host = f"Department{number}.University{self._number}.edu"
        base = f"http://www.{host}"
        own = terms.add([f"<{base}>"])
        link(own, TYPE, terms.one(f"<{UB}Department>"))
        link(own, "name", terms.one(f'"Department{number}"'))
        link(own, "subOrganizationOf", university)

        def entities(kind: str, count: int) -> Numbers:
            found = terms.add([f"<{base}/{kind}{n}>" for n in range(count)])
            link(found, TYPE, terms.one(f"<{UB}{kind}>"))
            return found

        def named(kind: str, found: Numbers) -> None:
            texts = [terms.one(f'"{kind}{n}"') for n in range(len(found))]
            link(found, "name", np.concatenate([found[:0], *texts]))

        def person(kind: str, found: Numbers) -> None:
            named(kind, found)
            link(found, "emailAddress", terms.add([f'"{kind}{n}@{host}"' for n in range(len(found))]))
            link(found, "telephone", self._phone)

        def degrees(found: Numbers, *kinds: str) -> None:
            for kind in kinds:
                drawn = self._random.integers(UNIVERSITIES, size=len(found))
                self._mentioned[drawn] = True
                link(found, f"{kind}DegreeFrom", self._universities[drawn])

        faculty: dict[str, Numbers] = {}
        publications: list[Numbers] = []
        for kind, ((least, most), papers) in _FACULTY.items():
            found = faculty[kind] = entities(kind, self._between(least, most))
            person(kind, found)
            degrees(found, "undergraduate", "masters", "doctoral")
            link(found, "worksFor", own)
            if kind != "Lecturer":
                link(found, "researchInterest", self._random.choice(self._research, len(found)))
            for n, count in enumerate(self._counts(len(found), *papers)):
                texts = [f"<{base}/{kind}{n}/Publication{p}>" for p in range(count)]
                publications.append(terms.add(texts))
                named("Publication", publications[-1])
                link(publications[-1], "publicationAuthor", found[n : n + 1])
        link(self._random.choice(faculty["FullProfessor"], 1), "headOf", own)
        everyone = np.concatenate(list(faculty.values()))
        professors = everyone[: -len(faculty["Lecturer"])]
        written = np.concatenate(publications)
        link(written, TYPE, terms.one(f"<{UB}Publication>"))

        courses: dict[str, Numbers] = {}
        for kind in ("Course", "GraduateCourse"):
            counts = self._counts(len(everyone), 1, 2)
            courses[kind] = entities(kind, int(counts.sum()))
            named(kind, courses[kind])
            link(np.repeat(everyone, counts), "teacherOf", courses[kind])

        students: dict[str, Numbers] = {}
        for kind, least, most in (("Undergraduate", 8, 14), ("Graduate", 3, 4)):
            count = self._between(least * len(everyone), most * len(everyone))
            students[kind] = entities(f"{kind}Student", count)
        for kind, found in students.items():
            person(f"{kind}Student", found)
            link(found, "memberOf", own)
        undergraduates, graduates = students["Undergraduate"], students["Graduate"]
        for who, course, most in ((undergraduates, "Course", 4), (graduates, "GraduateCourse", 3)):
            takers, taken = self._links(who, courses[course], most - 2, most)
            link(takers, "takesCourse", taken)
        degrees(graduates, "undergraduate")
        advised = np.concatenate([undergraduates[self._random.random(len(undergraduates)) < 0.2], graduates])
        link(advised, "advisor", self._random.choice(professors, len(advised)))
        coauthors, papers_of = self._links(graduates, written, 0, 5)
        link(papers_of, "publicationAuthor", coauthors)

        assistants = self._some(graduates, (4, 5))[: len(courses["Course"])]
        link(assistants, TYPE, terms.one(f"<{UB}TeachingAssistant>"))
        taught = self._random.choice(courses["Course"], len(assistants), replace=False)
        link(assistants, "teachingAssistantOf", taught)
        link(self._some(graduates, (3, 4)), TYPE, terms.one(f"<{UB}ResearchAssistant>"))

        groups = entities("ResearchGroup", self._between(10, 20))
        link(groups, "subOrganizationOf", own)
