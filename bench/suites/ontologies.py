"""Ontologies: OWL 2 RL over LUBM, compiled and not, beside `reasonable` and `owlrl`; axioms that change.

LUBM(1,0) comes with the tests; `TIDALOG_LUBM` names a file of N-Triples (gz) of another size.  CPU seconds,
loading apart.  `reasonable` also converts its result to terms of rdflib in the same call, which takes most
of the time: a second call, which has nothing left to derive, tells how much.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from bench.process import ROOT
from bench.report import Section, Target
from bench.suites.options import Options

_LUBM: Final = ROOT / "tests" / "data" / "lubm"
_ONTOLOGY: Final = _LUBM / "univ-bench.ttl"
_COMPILED: Final = 25
"""So many times faster than `reasonable` the compiled rules are to be."""
_GENERIC: Final = 3
_OWLRL: Final = 3_000

_TIDALOG: Final = """
import json, sys, time, tidalog
ontology, data, form = sys.argv[1:]
kb = tidalog.open()
onto = kb.ontology(ontology, compiled=form == "compiled")
kb.insert("triple", data)
start = time.process_time()
kb.materialise()
cpu = time.process_time() - start
figures = {"cpu": cpu, "triples": kb.count("triple")}
if form == "compiled":
    axioms = [
        "ub:headOf rdfs:subPropertyOf ub:worksFor .",
        "ub:teacherOf rdfs:domain ub:Faculty .",
        "ub:subOrganizationOf a owl:TransitiveProperty .",
        "ub:AssistantProfessor rdfs:subClassOf ub:Professor .",
    ]
    onto.remove(axioms[0]), onto.add(axioms[0])  # the first update sets up maintenance
    for name, change in (("remove", onto.remove), ("add", onto.add)):
        start = time.process_time()
        for axiom in axioms:
            change(axiom)
        figures[name] = (time.process_time() - start) / len(axioms)
print(json.dumps(figures))
"""
_REASONABLE: Final = """
import gzip, json, os, sys, tempfile, time, reasonable
ontology, data, _ = sys.argv[1:]
reasoner = reasonable.PyReasoner()
reasoner.load_file(ontology)
with tempfile.NamedTemporaryFile(suffix=".ttl") as file:
    file.write(gzip.open(data).read())
    file.flush()
    reasoner.load_file(file.name)
start = time.process_time()
count = len(reasoner.reason())
whole = time.process_time() - start
start = time.process_time()
reasoner.reason()
converting = time.process_time() - start
print(json.dumps({"cpu": whole - converting, "whole": whole, "triples": count}))
"""
_BY_OWLRL: Final = """
import gzip, json, sys, time, owlrl, rdflib
ontology, data, _ = sys.argv[1:]
graph = rdflib.Graph().parse(ontology)
graph.parse(data=gzip.open(data).read(), format="nt")
start = time.process_time()
owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
print(json.dumps({"cpu": time.process_time() - start, "triples": len(graph)}))
"""


def run(options: Options) -> list[Section]:
    if not options.with_tidalog:
        return []
    data = Path(os.environ.get("TIDALOG_LUBM", _LUBM / "lubm-1.nt.gz"))
    section = Section(f"OWL 2 RL over {data.name}", ("system", "", "CPU s", "triples"))
    found: dict[str, dict[str, float]] = {}
    systems = [("compiled", _TIDALOG), ("generic", _TIDALOG), ("reasonable", _REASONABLE)]
    if not options.quick and "TIDALOG_LUBM" not in os.environ:
        systems.append(("owlrl", _BY_OWLRL))
    for name, code in systems:
        options.say(f"ontologies: {name}")
        repeat = options.repeat if code is _TIDALOG else 1
        runs = [_run(code, data, name, options.limits.seconds) for _ in range(repeat)]
        found[name] = best = min(runs, key=lambda figures: figures["cpu"])
        section.add(name, "", f"{best['cpu']:.3f}", f"{int(best['triples']):,}")
        if "whole" in best:
            section.add(name, "with conversion to rdflib", f"{best['whole']:.3f}", "")
    for name in ("remove", "add"):
        section.add(f"compiled: {name} an axiom", "mean of four", f"{found['compiled'][name]:.4f}", "")
    for form, peer, times in (
        ("compiled", "reasonable", _COMPILED),
        ("generic", "reasonable", _GENERIC),
        ("compiled", "owlrl", _OWLRL),
    ):
        if peer in found:
            ratio = found[peer]["cpu"] / found[form]["cpu"]
            text = f"{form}: {ratio:,.1f} times faster than {peer}, at least {times:,}"
            section.targets.append(Target(text, ratio >= times))
    return [section]


def _run(code: str, data: Path, form: str, seconds: float) -> dict[str, float]:
    command = [sys.executable, "-c", code, str(_ONTOLOGY), str(data), form]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10 * seconds)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures
