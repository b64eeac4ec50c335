"""Maintenance: what updates of a materialisation cost, by strategy, beside the peers and by size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean, median

from bench.generators import random_digraph
from bench.incremental.jobs import compile_all, failed, run_job
from bench.peers_incremental.contest import PEERS, Figures, contest
from bench.peers_incremental.task import Edge, chosen
from bench.process import OK, ROOT, Limits
from bench.report import Section, last_stored
from bench.suites import maintenance_sizes
from bench.suites.options import Options

_RESULTS = ROOT / "bench" / "results"
_STRATEGIES = ("ranked", "dred", "bf", "fbf", "recompute", "auto")
_CAP_SECONDS = 12.0
"""CPU time that a strategy may take for its pairs; the one during which it ends is finished or stopped."""
_PEER_SECONDS = 40.0
_ENDURANCE_SECONDS = 60.0

_MOST_MILLISECONDS = 10.0
_TIMES_FASTER = 50.0
_MOST_OVER_BEST = 1.25
_MOST_WEAR = 1.25
_PAIRS_COLUMNS = (
    "strategy",
    "status",
    "pairs",
    "delete ms: mean",
    "median",
    "max",
    "insert ms: mean",
    "median",
    "max",
    "mean of both",
    "from scratch ms",
    "scratch ÷ mean",
)


NAMES = ("pairs", "endurance", "locality", "components", "sustained", "equilibrium")


def run(options: Options) -> Iterator[Section]:
    """Small inputs are for seeing that everything runs and agrees: they are held to no target."""
    parts: dict[str, Callable[[Options], list[Section]]] = {
        "pairs": lambda o: [_pairs(o)],
        "endurance": lambda o: [_endurance(o)],
        "locality": lambda o: [maintenance_sizes.locality(o)],
        "components": lambda o: [maintenance_sizes.components(o)],
        "sustained": lambda o: [maintenance_sizes.sustained(o)],
        "equilibrium": maintenance_sizes.equilibrium,
    }
    options.say("maintenance: compiled code")
    warm = compile_all(options.limits) if options.with_tidalog else None
    if warm is not None and warm.status != OK:
        yield failed("Compiled code", warm)
    for name, part in parts.items():
        if (not options.names or name in options.names) and (options.with_tidalog or name == "pairs"):
            options.say(f"maintenance: {name}")
            for section in part(options):
                if options.quick:
                    section.targets.clear()
                yield section


def _graph(quick: bool) -> dict[str, int]:
    return {"nodes": 200, "edges": 400} if quick else {"nodes": 2_000, "edges": 4_000}


# --- one edge out and in again -----------------------------------------------------------------------


def _pairs(options: Options) -> Section:
    graph = _graph(options.quick)
    changes = 5 if options.quick else 100
    title = f"One edge deleted, then inserted: closure of {graph['nodes']:,} nodes, {graph['edges']:,} edges"
    section = Section(title, _PAIRS_COLUMNS)
    own: float | None = None
    if options.with_tidalog:
        own = _add_own(section, options, graph, changes)
    _add_peers(section, options, graph, changes, own)
    section.notes += [
        f"CPU ms.  The edges are {changes} at random; strategies take turns in one process, each on its own "
        f"store, and change no more edges after {_CAP_SECONDS:g} s.",
        "Of a peer, the lesser of CPU and wall time.",
    ]
    return section


def _add_own(section: Section, options: Options, graph: dict[str, int], changes: int) -> float | None:
    """Tidalog's rows; the mean seconds of an update under `auto`."""
    request = {**graph, "changes": changes, "strategies": _STRATEGIES, "cap": _CAP_SECONDS}
    seconds = max(options.limits.seconds, 3 * _CAP_SECONDS * len(_STRATEGIES))
    done = run_job("pairs", {**request, "repeat": options.repeat}, Limits(seconds, options.limits.bytes))
    if done.status != OK:
        section.problems.append(f"pairs {done.problem}")
        return None
    figures = done.figures
    scratch = figures["scratch_cpu_seconds"]
    pairs: dict[str, list[float]] = {}
    for name, found in figures["strategies"].items():
        deletes, inserts = found["delete_cpu_seconds"], found["insert_cpu_seconds"]
        pairs[name] = [(d + i) / 2 for d, i in zip(deletes, inserts, strict=True)]
        _add_pairs_row(section, name, found["status"] or OK, deletes, inserts, scratch)
        if found["facts_after"] != figures["facts"]:
            section.problems.append(f"{name}: {found['facts_after']:,} facts for {figures['facts']:,}")
        section.records.append({"strategy": name, **graph, "scratch_cpu_seconds": scratch, **found})
    section.end_group()
    if not pairs["auto"]:
        section.check("auto gets through its pairs", ["none in time"])
        return None
    own = mean(pairs["auto"])
    _check(
        section, f"auto: {own * 1e3:.2f} ms, at most {_MOST_MILLISECONDS:g}", own * 1e3 <= _MOST_MILLISECONDS
    )
    times = scratch / own
    _check(section, f"auto: {times:,.0f} times as fast as from scratch, at least 50", times >= _TIMES_FASTER)
    worse = [
        f"{name} {theirs * 1e3:.2f} ms for {ours * 1e3:.2f} on {len(pairs[name])}"
        for name in _STRATEGIES
        if pairs[name]
        for ours, theirs in [(mean(pairs["auto"][: len(pairs[name])]), mean(pairs[name]))]
        if ours > _MOST_OVER_BEST * theirs
    ]
    section.check("auto takes at most 25 % more than any strategy, on the edges that both changed", worse)
    return own


def _add_pairs_row(
    section: Section,
    name: str,
    status: str,
    deletes: Sequence[float],
    inserts: Sequence[float],
    scratch: float,
) -> None:
    if not deletes:
        section.add(name, status, "0", *["–"] * 7, f"{scratch * 1e3:,.0f}", "–")
        return
    both = mean([*deletes, *inserts])
    cells = [f"{f(times) * 1e3:,.2f}" for times in (deletes, inserts) for f in (mean, median, max)]
    section.add(
        name,
        status,
        str(len(deletes)),
        *cells,
        f"{both * 1e3:,.2f}",
        f"{scratch * 1e3:,.0f}",
        f"{scratch / both:,.1f}",
    )


def _check(section: Section, text: str, met: bool) -> None:
    section.check(text, [] if met else ["this run"])


def _add_peers(
    section: Section, options: Options, graph: dict[str, int], changes: int, own: float | None
) -> None:
    peers = [peer for peer in PEERS if not options.only or peer.key in options.only]
    if not peers:
        return
    table = random_digraph(**graph)
    edges: list[Edge] = list(zip(table["x"].to_pylist(), table["y"].to_pylist(), strict=True))
    limits = Limits(max(options.limits.seconds, 6 * _PEER_SECONDS), options.limits.bytes)
    for peer in peers:
        options.say(f"maintenance: {peer.label}")
        (figures,) = contest([peer], edges, chosen(edges, changes), _PEER_SECONDS, limits)
        status = figures.status
        if figures.status == OK:
            section.records.append({"peer": peer.key, **graph, **asdict(figures)})
        else:
            section.records.append({"peer": peer.key, **graph, "status": status, "detail": figures.detail})
            stored = _stored(peer.key, graph)
            if stored is not None:
                figures, status = stored, f"{status}; last stored run"
        if figures.status != OK:
            section.add(peer.label, status, *["–"] * (len(_PAIRS_COLUMNS) - 2))
            continue
        deletes = _lesser(figures.delete_seconds, figures.delete_cpu_seconds)
        inserts = _lesser(figures.insert_seconds, figures.insert_cpu_seconds)
        scratch = min(figures.materialise_seconds, figures.materialise_cpu_seconds)
        _add_pairs_row(section, figures.system, status, deletes, inserts, scratch)
        if own is not None and deletes:
            times = mean([*deletes, *inserts]) / own
            text = f"auto: {times:,.0f} times as fast as {figures.system}, at least {_TIMES_FASTER:g}"
            _check(section, text, times >= _TIMES_FASTER)


def _lesser(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """The row with the smaller sum: wall or CPU time, whichever favours the peer."""
    return list(min(one, other, key=sum))


def _stored(peer: str, graph: dict[str, int], folder: Path = _RESULTS) -> Figures | None:
    wanted = {"peer": peer, **graph, "status": OK}
    record = last_stored(folder, lambda found: all(found.get(key) == wanted[key] for key in wanted))
    if record is None:
        return None
    known = {key: value for key, value in record.items() if key in Figures.__dataclass_fields__}
    return Figures(**{k: tuple(v) if isinstance(v, list) else v for k, v in known.items()})  # type: ignore[arg-type]


# --- a thousand pairs on one store -------------------------------------------------------------------


def _endurance(options: Options) -> Section:
    changes, window = (20, 5) if options.quick else (1_000, 100)
    columns = (
        "store",
        "pairs",
        "pair ms: first",
        "last",
        "last ÷ first",
        "MB: start",
        "end",
        "ids: start",
        "end",
    )
    section = Section(f"{changes:,} pairs on one store", columns, text_columns=1)
    request = {**_graph(options.quick), "changes": changes, "window": window, "cap": _ENDURANCE_SECONDS}
    done = run_job("endurance", request, options.limits)
    if done.status != OK:
        section.problems.append(f"endurance {done.problem}")
        return section
    figures = done.figures
    seconds, sizes, ids = figures["pair_cpu_seconds"], figures["bytes"], figures["ids"]
    first, last = mean(seconds[:window]), mean(seconds[-window:])
    section.add(
        "closure, auto",
        f"{figures['pairs']:,}",
        f"{first * 1e3:,.2f}",
        f"{last * 1e3:,.2f}",
        f"{last / first:.2f}",
        f"{sizes[0] / 1e6:,.1f}",
        f"{sizes[-1] / 1e6:,.1f}",
        f"{ids[0]:,}",
        f"{ids[-1]:,}",
    )
    whole = figures["pairs"] == changes
    same = (
        f"The last {window} pairs change the same edges as the first."
        if whole
        else "It ended early: the last pairs change other edges than the first; their ratio is not a target."
    )
    section.notes.append(
        f"{same}  Most bytes at any time: "
        f"{max(sizes) / 1e6:,.1f} MB, most ids: {max(ids):,}, slowest pair: {max(seconds) * 1e3:,.1f} ms."
    )
    strategies = ", ".join(f"{name} {count:,}" for name, count in figures["chosen"].items())
    section.notes.append(f"Deletions by strategy: {strategies}.")
    made = figures["pairs"]
    text = f"{made:,} of {changes:,} pairs within {_ENDURANCE_SECONDS:g} s"
    _check(section, text, made == changes)
    if figures["facts"][0] != figures["facts"][-1]:
        section.problems.append(f"{figures['facts'][-1]:,} facts at the end for {figures['facts'][0]:,}")
    if whole:
        text = f"the last cost {last / first:.2f} times the first, at most {_MOST_WEAR:g}"
        _check(section, text, last <= _MOST_WEAR * first)
    _check(section, f"at most twice the bytes ({max(sizes) / sizes[0]:.2f})", max(sizes) <= 2 * sizes[0])
    section.records.append(dict(figures))
    return section
