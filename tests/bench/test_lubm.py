"""Generated universities have the shape of the benchmark's, and both programs derive the same from them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from bench.lubm import generator, programs

import tidalog
from tidalog.model.terms import IRI, Term

PER_DEPARTMENT = {
    "takesCourse": 1453.4,
    "name": 1077.3,
    "publicationAuthor": 724.2,
    "telephone": 563.0,
    "memberOf": 526.8,
    "Publication": 404.9,
    "UndergraduateStudent": 399.7,
    "advisor": 207.7,
    "undergraduateDegreeFrom": 163.3,
    "GraduateStudent": 127.1,
    "teacherOf": 108.3,
    "Course": 54.4,
    "GraduateCourse": 53.9,
    "ResearchAssistant": 36.8,
    "worksFor": 36.2,
    "researchInterest": 30.2,
    "teachingAssistantOf": 28.0,
    "ResearchGroup": 15.0,
    "FullProfessor": 8.5,
    "Lecturer": 6.0,
    "headOf": 1.0,
}
"""Triples of a property, or members of a class, in the output of the benchmark's own generator for ten
universities, which have 189 departments."""


def counted(universities: int) -> Counter[str]:
    table = pa.concat_tables(
        [
            t.cast(pa.schema([(n, pa.string()) for n in t.column_names]))
            for t in generator.triples(universities)
        ]
    )
    assert len(table) == table.group_by(table.column_names).aggregate([]).num_rows, "each triple comes once"
    found: Counter[str] = Counter()
    for predicate, object_ in zip(table["predicate"].to_pylist(), table["object"].to_pylist(), strict=True):
        name = object_ if predicate == generator.TYPE else predicate
        found[name.removeprefix(f"<{generator.UB}").removesuffix(">")] += 1
    return found


def test_universities_have_the_shape_of_the_benchmarks() -> None:
    found = counted(3)
    departments = found["Department"]
    assert 3 * 15 <= departments <= 3 * 25
    for name, wanted in PER_DEPARTMENT.items():
        assert found[name] / departments == pytest.approx(wanted, rel=0.12), name
    assert 900 < found["University"] <= 1000


def test_a_university_is_the_same_however_many_there_are() -> None:
    one, two = next(generator.triples(1)), next(generator.triples(2))
    assert one.equals(two)


def members(kb: tidalog.KnowledgeBase, name: str) -> set[tuple[Term, ...]]:
    return set(kb.facts(f"<{generator.UB}{name}>").to_terms())


def test_both_programs_derive_the_same_classes_and_properties(tmp_path: Path) -> None:
    path = tmp_path / "data.nt"
    generator.write_ntriples(path, 1)
    compiled, generic = tidalog.open(), tidalog.open()
    compiled.load(programs.compiled())
    generic.load(programs.generic())
    generic.insert("triple", str(programs.ONTOLOGY))
    for kb in (compiled, generic):
        kb.insert("triple", str(path))
    for name in (
        "Person",
        "Employee",
        "Chair",
        "Student",
        "Organization",
        "memberOf",
        "degreeFrom",
        "hasAlumnus",
    ):
        assert members(compiled, name) == members(generic, name) != set(), name
    assert (IRI("http://www.University0.edu"),) in members(compiled, "Organization")
