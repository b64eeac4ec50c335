"""Windows that slide, measured step by step: the evaluation of the IMaRS paper, and what it costs beside
starting over.

`streams` makes the data, `variants` are the ways to keep the result up to date, `shares`, `slides`, `memory`
and `queries` are jobs of `bench.incremental`, `suites.windows` makes the tables.  `peers` has systems with
windows of their own.
"""
