"""Universities in the manner of LUBM: its classes and properties, and numbers of each like those it has.

The data of LUBM itself are used if the folder `TIDALOG_LUBM` has them: `lubm-N.nt.gz` for N universities, and
the axioms `univ-bench.ttl`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

UB = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
_RDF, _RDFS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_TYPE = f"{_RDF}type"
_SUPER = {
    "GraduateStudent": "Student", "UndergraduateStudent": "Student", "Student": "Person",
    "Employee": "Person",
    "Faculty": "Employee", "Professor": "Faculty", "Lecturer": "Faculty", "FullProfessor": "Professor",
    "AssociateProfessor": "Professor", "AssistantProfessor": "Professor", "Chair": "Professor",
    "GraduateCourse": "Course", "Course": "Work", "ResearchGroup": "Organization",
    "Department": "Organization",
    "University": "Organization", "Article": "Publication",
}  # fmt: skip
_SUPER_PROPERTY = {
    "headOf": "worksFor", "worksFor": "memberOf", "undergraduateDegreeFrom": "degreeFrom",
    "mastersDegreeFrom": "degreeFrom", "doctoralDegreeFrom": "degreeFrom",
}  # fmt: skip
_INVERSE = {"degreeFrom": "hasAlumnus", "memberOf": "member"}
RULES = f"""
@prefix rdfs: <{_RDFS}> .  @prefix rdf: <{_RDF}> .  @prefix owl: <{_OWL}> .
triple(?x, rdf:type, ?d) :- triple(?x, rdf:type, ?c), triple(?c, rdfs:subClassOf, ?d) .
triple(?x, ?q, ?y) :- triple(?x, ?p, ?y), triple(?p, rdfs:subPropertyOf, ?q) .
triple(?x, rdf:type, ?c) :- triple(?x, ?p, ?y), triple(?p, rdfs:domain, ?c) .
triple(?y, rdf:type, ?c) :- triple(?x, ?p, ?y), triple(?p, rdfs:range, ?c) .
triple(?y, ?q, ?x) :- triple(?x, ?p, ?y), triple(?p, owl:inverseOf, ?q) .
triple(?y, ?q, ?x) :- triple(?x, ?p, ?y), triple(?q, owl:inverseOf, ?p) .
triple(?x, ?p, ?z) :- triple(?p, rdf:type, owl:TransitiveProperty), triple(?x, ?p, ?y), triple(?y, ?p, ?z) .
triple(?c, rdfs:subClassOf, ?e) :- triple(?c, rdfs:subClassOf, ?d), triple(?d, rdfs:subClassOf, ?e) .
"""

Triple = tuple[str, str, str]


def given(universities: int) -> list[Path] | None:
    """The files of LUBM, if there are any for this size."""
    folder = os.environ.get("TIDALOG_LUBM")
    if folder is None:
        return None
    files = [Path(folder) / f"lubm-{universities}.nt.gz", Path(folder) / "univ-bench.ttl"]
    return files if all(file.exists() for file in files) else None


def write(universities: int, path: Path) -> Path:
    """Writes generated triples as N-Triples."""
    with path.open("w") as file:
        for subject, predicate, value in _triples(universities):
            end = value if value.startswith('"') else f"<{value}>"
            file.write(f"<{subject}> <{predicate}> {end} .\n")
    return path


def _triples(universities: int) -> Iterator[Triple]:
    yield from _axioms()
    random = Random(0)
    for number in range(universities):
        university = f"http://www.University{number}.edu"
        yield university, _TYPE, f"{UB}University"
        for department in range(random.randint(15, 25)):
            yield from _department(random, number, department, university)


def _axioms() -> Iterator[Triple]:
    for names, predicate in ((_SUPER, "subClassOf"), (_SUPER_PROPERTY, "subPropertyOf")):
        for one, other in names.items():
            yield f"{UB}{one}", f"{_RDFS}{predicate}", f"{UB}{other}"
    for one, other in _INVERSE.items():
        yield f"{UB}{one}", f"{_OWL}inverseOf", f"{UB}{other}"
    yield f"{UB}subOrganizationOf", _TYPE, f"{_OWL}TransitiveProperty"


def _department(random: Random, number: int, department: int, university: str) -> Iterator[Triple]:
    home = f"http://www.Department{department}.University{number}.edu"

    def said(subject: str, name: str, value: str) -> Triple:
        return subject, f"{UB}{name}", value

    def person(name: str, kind: str) -> Iterator[Triple]:
        one = f"{home}/{name}"
        yield one, _TYPE, f"{UB}{kind}"
        yield said(one, "name", f'"{name}"')
        yield said(one, "emailAddress", f'"{name}@{home[11:]}"')
        yield said(one, "telephone", '"xxx-xxx-xxxx"')

    def degree(one: str, name: str) -> Triple:
        return said(one, f"{name}DegreeFrom", f"http://www.University{random.randrange(1000)}.edu")

    yield home, _TYPE, f"{UB}Department"
    yield said(home, "subOrganizationOf", university)
    for group in range(random.randint(10, 20)):
        yield f"{home}/ResearchGroup{group}", _TYPE, f"{UB}ResearchGroup"
        yield said(f"{home}/ResearchGroup{group}", "subOrganizationOf", home)
    faculty: list[str] = []
    courses: dict[str, list[str]] = {"Course": [], "GraduateCourse": []}
    ranks = (
        ("FullProfessor", 7, 10),
        ("AssociateProfessor", 10, 14),
        ("AssistantProfessor", 8, 11),
        ("Lecturer", 5, 7),
    )
    for kind, least, most in ranks:
        for place in range(random.randint(least, most)):
            one = f"{home}/{kind}{place}"
            faculty.append(one)
            yield from person(f"{kind}{place}", kind)
            yield said(one, "worksFor", home)
            yield from (degree(one, name) for name in ("undergraduate", "masters", "doctoral"))
            for level, known in courses.items():
                for _ in range(random.randint(1, 2)):
                    known.append(f"{home}/{level}{len(known)}")
                    yield known[-1], _TYPE, f"{UB}{level}"
                    yield said(one, "teacherOf", known[-1])
            for paper in range(random.randint(5, 15)):
                yield f"{one}/Publication{paper}", _TYPE, f"{UB}Publication"
                yield said(f"{one}/Publication{paper}", "publicationAuthor", one)
    yield said(faculty[0], "headOf", home)
    kinds = (("Undergraduate", "Course", 11, 2, 4), ("Graduate", "GraduateCourse", 4, 1, 3))
    for name, level, each, least, most in kinds:
        for place in range(each * len(faculty)):
            one = f"{home}/{name}Student{place}"
            yield from person(f"{name}Student{place}", f"{name}Student")
            yield said(one, "memberOf", home)
            taken = random.sample(courses[level], random.randint(least, most))
            yield from (said(one, "takesCourse", course) for course in taken)
            if name == "Graduate" or random.random() < 0.2:
                yield said(one, "advisor", random.choice(faculty[:-5]))
            if name == "Graduate":
                yield degree(one, "undergraduate")
