"""The benchmark: Tidalog and its peers on the same work, side by side in one run.

    python -m bench                      every suite, best of three
    python -m bench speed --quick        one suite, small sizes
    python -m bench digraph chains       single workloads of the speed suite
    python -m bench papers marking       the papers' evaluations, run again
    python -m bench maintenance          what updates cost

The way a figure comes about: `workloads` says what is computed, `staging` writes its facts to files,
`process` starts one fresh Python process a run, `child` measures there, `suites` put runs side by side,
`report` prints them.  Updates are measured by the jobs of `bench.incremental`.  No figure is kept in the
code: a peer that is not installed says so.
"""
