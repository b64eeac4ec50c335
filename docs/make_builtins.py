"""Fills the tables of builtins.md from the table of built-ins in the code.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; the text around it is written by hand.
`python docs/make_builtins.py` writes the page; a test checks that the committed one is up to date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tidalog.builtins import Builtin, conversions, generators, kinds, logic, numbers, text, times

PAGE = Path(__file__).resolve().parent / "builtins.md"

TABLES = {
    "numbers": (*numbers.BUILTINS, *conversions.BUILTINS),
    "logic": logic.BUILTINS,
    "text": text.BUILTINS,
    "kinds": kinds.BUILTINS,
    "times": times.BUILTINS,
    "several": generators.BUILTINS,
}
_REGION = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_ARGUMENTS = "xyzw"


def usage(builtin: Builtin) -> str:
    """How a call is written: `?x + ?y` for an operator, `SUBSTR(x, y, [z])` for a function."""
    if builtin.name == "neg":
        return "-x"
    if not builtin.name[0].isalpha():
        return f"x {builtin.name} y"
    names = list(_ARGUMENTS[: builtin.min_arity])
    if builtin.max_arity is None:
        names.append("…")
    else:
        names += [f"[{name}]" for name in _ARGUMENTS[builtin.min_arity : builtin.max_arity]]
    return f"{builtin.name}({', '.join(names)})"


def table(builtins: Iterable[Builtin]) -> str:
    """One row for each meaning: names that mean the same stand together."""
    spellings: dict[str, list[str]] = {}
    for builtin in builtins:
        spellings.setdefault(builtin.summary, []).append(f"`{usage(builtin)}`")
    rows = [f"| {', '.join(names)} | {summary} |" for summary, names in spellings.items()]
    return "\n".join(["| written | value |", "|---|---|", *rows])


def refreshed(page: str) -> str:
    return _REGION.sub(lambda found: f"{found[1]}\n{table(TABLES[found[2]])}\n\n{found[4]}", page)


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
