"""The evaluation of the ZodiacEdge paper, run again: rules and facts come and go, beside starting over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench import plots
from bench.incremental.jobs import compile_all, failed, run_job
from bench.papers import rule_figures, rule_sets
from bench.process import OK, Limits
from bench.report import Section
from bench.suites.options import Options

WHOLE = "rules"

_TABLES_N, _QUICK_N = 200, 50
_SIZES = [50, 100, 200, 300, 400]
_TURBINES = 200
_PERCENTS = [10, 20, 30, 40, 50]
_LEAST_GAIN_OF_LEAVES = 100.0
_TIMES_THE_PAPER_SCRATCH = 5.0
_TIMES_THE_PAPER = 10.0
_JOB_SECONDS = 1800.0
"""A part is one process with all its operations."""

_OURS = (
    "facts after",
    "scratch CPU ms",
    "wall ms",
    "incremental CPU ms",
    "wall ms",
    "scratch ÷ incr.",
)
_TABLE_COLUMNS = ("operation", *_OURS, "paper: scratch s", "incr. s", "÷", "paper ÷ ours: scratch", "incr.")
_FIGURE_COLUMNS = ("rules", "operation", *_OURS, "paper: ÷")
_SIZE_COLUMNS = ("turbines", "operation", *_OURS)
_PERCENT_COLUMNS = ("more", "operation", *_OURS)
_NOTE = (
    "CPU and wall: best of several runs (what takes seconds is run less often).  Timed are deriving all "
    "(scratch) and `Maintainer.apply` (incremental) alone, each in a store that has just been derived; facts "
    "are ids and programs analysed."
)
_RIGHT = "after every operation all facts are those of starting over"
_NEVER_SLOWER = "incremental is never slower than from scratch"

Found = Mapping[str, Any]


@dataclass(frozen=True)
class Operation:
    """One way of a pair, beside deriving what it leads to from scratch.  Milliseconds."""

    label: str
    facts: int
    scratch: float
    scratch_wall: float
    incremental: float
    wall: float

    @property
    def gain(self) -> float:
        return self.scratch / self.incremental

    @property
    def cells(self) -> tuple[str, ...]:
        times = (self.scratch, self.scratch_wall, self.incremental, self.wall)
        return (f"{self.facts:,}", *map(_milliseconds, times), _times(self.gain))


def operation(label: str, way: str, pair: Found) -> Operation:
    scratch = pair["scratch_with" if way == "add" else "scratch_without"]
    return Operation(
        label,
        pair["counts"][way],
        1e3 * scratch["cpu_seconds"],
        1e3 * scratch["wall_seconds"],
        1e3 * pair[way]["cpu_seconds"],
        1e3 * pair[way]["wall_seconds"],
    )


def _milliseconds(value: float) -> str:
    return f"{value:,.1f}" if value >= 1 else f"{value:.3f}"


def _times(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def run(options: Options, asked: Sequence[str]) -> Iterator[Section]:
    options.say("papers: compiled code")
    warm = compile_all(options.limits, "warm-rules")
    if warm.status != OK:
        yield failed("Compiled code", warm)
    for name in asked:
        title, job, request, fill = PARTS[name]
        options.say(f"papers: {title}")
        limits = Limits(max(options.limits.seconds, _JOB_SECONDS), options.limits.bytes)
        done = run_job(job, {**request(options.quick), "repeat": options.repeat}, limits)
        if done.status != OK:
            yield failed(title, done)
            continue
        section = fill(title, done.figures)
        section.notes.append(_NOTE)
        section.records.append({"part": name, **done.figures})
        yield section


def _check(section: Section, pairs: Mapping[str, Found], operations: Sequence[Operation]) -> None:
    """What holds for every part."""
    wrong = [f"{label}, {what}" for label, pair in pairs.items() for what in pair["differences"]]
    section.check(_RIGHT, wrong)
    section.problems += [f"{where}: not what starting over gives" for where in wrong]
    least = min(operations, key=lambda one: one.gain)
    section.check(
        f"{_NEVER_SLOWER} (least gain: {_times(least.gain)}, {least.label})",
        [f"{one.label} {one.gain:.2f}" for one in operations if one.gain < 1],
    )


def _check_counts(section: Section, expected: Mapping[str, tuple[int, Sequence[int]]], what: str) -> None:
    wrong = [
        f"{label} {count:,} for {right:,}"
        for label, (right, counts) in expected.items()
        for count in counts
        if count != right
    ]
    section.check(what, wrong)
    section.problems += [f"facts of {text}" for text in wrong]


# --- Tables 2 and 3 ---------------------------------------------------------------------------------------


def tables(title: str, figures: Found) -> Section:
    section = Section(title, _TABLE_COLUMNS, text_columns=1)
    n, pairs = figures["n"], figures["sets"]
    done: dict[tuple[str, str], Operation] = {}
    for (way, rule), paper in rule_figures.TABLES.items():
        ours = done[way, rule] = operation(f"{way} {rule}", way, pairs[rule])
        theirs = ("–",) * 5
        if n == _TABLES_N:
            theirs = (
                f"{paper.scratch:.3f}",
                f"{paper.incremental:.4g}",
                _times(paper.scratch / paper.incremental),
                _times(1e3 * paper.scratch / ours.scratch),
                _times(1e3 * paper.incremental / ours.incremental),
            )
        section.add(ours.label, *ours.cells, *theirs)
    _check_counts(section, _counts_of_chains("RS3", n, figures), _counts_text("RS3", n))
    retracted = pairs["r6"]["counts"]["add_retracts"]
    right = rule_sets.retracted_by_r6(n)
    _check_counts(section, {"add r6, retracted": (right, [retracted])}, f"adding r6 retracts {right:,} facts")
    extra = [operation(f"{way} the p5 fact", way, figures["extra"]) for way in ("add", "delete")]
    for one in extra:
        section.add(one.label, *one.cells, *("–",) * 5)
    _check(section, {**pairs, "p5": figures["extra"]}, [*done.values(), *extra])
    if n == _TABLES_N:
        _check_times(section, done)
    series: dict[str, list[float | None]] = {
        "scratch": [one.scratch for one in done.values()],
        "incremental": [one.incremental for one in done.values()],
    }
    if n == _TABLES_N:
        series["paper, scratch"] = [1e3 * paper.scratch for paper in rule_figures.TABLES.values()]
        series["paper, incremental"] = [1e3 * paper.incremental for paper in rule_figures.TABLES.values()]
    labels = [one.label for one in done.values()]
    section.plots.append(plots.bars("tables-2-and-3", title, "CPU ms", labels, series))
    return section


def _check_times(section: Section, done: Mapping[tuple[str, str], Operation]) -> None:
    for what, wanted, ratio in (
        ("from scratch", _TIMES_THE_PAPER_SCRATCH, lambda one, paper: 1e3 * paper.scratch / one.scratch),
        ("incremental", _TIMES_THE_PAPER, lambda one, paper: 1e3 * paper.incremental / one.incremental),
    ):
        ratios = {one.label: ratio(one, rule_figures.TABLES[key]) for key, one in done.items()}
        slow = [f"{label} {value:.1f}" for label, value in ratios.items() if value < wanted]
        least = _times(min(ratios.values()))
        section.check(f"{what}: at least {wanted:g} times as fast as the paper (least: {least})", slow)


def _counts_of_chains(name: str, n: int, figures: Found) -> dict[str, tuple[int, list[int]]]:
    """By program that has a formula: the count that is right, and the counts found."""
    pairs, extra = figures["sets"], figures["extra"]["counts"]
    whole = [pair["counts"][key] for pair in pairs.values() for key in ("scratch_with", "add")]
    expected = {name: (rule_sets.derived(name, n), [*whole, extra["scratch_without"], extra["delete"]])}
    if name == "RS2":
        right = rule_sets.derived(name, n, extra=True)
        expected["RS2 with p5"] = right, [extra["scratch_with"], extra["add"]]
        return expected
    for rule, pair in pairs.items():
        found = [pair["counts"][key] for key in ("scratch_without", "delete")]
        expected[f"{name} without {rule}"] = rule_sets.derived(name, n, [rule]), found
    return expected


def _counts_text(name: str, n: int) -> str:
    """The count, and whether it is that of the paper where the sizes are."""
    right = rule_sets.derived(name, n)
    printed = f", the paper's {rule_figures.FACTS[name]:,}" if right == rule_figures.FACTS[name] else ""
    return f"derived facts are those of the closed formulas ({name}: {right:,}{printed})"


# --- Fig. 7 and 8 -----------------------------------------------------------------------------------------


def _other_rules() -> list[tuple[str, ...]]:
    """Rules that the paper's text does not name by themselves."""
    each = [(rule.name,) for rule in rule_sets.program("RS2").rules]
    return [rules for rules in each if rules not in rule_figures.RULES_OF_FIGURES]


_PICTURES = {
    "add": ("figure-7", "Fig. 7: rules added to rule set 2"),
    "delete": ("figure-8", "Fig. 8: rules deleted from rule set 2"),
}


def sets_of_rules(title: str, figures: Found) -> Section:
    section = Section(title, _FIGURE_COLUMNS)
    n, pairs = figures["n"], figures["sets"]
    all_done = []
    for way in ("add", "delete"):
        done = []
        for label, pair in pairs.items():
            one = operation(f"{way} {label}", way, pair)
            section.add(label, way, *one.cells, rule_figures.GAINS.get((way, label), ""))
            done.append(one)
        section.end_group()
        section.notes.append(f"{way}, scratch ÷ incremental in the paper: {rule_figures.GAIN_RANGES[way]}.")
        name, heading = _PICTURES[way]
        series = {"scratch": [o.scratch for o in done], "incremental": [o.incremental for o in done]}
        section.plots.append(plots.bars(name, heading, "CPU ms", list(pairs), series))
        all_done += done
    extra = [operation(f"{way} the p5 fact", way, figures["extra"]) for way in ("add", "delete")]
    for one, way in zip(extra, ("add", "delete"), strict=True):
        section.add("p5 fact", way, *one.cells, "")
    _check_counts(section, _counts_of_chains("RS2", n, figures), _counts_text("RS2", n))
    lost = figures["extra"]["counts"]["scratch_without"] - figures["extra"]["counts"]["add"]
    _check_counts(section, {"lost by p5": (2 * n, [lost])}, f"the p5 fact takes {2 * n} facts")
    _check(section, {**pairs, "p5": figures["extra"]}, [*all_done, *extra])
    if n == _TABLES_N:
        labels = [f"{way} {leaf}" for way in ("add", "delete") for leaf in rule_sets.LEAVES]
        leaves = [one for one in all_done if one.label in labels]
        slow = [f"{one.label} {_times(one.gain)}" for one in leaves if one.gain < _LEAST_GAIN_OF_LEAVES]
        section.check(f"at least {_LEAST_GAIN_OF_LEAVES:g} times faster for the leaf rules", slow)
    return section


# --- Fig. 9 -----------------------------------------------------------------------------------------------

_FIGURE_9 = (
    ("triple", "add", "add a triple"),
    ("triple", "delete", "delete that triple"),
    ("middle", "delete", "delete the middle triple"),
    ("middle", "add", "add the middle triple"),
    ("r1", "delete", "delete symmetric"),
    ("r1", "add", "add symmetric"),
    ("r2", "delete", "delete transitive"),
    ("r2", "add", "add transitive"),
)
_PLOTTED = ("add a triple", "delete that triple", "delete symmetric", "delete transitive")


def sizes(title: str, figures: Found) -> Section:
    section = Section(title, _SIZE_COLUMNS)
    found = figures["sizes"]
    series: dict[str, list[float | None]] = {"from scratch": []} | {label: [] for label in _PLOTTED}
    pairs, done, counts = {}, [], {}
    for n, by_operation in found.items():
        for name, pair in by_operation.items():
            pairs[f"{n} turbines, {name}"] = pair
        whole = operation("", "add", by_operation["r1"])
        scratch = (_milliseconds(whole.scratch), _milliseconds(whole.scratch_wall))
        section.add(n, "from scratch", f"{whole.facts:,}", *scratch, "", "", "")
        series["from scratch"].append(whole.scratch)
        for name, way, label in _FIGURE_9:
            one = operation(f"{n} turbines, {label}", way, by_operation[name])
            section.add(n, label, *one.cells)
            done.append(one)
            if label in series:
                series[label].append(one.incremental)
        section.end_group()
        rules = [by_operation[rule]["counts"] for rule in ("r1", "r2")]
        all_there = [count[key] for count in rules for key in ("scratch_with", "add")]
        all_there += [by_operation["triple"]["counts"][key] for key in ("scratch_without", "delete")]
        all_there += [by_operation["middle"]["counts"][key] for key in ("scratch_with", "add")]
        counts[f"{n} turbines"] = rule_sets.derived("RS1", int(n)), all_there
    _check_counts(section, counts, _counts_text("RS1", max(map(int, found))))
    _check(section, pairs, done)
    section.notes.append(
        "A triple at the end of the chain is added and deleted again; the one in the middle is deleted, "
        "which leaves two halves, and added again.  The paper has neither that one nor the addition of rules."
    )
    section.plots.append(plots.lines("figure-9", title, "CPU ms by turbines", list(found), series))
    return section


# --- Fig. 10 ----------------------------------------------------------------------------------------------


def turbines(title: str, figures: Found) -> Section:
    section = Section(title, _PERCENT_COLUMNS)
    n = figures["n"]
    labels = ("insert", "delete", "from scratch, with", "from scratch, without")
    series: dict[str, list[float | None]] = {label: [] for label in labels}
    done, counts = [], {}
    for percent, pair in figures["percents"].items():
        large = n + n * int(percent) // 100
        for way, label in (("add", "insert"), ("delete", "delete")):
            one = operation(f"{label} {percent} %", way, pair)
            section.add(f"{percent} %", label, *one.cells)
            done.append(one)
            series[label].append(one.incremental)
            series["from scratch, with" if way == "add" else "from scratch, without"].append(one.scratch)
        section.end_group()
        found = pair["counts"]
        counts[f"{large} turbines"] = rule_sets.derived("RS1", large), [found["scratch_with"], found["add"]]
        back = [found["scratch_without"], found["delete"]]
        counts[f"{n} turbines after {percent} % more"] = rule_sets.derived("RS1", n), back
    _check_counts(section, counts, _counts_text("RS1", n))
    _check(section, figures["percents"], done)
    section.notes.append("In the paper deletion takes longer than insertion.")
    x = [f"{percent} %" for percent in figures["percents"]]
    section.plots.append(plots.lines("figure-10", title, "CPU ms by turbines more", x, series))
    return section


_Part = tuple[
    str, str, Callable[[bool], dict[str, object]], Callable[[str, Found], Section]
]  # title, job, its request, its table

PARTS: Mapping[str, _Part] = {
    "negation": (
        "Tables 2 and 3: rule set 3, rules added and deleted",
        "chains",
        lambda quick: {"name": "RS3", "sets": [["r6"], ["r10new"]], "n": _QUICK_N if quick else _TABLES_N},
        tables,
    ),
    "rule-sets": (
        "Fig. 7 and 8: rule set 2, sets of rules added and deleted",
        "chains",
        lambda quick: {
            "name": "RS2",
            "sets": rule_figures.RULES_OF_FIGURES,
            "once": [] if quick else _other_rules(),
            "n": _QUICK_N if quick else _TABLES_N,
        },
        sets_of_rules,
    ),
    "symmetric-transitive": (
        "Fig. 9: rule set 1, a triple and rules",
        "symmetric-transitive",
        lambda quick: {"sizes": _SIZES[:1] if quick else _SIZES},
        sizes,
    ),
    "turbines": (
        "Fig. 10: rule set 1, turbines inserted and deleted",
        "turbines",
        lambda quick: {
            "n": _QUICK_N if quick else _TURBINES,
            "percents": _PERCENTS[:1] if quick else _PERCENTS,
        },
        turbines,
    ),
}
NAMES = (WHOLE, *PARTS)
