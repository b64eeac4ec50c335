"""`tidalog apply`: materialise, apply updates in order, write @export.

JSON: `updates` and `totals` (as in `--stats`), `exports` and `wrote` (paths), `answers` (how many, by query).
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidalog.api.diagnostics import BadCommand
from tidalog.cli.options import ChangeFiles, Maintenance, bad_option, read_text
from tidalog.cli.report import Report, print_predicates, write_text
from tidalog.cli.work import Work, prepared
from tidalog.model.amounts import counted, duration, rate
from tidalog.model.errors import UsageError
from tidalog.rdf.layout import TRIPLE

if TYPE_CHECKING:
    from tidalog.api.continuous import ContinuousQuery
    from tidalog.api.delta import Delta
    from tidalog.api.knowledge_base import KnowledgeBase
    from tidalog.api.update import Update

COUNTERS: Final = (
    "deletions",
    "backward",
    "forward",
    "insertions",
    "marks_explicit",
    "marks_implicit",
    "marks_positive",
    "derivations",
    "checked",
    "rederivations",
    "recorded",
)
REQUEST: Final = ".ru"
"""Files of SPARQL updates."""
_LONG: Final = 0.5
"""Seconds after which the progress within an update is shown."""
_MANY: Final = 10
"""How many updates have a rate and quantiles."""


@dataclass
class Figures:
    """The figures of each update so far, and their totals."""

    updates: list[dict[str, object]] = field(default_factory=list)
    totals: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    inserted: Counter[str] = field(default_factory=Counter)
    deleted: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    """Seconds from taking an update to having its delta."""

    def add(self, delta: Delta, latency: float) -> None:
        counters = delta.counters.as_dict()
        seconds = counters.pop("seconds")
        counts = {name: int(count) for name, count in counters.items()}
        more = {
            "inserted": delta.inserted_count,
            "deleted": delta.deleted_count,
            "ignored": delta.ignored,
            "rules_added": len(delta.rules.added),
            "rules_removed": len(delta.rules.removed),
        }
        self.updates.append(
            {
                "update": delta.label,
                **counts,
                "seconds": seconds,
                "explicit_facts": delta.explicit_facts,
                "implicit_facts": delta.implicit_facts,
                **more,
            }
        )
        self.totals.update({**counts, **more, "updates": delta.updates})
        self.seconds += seconds
        self.latencies.append(latency)
        for name, change in delta.items():
            self.inserted[name] += change.inserted_count
            self.deleted[name] += change.deleted_count

    def to_json(self) -> dict[str, object]:
        return {"updates": self.updates, "totals": {**self.totals, "seconds": self.seconds}}


@dataclass(frozen=True)
class GivenUpdates:
    """Files of updates, and of RDF that one more update deletes and inserts."""

    paths: Sequence[str]
    deletions: Sequence[str]
    insertions: Sequence[str]

    def check(self) -> None:
        if not (self.paths or self.deletions or self.insertions):
            hint = "name files of updates, or --insert FILE"
            raise bad_option("there are no updates", "apply needs some", hint)

    def of_files(self) -> list[Update]:
        if not (self.deletions or self.insertions):
            return []
        from tidalog.api.update import Update

        update = Update(label="files")
        for path in self.deletions:
            update.delete(TRIPLE, path)
        for path in self.insertions:
            update.insert(TRIPLE, path)
        return [update]


def apply(
    report: Report,
    work: Work,
    given: GivenUpdates,
    how: Maintenance,
    files: ChangeFiles,
    queries: Path | None,
    export_dir: Path | None,
    stats_file: Path | None,
    quiet: bool,
) -> None:
    given.check()
    how.check()
    files.check()
    figures = Figures()
    with prepared(work, None) as kb:
        registered = _registered(kb, queries)
        try:
            wrote = _apply_all(report, kb, work, given, how, files, figures, registered)
        except BaseException:
            if figures.updates:  # applied before the error
                _write_stats(stats_file, figures)
            raise
        _write_stats(stats_file, figures)
        exports = kb.write_exports(export_dir)
        answers = {query.name: len(query.result()) for query in registered}
        more = {"answers": answers} if registered else {}
        written = {"exports": list(map(str, exports)), "wrote": list(map(str, wrote))}
        report.finish({**figures.to_json(), **written, **more})
        if not report.as_json and not quiet:
            for name, count in answers.items():
                print(f"{name}: {counted(count, 'answer')} now")
            _print_figures(kb, figures, [*wrote, *exports])


def _registered(kb: KnowledgeBase, file: Path | None) -> list[ContinuousQuery]:
    """The continuous queries of a file."""
    from tidalog.api.continuous import register_file

    return register_file(kb, file) if file is not None else []


def _write_stats(path: Path | None, figures: Figures) -> None:
    if path is not None:
        write_text(path, json.dumps(figures.to_json(), indent=2) + "\n")


def _apply_all(
    report: Report,
    kb: KnowledgeBase,
    work: Work,
    given: GivenUpdates,
    how: Maintenance,
    files: ChangeFiles,
    figures: Figures,
    registered: Sequence[ContinuousQuery],
) -> list[Path]:
    from tidalog.api.progress import ProgressBar
    from tidalog.cli.output_folder import OutputFolder, coming_rules
    from tidalog.cli.query_files import QueryFiles
    from tidalog.stream import FirstAlone, ListSource

    bad = work.bad_rows
    others = [path for path in given.paths if Path(path).suffix != REQUEST]
    requests = [Path(path) for path in given.paths if Path(path).suffix == REQUEST]
    from_files = given.of_files()
    if requests and (others or from_files):
        problem = f"{requests[0]} and other updates"
        hint = "apply them one after the other, with --store"
        raise UsageError(BadCommand(problem=problem, hint=hint))
    updates = kb.read_updates(
        others, on_error="skip" if bad.skip else "error", quarantine=bad.file_of("updates")
    )
    updates += map(kb.encoded, from_files)
    if updates.bad.count:
        report.note(f"updates: {counted(updates.bad.count, 'bad row')} left out")
    known = {rows.predicate for update in updates for rows in update.insertions}
    known |= {
        head.predicate for update in updates for rule in coming_rules(kb, update) for head in rule.heads
    }
    report.warn(w for w in kb.warnings if not (w.number == "W010" and w.values["predicate"] in known))
    kb.materialise()
    done = 0
    with ExitStack() as stack:
        bar = stack.enter_context(ProgressBar(never=report.as_json))
        texts = [(path.name, read_text(path, "a request")) for path in requests]
        stream = kb.stream(
            FirstAlone(ListSource(updates)),
            look_ahead=how.look_ahead,
            latest_only=how.latest_only,
            strategy=how.strategy,
            marking=how.marking,
            order=how.order,
            progress=lambda news: bar.on_run(news) if news.seconds > _LONG else None,
        )
        out = None
        if files.out is not None:
            folder = OutputFolder(
                kb,
                files.out,
                files.format,
                files.materialised,
                updates,
                requests=[text for _, text in texts],
            )
            out = stack.enter_context(folder)
        answers = None
        if files.out is not None and registered:
            answers = stack.enter_context(QueryFiles(registered, files.out, files.format))
        start = time.perf_counter()
        asked = (kb.sparql_update(text, label=name) for name, text in texts)
        for delta in chain(stream, asked):
            figures.add(delta, time.perf_counter() - start)
            done += delta.updates
            facts = delta.explicit_facts + delta.implicit_facts
            bar.on_updates(_label(delta), done, len(updates) + len(texts), facts)
            if out is not None:
                out.write(delta)
            if answers is not None:
                answers.write()
            start = time.perf_counter()
        return [*(out.paths if out is not None else ()), *(answers.paths if answers is not None else ())]


def _label(delta: Delta) -> str:
    rules = delta.rules
    return f"{delta.label}, +{len(rules.added)} −{len(rules.removed)} rules" if rules else str(delta.label)


# --- output -------------------------------------------------------------------------------------------------


def _print_figures(kb: KnowledgeBase, figures: Figures, wrote: Sequence[Path]) -> None:
    changed = sorted({*figures.inserted, *figures.deleted})
    if changed:
        print_predicates(("inserted", "deleted", "now"), (_changes(kb, figures, name) for name in changed))
    for path in wrote:
        print(f"wrote {path}")
    totals = figures.totals
    counts = [f"{name.replace('_', ' ')} {totals[name]:,}" for name in COUNTERS if totals[name]]
    if counts:
        print(" · ".join(counts))
    print(" · ".join(_summary(figures)))


def _summary(figures: Figures) -> list[str]:
    updates = figures.totals["updates"]
    parts = [counted(updates, "update")]
    added, removed = figures.totals["rules_added"], figures.totals["rules_removed"]
    if added or removed:
        parts.append(f"+{added:,} −{removed:,} rules")
    parts.append(f"+{figures.totals['inserted']:,} −{figures.totals['deleted']:,} facts")
    ignored = figures.totals["ignored"]
    if ignored:
        parts.append(f"{counted(ignored, 'operation')} did nothing")
    latencies = sorted(figures.latencies)
    whole = sum(latencies)
    parts += [duration(whole), *rate(updates, whole, "updates", _MANY)]
    if len(latencies) >= _MANY:
        median, late = (latencies[int(len(latencies) * q)] for q in (0.5, 0.95))
        parts.append(f"median {duration(median)}, 95 % {duration(late)}, worst {duration(latencies[-1])}")
    return parts


def _changes(kb: KnowledgeBase, figures: Figures, name: str) -> tuple[str, str, str, str]:
    inserted, deleted = figures.inserted[name], figures.deleted[name]
    changed = f"+{inserted:,}" if inserted else "", f"−{deleted:,}" if deleted else ""
    return kb.analysis.label(name), *changed, f"{kb.count(name):,}"
