"""SPARQL queries beside pyoxigraph, by the number of universities."""

from __future__ import annotations

from collections.abc import Iterator

from bench.incremental.jobs import failed, run_job
from bench.process import OK
from bench.report import Section, ratio
from bench.sparql.queries import POINTS
from bench.suites.options import Options

_SIZES, _QUICK_SIZES = (1, 10), (1,)
_MOST_OF_POINT, _COUNTS_FROM = 0.5, 1.0  # milliseconds
_COLUMNS = ("query", "answers", "read ms", "first ms", "again ms", "rows ms", "pyoxigraph ms", "ratio")
_NOTE = (
    "Wall time with the answers taken out, of the same triples: those given and those that follow by RDFS "
    "and OWL rules. read: parsing alone; first: with planning and indexes; again: the same text, as columns; "
    "rows: as rows of Python. pyoxigraph: its store in memory, which has no plan to keep, until the last row."
)


def run(options: Options) -> Iterator[Section]:
    for size in _QUICK_SIZES if options.quick else _SIZES:
        options.say(f"SPARQL, {size}")
        title = f"SPARQL: universities × {size}"
        done = run_job("sparql", {"universities": size}, options.limits)
        if done.status != OK:
            yield failed(title, done)
            continue
        data = "LUBM" if done.figures["is LUBM"] else "generated in the manner of LUBM"
        section = Section(f"{title} ({done.figures['triples']:,} triples, {data})", _COLUMNS, notes=[_NOTE])
        slower, slow = list[str](), list[str]()
        for name, found in done.figures["queries"].items():
            read, first, again, rows, theirs = (
                1e3 * found[key] for key in ("read", "first", "again", "rows", "theirs")
            )
            times = (f"{value:,.2f}" for value in (read, first, again, rows, theirs))
            section.add(name, f"{found['answers']:,}", *times, ratio(again, theirs))
            section.records.append({"query": name, "universities": size, **found})
            if theirs > _COUNTS_FROM and again > theirs:
                slower.append(f"{name}: {again:.2f}, pyoxigraph {theirs:.2f}")
            if name in POINTS and again > _MOST_OF_POINT:
                slow.append(f"{name}: {again:.2f}")
        section.check("no query that takes pyoxigraph more than 1 ms takes longer here", slower)
        section.check("a point query that was asked before takes less than 0.5 ms", slow)
        yield section
