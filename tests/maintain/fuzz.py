"""The laws of maintenance for as long as you like: `python -m tests.maintain.fuzz --seconds 3600 [--seed N]`.

Each round takes a seed of its own and generates scenarios from it; the first that breaks a law is shrunk and
printed as text that `scenario(…)` of `maintained` reads, with the seed that leads to it.  Exit code 1 then.
A crash of compiled code ends the process; what was running stands in the file that is named at the start.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from rich.console import Console

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

from maintained import Scenario, check_scenario, steps_run, unused_at_most  # noqa: E402
from rule_streams import (  # noqa: E402
    chained_rule_scenarios,
    check_rule_scenario,
    layered_rule_scenarios,
    tangled_rule_scenarios,
)
from streams import (  # noqa: E402
    FLEETING_CONFIGURATIONS,
    HURRIED,
    UNUSED,
    configurations,
    fleeting_scenarios,
    layered_scenarios,
    positive_scenarios,
    tangled_scenarios,
)
from test_rollback import Thrown, check_failures, pausing_after  # noqa: E402
from test_trials import check_trials  # noqa: E402

from tidalog.maintain.choose import Options  # noqa: E402

EXAMPLES = 40  # scenarios a round
RUNNING = Path(gettempdir()) / "tidalog-fuzz-running.txt"


def laws_hold(scenario: Scenario, options: list[Options], unused: int) -> None:
    check_scenario(scenario, options, unused)


def laws_hold_of_short_lives(scenario: Scenario, options: list[Options], unused: int) -> None:
    check_scenario(scenario, FLEETING_CONFIGURATIONS, unused)


def failures_change_nothing(scenario: Scenario, options: list[Options], unused: int) -> None:
    with unused_at_most(unused):
        for chosen in options:
            check_failures(scenario, chosen, range(1, 5), Thrown)
            with pausing_after(2):
                check_failures(scenario, chosen, (2, 5, 11, 23), Thrown)


def laws_hold_when_rules_change(scenario: Any, options: list[Options], unused: int) -> None:
    check_rule_scenario(scenario, options, unused)


def trials_change_nothing(scenario: Scenario, options: list[Options], unused: int) -> None:
    for steps in (3, 12, 1000):
        check_trials(scenario, steps, unused)


ROUNDS: dict[str, tuple[Callable[[Any, list[Options], int], None], st.SearchStrategy[Any]]] = {
    "tangled programs": (laws_hold, tangled_scenarios(8)),
    "positive programs": (laws_hold, positive_scenarios()),
    "short lives": (laws_hold_of_short_lives, fleeting_scenarios()),
    "all features": (laws_hold, layered_scenarios(length=6)),
    "failing updates": (
        failures_change_nothing,
        st.one_of(tangled_scenarios(4), layered_scenarios(length=3)),
    ),
    "trials of B/F": (trials_change_nothing, st.one_of(tangled_scenarios(8), layered_scenarios(length=6))),
    "rules of tangled programs": (laws_hold_when_rules_change, tangled_rule_scenarios(10)),
    "rules that read each other": (laws_hold_when_rules_change, chained_rule_scenarios(8)),
    "rules of any kind": (laws_hold_when_rules_change, layered_rule_scenarios(length=8)),
}


def run_round(name: str, number: int) -> None:
    """Raises what the smallest scenario raises."""
    law, scenarios = ROUNDS[name]

    @seed(number)
    @settings(
        HURRIED,
        max_examples=EXAMPLES,
        database=None,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
    )
    @given(scenarios, configurations(), UNUSED)
    def check(scenario: Any, options: list[Options], unused: int) -> None:
        RUNNING.write_text(f"{name}, seed {number}\n{scenario!r}\n{options}\n{unused=}\n", encoding="utf-8")
        law(scenario, options, unused)

    check()


def main() -> int:
    parser = argparse.ArgumentParser(description="Looks for updates that maintenance gets wrong.")
    parser.add_argument("--seconds", type=float, default=3600.0, help="how long; an hour unless said")
    parser.add_argument("--seed", type=int, default=None, help="of the first round; the clock's unless said")
    wanted = parser.parse_args()
    first = wanted.seed if wanted.seed is not None else random.SystemRandom().randrange(2**32)
    faulthandler.enable()
    console, start, number = Console(stderr=True), time.monotonic(), first
    console.print(f"seed {first}; what is running is in {RUNNING}")
    with console.status("") as status:
        while time.monotonic() - start < wanted.seconds:
            for name in ROUNDS:
                passed, steps = time.monotonic() - start, sum(steps_run.values())
                if passed >= wanted.seconds and number > first:
                    break
                status.update(
                    f"{passed:,.0f} of {wanted.seconds:,.0f} s, {steps:,} updates, {name}, seed {number}"
                )
                try:
                    run_round(name, number)
                except Exception:
                    status.stop()
                    traceback.print_exc()
                    console.print(f"[red]wrong[/red]: {name}; again by --seed {number} --seconds 1")
                    return 1
            number += 1
    console.print(f"{sum(steps_run.values()):,} updates in {number - first} rounds, nothing found")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
