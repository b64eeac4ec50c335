"""`tidalog query`: the answers to one query.

JSON: `columns`, `rows`, `count`.
"""

from __future__ import annotations

from tidalog.cli.options import read_limit
from tidalog.cli.report import Report, print_answer, result_json
from tidalog.cli.work import Work, prepared


def query(report: Report, work: Work, text: str, rows: int) -> None:
    kb = prepared(work, report, text)
    result = kb.query(text)
    if report.as_json:
        report.finish({**result_json(result), "count": len(result)})
    else:
        print_answer(result, read_limit(rows))
