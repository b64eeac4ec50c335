"""Maintenance measured from inside: one process a job, `Maintainer` driven directly, no peer beside it.

    python -m bench.incremental JOB REQUEST OUTPUT

`driver` holds a materialised program and times single updates on it; each other module is one job, a function
from a request (sizes, repeats, caps) to plain figures.  What is compared is measured in turn in one process.
`bench.suites` start these processes and print what they found.
"""
