"""The fourteen queries of LUBM, and one for each other construct."""

from __future__ import annotations

from bench.sparql.campus import UB

PROLOGUE = f"PREFIX ub: <{UB}> PREFIX d: <http://www.Department0.University0.edu/> "
_HOME, _UNIVERSITY = "<http://www.Department0.University0.edu>", "<http://www.University0.edu>"
_LUBM = (
    "?x a ub:GraduateStudent . ?x ub:takesCourse d:GraduateCourse0",
    "?x a ub:GraduateStudent . ?y a ub:University . ?z a ub:Department . ?x ub:memberOf ?z ."
    " ?z ub:subOrganizationOf ?y . ?x ub:undergraduateDegreeFrom ?y",
    "?x a ub:Publication . ?x ub:publicationAuthor d:AssistantProfessor0",
    f"?x a ub:Professor . ?x ub:worksFor {_HOME} . ?x ub:name ?y1 ."
    " ?x ub:emailAddress ?y2 . ?x ub:telephone ?y3",
    f"?x a ub:Person . ?x ub:memberOf {_HOME}",
    "?x a ub:Student",
    "?x a ub:Student . ?y a ub:Course . ?x ub:takesCourse ?y . d:AssociateProfessor0 ub:teacherOf ?y",
    "?x a ub:Student . ?y a ub:Department . ?x ub:memberOf ?y ."
    f" ?y ub:subOrganizationOf {_UNIVERSITY} . ?x ub:emailAddress ?z",
    "?x a ub:Student . ?y a ub:Faculty . ?z a ub:Course ."
    " ?x ub:advisor ?y . ?y ub:teacherOf ?z . ?x ub:takesCourse ?z",
    "?x a ub:Student . ?x ub:takesCourse d:GraduateCourse0",
    f"?x a ub:ResearchGroup . ?x ub:subOrganizationOf {_UNIVERSITY}",
    f"?x a ub:Chair . ?y a ub:Department . ?x ub:worksFor ?y . ?y ub:subOrganizationOf {_UNIVERSITY}",
    f"?x a ub:Person . {_UNIVERSITY} ub:hasAlumnus ?x",
    "?x a ub:UndergraduateStudent",
)
POINTS = ("Q1", "Q3", "Q10", "one resource", "path from a constant")
QUERIES = {
    **{f"Q{number}": f"SELECT * {{ {pattern} }}" for number, pattern in enumerate(_LUBM, 1)},
    "one resource": "SELECT ?p ?o { d:GraduateStudent0 ?p ?o }",
    "path from a constant": "SELECT ?u { d:ResearchGroup0 ub:subOrganizationOf+ ?u }",
    "path to a constant": f"SELECT ?x {{ ?x ub:worksFor/ub:subOrganizationOf* {_UNIVERSITY} }}",
    "OPTIONAL": "SELECT * { ?x a ub:Student OPTIONAL { ?x ub:advisor ?y . ?y ub:worksFor ?d } }",
    "UNION": "SELECT * { ?x a ub:Professor { ?x ub:teacherOf ?c } UNION { ?x ub:worksFor ?c } }",
    "MINUS": "SELECT * { ?x a ub:Student MINUS { ?x ub:advisor ?y . ?y a ub:Professor } }",
    "GROUP BY": "SELECT ?d (COUNT(*) AS ?n) { ?x ub:memberOf ?d } GROUP BY ?d ORDER BY DESC(?n) LIMIT 10",
    "DISTINCT": "SELECT DISTINCT ?p { ?s ?p ?o }",
    "ORDER BY": "SELECT ?x ?n { ?x a ub:Professor . ?x ub:name ?n } ORDER BY ?n ?x LIMIT 20",
    "REGEX": "SELECT ?x { ?x ub:name ?n FILTER(REGEX(?n, 'Student11$')) }",
    "CONSTRUCT": "CONSTRUCT { ?d ub:has ?x } { ?x ub:memberOf ?d }",
}
