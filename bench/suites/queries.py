"""Point queries: what a query with a constant costs, by the number of facts."""

from __future__ import annotations

from collections.abc import Iterator

from bench.incremental.jobs import failed, run_job
from bench.process import OK
from bench.report import Section
from bench.suites.options import Options

_SIZES, _QUICK_SIZES = [10_000, 100_000, 1_000_000], [1_000, 10_000]
_MOST_MILLISECONDS = 0.3
_COLUMNS = ("query", "facts", "first ms", "again ms", "with updates ms")
_NOTE = (
    "Wall time of kb.query with its rows: the first time, which builds the index; the median with other "
    "constants; the same with an update after each query."
)


def run(options: Options) -> Iterator[Section]:
    title = "Point queries: a constant, by the number of facts"
    options.say("point queries")
    sizes = _QUICK_SIZES if options.quick else _SIZES
    done = run_job("point-queries", {"sizes": sizes}, options.limits)
    if done.status != OK:
        yield failed(title, done)
        return
    section = Section(title, _COLUMNS, notes=[_NOTE])
    slow: list[str] = []
    for name, by_size in done.figures.items():
        for size, found in by_size.items():
            milliseconds = {key: 1e3 * seconds for key, seconds in found.items()}
            first, *again = (milliseconds[key] for key in ("cold", "warm", "with updates"))
            section.add(name, f"{int(size):,}", f"{first:,.1f}", *(f"{value:.3f}" for value in again))
            if milliseconds["warm"] > _MOST_MILLISECONDS:
                slow.append(f"{name} {int(size):,}: {milliseconds['warm']:.3f}")
        section.end_group()
        section.records.append({"query": name, **by_size})
    if not options.quick:
        section.check("a query that was asked before takes less than 0.3 ms at every size", slow)
    yield section
