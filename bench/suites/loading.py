"""Loading: pairs of strings and of integers, from CSV and from Parquet, into each system; and triples beside
Oxigraph."""

from __future__ import annotations

import gzip
import tempfile
from dataclasses import asdict
from pathlib import Path

from bench.compare import contest, disagreements
from bench.generators import integer_pairs, string_pairs, university_triples
from bench.process import OK
from bench.report import Section, megabytes, ratio, seconds
from bench.staging import Job, columns_of, write_files
from bench.suites.options import Options
from bench.systems import OXIGRAPH, TIDALOG

_COLUMNS = (
    "what",
    "system",
    "facts",
    "CPU s",
    "wall s",
    "Tidalog ÷ peer, CPU",
    "wall",
    "M facts / s",
    "peak MB",
)


def run(options: Options) -> list[Section]:
    count = 50_000 if options.quick else 5_000_000
    section = Section(f"Loading {count:,} pairs", _COLUMNS)
    with tempfile.TemporaryDirectory(prefix="tidalog-bench-") as scratch:
        for kind, generate in (("strings", string_pairs), ("integers", integer_pairs)):
            table = generate(count, count // 5)
            folder = Path(scratch) / kind
            folder.mkdir()
            write_files({"link": table}, folder)
            for file_format in ("csv", "parquet"):
                options.say(f"loading: {kind}, {file_format}")
                Job(
                    f"load-{file_format}",
                    f"{kind} {file_format}",
                    "",
                    {},
                    {"link": 2},
                    columns_of({"link": table}),
                ).write(folder)
                _compare(section, options, f"{kind}, {file_format}", file_format, folder, count)
    section.notes += [
        f"{count // 5:,} different terms; all pairs differ.  egglog reads tab-separated files, clingo a "
        "text of facts, CozoDB rows from Python; DuckDB keeps rows as they come, without making them a set.",
    ]
    return [section, _triples(options)]


def _triples(options: Options) -> Section:
    count = 40_000 if options.quick else 1_200_000
    section = Section(f"Loading {count:,} triples", _COLUMNS)
    with tempfile.TemporaryDirectory(prefix="tidalog-bench-") as scratch:
        folder = Path(scratch)
        with (folder / "triple.nt").open("w") as plain, gzip.open(folder / "triple.nt.gz", "wt") as packed:
            for line in university_triples(count):
                plain.write(line)
                packed.write(line)
        columns = {"triple": dict.fromkeys(("subject", "predicate", "object"), "string")}
        for ending in ("nt", "nt.gz"):
            options.say(f"loading: triples, {ending}")
            Job(f"load-{ending}", f"triples {ending}", "", {}, {"triple": 3}, columns).write(folder)
            _compare(section, options, f"triples, {ending}", ending, folder, count, "triple")
    section.notes.append("Oxigraph has its store in memory, filled by its bulk loader.")
    return section


def _compare(
    section: Section,
    options: Options,
    what: str,
    file_format: str,
    folder: Path,
    count: int,
    predicate: str = "link",
) -> None:
    systems = options.systems if predicate == "link" else [TIDALOG, OXIGRAPH]
    able = {system.key for system in systems if file_format in system.formats}
    contenders = contest(systems, able, folder, options.repeat, options.limits)
    own = next((c for c in contenders if c.system.key == "tidalog" and c.good), None)
    for contender in contenders:
        if contender.system.key not in able:
            continue
        section.records.append(
            {
                "what": what,
                "system": contender.system.key,
                "version": contender.system.version(),
                "status": contender.status,
                "detail": contender.detail,
                "runs": [asdict(run) for run in contender.runs],
            }
        )
        if contender.status != OK:
            section.add(what, contender.system.label, contender.status, *["–"] * (len(_COLUMNS) - 3))
            continue
        cpu, wall = contender.best("load", "cpu"), contender.best("load", "wall")
        versus = own if contender is not own else None
        section.add(
            what,
            contender.system.label,
            f"{count:,}",
            seconds(cpu),
            seconds(wall),
            ratio(versus.best("load", "cpu"), cpu) if versus else "",
            ratio(versus.best("load", "wall"), wall) if versus else "",
            f"{count / wall / 1e6:,.1f}" if wall else "–",
            megabytes(contender.peak_bytes),
        )
    section.end_group()
    section.problems += [f"{what}: {text}" for text in disagreements(contenders, {predicate: count})]
