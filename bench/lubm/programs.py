"""The rules of OWL 2 RL that matter for the benchmark's ontology: compiled by hand, and over triples.

In the compiled program a class is a unary and a property a binary relation, and each axiom is a rule.  The
generic program reads the axioms of `ONTOLOGY` as data.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.lubm.generator import UB

ONTOLOGY: Final = Path(__file__).with_name("univ-bench.ttl")

_PREFIXES: Final = f"""\
@prefix ub: <{UB}> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
"""
_SUBCLASSES: Final = {
    "AdministrativeStaff": "ClericalStaff SystemsStaff",
    "Article": "ConferencePaper JournalArticle TechnicalReport",
    "Course": "GraduateCourse",
    "Employee": "AdministrativeStaff Faculty",
    "Faculty": "Lecturer PostDoc Professor",
    "Organization": "College Department Institute Program ResearchGroup University",
    "Person": "Chair Director Employee GraduateStudent ResearchAssistant Student TeachingAssistant",
    "Professor": "AssistantProfessor AssociateProfessor Chair Dean FullProfessor VisitingProfessor",
    "Publication": "Article Book Manual Software Specification UnofficialPublication",
    "Student": "UndergraduateStudent",
    "Work": "Course Research",
}
_SUBPROPERTIES: Final = {
    "degreeFrom": "doctoralDegreeFrom mastersDegreeFrom undergraduateDegreeFrom",
    "memberOf": "worksFor",
    "worksFor": "headOf",
}
_DOMAINS: Final = {
    "Faculty": "teacherOf",
    "Organization": "affiliatedOrganizationOf affiliateOf member orgPublication subOrganizationOf",
    "Person": "advisor age degreeFrom doctoralDegreeFrom emailAddress mastersDegreeFrom telephone title"
    " undergraduateDegreeFrom",
    "Professor": "tenured",
    "Publication": "publicationAuthor publicationDate publicationResearch",
    "ResearchGroup": "researchProject",
    "Schedule": "listedCourse",
    "Software": "softwareDocumentation softwareVersion",
    "TeachingAssistant": "teachingAssistantOf",
    "University": "hasAlumnus",
}
_RANGES: Final = {
    "Course": "listedCourse teacherOf teachingAssistantOf",
    "Organization": "affiliatedOrganizationOf subOrganizationOf",
    "Person": "affiliateOf hasAlumnus member publicationAuthor",
    "Professor": "advisor",
    "Publication": "orgPublication softwareDocumentation",
    "Research": "publicationResearch researchProject",
    "University": "degreeFrom doctoralDegreeFrom mastersDegreeFrom undergraduateDegreeFrom",
}
_INVERSES: Final = {"degreeFrom": "hasAlumnus", "memberOf": "member"}
_SOME: Final = {
    "headOf": "College Department Program",
    "takesCourse": "Course GraduateCourse",
    "teachingAssistantOf": "Course",
    "worksFor": "Organization ResearchGroup",
}
"""Property → classes: those that have some value of a class."""
_WIDER: Final = (
    ("takesCourse", "GraduateCourse", "Course"),
    ("worksFor", "ResearchGroup", "Organization"),
)
_SUBCLASSES_OF_SOME: Final = {
    "GraduateStudent": ("takesCourse", "GraduateCourse"),
    "ResearchAssistant": ("worksFor", "ResearchGroup"),
}
_PERSONS_WITH: Final = {
    "Chair": ("headOf", "Department"),
    "Director": ("headOf", "Program"),
    "Employee": ("worksFor", "Organization"),
    "Student": ("takesCourse", "Course"),
    "TeachingAssistant": ("teachingAssistantOf", "Course"),
}
_DEAN: Final = "headOf", "College"

_GENERIC: Final = """
scm_sco: triple(?a, rdfs:subClassOf, ?c) :- triple(?a, rdfs:subClassOf, ?b), triple(?b, rdfs:subClassOf, ?c) .
scm_spo: triple(?a, rdfs:subPropertyOf, ?c) :-
    triple(?a, rdfs:subPropertyOf, ?b), triple(?b, rdfs:subPropertyOf, ?c) .
scm_dom1: triple(?p, rdfs:domain, ?b) :- triple(?p, rdfs:domain, ?a), triple(?a, rdfs:subClassOf, ?b) .
scm_dom2: triple(?p, rdfs:domain, ?c) :- triple(?q, rdfs:domain, ?c), triple(?p, rdfs:subPropertyOf, ?q) .
scm_rng1: triple(?p, rdfs:range, ?b) :- triple(?p, rdfs:range, ?a), triple(?a, rdfs:subClassOf, ?b) .
scm_rng2: triple(?p, rdfs:range, ?c) :- triple(?q, rdfs:range, ?c), triple(?p, rdfs:subPropertyOf, ?q) .
scm_svf1: triple(?c, rdfs:subClassOf, ?d) :-
    triple(?c, owl:someValuesFrom, ?a), triple(?c, owl:onProperty, ?p),
    triple(?d, owl:someValuesFrom, ?b), triple(?d, owl:onProperty, ?p), triple(?a, rdfs:subClassOf, ?b) .
scm_svf2: triple(?c, rdfs:subClassOf, ?d) :-
    triple(?c, owl:someValuesFrom, ?a), triple(?c, owl:onProperty, ?p),
    triple(?d, owl:someValuesFrom, ?a), triple(?d, owl:onProperty, ?q), triple(?p, rdfs:subPropertyOf, ?q) .
scm_int: triple(?c, rdfs:subClassOf, ?d) :- triple(?c, owl:intersectionOf, ?l), in_list(?l, ?d) .
in_list1: in_list(?l, ?x) :- triple(?l, rdf:first, ?x) .
in_list2: in_list(?l, ?x) :- triple(?l, rdf:rest, ?m), in_list(?m, ?x) .
cax_sco: triple(?x, rdf:type, ?b) :- triple(?a, rdfs:subClassOf, ?b), triple(?x, rdf:type, ?a) .
prp_spo1: triple(?x, ?q, ?y) :- triple(?p, rdfs:subPropertyOf, ?q), triple(?x, ?p, ?y) .
prp_dom: triple(?x, rdf:type, ?c) :- triple(?p, rdfs:domain, ?c), triple(?x, ?p, ?y) .
prp_rng: triple(?y, rdf:type, ?c) :- triple(?p, rdfs:range, ?c), triple(?x, ?p, ?y) .
prp_inv1: triple(?y, ?q, ?x) :- triple(?p, owl:inverseOf, ?q), triple(?x, ?p, ?y) .
prp_inv2: triple(?y, ?p, ?x) :- triple(?p, owl:inverseOf, ?q), triple(?x, ?q, ?y) .
prp_trp: triple(?x, ?p, ?z) :-
    triple(?p, rdf:type, owl:TransitiveProperty), triple(?x, ?p, ?y), triple(?y, ?p, ?z) .
prp_symp: triple(?y, ?p, ?x) :- triple(?p, rdf:type, owl:SymmetricProperty), triple(?x, ?p, ?y) .
cls_svf1: triple(?x, rdf:type, ?r) :-
    triple(?r, owl:someValuesFrom, ?c), triple(?r, owl:onProperty, ?p),
    triple(?x, ?p, ?y), triple(?y, rdf:type, ?c) .
cls_int1: triple(?x, rdf:type, ?c) :-
    triple(?c, owl:intersectionOf, ?l), triple(?l, rdf:first, ?a), triple(?l, rdf:rest, ?m),
    triple(?m, rdf:first, ?b), triple(?m, rdf:rest, rdf:nil),
    triple(?x, rdf:type, ?a), triple(?x, rdf:type, ?b) .
cls_int1_of_one: triple(?x, rdf:type, ?c) :-
    triple(?c, owl:intersectionOf, ?l), triple(?l, rdf:first, ?a), triple(?l, rdf:rest, rdf:nil),
    triple(?x, rdf:type, ?a) .
"""


def compiled() -> str:
    """The text of the compiled program."""
    return _PREFIXES + "".join(f"{rule} .\n" for rule in axioms())


def generic() -> str:
    """The text of the generic program."""
    return _PREFIXES + _GENERIC


def axioms() -> Iterator[str]:
    """The compiled axioms, each a rule without its full stop."""
    for wide, narrow in _pairs(_SUBCLASSES):
        yield f"ub:{wide}(?x) :- ub:{narrow}(?x)"
    for wide, narrow in _pairs(_SUBPROPERTIES):
        yield f"ub:{wide}(?x, ?y) :- ub:{narrow}(?x, ?y)"
    for class_, name in _pairs(_DOMAINS):
        yield f"ub:{class_}(?x) :- ub:{name}(?x, _)"
    for class_, name in _pairs(_RANGES):
        yield f"ub:{class_}(?y) :- ub:{name}(_, ?y)"
    for one, other in _INVERSES.items():
        yield f"ub:{one}(?x, ?y) :- ub:{other}(?y, ?x)"
        yield f"ub:{other}(?x, ?y) :- ub:{one}(?y, ?x)"
    yield "ub:subOrganizationOf(?x, ?z) :- ub:subOrganizationOf(?x, ?y), ub:subOrganizationOf(?y, ?z)"
    for name, class_ in _pairs(_SOME):
        yield f"{_some(name, class_)} :- ub:{name}(?x, ?y), ub:{class_}(?y)"
    for name, narrow, wide in _WIDER:
        yield f"{_some(name, wide)} :- {_some(name, narrow)}"
    for class_, (name, of) in _SUBCLASSES_OF_SOME.items():
        yield f"{_some(name, of)} :- ub:{class_}(?x)"
    for class_, (name, of) in _PERSONS_WITH.items():
        yield f"ub:{class_}(?x) :- ub:Person(?x), {_some(name, of)}"
        yield f"{_some(name, of)} :- ub:{class_}(?x)"
    yield f"ub:Dean(?x) :- {_some(*_DEAN)}"
    yield f"{_some(*_DEAN)} :- ub:Dean(?x)"


def _some(name: str, class_: str) -> str:
    return f"some_{name}_{class_}(?x)"


def _pairs(lists: dict[str, str]) -> Iterator[tuple[str, str]]:
    return ((key, word) for key, words in lists.items() for word in words.split())
