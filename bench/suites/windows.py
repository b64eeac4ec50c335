"""The evaluation of the IMaRS paper, run again: a window slides over a stream, beside starting over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from bench.incremental.jobs import compile_all, failed
from bench.process import OK
from bench.report import Section
from bench.suites import window_queries, window_shares, window_slides
from bench.suites.options import Options

WHOLE = "windows"


def run(options: Options, asked: Sequence[str]) -> Iterator[Section]:
    options.say("papers: compiled code")
    warm = compile_all(options.limits, "warm-windows")
    if warm.status != OK:
        yield failed("Compiled code", warm)
    for name in asked:
        for section in PARTS[name](options):
            if options.quick:
                section.targets.clear()
            yield section


PARTS: Mapping[str, Callable[[Options], Iterator[Section]]] = {
    "window-shares": window_shares.shares,
    "window-slides": window_slides.slides,
    "window-memory": window_slides.memory,
    "window-queries": window_queries.queries,
    "window-peers": window_slides.peers,
}
NAMES = (WHOLE, *PARTS)
