"""Makes nextInWay.csv from track_0.csv: every fact that the update stream inserts, once, in order of arrival.

The stream drops road segments as the vehicle moves on; the table keeps them all, so that the program has one
state to materialise.  Run it from anywhere: `python examples/map/make_facts.py`.
"""

from __future__ import annotations

import csv
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
STREAM = FOLDER / "track_0.csv"
TABLE = FOLDER / "nextInWay.csv"


def inserted_facts(stream: Path) -> list[tuple[str, str, str]]:
    """The distinct arguments of all inserted nextInWay facts, in order of first insertion."""
    with stream.open(newline="") as file:
        rows = [
            (row["arg1"], row["arg2"], row["arg3"])
            for row in csv.DictReader(file)
            if row["op"] == "+" and row["predicate"] == "nextInWay"
        ]
    return list(dict.fromkeys(rows))


def table_text(facts: list[tuple[str, str, str]]) -> str:
    return "".join(",".join(row) + "\n" for row in [("node", "next", "way"), *facts])


if __name__ == "__main__":
    TABLE.write_text(table_text(inserted_facts(STREAM)))
