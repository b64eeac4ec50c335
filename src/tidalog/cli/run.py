"""`tidalog run`: materialise, write @export, print @output.

If facts contradict an ontology, they are named, and the exit code is 1.

JSON: `outputs` (predicate → columns, rows), `exports` (paths), `stats` (as `--stats` writes them), and with
`--plan` the `plan`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidalog.api.naming import known_predicate
from tidalog.api.stats import Stats, summary
from tidalog.cli.options import bad_option, read_limit
from tidalog.cli.report import FAILED, Report, print_output, print_predicates, result_json, write_text
from tidalog.cli.work import Work, prepared
from tidalog.io.formats import is_rdf_file
from tidalog.model.amounts import counted

if TYPE_CHECKING:
    from tidalog.api.knowledge_base import KnowledgeBase


def run(
    report: Report,
    work: Work,
    outputs: list[str] | None,
    export_dir: Path | None,
    stats_file: Path | None,
    rows: int,
    quiet: bool,
    plan: bool,
    explicit: bool | None,
) -> int:
    shown, files = split_outputs(outputs, explicit)
    with prepared(work, report) as kb:
        kb.materialise()
        contradictions = kb.ontology().inconsistency_warnings() if work.has_ontology else []
        report.warn(contradictions)
        code = FAILED if contradictions else 0
        if work.store is not None:
            from tidalog.api.stored import StoredKnowledgeBase

            assert isinstance(kb, StoredKnowledgeBase)
            kb.snapshot()
        written = kb.write_exports(export_dir)
        written += [kb.write_rdf(file, explicit=explicit) for file in files]
        report.warn(kb.warnings)
        asked = [known_predicate(name, kb.analysis) for name in shown or kb.program.outputs]
        results = {kb.analysis.label(name): kb.facts(name) for name in asked}
        stats = kb.stats()
        if stats_file is not None:
            write_text(stats_file, json.dumps(stats.to_json(), indent=2) + "\n")
        for predicate, count in stats.skipped.items():
            report.note(f"{predicate}: {counted(count, 'bad row')} left out")
        if report.as_json:
            content: dict[str, object] = {
                "outputs": {name: result_json(result) for name, result in results.items()},
                "exports": [str(path) for path in written],
                "stats": stats.to_json(),
            }
            report.finish(content | ({"plan": kb.plan().to_dict()} if plan else {}))
            return code
        for name, result in results.items():
            print_output(name, result, read_limit(rows))
            print()
        if plan:
            print(kb.plan())
            print()
        if not quiet:
            _print_figures(kb, stats, written, with_counts=not results)
    return code


def split_outputs(outputs: Sequence[str] | None, explicit: bool | None) -> tuple[list[str], list[Path]]:
    """Predicates to print, and RDF files to write."""
    files = [name for name in outputs or () if ":" not in name and is_rdf_file(Path(name))]
    if explicit is not None and not files:
        option = "--explicit-only" if explicit else "--inferred-only"
        raise bad_option(f"{option} without an RDF file", "it is about what -o writes", "add -o facts.nt")
    return [name for name in outputs or () if name not in files], [Path(name) for name in files]


def _print_figures(kb: KnowledgeBase, stats: Stats, written: list[Path], *, with_counts: bool) -> None:
    if with_counts:
        print_predicates(("facts", ""), (_counts(kb, stats, name) for name in kb.predicates))
    for path in written:
        print(f"wrote {path}")
    print(summary(stats))
    for failure in stats.failures():
        print(f"{failure} (--strict makes that an error)")


def _counts(kb: KnowledgeBase, stats: Stats, name: str) -> tuple[str, str, str]:
    info = kb.predicates[name]
    kinds = [word for word, holds in (("explicit", info.explicit), ("derived", info.derived)) if holds]
    return f"{kb.analysis.label(name)}/{info.arity}", f"{stats.predicates[name]:,}", " and ".join(kinds)
